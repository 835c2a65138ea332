/**
 * The errors of the heap: refused calls, and faults that were found.
 */

import { PlaitError } from '../core/errors.ts';
import { HeapFaultKind as Kind, HeapFault as Layout, HeapPlace as Place } from '../core/layout.generated.ts';
import { outOfMemory, type Space } from '../core/space.ts';
import { withFrame } from './frame.ts';

/** The error for an argument outside its range; `code` is Node's. */
export function outOfRange(message: string): RangeError & { readonly code: string } {
  return Object.assign(new RangeError(message), { code: 'ERR_OUT_OF_RANGE' });
}

/** The error for a reference that names no live block. */
export function invalidPointer(space: Space, block: number): PlaitError {
  return new PlaitError('ERR_PLAIT_INVALID_POINTER', `${block} ${whyInvalid(space, block)}`);
}

function whyInvalid(space: Space, block: number): string {
  if (!Number.isInteger(block) || block <= 0 || block >= 2 ** 32) {
    return 'is no reference: these are whole numbers from 1 to 4294967295, as alloc() returns them';
  }
  switch (space.core.plait_heap_place(block)) {
    case Place.FREE:
      return 'is the start of a free block: it was freed already';
    case Place.INSIDE:
      return 'lies inside a live block, not at its start';
    case Place.UNUSED:
      return 'lies in the heap where no block starts: it never came from alloc(), or was freed already';
    case Place.OUTSIDE:
      return 'lies outside of the heap';
    default:
      return 'was no live block; it is one now, so another thread has just allocated it: it was freed before';
  }
}

/** The fault that the core found, if any: in a check, or in an allocation or a free of a debug build. */
function fault(space: Space): PlaitError | undefined {
  return withFrame(space, Layout.BYTES, (frame) => {
    space.core.plait_abi_heap_fault(frame);
    const kind = space.load(frame + Layout.kind);
    if (kind === Kind.NONE) return undefined;
    const text = whatIsWrong(kind, space.load(frame + Layout.at), space.load(frame + Layout.block));
    return new PlaitError('ERR_PLAIT_CORRUPT', text);
  });
}

function whatIsWrong(kind: number, at: number, block: number): string {
  switch (kind) {
    case Kind.TABLE:
      return `the description of a slice, at ${at}, is wrong`;
    case Kind.SPANS:
      return `the lists of free slices, at ${at}, are wrong`;
    case Kind.PAGE:
      return `the page record of a page of small blocks, at ${at}, is wrong`;
    case Kind.PAGES:
      return `a list of pages, at ${at}, is wrong`;
    case Kind.BLOCK:
      return block === 0
        ? `the header of a block, at ${at}, was written over`
        : `the header of a block, at ${at}, was written over: check the code that writes to the block before it, ${block}`;
    case Kind.BINS:
      return `the lists of free blocks, at ${at}, are wrong: a block's header was written over, or a block was written after it had been freed`;
    case Kind.THREAD_HEAP:
      return `the counters of a thread heap, at ${at}, are wrong`;
    case Kind.OVERRUN:
      return `block ${block} was written beyond its end, at ${at}; it stays allocated`;
    case Kind.FREED:
      return `block ${block} was written after it had been freed, at ${at}`;
    default:
      return `something is wrong at ${at}`;
  }
}

/** The error for an allocation that the core refused. */
export function refused(space: Space, size: number): PlaitError {
  return fault(space) ?? outOfMemory(size);
}

/** The error for a block that the core did not free. */
export function notFreed(space: Space, block: number): PlaitError {
  return fault(space) ?? invalidPointer(space, block);
}

/** The error for a check that found a fault. */
export function corrupt(space: Space): PlaitError {
  return fault(space) ?? new PlaitError('ERR_PLAIT_CORRUPT', "a pool's structure breaks its invariant");
}
