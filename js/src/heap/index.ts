/** plait/heap: blocks of shared memory that any thread allocates, reads, writes and frees. */

import { isSupported } from '../core/boot.ts';
import { threadWide } from '../core/thread-wide.ts';
import { Heap as OwnHeap, heap as ownHeap } from './heap.ts';

export { PlaitError, type PlaitErrorCode } from '../core/errors.ts';
export type { AllocOptions } from './heap.ts';
export type { HeapBytes } from './owned.ts';
export type { HeapClassStats, HeapSliceStats, HeapStats, HeapThreadStats } from './stats.ts';

isSupported(); // importing attaches the thread if it can, and lets threads started from here find the space

// A thread may have several copies of this, one imported and one required: `instanceof` says the same in each.
/** The heap of a space. @class */
export const Heap: typeof OwnHeap = threadWide('Heap', () => OwnHeap);
export type Heap = OwnHeap;
/** The heap of the common space. */
export const heap: OwnHeap = threadWide('heap', () => ownHeap);
