/** plait/heap: blocks of shared memory that any thread allocates, reads, writes and frees. */

import { isSupported } from '../core/boot.ts';

export { PlaitError, type PlaitErrorCode } from '../core/errors.ts';
export { type AllocOptions, Heap, heap } from './heap.ts';
export type { HeapBytes } from './owned.ts';
export type { HeapClassStats, HeapSliceStats, HeapStats, HeapThreadStats } from './stats.ts';

isSupported(); // importing attaches the thread if it can, and lets threads started from here find the space
