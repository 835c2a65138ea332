/**
 * The form in which a value travels between threads: three words of a task (kind, low, high) and, for most kinds,
 * bytes.
 *
 * Small values (undefined, null, booleans, numbers) need only the words. Strings and bytes are copied unchanged. All
 * other values are encoded by the value codec. The receiver gets private memory, as with structured cloning.
 *
 * Invariant: prepare() only reads. fill() writes exactly the `size` bytes that prepare() announced, to a place that no
 * other thread reads yet.
 */

import { PlaitError } from '../core/errors.ts';
import { nodeBuffer } from '../core/host-buffer.ts';
import type { Space } from '../core/space.ts';
import { claimOwnership } from '../heap/owned.ts';
import { isSharedElsewhere } from './buffer-state.ts';
import { copyBytes, privateCopy } from './copy.ts';
import type { Root } from './kinds.ts';
import { readValue } from './reader.ts';
import type { UncopiedPart } from './sink.ts';
import { ValueWriter } from './writer.ts';

/** The meaning of the words; part of the shared layout (docs/internals/memory-layout.md). */
export const Kind = {
  undefined: 0,
  null: 1,
  false: 2,
  true: 3,
  /** low: a 32-bit integer */
  int32: 4,
  /** low, high: a double's halves */
  double: 5,
  /** bytes: one character each, U+0000 to U+00FF */
  latin1: 6,
  /** bytes: UTF-16 code units, little-endian */
  utf16: 7,
  /** bytes: the contents of a Uint8Array */
  bytes: 8,
  /** bytes: an encoded value (value/tags.ts) */
  graph: 9,
  /** bytes: the contents of a Uint8Array, which the receiver reads in place */
  lentBytes: 10,
  /** low, high: a block, and how many of its bytes are in use; the receiver owns it */
  givenBytes: 11,
} as const;

const NONE: readonly UncopiedPart[] = [];

const NOT_LATIN1 = /[^\0-\xff]/;
/** Below this many characters, a loop is faster than a call into the host. */
const SHORT_STRING = 48;
/** The number of arguments for String.fromCharCode that fit on any stack. */
const CHUNK = 8192;

const double = new Float64Array(1);
const halves = new Uint32Array(double.buffer);

/** A getter of the built-in class, which no property of the view or of its class can replace. */
function viewGetter<T>(key: 'buffer' | 'byteOffset' | 'length'): (view: Uint8Array) => T {
  const get = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), key)!.get!;
  return (view) => get.call(view);
}
const bufferOf = viewGetter<ArrayBufferLike>('buffer');
const offsetOf = viewGetter<number>('byteOffset');
const lengthOf = viewGetter<number>('length');

/**
 * The same bytes as a plain view: reading it runs no user code, and it does not grow with its memory. Undefined if the
 * bytes cannot be sent; then the value's writer reports why. `own`: shared memory whose bytes can be sent.
 */
function fixedBytes(view: Uint8Array, own: ArrayBufferLike): Uint8Array | undefined {
  try {
    const buffer = bufferOf(view);
    if (buffer !== own && isSharedElsewhere(buffer)) return undefined;
    return new Uint8Array(buffer, offsetOf(view), lengthOf(view));
  } catch {
    return undefined;
  }
}

/**
 * One thread's encoder and decoder of values. Between prepare() and fill(), no other code may use it. During each of
 * them, user code may.
 */
export class Transport {
  /** The words of the last prepared value. */
  kind = 0;
  low = 0;
  high = 0;

  readonly #space: Space;
  readonly #writer: ValueWriter = new ValueWriter();
  #text = '';
  #bytes: Uint8Array | undefined;
  #uncopied: readonly UncopiedPart[] = NONE;

  constructor(space: Space) {
    this.#space = space;
  }

