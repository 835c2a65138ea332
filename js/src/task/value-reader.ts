/**
 * Decodes what a {@link ValueWriter} wrote.
 *
 * Invariant: the bytes are believed in nothing. Every length is compared with the bytes that are left before anything
 * of that size is made, nesting is bounded by {@link INLINE_DEPTH}, every loop consumes bytes, and nothing outside the
 * value that is being made is ever written to. What is returned shares no memory with the bytes.
 */

import { PlaitError } from '../core/errors.ts';
import { makeDomError, makeError, setErrorProperty } from './error-shape.ts';
import {
  ERROR_NAMES,
  FORMAT_VERSION,
  HAS_BUFFERS,
  INLINE_DEPTH,
  SHORT_STRING,
  SMALL_INTEGER,
  TAG,
  VIEW_NAMES,
} from './value-tags.ts';

/** A container whose body is still to come. */
interface PendingBody {
  readonly tag: number;
  readonly target: object;
  readonly className: string;
}

/** A buffer of the message, and which part of the sender's it is. */
interface BufferPart {
  readonly buffer: ArrayBuffer;
  readonly start: number;
}

type ViewClass = new (buffer: ArrayBuffer, byteOffset: number, length: number) => ArrayBufferView;

/** The part of Node's Buffer that copies strings; absent elsewhere. */
interface StringCopierClass {
  from(buffer: ArrayBufferLike, offset: number, length: number): { toString(encoding: 'latin1' | 'utf16le'): string };
}
const hostBuffer = Reflect.get(globalThis, 'Buffer') as StringCopierClass | undefined;

/** Up to here a loop over the bytes beats a call into the host. */
const SHORT_TEXT = 24;

/** How many arguments one call is given; engines have a limit. */
const CHUNK = 8192;

/** A length from which an array is not made by growing it. */
const LONG_ARRAY = 1024;

/**
 * Keys seen before, by a hash of their bytes. A hit saves making the string and, what costs more, the engine's search
 * for the one copy of it that objects use. Only short keys are kept, so it can never hold more than a few kilobytes.
 */
const knownKeys: (string | undefined)[] = new Array(512).fill(undefined);
const LONGEST_KNOWN_KEY = 24;

function bad(why: string): PlaitError {
  return new PlaitError('ERR_PLAIT_BAD_MESSAGE', `These bytes do not hold an encoded value: ${why}`);
}

