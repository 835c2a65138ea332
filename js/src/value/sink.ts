/**
 * The bytes that a writer has written so far, in a private scratch buffer that grows.
 *
 * Invariant: every write calls {@link ByteSink.reserve} (or a method that does) first, because a typed array silently
 * ignores a store past its end.
 */

import { nodeBuffer } from '../core/host-buffer.ts';

const FIRST_SIZE = 4096;

/** A scratch buffer beyond this size is replaced by a smaller one after a message that left most of it unused. */
const KEPT_SIZE = 1 << 20;

/** From this many bytes on, it pays to copy them once instead of twice. */
const LARGE_PART = 16384;

/** Below this many units, a loop over the string is faster than a call into the host. */
const LONG_STRING = 64;

/** A character outside Latin-1. Engines need not search a string that they store as one-byte units. */
const WIDE_UNIT = /[\u0100-\uffff]/;

/**
 * Bytes of the message that stay in the value's own memory, to be copied from there. They precede the byte at `at` in
 * the scratch buffer.
 */
export interface UncopiedPart {
  readonly at: number;
  readonly source: Uint8Array;
}

/** A growable byte buffer, with writers for the format's small parts. */
export class ByteSink {
  /** The scratch buffer; replaced by a bigger one when it grows. */
  bytes: Uint8Array<ArrayBuffer> = new Uint8Array(FIRST_SIZE);
  /** How many bytes are written. */
  position = 0;
  /**
   * Large parts that stay in the value's own memory, if the caller can insert them; and their number of bytes.
   */
  uncopied: UncopiedPart[] | undefined;
  uncopiedSize = 0;
  #view = new DataView(this.bytes.buffer);

  /** Makes room for `count` more bytes. */
  reserve(count: number): void {
    if (this.position + count > this.bytes.length) this.#grow(this.position + count);
  }

  #grow(needed: number): void {
    const bigger = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    bigger.set(this.bytes.subarray(0, this.position));
    this.#use(bigger);
  }

  #use(bytes: Uint8Array<ArrayBuffer>): void {
    this.bytes = bytes;
    this.#view = new DataView(bytes.buffer);
  }

  /** Starts over. The bytes returned for the last message were valid until now. */
  restart(): void {
    if (this.bytes.length > KEPT_SIZE && this.position < this.bytes.length / 4) this.#use(new Uint8Array(FIRST_SIZE));
    this.position = 0;
    this.uncopiedSize = 0;
  }

  /** Writes one byte. */
  byte(value: number): void {
    this.reserve(1);
    this.bytes[this.position++] = value;
  }

  /** Writes an unsigned whole number of at most 53 bits. */
  varint(value: number): void {
    this.reserve(8);
    const bytes = this.bytes;
    let position = this.position;
    let rest = value;
    while (rest > 0x7fffffff) {
      bytes[position++] = (rest % 128) | 0x80;
      rest = Math.floor(rest / 128);
    }
    while (rest > 0x7f) {
      bytes[position++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    bytes[position++] = rest;
    this.position = position;
  }

  /** Writes a double. */
  double(value: number): void {
    this.reserve(8);
    this.#view.setFloat64(this.position, value, true);
    this.position += 8;
  }

  /** Writes a signed 64-bit integer. */
  bigint64(value: bigint): void {
    this.reserve(8);
    this.#view.setBigInt64(this.position, value, true);
    this.position += 8;
  }

  /** Writes a bigint of any size. */
  bigint(value: bigint): void {
    const hex = (value < 0n ? -value : value).toString(16);
    const size = Math.ceil(hex.length / 2);
    this.varint(size * 2 + (value < 0n ? 1 : 0));
    this.reserve(size);
    for (let end = hex.length; end > 0; end -= 2) {
      this.bytes[this.position++] = Number.parseInt(hex.slice(Math.max(0, end - 2), end), 16);
    }
  }

  /** Writes `count` zeros. */
  zeros(count: number): void {
    this.reserve(count);
    this.bytes.fill(0, this.position, this.position + count);
    this.position += count;
  }

  /** Writes bytes, or remembers where they are. */
  copy(source: Uint8Array): void {
    if (this.uncopied !== undefined && source.length >= LARGE_PART) {
      this.uncopied.push({ at: this.position, source });
      this.uncopiedSize += source.length;
      return;
    }
    this.reserve(source.length);
    this.bytes.set(source, this.position);
    this.position += source.length;
  }

  /** Writes the byte `head` and the units as bytes if the string is short and Latin-1; false if not. */
  shortLatin1(value: string, head: number): boolean {
    const length = value.length;
    if (length >= LONG_STRING) return false;
    this.reserve(LONG_STRING + 1);
    const bytes = this.bytes;
    let position = this.position;
    bytes[position++] = head;
    for (let index = 0; index < length; index++) {
      const unit = value.charCodeAt(index);
      if (unit > 0xff) return false;
      bytes[position++] = unit;
    }
    this.position = position;
    return true;
  }

  /** Writes a `text`. */
  text(value: string): void {
    const length = value.length;
    if (this.shortLatin1(value, length * 2)) return;
    const wide = WIDE_UNIT.test(value);
    this.varint(length * 2 + (wide ? 1 : 0));
    const size = wide ? length * 2 : length;
    this.reserve(size);
    if (nodeBuffer !== undefined && length >= LONG_STRING) {
      const target = nodeBuffer.from(this.bytes.buffer, this.position, size);
      target.write(value, 0, size, wide ? 'utf16le' : 'latin1');
      this.position += size;
      return;
    }
    const bytes = this.bytes;
    let position = this.position;
    for (let index = 0; index < length; index++) {
      const unit = value.charCodeAt(index);
      bytes[position++] = unit;
      if (wide) bytes[position++] = unit >>> 8;
    }
    this.position = position;
  }
}
