/**
 * Copies of many bytes, between memory that threads share and memory that they do not.
 *
 * The engine copies to and from shared memory a word at a time. If source and target have different offsets within a
 * word, it copies a byte at a time, which takes ten times as long. One function of Node's Buffer is always a plain
 * memcpy: `fill` with exactly as many bytes as there are to fill. Below {@link LARGE} bytes it is not faster. There the
 * system's memcpy may be a single instruction that is slow on some processors if the addresses have the same last bits.
 *
 * Invariant: only the target is written, and no user code runs. pre of all: no other thread writes the target during
 * the copy. Another thread may write the source, if that is the user's shared memory. Then the copy mixes old and new
 * bytes, as the engine's own copies do.
 */

import { nodeBuffer } from '../core/host-buffer.ts';
import { ReceiveBuffer } from './receive-buffer.ts';

type Fill = (this: Uint8Array, source: Uint8Array, start: number, end: number) => void;

/** Bound once when the module is loaded, because a program may replace the method later. */
const memcpy = nodeBuffer?.prototype.fill as unknown as Fill | undefined;

/**
 * Node's Buffer; undefined where its ArrayBuffers are not instances of this realm's class, as in a `node:vm` context
 * that has the main context's Buffer.
 */
const uncleared = nodeBuffer?.allocUnsafeSlow(1).buffer instanceof ArrayBuffer ? nodeBuffer : undefined;

/** From this many bytes on, uncleared memory saves more than the additional call into the host costs. */
const UNCLEARED = 4096;
/** From this many bytes on, the plain memcpy is faster: with equal, and with different offsets within a word. */
const LARGE = 2 ** 19;
const LARGE_MISALIGNED = 2048;
const WORD = 8;
/** The smallest ArrayBuffer whose bytes the host allocates separately. */
const SMALL_ALLOCATION = 64;

/**
 * A small allocation made after the last large buffer. glibc returns free memory at the end of a thread's heap to the
 * system. The next copy would then cause page faults, which take several times as long as the copying. Memory freed
 * below a live allocation is reused instead.
 */
const above: { last: ArrayBuffer | undefined } = { last: undefined };

/** This thread's receive buffer. It is not used if there is no uncleared memory. */
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
  const isMisaligned = size >= LARGE_MISALIGNED && (source.byteOffset - target.byteOffset - at) % WORD !== 0;
  if (size < LARGE && !isMisaligned) target.set(source, at);
  // Not every version of the function accepts offsets beyond 2 GiB, so it gets a subarray.
  else if (memcpy !== undefined) memcpy.call(target.subarray(at, at + size), source, 0, size);
  // A copy in private memory is aligned. Making one takes less time than copying a byte at a time.
  else target.set(isMisaligned && (target.byteOffset + at) % WORD === 0 ? new Uint8Array(source) : source, at);
}

/**
 * A private copy in a buffer of its own, of exactly that size. A large copy uses uncleared memory, because clearing
 * takes as long as copying.
 */
export function privateCopy(source: Uint8Array): Uint8Array<ArrayBuffer> {
  const size = source.length;
  const copy = uncleared === undefined || size < UNCLEARED ? new Uint8Array(size) : receiveBuffer.take(size);
  copyBytes(copy, 0, source);
  return copy;
}
