/**
 * What is to be known of a buffer before its bytes are sent, whatever its own properties say.
 *
 * Invariant: no code of the user's runs here.
 */

import { isMemory } from '../core/memory.ts';

const readByteLength = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength')!.get!;

/** Tells a detached buffer from an empty one, also in engines without `ArrayBuffer.prototype.detached`. */
export function isDetached(buffer: ArrayBufferLike): boolean {
  try {
    new Uint8Array(buffer);
    return false;
  } catch {
    return true;
  }
}

/**
 * Whether threads share the buffer, and it is not the memory of a space. For what nobody shares the answer takes some
 * three nanoseconds, which each value of bytes pays.
 */
export function isSharedElsewhere(buffer: ArrayBufferLike): boolean {
  try {
    readByteLength.call(buffer); // whatever its prototype says: a SharedArrayBuffer lacks this slot
    return false;
  } catch {
    return !isMemory(buffer);
  }
}