class Decoder {
  readonly #bytes: Uint8Array;
  #end: number;
  #position = 0;
  #depth = 0;
  #doubles: DataView | undefined;
  readonly #keys: string[] = [];
  /** Keys that would not simply become own properties if they were assigned. */
  #inheritedKeys: Set<string> | undefined;
  readonly #objects: object[] = [];
  readonly #pending: PendingBody[] = [];
  #buffers: BufferPart[] = [];

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#end = bytes.length;
  }

  decode(): unknown {
    if (this.#byte() !== FORMAT_VERSION) throw bad('they begin with another format version.');
    const flags = this.#byte();
    if (flags === HAS_BUFFERS) this.#bufferTable();
    else if (flags !== 0) throw bad('they have unknown flags.');
    const root = this.#value();
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      this.#depth = 1;
      this.#body(next.tag, next.target, next.className);
    }
    if (this.#position !== this.#end) throw bad('there are more of them than the value needs.');
    return root;
  }

  #byte(): number {
    if (this.#position >= this.#end) throw bad('they end too early.');
    return this.#bytes[this.#position++]!;
  }

  #varint(): number {
    const first = this.#byte();
    if (first < 0x80) return first;
    let result = first & 0x7f;
    for (let scale = 0x80; ; scale *= 0x80) {
      const next = this.#byte();
      result += (next & 0x7f) * scale;
      if (result > Number.MAX_SAFE_INTEGER) throw bad('a number in them is too big.');
      if (next < 0x80) return result;
      if (scale > 2 ** 46) throw bad('a number in them is too long.');
    }
  }

  /** Moves over `size` bytes, which must be there, and returns where they begin. */
  #take(size: number): number {
    const start = this.#position;
    if (size > this.#end - start) throw bad('a length in them is more than what is left.');
    this.#position = start + size;
    return start;
  }

  /** A number of things of at least one byte each. */
  #count(): number {
    const count = this.#varint();
    if (count > this.#end - this.#position) throw bad('a count in them is more than what is left.');
    return count;
  }

  #eight(): { view: DataView; at: number } {
    const at = this.#take(8);
    const { buffer, byteOffset, byteLength } = this.#bytes;
    this.#doubles ??= new DataView(buffer, byteOffset, byteLength);
    return { view: this.#doubles, at };
  }

  #double(): number {
    const { view, at } = this.#eight();
    return view.getFloat64(at, true);
  }

  #value(): unknown {
    const tag = this.#byte();
    if (tag >= SMALL_INTEGER) return tag - SMALL_INTEGER;
    if (tag >= SHORT_STRING) return this.#latin1(tag - SHORT_STRING);
    if (tag >= TAG.Object) return this.#container(tag);
    return this.#leaf(tag);
  }

  #leaf(tag: number): unknown {
    switch (tag) {
      case TAG.Undefined:
        return undefined;
      case TAG.Null:
        return null;
      case TAG.False:
        return false;
      case TAG.True:
        return true;
      case TAG.Integer: {
        const zigzag = this.#varint();
        return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
      }
      case TAG.Double:
        return this.#double();
      case TAG.Text:
        return this.#text();
      case TAG.BigInt64: {
        const { view, at } = this.#eight();
        return view.getBigInt64(at, true);
      }
      case TAG.BigInt:
        return this.#bigint();
      case TAG.Reference: {
        const object = this.#objects[this.#varint()];
        if (object === undefined) throw bad('they refer to an object that is not in them.');
        return object;
      }
      case TAG.Later:
        return this.#later();
      case TAG.ArrayBuffer:
        return this.#buffer().buffer;
      case TAG.Date:
        return this.#register(new Date(this.#double()));
      case TAG.RegExp: {
        const source = this.#text();
        return this.#register(new RegExp(source, this.#text()));
      }
      case TAG.Boxed: {
        const inner = this.#value();
        if (inner === null || inner === undefined || typeof inner === 'object') throw bad('a box in them is empty.');
        return this.#register(Object(inner) as object);
      }
      case TAG.View:
        return this.#view();
      default:
        throw bad('they have an unknown tag.');
    }
  }

  #register<T extends object>(object: T): T {
    this.#objects.push(object);
    return object;
  }

  #container(tag: number): object {
    if (tag === TAG.Object) {
      const object = this.#register({});
      this.#enter();
      this.#properties(object);
      this.#depth--;
      return object;
    }
    const { target, className } = this.#head(tag);
    this.#enter();
    this.#body(tag, target, className);
    this.#depth--;
    return target;
  }

  #enter(): void {
    if (this.#depth >= INLINE_DEPTH) throw bad('they nest too deep.');
    this.#depth++;
  }

  #later(): object {
    const tag = this.#byte();
    const head = this.#head(tag);
    this.#pending.push({ tag, ...head });
    return head.target;
  }

  /** Makes an empty container. */
  #head(tag: number): { target: object; className: string } {
    let className = '';
    let target: object | undefined;
    switch (tag) {
      case TAG.Object:
        target = {};
        break;
      case TAG.Array:
      case TAG.ArrayWithExtras:
      case TAG.SparseArray:
        target = [];
        break;
      case TAG.Map:
        target = new Map();
        break;
      case TAG.Set:
        target = new Set();
        break;
      case TAG.Error: {
        const index = this.#byte();
        className = ERROR_NAMES[index] ?? '';
        target = makeError(index);
        break;
      }
      case TAG.DomError: {
        className = 'DOMException';
        const message = this.#text();
        target = makeDomError(message, this.#text());
        break;
      }
    }
    if (target === undefined) throw bad('they have an unknown tag.');
    return { target: this.#register(target), className };
  }

  #body(tag: number, target: object, className: string): void {
    switch (tag) {
      case TAG.Object:
        this.#properties(target);
        return;
      case TAG.Array:
        this.#elements(target as unknown[]);
        return;
      case TAG.ArrayWithExtras:
        this.#elements(target as unknown[]);
        this.#definedProperties(target);
        return;
      case TAG.SparseArray:
        this.#stretch(target as unknown[]);
        this.#definedProperties(target);
        return;
      case TAG.Map: {
        for (let left = this.#count(); left > 0; left--) {
          const key = this.#value();
          (target as Map<unknown, unknown>).set(key, this.#value());
        }
        return;
      }
      case TAG.Set:
        for (let left = this.#count(); left > 0; left--) (target as Set<unknown>).add(this.#value());
        return;
      default:
        for (let key = this.#key(); key !== undefined; key = this.#key()) {
          setErrorProperty(target as Error, key, this.#value(), className);
        }
    }
  }

  #properties(target: object): void {
    for (let key = this.#key(); key !== undefined; key = this.#key()) {
      const value = this.#value();
      if (this.#inheritedKeys?.has(key)) define(target, key, value);
      else (target as Record<string, unknown>)[key] = value;
    }
  }

  #definedProperties(target: object): void {
    for (let key = this.#key(); key !== undefined; key = this.#key()) define(target, key, this.#value());
  }

  /** The next key, or undefined at the end of the properties. */
  #key(): string | undefined {
    const token = this.#varint();
    if (token === 0) return undefined;
    if (token > 1) {
      const key = this.#keys[token - 2];
      if (key === undefined) throw bad('they refer to a key that is not in them.');
      return key;
    }
    const key = this.#newKey();
    this.#keys.push(key);
    // '__proto__' is one of these, and an accessor or a frozen property of Object.prototype would get in the way too.
    if (key in Object.prototype) {
      this.#inheritedKeys ??= new Set();
      this.#inheritedKeys.add(key);
    }
    return key;
  }

  #newKey(): string {
    const bytes = this.#bytes;
    const start = this.#position;
    const length = this.#byte() >>> 1;
    // One header byte, narrow, and short: anything else goes the long way.
    if ((bytes[start]! & 0x81) !== 0 || length > LONGEST_KNOWN_KEY || length === 0) {
      this.#position = start;
      return this.#text();
    }
    const first = this.#take(length);
    const last = first + length - 1;
    const hash = length + bytes[first]! * 5 + bytes[last]! * 31 + bytes[(first + last) >>> 1]! * 113;
    const known = knownKeys[hash & 511];
    if (known !== undefined && known.length === length) {
      let index = 0;
      while (index < length && known.charCodeAt(index) === bytes[first + index]) index++;
      if (index === length) return known;
    }
    this.#position = first;
    const key = this.#latin1(length);
    knownKeys[hash & 511] = key;
    return key;
  }

  #elements(array: unknown[]): void {
    const count = this.#count();
    for (let index = 0; index < count; index++) {
      if (this.#bytes[this.#position] === TAG.Hole) {
        this.#position++;
        array.length = index + 1;
      } else {
        array.push(this.#value());
      }
    }
  }

  #stretch(array: unknown[]): void {
    const length = this.#varint();
    if (length > 0xffffffff) throw bad('an array in them is too long.');
    // An element at the far end first makes the engine keep the array by what it has, not by its length.
    if (length > LONG_ARRAY) array[0xfffffffe] = undefined;
    array.length = length;
  }

  #text(): string {
    const header = this.#varint();
    const length = Math.floor(header / 2);
    return header % 2 === 0 ? this.#latin1(length) : this.#wideText(length);
  }

  #latin1(length: number): string {
    const bytes = this.#bytes;
    const start = this.#take(length);
    if (length <= SHORT_TEXT) {
      let text = '';
      for (let at = start; at < start + length; at++) text += String.fromCharCode(bytes[at]!);
      return text;
    }
    if (hostBuffer !== undefined) {
      return hostBuffer.from(bytes.buffer, bytes.byteOffset + start, length).toString('latin1');
    }
    return joinUnits(bytes.subarray(start, start + length));
  }

  #wideText(length: number): string {
    const bytes = this.#bytes;
    const start = this.#take(length * 2);
    if (hostBuffer !== undefined && length > SHORT_TEXT) {
      return hostBuffer.from(bytes.buffer, bytes.byteOffset + start, length * 2).toString('utf16le');
    }
    const units = new Uint16Array(length);
    for (let index = 0; index < length; index++) {
      units[index] = bytes[start + index * 2]! | (bytes[start + index * 2 + 1]! << 8);
    }
    return joinUnits(units);
  }

  #bigint(): bigint {
    const header = this.#varint();
    const size = Math.floor(header / 2);
    const start = this.#take(size);
    let hex = '';
    for (let at = start + size - 1; at >= start; at--) hex += this.#bytes[at]!.toString(16).padStart(2, '0');
    const magnitude = BigInt(`0x${hex || '0'}`);
    return header % 2 === 0 ? magnitude : -magnitude;
  }

  #bufferTable(): void {
    const resume = this.#position;
    const whole = this.#end;
    if (whole < resume + 8) throw bad('they end too early.');
    this.#position = whole - 8;
    const start = this.#double();
    if (!(Number.isInteger(start) && start >= resume && start <= whole - 8)) throw bad('the table of buffers is lost.');
    this.#position = start;
    this.#end = whole - 8;
    for (let left = this.#count(); left > 0; left--) {
      const origin = this.#varint();
      const size = this.#varint();
      const at = this.#take(size);
      const copy = new Uint8Array(size);
      copy.set(this.#bytes.subarray(at, at + size));
      this.#buffers.push({ buffer: copy.buffer, start: origin });
    }
    if (this.#position !== this.#end) throw bad('the table of buffers is too long.');
    this.#position = resume;
    this.#end = start;
  }

  #buffer(): BufferPart {
    const part = this.#buffers[this.#varint()];
    if (part === undefined) throw bad('they refer to a buffer that is not in them.');
    return part;
  }

  #view(): ArrayBufferView {
    const name = VIEW_NAMES[this.#byte()];
    const make = name === undefined ? undefined : (Reflect.get(globalThis, name) as ViewClass | undefined);
    if (make === undefined) throw bad('they have a view of an unknown class.');
    const { buffer, start } = this.#buffer();
    const offset = this.#varint() - start;
    return this.#register(new make(buffer, offset, this.#varint()));
  }
}

function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}

function joinUnits(units: Uint8Array | Uint16Array): string {
  let text = '';
  for (let start = 0; start < units.length; start += CHUNK) {
    // `apply` takes any array-like of numbers, though its type asks for an array.
    text += String.fromCharCode.apply(null, units.subarray(start, start + CHUNK) as unknown as number[]);
  }
  return text;
}

/**
 * Decodes one message of a {@link ValueWriter}.
 *
 * `bytes` may be a view on shared memory if no other thread writes there meanwhile. Everything returned is private
 * memory, made anew.
 *
 * @throws PlaitError ERR_PLAIT_BAD_MESSAGE if the bytes are not such a message.
 */
export function readValue(bytes: Uint8Array): unknown {
  try {
    return new Decoder(bytes).decode();
  } catch (error) {
    if (error instanceof PlaitError) throw error;
    // The engine has refused a pattern, a date, a size: whatever it was, it came from the bytes.
    throw new PlaitError('ERR_PLAIT_BAD_MESSAGE', 'These bytes do not hold an encoded value.', { cause: error });
  }
}
