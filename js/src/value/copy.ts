/**
 * Copies of many bytes, between memory that threads share and memory that they do not.
 *
 * To and from shared memory the engine copies a word at a time, and, where source and target do not lie alike within a
 * word, a byte at a time, which takes ten times as long. One function of Node's Buffer is a plain memcpy everywhere:
 * `fill` with exactly as many bytes as there are to fill. For fewer bytes than {@link LARGE} it is no better: there the
 * system's memcpy may be one instruction that some processors are slow at, where the two addresses are alike in their
 * last bits.
 *
 * Invariant: nothing outside of the target is written, whichever way is taken, and no code of the user's runs. pre of
 * all: nobody else writes the target meanwhile. Where somebody writes the source, which may be shared memory of the
 * user's, the copy has some of both, as with the engine's own.
 */

import { nodeBuffer } from '../core/host-buffer.ts';
import { ReceiveBuffer } from './receive-buffer.ts';

type Fill = (this: Uint8Array, source: Uint8Array, start: number, end: number) => void;

/** Another function's, once and for all: a program may put its own in its place. */
const memcpy = nodeBuffer?.prototype.fill as unknown as Fill | undefined;

/**
 * Not in a realm with a global Buffer of another one (of Node's own in a `node:vm` context): its ArrayBuffers are no
 * instances here.
 */
const uncleared = nodeBuffer?.allocUnsafeSlow(1).buffer instanceof ArrayBuffer ? nodeBuffer : undefined;

/** From this many bytes on, uncleared memory is worth another call into the host. */
const UNCLEARED = 4096;
/** From this many bytes on, and for as many as lie differently within a word, the plain memcpy is quicker. */
const LARGE = 2 ** 19;
const LARGE_ASKEW = 2048;
const WORD = 8;
/** The least that has a place of its own in the host's memory. */
const SMALL_ALLOCATION = 64;

/**
 * What was allocated after the last large buffer. glibc gives what is free at the end of a thread's memory back to the
 * system, and the next copy pays for it anew, page by page, several times what copying costs. What is freed below
 * something that lives is used again instead.
 */
const above: { last: ArrayBuffer | undefined } = { last: undefined };

/** This thread's. It is not used if there is no uncleared memory. */
export const receiveBuffer: ReceiveBuffer = new ReceiveBuffer((size) => {
  const bytes = new Uint8Array(uncleared!.allocUnsafeSlow(size).buffer as ArrayBuffer);
  above.last = new ArrayBuffer(SMALL_ALLOCATION);
  return bytes;
});

/**
 * Writes the bytes of `source` over those of `target` from `at` on. pre: they end within it, and neither of the two can
 * grow.
 */
export function copyBytes(target: Uint8Array, at: number, source: Uint8Array): void {
  const size = source.length;
  const isAskew = size >= LARGE_ASKEW && (source.byteOffset - target.byteOffset - at) % WORD !== 0;
  if (size < LARGE && !isAskew) target.set(source, at);
  // Offsets beyond 2 GiB are not for every version of the function.
  else if (memcpy !== undefined) memcpy.call(target.subarray(at, at + size), source, 0, size);
  // A copy in private memory lies as it should. To make one costs less than a byte at a time.
  else target.set(isAskew && (target.byteOffset + at) % WORD === 0 ? new Uint8Array(source) : source, at);
}

/**
 * A private copy, whose buffer is its own and of that size. A large one is made on memory that nobody has cleared:
 * clearing costs as much as the copying.
 */
export function privateCopy(source: Uint8Array): Uint8Array<ArrayBuffer> {
  const size = source.length;
  const copy = uncleared === undefined || size < UNCLEARED ? new Uint8Array(size) : receiveBuffer.take(size);
  copyBytes(copy, 0, source);
  return copy;
}
