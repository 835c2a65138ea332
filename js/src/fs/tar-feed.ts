/**
 * What an archive comes in, cut into the pieces that are asked for.
 *
 * Invariants
 * - Parts may be of any size, none included. Each byte is copied once at most, and what is kept is bytes, not parts: so
 *   neither time nor memory depends on how somebody has cut the archive.
 * - A part is its owner's again after `keep()`.
 */

import { isUint8Array } from '../core/realms.ts';

export class Feed {
  /** What is left of the last part; it comes behind what is kept. */
  #part = new Uint8Array();
  /** Its first `#length` bytes. */
  #kept = new Uint8Array();
  #length = 0;
  #ended = false;

  has(count: number): boolean {
    return this.#ended || this.#length + this.#part.length >= count;
  }
  /** There is no more. */
  end(): void {
    this.#ended = true;
  }
  add(part: Uint8Array): void {
    if (!isUint8Array(part)) throw new TypeError('an archive is made of Uint8Arrays');
    this.#part = part as Uint8Array<ArrayBuffer>;
  }
  /** From here on the last part is its owner's again. */
  keep(): void {
    this.#append(this.#part.length);
  }
  take(count: number): Uint8Array {
    if (this.#length === 0) {
      const piece = this.#part.subarray(0, count);
      this.#part = this.#part.subarray(count);
      return piece;
    }
    this.#append(count - this.#length);
    const size = Math.min(count, this.#length);
    const piece = this.#kept.subarray(0, size);
    this.#kept = this.#kept.subarray(size);
    this.#length -= size;
    return piece;
  }
  #append(count: number): void {
    const more = this.#part.subarray(0, Math.max(count, 0));
    const length = this.#length + more.length;
    if (length > this.#kept.length) {
      const grown = new Uint8Array(Math.max(length, 2 * this.#kept.length));
      grown.set(this.#kept.subarray(0, this.#length));
      this.#kept = grown;
    }
    this.#kept.set(more, this.#length);
    this.#length = length;
    this.#part = this.#part.subarray(more.length);
  }
}
