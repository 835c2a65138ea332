/**
 * Which buffers are the memory of a space.
 *
 * A SharedArrayBuffer is only an object. The same memory has another object after it has grown, and in each view that
 * arrived by `postMessage`.
 *
 * Invariant: the result is true for each such object, and for no other memory.
 */

import { BOOT_SIZE, Space as S, TLS_SIZE } from './layout.generated.ts';
import type { Space } from './space.ts';
import { threadWide } from './thread-wide.ts';

/** The objects known to be the memory of a space. */
const buffersOf = new WeakMap<Space, WeakSet<ArrayBufferLike>>();

/** The spaces of this thread. Unused ones are removed during a search. */
const spaces = threadWide('spaces', () => new Set<WeakRef<Space>>());

/** Adds a space of this thread. */
export function noteSpace(space: Space): void {
  spaces.add(new WeakRef(space));
}

/**
 * Whether a buffer is the space's memory, under any object. Only its bytes can show that: this changes a word that only
 * this thread uses, at the bottom of its boot stack, and checks whether it changes in the buffer.
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

/** Whether a buffer is the memory of a space of this thread. */
export function isMemory(buffer: ArrayBufferLike): boolean {
  for (const reference of spaces) {
    const space = reference.deref();
    if (space === undefined) spaces.delete(reference);
    else if (isMemoryOf(space, buffer)) return true;
  }
  return false;
}
