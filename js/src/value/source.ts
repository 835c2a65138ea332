/**
 * The bytes that a reader has still to read.
 *
 * Invariant: nothing past {@link ByteSource.end} is read. A length is compared with the remaining bytes before anything
 * of that size is allocated.
 */

import { PlaitError } from '../core/errors.ts';
import { nodeBuffer } from '../core/host-buffer.ts';

/** Makes a string of the bytes from `start` to `end` of `this`; Node's Buffer has two such methods. */
type Slice = (this: Uint8Array, start: number, end: number) => string;

/** Node's own conversion from bytes to a string, the fastest, if it exists and accepts any Uint8Array. */
function hostSlice(name: 'latin1Slice' | 'ucs2Slice'): Slice | undefined {
  const slice: Slice | undefined = nodeBuffer?.prototype[name];
  try {
    return slice?.call(new Uint8Array([0, 0x78, 0]), 1, 3) === (name === 'ucs2Slice' ? 'x' : 'x\0') ? slice : undefined;
  } catch {
    return undefined;
  }
}
const latin1Slice = hostSlice('latin1Slice');
const wideSlice = hostSlice('ucs2Slice');

/** Up to this many bytes, a loop is faster than a call into the host. */
const SHORT_TEXT = 4;

/** The number of arguments of one call; engines have a limit. */
const CHUNK = 8192;

/**
 * Recently read keys, by a hash of their bytes. A hit saves making the string and, more expensive, the engine's search
 * for its internalized copy. Only short keys are stored, so the table takes at most a few kilobytes.
 */
const knownKeys: (string | undefined)[] = new Array(512).fill(undefined);
const LONGEST_KNOWN_KEY = 24;

/** The error for bytes that are not an encoded value. */
export function bad(why: string): PlaitError {
  return new PlaitError('ERR_PLAIT_BAD_MESSAGE', `These bytes do not hold an encoded value: ${why}`);
}

/** Bytes to read, with readers for the format's small parts (value/tags.ts). */
export class ByteSource {
  /** The bytes. */
  readonly bytes: Uint8Array;
  /** The end of the part to read. */
  end: number;
  /** The position of the next byte. */
  position = 0;
  #view: DataView | undefined;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.end = bytes.length;
  }

  /** One byte. */
  byte(): number {
    if (this.position >= this.end) throw bad('they end too early.');
    return this.bytes[this.position++]!;
  }

  /** An unsigned whole number of at most 53 bits. */
  varint(): number {
    const first = this.byte();
    if (first < 0x80) return first;
    let result = first & 0x7f;
    for (let scale = 0x80; ; scale *= 0x80) {
      const next = this.byte();
      result += (next & 0x7f) * scale;
      if (result > Number.MAX_SAFE_INTEGER) throw bad('a number in them is too big.');
      if (next < 0x80) return result;
      if (scale > 2 ** 46) throw bad('a number in them is too long.');
    }
  }

  /** Skips `size` bytes, which must exist, and returns where they begin. */
  take(size: number): number {
    const start = this.position;
    if (size > this.end - start) throw bad('a length in them is more than what is left.');
    this.position = start + size;
    return start;
  }

  /** A count of items of at least one byte each. */
  count(): number {
    const count = this.varint();
    if (count > this.end - this.position) throw bad('a count in them is more than what is left.');
    return count;
  }

  #numbers(): DataView {
    if (this.#view === undefined) {
      const { buffer, byteOffset, byteLength } = this.bytes;
      this.#view = new DataView(buffer, byteOffset, byteLength);
    }
    return this.#view;
  }

  /** A double. */
  double(): number {
    const at = this.take(8);
    return this.#numbers().getFloat64(at, true);
  }

  /** A signed 64-bit integer. */
  bigint64(): bigint {
    const at = this.take(8);
    return this.#numbers().getBigInt64(at, true);
  }

  /** A `text`. */
  text(): string {
    const header = this.varint();
    const length = Math.floor(header / 2);
    return header % 2 === 0 ? this.latin1(length) : this.#wideText(length);
  }

  /** A Latin-1 string of `length` bytes. */
  latin1(length: number): string {
    const bytes = this.bytes;
    const start = this.take(length);
    if (length <= SHORT_TEXT) {
      let text = '';
      for (let at = start; at < start + length; at++) text += String.fromCharCode(bytes[at]!);
      return text;
    }
    if (latin1Slice !== undefined) return latin1Slice.call(bytes, start, start + length);
    return joinUnits(bytes.subarray(start, start + length));
  }

  #wideText(length: number): string {
    const bytes = this.bytes;
    const start = this.take(length * 2);
    if (wideSlice !== undefined) return wideSlice.call(bytes, start, start + length * 2);
    const units = new Uint16Array(length);
    for (let index = 0; index < length; index++) {
      units[index] = bytes[start + index * 2]! | (bytes[start + index * 2 + 1]! << 8);
    }
    return joinUnits(units);
  }

  /** A bigint of any size. */
  bigint(): bigint {
    const header = this.varint();
    const size = Math.floor(header / 2);
    const start = this.take(size);
    let hex = '';
    for (let at = start + size - 1; at >= start; at--) hex += this.bytes[at]!.toString(16).padStart(2, '0');
    const magnitude = BigInt(`0x${hex || '0'}`);
    return header % 2 === 0 ? magnitude : -magnitude;
  }

  /** The `text` of a key, from the table of known keys if it contains the key. */
  newKey(): string {
    const bytes = this.bytes;
    const start = this.position;
    const length = this.byte() >>> 1;
    // Short Latin-1 keys with one header byte use the table; all others are read as any text.
    if ((bytes[start]! & 0x81) !== 0 || length > LONGEST_KNOWN_KEY || length === 0) {
      this.position = start;
      return this.text();
    }
    const first = this.take(length);
    const last = first + length - 1;
    const hash = length + bytes[first]! * 5 + bytes[last]! * 31 + bytes[(first + last) >>> 1]! * 113;
    const known = knownKeys[hash & 511];
    if (known !== undefined && known.length === length) {
      let index = 0;
      while (index < length && known.charCodeAt(index) === bytes[first + index]) index++;
      if (index === length) return known;
    }
    this.position = first;
    const key = this.latin1(length);
    knownKeys[hash & 511] = key;
    return key;
  }
}

function joinUnits(units: Uint8Array | Uint16Array): string {
  let text = '';
  for (let start = 0; start < units.length; start += CHUNK) {
    // `apply` takes any array-like of numbers, though its type asks for an array.
    text += String.fromCharCode.apply(null, units.subarray(start, start + CHUNK) as unknown as number[]);
  }
  return text;
}
