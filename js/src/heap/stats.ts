/**
 * The heap's counters, as plait_heap_details() of core/heap/stats.c counts them.
 *
 * Invariant: only metadata is read, so any thread may ask at any time, whatever other threads do. Each number is right
 * at some instant; numbers that belong together may be from two instants.
 */

import {
  HeapClassStats as ClassLayout,
  HEAP_CLASS_COUNT,
  HeapDetails as Layout,
  SLICE_SIZE,
  HeapThreadStats as ThreadLayout,
  HeapStats as TotalLayout,
} from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';
import { withFrame } from './frame.ts';

/** Small blocks of one size. */
export interface HeapClassStats {
  /** Bytes in a block. */
  readonly size: number;
  /** Heap pages with blocks of this size; each has 4 to 64 KiB. */
  readonly pages: number;
  /** Blocks in use. */
  readonly used: number;
  /** Free blocks of these pages. */
  readonly free: number;
}

/** What one thread allocates from: its thread heap. */
export interface HeapThreadStats {
  /** The thread's id in the space; 0 for what an exited thread has left, until another thread adopts it. */
  readonly thread: number;
  /** The host's name for the thread: Node's `threadId`. */
  readonly hostId: number;
  /** Heap pages that the thread owns: they have free blocks, or are kept for later. Most full pages have no owner. */
  readonly pages: number;
  /** Bytes in its regions of medium blocks. */
  readonly regionBytes: number;
  /** Medium blocks in use in these regions, whichever thread allocated them. */
  readonly mediumBlocks: number;
}

/** Slices of 64 KiB: the unit in which the heap takes memory and uses it. */
export interface HeapSliceStats {
  /** Slices that the heap has. */
  readonly reserved: number;
  /** Slices in use. */
  readonly used: number;
  /** The highest `used` so far. */
  readonly peak: number;
  /** Slices in use for pages of small blocks, for regions of medium blocks, for large blocks, and for metadata. */
  readonly pages: number;
  readonly regions: number;
  readonly large: number;
  readonly bookkeeping: number;
}

/** Counters of a heap. */
export interface HeapStats {
  /** Bytes that the heap covers: it has taken them from the system, and does not give them back. */
  readonly reserved: number;
  /** Bytes in use, in units of 64 KiB: pages of small blocks, regions, large blocks, metadata. */
  readonly used: number;
  /** The highest `used` so far. */
  readonly peak: number;
  /** Blocks that are allocated and not freed. */
  readonly liveBlocks: number;
  /** Allocations that failed for lack of memory. */
  readonly failed: number;
  /** Small blocks, by size. */
  readonly classes: readonly HeapClassStats[];
  /** Thread heaps: which thread allocates from what. */
  readonly threads: readonly HeapThreadStats[];
  /** Blocks of more than 64 KiB, each with a span of its own. */
  readonly large: { readonly blocks: number; readonly bytes: number };
  readonly slices: HeapSliceStats;
}

/** Counts what the heap of a space is used for. */
export function readStats(space: Space): HeapStats {
  return withFrame(space, Layout.BYTES, (frame) => {
    space.core.plait_abi_heap_details(frame);
    space.cover(frame + Layout.BYTES);
    const { u32 } = space;
    const word = (ref: number) => u32[ref >>> 2] as number;
    const bytes = (field: number) => word(frame + field) + word(frame + field + 4) * 2 ** 32;

    const classes = Array.from({ length: HEAP_CLASS_COUNT }, (_, index): HeapClassStats => {
      const at = frame + Layout.classes + index * ClassLayout.BYTES;
      return {
        size: word(at + ClassLayout.size),
        pages: word(at + ClassLayout.pages),
        used: word(at + ClassLayout.used),
        free: word(at + ClassLayout.free),
      };
    });
    const threads = Array.from({ length: word(frame + Layout.threadCount) }, (_, index): HeapThreadStats => {
      const at = frame + Layout.threads + index * ThreadLayout.BYTES;
      return {
        thread: word(at + ThreadLayout.thread),
        hostId: word(at + ThreadLayout.hostId),
        pages: word(at + ThreadLayout.pages),
        regionBytes: word(at + ThreadLayout.slices) * SLICE_SIZE,
        mediumBlocks: word(at + ThreadLayout.blocks),
      };
    });
    const reserved = bytes(Layout.total + TotalLayout.reservedBytes);
    const used = bytes(Layout.total + TotalLayout.usedBytes);
    const peak = bytes(Layout.total + TotalLayout.peakBytes);
    const large = word(frame + Layout.largeSlices);
    return {
      reserved,
      used,
      peak,
      liveBlocks: word(frame + Layout.total + TotalLayout.liveBlocks),
      failed: word(frame + Layout.total + TotalLayout.failed),
      classes,
      threads,
      large: { blocks: word(frame + Layout.largeBlocks), bytes: large * SLICE_SIZE },
      slices: {
        reserved: reserved / SLICE_SIZE,
        used: used / SLICE_SIZE,
        peak: peak / SLICE_SIZE,
        pages: word(frame + Layout.pageSlices),
        regions: word(frame + Layout.regionSlices),
        large,
        bookkeeping: word(frame + Layout.metaSlices),
      },
    };
  });
}
