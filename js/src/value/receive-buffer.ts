/**
 * A buffer for the next large value that this thread receives, made while the thread has nothing to do but wait.
 *
 * Engines free large buffers some thirty MiB at a time, so a new one lies on memory that the processor's cache has long
 * forgotten, and copying into it takes three times as long. Whoever waits anyway writes over it beforehand. Values
 * often come in one size (chunks, frames, pages): where two in a row had the same, the next is expected to have it,
 * too.
 *
 * Invariant: until it is taken, nobody else has seen the buffer, and it is taken once. A thread keeps one at most, of
 * {@link MOST}.
 */

/** Below, there is little to be won; above, the cache does not keep it either. */
const LEAST = 2 ** 18;
const MOST = 2 ** 22;

export class ReceiveBuffer {
  readonly #allocate: (size: number) => Uint8Array<ArrayBuffer>;
  /** Size of the large value that came last. */
  #last = 0;
  /** Size of the next one; 0: nobody knows. */
  #expected = 0;
  #bytes: Uint8Array<ArrayBuffer> | undefined;
  /** So much of it has been written over. */
  #done = 0;

  /** `allocate` makes a buffer of its own of that size, with any contents. */
  constructor(allocate: (size: number) => Uint8Array<ArrayBuffer>) {
    this.#allocate = allocate;
  }

  /** Memory for a value that has come, with any contents: the buffer that was made for it, or a new one. */
  take(size: number): Uint8Array<ArrayBuffer> {
    if (size < LEAST || size > MOST) return this.#allocate(size);
    this.#expected = size === this.#last ? size : 0;
    this.#last = size;
    const bytes = this.#bytes;
    this.#bytes = undefined;
    return bytes?.length === size ? bytes : this.#allocate(size);
  }

  /**
   * Makes the buffer, if one is expected to be of use, and writes over `most` bytes of it, or over what is left. False:
   * there was nothing to do.
   */
  prepare(most: number = MOST): boolean {
    if (this.#expected === 0) return false;
    if (this.#bytes === undefined) {
      this.#done = 0;
      try {
        this.#bytes = this.#allocate(this.#expected);
      } catch {
        this.#expected = 0; // no memory: whoever needs it will say so
        return false;
      }
    }
    if (this.#done >= this.#bytes.length) return false;
    this.#bytes.fill(0, this.#done, this.#done + most);
    this.#done += most;
    return true;
  }

  /** What it was made for did not come: it is given up, and none is made until there were two of a size again. */
  drop(): void {
    if (this.#bytes === undefined) return;
    this.#bytes = undefined;
    this.#expected = 0;
    this.#last = 0;
  }
}
