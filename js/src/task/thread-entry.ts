/**
 * What every thread of Plait's own runs: its first message says which of the two it is.
 *
 * tools/thread.js makes one script of this file and all that it imports. The package carries it as core/plait-thread.js
 * for browsers, where a thread's script should have an address, and for their bundlers; and as a string
 * (thread.generated.ts) for hosts and bundlers that would lose a file.
 */

import { host } from '../core/host.ts';
import { coordinate } from './coordinator/main.ts';
import type { CoordinatorStart, WorkerStart } from './protocol.ts';
import { serve } from './worker/main.ts';

const start = (await host.firstMessage()) as CoordinatorStart | WorkerStart;
await (start.role === 'coordinator' ? coordinate(start) : serve(start));
