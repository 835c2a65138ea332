/**
 * The parts in which an archive arrives, cut into the pieces that the importer asks for.
 *
 * Invariants
 * - Parts may have any size, including 0. Each byte is copied at most once, and bytes are kept, not parts. So neither
 *   time nor memory depends on how the archive is cut into parts.
 * - After `keep()`, the owner of a part may reuse it.
 */

import { isUint8Array } from '../core/realms.ts';

export class Feed {
  /** The rest of the last part; it follows the kept bytes. */
  #part = new Uint8Array();
  /** The kept bytes are its first `#length` bytes. */
  #kept = new Uint8Array();
  #length = 0;
  #ended = false;

  has(count: number): boolean {
    return this.#ended || this.#length + this.#part.length >= count;
  }
  /** The archive has ended. */
  end(): void {
    this.#ended = true;
  }
  add(part: Uint8Array): void {
    if (!isUint8Array(part)) throw new TypeError('an archive is made of Uint8Arrays');
    this.#part = part as Uint8Array<ArrayBuffer>;
  }
  /** From here on the owner of the last part may reuse it. */
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
