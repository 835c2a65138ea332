/**
 * A prefaulted buffer for the next large value that this thread receives, made while the thread only waits.
 *
 * Engines free large buffers some thirty MiB at a time. So a new buffer is on memory that has left the processor's
 * cache, and copying into it takes three times as long. A thread that waits anyway overwrites the buffer beforehand.
 * Values often have one size (chunks, frames, pages). If two in a row had the same size, the next is expected to have
 * it too.
 *
 * Invariant: until it is taken, no other code has seen the buffer, and it is taken once. A thread keeps at most one, of
 * at most {@link MOST}.
 */

/** Below LEAST there is little to gain; above MOST the buffer does not stay in the cache either. */
const LEAST = 2 ** 18;
const MOST = 2 ** 22;

export class ReceiveBuffer {
  readonly #allocate: (size: number) => Uint8Array<ArrayBuffer>;
  /** Size of the last large value. */
  #last = 0;
  /** Expected size of the next one; 0: unknown. */
  #expected = 0;
  #bytes: Uint8Array<ArrayBuffer> | undefined;
  /** How many bytes have been overwritten. */
  #done = 0;

  /** `allocate` makes a new buffer of that size, with any contents. */
  constructor(allocate: (size: number) => Uint8Array<ArrayBuffer>) {
    this.#allocate = allocate;
  }

  /** Memory for a received value, with any contents: the prefaulted buffer if it fits, or a new one. */
  take(size: number): Uint8Array<ArrayBuffer> {
    if (size < LEAST || size > MOST) return this.#allocate(size);
    this.#expected = size === this.#last ? size : 0;
    this.#last = size;
    const bytes = this.#bytes;
    this.#bytes = undefined;
    return bytes?.length === size ? bytes : this.#allocate(size);
  }

  /**
   * Makes the buffer if one is expected to be useful, and overwrites up to `most` bytes of it. False: there was nothing
   * to do.
   */
  prepare(most: number = MOST): boolean {
    if (this.#expected === 0) return false;
    if (this.#bytes === undefined) {
      this.#done = 0;
      try {
        this.#bytes = this.#allocate(this.#expected);
      } catch {
        this.#expected = 0; // no memory: the code that needs it will report this
        return false;
      }
    }
    if (this.#done >= this.#bytes.length) return false;
    this.#bytes.fill(0, this.#done, this.#done + most);
    this.#done += most;
    return true;
  }

  /** The expected value did not arrive: frees the buffer. The next one is made after two values of the same size. */
  drop(): void {
    if (this.#bytes === undefined) return;
    this.#bytes = undefined;
    this.#expected = 0;
    this.#last = 0;
  }
}
