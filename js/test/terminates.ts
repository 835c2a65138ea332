/**
 * For tests that terminate Workers again and again: import it first.
 *
 * Node 20 takes a Worker's isolate off its platform while V8 may still compile for it in the background. If that
 * compilation needs memory just then, Node aborts the process (node_platform.cc, ForIsolate: `data.first != nullptr`).
 * It was seen once in some 8,000 terminations beside load, with none of Plait's code on the stack. So on Node 20 these
 * Workers compile in their own thread.
 */

import { setFlagsFromString } from 'node:v8';

if (process.versions.node.startsWith('20.')) {
  setFlagsFromString('--no-concurrent-recompilation');
  console.log("# Node 20: V8 compiles in the Workers' own threads");
}
