/**
 * Checks that functions need nothing of the thread that calls them: node tools/stackless.js MODULE NAME... A thread
 * that has no slot yet has no stack, and no thread-local words. Both are globals of its instance. So a function that it
 * may call, and all that that one calls, must not use a global, nor call by reference, which could lead anywhere.
 */

import { readFileSync } from 'node:fs';
import { CALL, CALL_INDIRECT, exportedFunctions, functions, GLOBAL_GET, GLOBAL_SET } from './wasm.js';

const [file, ...names] = process.argv.slice(2);
const bytes = readFileSync(file);
const bodies = functions(bytes);
const { exported, imports } = exportedFunctions(bytes);

/** What is wrong with a function or what it calls; undefined: nothing. */
function fault(index, seen = new Set()) {
  if (seen.has(index)) return undefined;
  seen.add(index);
  if (index < imports) return 'calls the host';
  for (const { code, value } of bodies[index - imports]) {
    if (code === GLOBAL_GET || code === GLOBAL_SET) return 'uses a global';
    if (code === CALL_INDIRECT) return 'calls by reference';
    const inner = code === CALL ? fault(value, seen) : undefined;
    if (inner !== undefined) return inner;
  }
  return undefined;
}

for (const name of names) {
  const index = exported.get(name);
  const wrong = index === undefined ? 'is not exported' : fault(index);
  if (wrong === undefined) continue;
  console.error(`${file}: ${name} ${wrong}, but is called by threads that have no stack yet`);
  process.exitCode = 1;
}
