/**
 * The state of a buffer, checked before its bytes are sent. The buffer's own properties have no influence.
 *
 * Invariant: no user code runs here.
 */

import { isMemory } from '../core/memory.ts';

const readByteLength = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength')!.get!;

/** Distinguishes a detached buffer from an empty one, also in engines without `ArrayBuffer.prototype.detached`. */
export function isDetached(buffer: ArrayBufferLike): boolean {
  try {
    new Uint8Array(buffer);
    return false;
  } catch {
    return true;
  }
}

/**
 * Whether threads share the buffer, and it is not the memory of a space. For a private buffer, the check takes about
 * 3 ns. Every value that consists of bytes pays for it.
 */
export function isSharedElsewhere(buffer: ArrayBufferLike): boolean {
  try {
    readByteLength.call(buffer); // throws for a SharedArrayBuffer, which lacks this slot, whatever its prototype
    return false;
  } catch {
    return !isMemory(buffer);
  }
}
