/**
 * The heap's counters, as plait_heap_details() of core/heap/stats.c counts them.
 *
 * Invariant: only bookkeeping is read, so it may be asked on any thread, whatever the others do. Each number is right
 * at some instant; numbers that belong together may be those of two instants.
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
  /** Pages that are cut into such blocks, of 4 to 64 KiB. */
  readonly pages: number;
  /** Blocks in use. */
  readonly used: number;
  /** Free blocks of these pages. */
  readonly free: number;
}

/** What one thread allocates from. */
export interface HeapThreadStats {
  /** The thread's id in the space; 0 for what a thread that is gone has left, until another takes it over. */
  readonly thread: number;
  /** What the host calls the thread: Node's `threadId`. */
  readonly hostId: number;
  /** Pages that are its own, with free small blocks or kept for later. A page that is full is nobody's. */
  readonly pages: number;
  /** Bytes of its regions of medium blocks. */
  readonly regionBytes: number;
  /** Medium blocks in use in these regions, whoever allocated them. */
  readonly mediumBlocks: number;
}

/** Slices of 64 KiB: the unit in which the heap takes memory, and in which it uses it. */
export interface HeapSliceStats {
  /** Slices that the heap has. */
  readonly reserved: number;
  /** Slices in use. */
  readonly used: number;
  /** The most that were ever in use. */
  readonly peak: number;
  /** Slices in use for pages of small blocks, for regions of medium blocks, for large blocks, and for bookkeeping. */
  readonly pages: number;
  readonly regions: number;
  readonly large: number;
  readonly bookkeeping: number;
}

/** Counters of a heap. */
export interface HeapStats {
  /** Bytes that the heap covers: what it has taken from the system and not given back. */
  readonly reserved: number;
  /** Bytes in use, in units of 64 KiB: pages of small blocks, regions, large blocks, bookkeeping. */
  readonly used: number;
  /** The most that `used` has been. */
  readonly peak: number;
  /** Blocks that are allocated and not freed. */
  readonly liveBlocks: number;
  /** Allocations that found no room. */
  readonly failed: number;
  /** Small blocks, by size. */
  readonly classes: readonly HeapClassStats[];
  /** Who allocates from what. */
  readonly threads: readonly HeapThreadStats[];
  /** Blocks of more than 64 KiB, with slices of their own. */
  readonly large: { readonly blocks: number; readonly bytes: number };
  readonly slices: HeapSliceStats;
}

/** Counts what a space's heap is used for. */
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
