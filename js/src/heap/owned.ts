/**
 * Views that own a block of shared memory, and the freeing of these blocks.
 *
 * Separate from heap.ts, because pools and their workers need no more of the heap than this.
 *
 * Invariant: a block that a view owns is freed once, by the function that removes the view from `owned`.
 */
/// <reference lib="esnext.disposable" preserve="true" />

import type { Space } from '../core/space.ts';
import { threadWide } from '../core/thread-wide.ts';
import { invalidPointer, notFreed } from './faults.ts';

/**
 * Bytes of a block, as `heap.bytes()` returns them: an ordinary `Uint8Array` on shared memory. Where the runtime knows
 * `Symbol.dispose`, it frees its block at the end of a `using` declaration's scope.
 */
export type HeapBytes = Uint8Array<SharedArrayBuffer> & Disposable;

/** A block that a view from `bytes()` owns. */
interface Owned {
  readonly space: Space;
  readonly block: number;
}

/** The views that own their block: from bytes() until free(), or until they are given away. */
const owned = threadWide('owned views', () => new WeakMap<Uint8Array, Owned>());

/** The block that a view owns in a space; undefined if it owns none there. */
export function ownedBlock(view: unknown, space: Space): number | undefined {
  const found = view instanceof Uint8Array ? owned.get(view) : undefined;
  return found?.space === space ? found.block : undefined;
}

/** Whether a view owns its block, in any space. */
export function isOwned(view: unknown): boolean {
  return view instanceof Uint8Array && owned.has(view);
}

/** Ends a view's ownership of its block: the block is freed elsewhere. */
export function releaseOwnership(view: Uint8Array): void {
  owned.delete(view);
}

/**
 * A property of each view, not a method of a subclass. So slices, copies and results of `structuredClone` stay ordinary
 * Uint8Arrays, and so do the views themselves if prototypes are compared. The property is not enumerable.
 */
const DISPOSE = {
  value(this: Uint8Array): void {
    freeOwned(this);
  },
};

/**
 * Frees the block that a view owns. Ignores whatever owns no block. At the end of a scope that may be a view which was
 * freed or given away before.
 */
export function freeOwned(view: unknown): void {
  const found = owned.get(view as Uint8Array);
  if (found === undefined) return;
  owned.delete(view as Uint8Array);
  freeBlock(found.space, found.block);
}

/** A view that owns a block. pre: no other view does. */
export function claimOwnership(space: Space, block: number, size: number): HeapBytes {
  const view = space.bytes(block, size);
  if (Symbol.dispose !== undefined) Object.defineProperty(view, Symbol.dispose, DISPOSE);
  owned.set(view, { space, block });
  return view as HeapBytes;
}

/** Whether a number can be a block's reference. */
export function isReference(block: number): boolean {
  return Number.isInteger(block) && block > 0 && block < 2 ** 32;
}

/** @throws {PlaitError} ERR_PLAIT_INVALID_POINTER for anything but a live block */
export function freeBlock(space: Space, block: number): void {
  if (!isReference(block)) throw invalidPointer(space, block);
  if (space.core.plait_heap_free(block) !== 0) throw notFreed(space, block);
}