  /**
   * Reads a value. Returns how many bytes fill() needs, or -1 if the words `kind`, `low` and `high` suffice.
   * With `lend`, the receiver of a Uint8Array gets a view instead of a copy.
   *
   * @throws {PlaitError} ERR_PLAIT_CANNOT_SEND, naming the part of `root` that cannot be sent
   */
  prepare(value: unknown, root: Root, lend = false): number {
    this.low = 0;
    this.high = 0;
    switch (typeof value) {
      case 'undefined':
        this.kind = Kind.undefined;
        return -1;
      case 'boolean':
        this.kind = value ? Kind.true : Kind.false;
        return -1;
      case 'number':
        return this.#prepareNumber(value);
      case 'string':
        this.#text = value;
        this.kind = NOT_LATIN1.test(value) ? Kind.utf16 : Kind.latin1;
        return this.kind === Kind.latin1 ? value.length : value.length * 2;
      default:
    }
    if (value === null) {
      this.kind = Kind.null;
      return -1;
    }
    const own =
      ArrayBuffer.isView(value) && value instanceof Uint8Array ? fixedBytes(value, this.#space.u8.buffer) : undefined;
    // Writing calls the value's getters, which may call this method again: nothing is stored before it has returned.
    const uncopied: UncopiedPart[] = [];
    const bytes = own ?? this.#writer.write(value, root, uncopied);
    if (own === undefined) this.kind = Kind.graph;
    else this.kind = lend ? Kind.lentBytes : Kind.bytes;
    this.low = 0;
    this.high = 0;
    this.#bytes = bytes;
    this.#uncopied = uncopied;
    let size = bytes.length;
    for (const { source } of uncopied) size += source.length;
    return size;
  }

  /**
   * As prepare(), for bytes whose block is passed on: there is nothing to fill. `kind` says whether the task borrows
   * them while it runs (`lentBytes`), or the receiver owns them from then on (`givenBytes`).
   */
  prepareGiven(bytes: Uint8Array, block: number, kind: number): number {
    this.kind = kind;
    this.low = block;
    this.high = lengthOf(bytes);
    return -1;
  }

  #prepareNumber(value: number): number {
    const integer = value | 0;
    if (integer === value && !Object.is(value, -0)) {
      this.kind = Kind.int32;
      this.low = integer;
    } else {
      this.kind = Kind.double;
      double[0] = value;
      this.low = halves[0]!;
      this.high = halves[1]!;
    }
    return -1;
  }

  /** Writes the `size` bytes of the prepared value, and releases the value. */
  fill(ref: number, size: number): void {
    const space = this.#space;
    space.cover(ref + size);
    this.low = ref;
    this.high = size;
    if (this.kind === Kind.latin1 || this.kind === Kind.utf16) {
      this.#fillText(ref, size);
      this.#text = '';
    } else if (this.#bytes !== undefined) {
      this.#fillBytes(ref, this.#bytes);
      this.#bytes = undefined;
      this.#uncopied = NONE;
    }
  }

  #fillBytes(ref: number, bytes: Uint8Array): void {
    const { u8 } = this.#space;
    let from = 0;
    let to = ref;
    for (const { at, source } of this.#uncopied) {
      u8.set(bytes.subarray(from, at), to);
      to += at - from;
      copyBytes(u8, to, source);
      to += source.length;
      from = at;
    }
    copyBytes(u8, to, from === 0 ? bytes : bytes.subarray(from));
  }

  #fillText(ref: number, size: number): void {
    const { u8 } = this.#space;
    const text = this.#text;
    const wide = this.kind === Kind.utf16;
    if (nodeBuffer !== undefined && size > SHORT_STRING) {
      const target = nodeBuffer.from(u8.buffer, ref, size);
      if (wide) target.ucs2Write(text, 0, size);
      else target.latin1Write(text, 0, size);
      return;
    }
    for (let i = 0, at = ref; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      u8[at++] = unit & 255;
      if (wide) u8[at++] = unit >>> 8;
    }
  }

  /** The value that three words describe. pre: no other thread writes its bytes during the call. */
  read(kind: number, low: number, high: number): unknown {
    switch (kind) {
      case Kind.undefined:
        return undefined;
      case Kind.null:
        return null;
      case Kind.false:
        return false;
      case Kind.true:
        return true;
      case Kind.int32:
        return low | 0;
      case Kind.double:
        halves[0] = low;
        halves[1] = high;
        return double[0];
      default:
    }
    const ref = low >>> 0;
    const size = high >>> 0;
    this.#space.cover(ref + size);
    switch (kind) {
      case Kind.latin1:
      case Kind.utf16:
        return this.#readText(ref, size, kind === Kind.utf16);
      case Kind.bytes:
        return privateCopy(this.#space.u8.subarray(ref, ref + size));
      case Kind.lentBytes:
        return this.#space.u8.subarray(ref, ref + size);
      case Kind.givenBytes:
        return claimOwnership(this.#space, ref, size);
      case Kind.graph:
        return readValue(this.#space.u8.subarray(ref, ref + size));
      default:
        throw new PlaitError('ERR_PLAIT_BAD_MESSAGE', `a task holds a value of the unknown kind ${kind}`);
    }
  }

  #readText(ref: number, size: number, wide: boolean): string {
    const { u8 } = this.#space;
    if (nodeBuffer !== undefined && size > SHORT_STRING) {
      const source = nodeBuffer.from(u8.buffer, ref, size);
      return wide ? source.ucs2Slice(0, size) : source.latin1Slice(0, size);
    }
    const units = new Uint16Array(wide ? size / 2 : size);
    for (let i = 0, at = ref; i < units.length; i++) units[i] = wide ? u8[at++]! | (u8[at++]! << 8) : u8[at++]!;
    let text = '';
    for (let i = 0; i < units.length; i += CHUNK) {
      text += String.fromCharCode(...units.subarray(i, i + CHUNK));
    }
    return text;
  }
}
