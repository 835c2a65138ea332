/**
 * Decodes the messages of a {@link ValueWriter}.
 *
 * Invariant: the bytes are untrusted. Every length is compared with the remaining bytes before anything of that size is
 * allocated, nesting is bounded by {@link INLINE_DEPTH}, and every loop consumes bytes. Only the new value is written
 * to. It shares no memory with the bytes.
 */

import { PlaitError } from '../core/errors.ts';
import { privateCopy } from './copy.ts';
import { makeDomError, makeError, setErrorProperty } from './error-shape.ts';
import { ByteSource, bad } from './source.ts';
import {
  ERROR_NAMES,
  FORMAT_VERSION,
  HAS_BUFFERS,
  INLINE_DEPTH,
  paddingAt,
  SHORT_STRING,
  SMALL_INTEGER,
  TAG,
  VIEW_NAMES,
} from './tags.ts';

/** A container whose body is still to be read. */
interface PendingBody {
  readonly tag: number;
  readonly target: object;
  readonly className: string;
}

/** A buffer of the message, and its position in the sender's buffer. */
interface BufferPart {
  readonly buffer: ArrayBuffer;
  readonly start: number;
}

type ViewClass = new (buffer: ArrayBuffer, byteOffset: number, length: number) => ArrayBufferView;

/** From this length on, an array is allocated at its full length instead of growing. */
const LONG_ARRAY = 1024;

class Decoder extends ByteSource {
  #depth = 0;
  readonly #keys: string[] = [];
  /** Keys whose assignment would not create an own property. */
  #inheritedKeys: Set<string> | undefined;
  readonly #objects: object[] = [];
  readonly #pending: PendingBody[] = [];
  #buffers: BufferPart[] = [];

  decode(): unknown {
    if (this.byte() !== FORMAT_VERSION) throw bad('they begin with another format version.');
    const flags = this.byte();
    if (flags === HAS_BUFFERS) this.#bufferTable();
    else if (flags !== 0) throw bad('they have unknown flags.');
    const root = this.#value();
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      this.#depth = 1;
      this.#body(next.tag, next.target, next.className);
    }
    if (this.position !== this.end) throw bad('there are more of them than the value needs.');
    return root;
  }

  #value(): unknown {
    const tag = this.byte();
    if (tag >= SMALL_INTEGER) return tag - SMALL_INTEGER;
    if (tag >= SHORT_STRING) return this.latin1(tag - SHORT_STRING);
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
        const zigzag = this.varint();
        return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
      }
      case TAG.Double:
        return this.double();
      case TAG.Text:
        return this.text();
      case TAG.BigInt64:
        return this.bigint64();
      case TAG.BigInt:
        return this.bigint();
      case TAG.Reference: {
        const object = this.#objects[this.varint()];
        if (object === undefined) throw bad('they refer to an object that is not in them.');
        return object;
      }
      case TAG.Later:
        return this.#later();
      case TAG.ArrayBuffer:
        return this.#buffer().buffer;
      case TAG.Date:
        return this.#register(new Date(this.double()));
      case TAG.RegExp: {
        const source = this.text();
        return this.#register(new RegExp(source, this.text()));
      }
      case TAG.Boxed: {
        // Boxes are no containers, so the limit of depth does not apply to them.
        if (this.bytes[this.position] === TAG.Boxed) throw bad('a box in them holds a box.');
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
    const tag = this.byte();
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
        const index = this.byte();
        className = ERROR_NAMES[index] ?? '';
        target = makeError(index);
        break;
      }
      case TAG.DomError: {
        className = 'DOMException';
        const message = this.text();
        target = makeDomError(message, this.text());
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
        for (let left = this.count(); left > 0; left--) {
          const key = this.#value();
          (target as Map<unknown, unknown>).set(key, this.#value());
        }
        return;
      }
      case TAG.Set:
        for (let left = this.count(); left > 0; left--) (target as Set<unknown>).add(this.#value());
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
    const token = this.varint();
    if (token === 0) return undefined;
    if (token > 1) {
      const key = this.#keys[token - 2];
      if (key === undefined) throw bad('they refer to a key that is not in them.');
      return key;
    }
    const key = this.newKey();
    this.#keys.push(key);
    // For example '__proto__', or an accessor or frozen property of Object.prototype.
    if (key in Object.prototype) {
      this.#inheritedKeys ??= new Set();
      this.#inheritedKeys.add(key);
    }
    return key;
  }

  #elements(array: unknown[]): void {
    const count = this.count();
    for (let index = 0; index < count; index++) {
      const tag = this.bytes[this.position];
      if (tag === TAG.Double) {
        // Doubles are read here and not in `value`, so that the engine need not box them.
        this.position++;
        array.push(this.double());
      } else if (tag === TAG.Hole) {
        this.position++;
        array.length = index + 1;
      } else {
        array.push(this.#value());
      }
    }
  }

  #stretch(array: unknown[]): void {
    const length = this.varint();
    if (length > 0xffffffff) throw bad('an array in them is too long.');
    // Writing the last element first makes the engine store the array sparsely, so the length allocates nothing.
    if (length > LONG_ARRAY) array[0xfffffffe] = undefined;
    array.length = length;
  }

  #bufferTable(): void {
    const resume = this.position;
    const whole = this.end;
    if (whole < resume + 8) throw bad('they end too early.');
    this.position = whole - 8;
    const start = this.double();
    if (!(Number.isInteger(start) && start >= resume && start <= whole - 8)) throw bad('the table of buffers is lost.');
    this.position = start;
    this.end = whole - 8;
    for (let left = this.count(); left > 0; left--) {
      const origin = this.varint();
      const size = this.varint();
      this.take(paddingAt(this.position));
      const at = this.take(size);
      const { buffer } = privateCopy(this.bytes.subarray(at, at + size));
      this.#buffers.push({ buffer, start: origin });
    }
    if (this.position !== this.end) throw bad('the table of buffers is too long.');
    this.position = resume;
    this.end = start;
  }

  #buffer(): BufferPart {
    const part = this.#buffers[this.varint()];
    if (part === undefined) throw bad('they refer to a buffer that is not in them.');
    return part;
  }

  #view(): ArrayBufferView {
    const name = VIEW_NAMES[this.byte()];
    const make = name === undefined ? undefined : (Reflect.get(globalThis, name) as ViewClass | undefined);
    if (make === undefined) throw bad('they have a view of an unknown class.');
    const { buffer, start } = this.#buffer();
    const offset = this.varint() - start;
    return this.#register(new make(buffer, offset, this.varint()));
  }
}

function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
}

/**
 * Decodes one message of a {@link ValueWriter}.
 *
 * `bytes` may be a view on shared memory if no other thread writes there during the call. The result is in new private
 * memory.
 *
 * @throws PlaitError ERR_PLAIT_BAD_MESSAGE if the bytes are not such a message.
 */
export function readValue(bytes: Uint8Array): unknown {
  try {
    return new Decoder(bytes).decode();
  } catch (error) {
    if (error instanceof PlaitError) throw error;
    // The engine has refused a pattern, date or size, which came from the bytes.
    throw new PlaitError('ERR_PLAIT_BAD_MESSAGE', 'These bytes do not hold an encoded value.', { cause: error });
  }
}
