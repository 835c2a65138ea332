/**
 * The entry of all threads that Plait starts: the first message says which of the two kinds it is.
 *
 * tools/thread.js makes one script of this file and its imports. The package carries it as core/plait-thread.js for
 * browsers, where a thread's script should have an address, and for their bundlers. It also carries it as a string in
 * thread.generated.ts.
 */

import { host } from '../core/host.ts';
import { coordinate } from './coordinator/main.ts';
import type { CoordinatorStart, WorkerStart } from './protocol.ts';
import { serve } from './worker/main.ts';

const start = (await host.firstMessage()) as CoordinatorStart | WorkerStart;
await (start.role === 'coordinator' ? coordinate(start) : serve(start));
