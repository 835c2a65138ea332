/**
 * Which buffers are the memory of a space.
 *
 * A SharedArrayBuffer is but an object: the same memory is another one after it has grown, and in each view that came
 * by `postMessage`.
 *
 * Invariant: the answer is yes for each of them, and for no other memory.
 */

import { BOOT_SIZE, Space as S, TLS_SIZE } from './layout.generated.ts';
import type { Space } from './space.ts';
import { threadWide } from './thread-wide.ts';

/** The objects that are known to be the memory of each space. */
const buffersOf = new WeakMap<Space, WeakSet<ArrayBufferLike>>();

/** The spaces that this thread has; those that nobody uses any more go when they are met. */
const spaces = threadWide('spaces', () => new Set<WeakRef<Space>>());

/** From now on this thread has that space. */
export function noteSpace(space: Space): void {
  spaces.add(new WeakRef(space));
}

/**
 * Whether a buffer is the space's memory, under whichever object. Nothing tells but its bytes: a word that only this
 * thread uses, at the bottom of its boot stack, is seen there as it changes.
 */
export function isMemoryOf(space: Space, buffer: ArrayBufferLike): boolean {
  if (buffer === space.u8.buffer) return true;
  if (typeof SharedArrayBuffer === 'undefined' || !(buffer instanceof SharedArrayBuffer)) return false;
  const known = buffersOf.get(space) ?? new WeakSet();
  buffersOf.set(space, known);
  if (known.has(buffer)) return true;
  const boot = (space.core.plait_abi_space() >>> 0) + S.boots + (space.thread & 255) * BOOT_SIZE;
  const index = (boot + TLS_SIZE) >>> 2;
  if (buffer.byteLength < (index + 1) * 4) return false;
  const seen = new Int32Array(buffer, 0, index + 1);
  for (let probe = 0; probe < 2; probe++) {
    const value = Atomics.store(space.i32, index, (Math.random() * 2 ** 32) | 0);
    if (Atomics.load(seen, index) !== value) return false;
  }
  known.add(buffer);
  return true;
}

/** Whether a buffer is the memory of a space that this thread has. */
export function isMemory(buffer: ArrayBufferLike): boolean {
  for (const reference of spaces) {
    const space = reference.deref();
    if (space === undefined) spaces.delete(reference);
    else if (isMemoryOf(space, buffer)) return true;
  }
  return false;
}
