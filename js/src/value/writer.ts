/**
 * Encodes a value as bytes that {@link readValue} on another thread turns into an equal value.
 *
 * The semantics are those of the HTML standard's StructuredSerialize, except:
 *
 * - An error keeps its name, cause, and own enumerable properties. A property that cannot be sent is omitted. Such a
 *   cause, or member of `errors`, is replaced by a description, so that an error is never lost.
 * - If an ArrayBuffer is not itself part of the value, only the span that its views cover is sent. So a Node Buffer in
 *   a shared slab sends only its own bytes.
 * - A view on the heap's memory is sent as a copy on an ArrayBuffer. A view on any other SharedArrayBuffer is refused,
 *   because a copy would silently not be shared. A resizable ArrayBuffer arrives with a fixed length, and so does a
 *   view that tracks its length.
 * - An object with the prototype of a Map, a Date, ... that is none (a Proxy, for example) is refused.
 * - Blobs, ports, streams and other objects of the host are refused; value/classes.ts says how they are recognized.
 * - Getters run in key order, but those of containers beyond a depth of {@link INLINE_DEPTH} run after all others. An
 *   accessor among the properties of an array may be read twice.
 *
 * Invariant: if a getter throws, or a value cannot be sent, the writer's state is restored. No reference to a part of a
 * value outlives the call that received the value. The path to a part that cannot be sent is built while the throw
 * unwinds, so a successful write does not pay for it.
 */

import { PlaitError } from '../core/errors.ts';
import { arrayTag, isIndex } from './arrays.ts';
import { BufferSpans } from './buffers.ts';
import { describeError, describeUnsendable, type ErrorShape } from './error-shape.ts';
import {
  entryStep,
  kindOfPrototype,
  memberStep,
  propertyStep,
  type Root,
  Unsendable,
  unsendableObject,
  withStep,
} from './kinds.ts';
import { ByteSink, type UncopiedPart } from './sink.ts';
import {
  boxedValue,
  bufferSize,
  dateTime,
  mapEntries,
  patternParts,
  setMembers,
  viewExtent,
  viewName,
} from './slots.ts';
import {
  ELEMENT_SIZES,
  FORMAT_VERSION,
  HAS_BUFFERS,
  INLINE_DEPTH,
  SHORT_STRING,
  SMALL_INTEGER,
  TAG,
  VIEW_NAMES,
} from './tags.ts';

/** An AggregateError's `errors`: an Array in the message; a member that cannot be sent does not affect the others. */
const LENIENT_ARRAY = TAG.Array + 0x100;

/** Results of give() and transfer() are not sent as a part of a value: subject and advice of the error. */
const WHOLE_RESULT = [
  'such a mark',
  "give() and transfer() stand for the whole result of a task; for an input, there are the call's options of these names",
] as const;

/** A container whose body is still to be written. */
interface PendingBody {
  readonly tag: number;
  readonly target: object;
  /** Whether it is part of an error, and so is written as empty instead of failing. */
  readonly lenient: boolean;
}

class Encoder extends ByteSink {
  readonly #objects = new Map<object, number>();
  readonly #keys = new Map<string, number>();
  #buffers = new BufferSpans();
  readonly #pending: PendingBody[] = [];
  /** What to undo if a lenient attempt fails; used only during such an attempt. */
  readonly #undo: (object | string)[] = [];
  #attempts = 0;
  #depth = 0;

  encode(root: unknown, uncopied: UncopiedPart[] | undefined): Uint8Array {
    this.restart();
    this.uncopied = uncopied;
    this.byte(FORMAT_VERSION);
    this.byte(0);
    this.#value(root);
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) this.#pendingBody(next);
    if (this.#buffers.size > 0) {
      this.#buffers.write(this);
      this.bytes[1] = HAS_BUFFERS;
    }
    return this.bytes.subarray(0, this.position);
  }

  /** Releases every reference to the value. */
  forget(): void {
    this.uncopied = undefined;
    if (this.#objects.size > 0) this.#objects.clear();
    if (this.#keys.size > 0) this.#keys.clear();
    if (this.#buffers.size > 0) this.#buffers = new BufferSpans();
    this.#pending.length = 0;
    this.#undo.length = 0;
    this.#attempts = 0;
    this.#depth = 0;
  }

  #value(value: unknown): void {
    switch (typeof value) {
      case 'string':
        this.#string(value);
        return;
      case 'number':
        this.#number(value);
        return;
      case 'object':
        if (value === null) this.byte(TAG.Null);
        else this.#object(value);
        return;
      case 'boolean':
        this.byte(value ? TAG.True : TAG.False);
        return;
      case 'undefined':
        this.byte(TAG.Undefined);
        return;
      case 'bigint':
        if (BigInt.asIntN(64, value) === value) {
          this.byte(TAG.BigInt64);
          this.bigint64(value);
        } else {
          this.byte(TAG.BigInt);
          this.bigint(value);
        }
        return;
      case 'function':
        throw new Unsendable('a function', 'functions');
      default:
        throw new Unsendable('a symbol', 'symbols');
    }
  }

  #string(value: string): void {
    if (this.shortLatin1(value, SHORT_STRING + value.length)) return;
    this.byte(TAG.Text);
    this.text(value);
  }

  #number(value: number): void {
    if ((value | 0) !== value || Object.is(value, -0)) {
      this.byte(TAG.Double);
      this.double(value);
    } else if (value >= 0 && value < 0x100 - SMALL_INTEGER) {
      this.byte(SMALL_INTEGER + value);
    } else {
      this.byte(TAG.Integer);
      this.varint(value >= 0 ? value * 2 : -value * 2 - 1);
    }
  }

  #object(value: object): void {
    const number = this.#objects.get(value);
    if (number !== undefined) {
      this.byte(TAG.Reference);
      this.varint(number);
    } else if (Array.isArray(value)) {
      this.#container(arrayTag(value), value, value);
    } else {
      const prototype: object | null = Object.getPrototypeOf(value);
      if (prototype === Object.prototype || prototype === null) this.#container(TAG.Object, value, value);
      else if (ArrayBuffer.isView(value)) this.#view(value);
      else this.#instance(value, prototype);
    }
  }

  #instance(value: object, prototype: object): void {
    const { form, name, instead } = kindOfPrototype(prototype);
    if (form === 'plain') this.#container(TAG.Object, value, value);
    else if (form === 'error') this.#error(value, name);
    else if (form === 'host') throw unsendableObject(name, instead);
    else if (form === 'moved') throw new Unsendable('what give() or transfer() returns', ...WHOLE_RESULT);
    else this.#known(value, name);
  }

  /** An object of a built-in class. Its slots are read first, because that throws if it has none. */
  #known(value: object, name: string): void {
    switch (name) {
      case 'Map':
        this.#container(TAG.Map, value, mapEntries(value));
        return;
      case 'Set':
        this.#container(TAG.Set, value, setMembers(value));
        return;
      case 'ArrayBuffer': {
        const index = this.#buffers.add(value as ArrayBuffer, 0, bufferSize(value), 1);
        this.byte(TAG.ArrayBuffer);
        this.varint(index);
        return;
      }
      case 'Date': {
        const time = dateTime(value);
        this.#register(value);
        this.byte(TAG.Date);
        this.double(time);
        return;
      }
      case 'RegExp': {
        const { source, flags } = patternParts(value);
        this.#register(value);
        this.byte(TAG.RegExp);
        this.text(source);
        this.text(flags);
        return;
      }
      default: {
        const inner = boxedValue(value, name);
        this.#register(value);
        this.byte(TAG.Boxed);
        this.#value(inner);
      }
    }
  }

  #view(view: ArrayBufferView): void {
    const name = viewName(view);
    const kind = (VIEW_NAMES as readonly string[]).indexOf(name);
    if (kind < 0) throw unsendableObject(name);
    const { buffer, start, size } = viewExtent(view);
    const elementSize = ELEMENT_SIZES[kind]!;
    const index = this.#buffers.add(buffer, start, start + size, elementSize);
    this.#register(view);
    this.byte(TAG.View);
    this.byte(kind);
    this.varint(index);
    this.varint(start);
    this.varint(size / elementSize);
  }

  #register(value: object): void {
    this.#objects.set(value, this.#objects.size);
    if (this.#attempts > 0) this.#undo.push(value);
  }

  /** Writes a container's tag and body, or defers the body if it is too deep. `target`: the source of the body. */
  #container(tag: number, value: object, target: object): void {
    this.#register(value);
    const later = this.#depth >= INLINE_DEPTH;
    if (later) this.byte(TAG.Later);
    this.byte(tag);
    if (tag === TAG.Error) this.byte((target as ErrorShape).classIndex);
    if (tag === TAG.DomError) {
      this.text((target as ErrorShape).message);
      this.text((target as ErrorShape).name);
    }
    if (later) {
      this.#pending.push({ tag, target, lenient: this.#attempts > 0 });
      return;
    }
    this.#depth++;
    this.#body(tag, target);
    this.#depth--;
  }

  #pendingBody({ tag, target, lenient }: PendingBody): void {
    this.#depth = 1;
    if (!lenient) {
      try {
        this.#body(tag, target);
      } catch (error) {
        throw withStep(error, '.<deep inside>');
      }
    } else if (!this.#attempt(() => this.#body(tag, target))) {
      // Zero ends both forms of a body: no members, no properties.
      this.byte(0);
      if (tag === TAG.ArrayWithExtras || tag === TAG.SparseArray) this.byte(0);
    }
    this.#depth = 0;
  }

  #body(tag: number, target: object): void {
    switch (tag) {
      case TAG.Object:
        this.#properties(target, Object.keys(target));
        return;
      case TAG.Array:
        this.#elements(target as unknown[]);
        return;
      case TAG.ArrayWithExtras: {
        const array = target as unknown[];
        this.#elements(array);
        this.#properties(
          array,
          Object.keys(array).filter((key) => !isIndex(key)),
        );
        return;
      }
      case TAG.SparseArray:
        this.varint((target as unknown[]).length);
        this.#properties(target, Object.keys(target));
        return;
      case TAG.Map:
        this.varint((target as unknown[]).length / 2);
        this.#list(target as unknown[], entryStep);
        return;
      case TAG.Set:
        this.varint((target as unknown[]).length);
        this.#list(target as unknown[], memberStep);
        return;
      case LENIENT_ARRAY:
        this.#lenientElements(target as unknown[]);
        return;
      default:
        this.#errorProperties(target as ErrorShape);
    }
  }

  #properties(target: object, keys: readonly string[]): void {
    let key = '';
    try {
      for (key of keys) {
        const value: unknown = (target as Record<string, unknown>)[key];
        // A getter that ran before may have removed it.
        if (value === undefined && !Object.hasOwn(target, key)) continue;
        this.#key(key);
        this.#value(value);
      }
    } catch (error) {
      throw withStep(error, propertyStep(key));
    }
    this.byte(0);
  }

  #key(key: string): void {
    const number = this.#keys.get(key);
    if (number !== undefined) {
      this.varint(number + 2);
      return;
    }
    this.#keys.set(key, this.#keys.size);
    if (this.#attempts > 0) this.#undo.push(key);
    this.byte(1);
    this.text(key);
  }

  #elements(array: readonly unknown[]): void {
    const length = array.length;
    this.varint(length);
    let index = 0;
    try {
      for (; index < length; index++) {
        const value = array[index];
        if (value === undefined && !Object.hasOwn(array, index)) this.byte(TAG.Hole);
        else this.#value(value);
      }
    } catch (error) {
      throw withStep(error, `[${index}]`);
    }
  }

  /** The members of a Set, or the keys and values of a Map in turn. */
  #list(list: readonly unknown[], stepOf: (list: readonly unknown[], index: number) => string): void {
    let index = 0;
    try {
      for (; index < list.length; index++) this.#value(list[index]);
    } catch (error) {
      throw withStep(error, stepOf(list, index));
    }
  }

  #error(error: object, className: string): void {
    const shape = describeError(error, className);
    this.#container(shape.classIndex < 0 ? TAG.DomError : TAG.Error, error, shape);
  }

  #errorProperties(shape: ErrorShape): void {
    const isAggregate = shape.className === 'AggregateError';
    for (const { key, value } of shape.properties) {
      const sent = this.#attempt(() => {
        this.#key(key);
        if (isAggregate && key === 'errors' && Array.isArray(value) && !this.#objects.has(value)) {
          this.#container(LENIENT_ARRAY, value, value);
        } else {
          this.#value(value);
        }
      });
      if (!sent && key === 'cause') {
        this.#key(key);
        this.#string(describeUnsendable(value));
      }
    }
    this.byte(0);
  }

  #lenientElements(array: readonly unknown[]): void {
    const length = array.length;
    this.varint(length);
    for (let index = 0; index < length; index++) {
      if (!this.#attempt(() => this.#value(array[index]))) this.#string(describeUnsendable(array[index]));
    }
  }

  /** Runs `write`. If it throws, undoes all that it has written and noted, and returns false. */
  #attempt(write: () => void): boolean {
    const { position } = this;
    const depth = this.#depth;
    const undo = this.#undo.length;
    const pending = this.#pending.length;
    const buffers = this.#buffers.size;
    this.#attempts++;
    try {
      write();
      return true;
    } catch {
      this.position = position;
      this.#depth = depth;
      this.#pending.length = pending;
      for (const noted of this.#undo.splice(undo)) {
        if (typeof noted === 'string') this.#keys.delete(noted);
        else this.#objects.delete(noted);
      }
      this.#buffers.truncate(buffers);
      return false;
    } finally {
      this.#attempts--;
      if (this.#attempts === 0) this.#undo.length = 0;
    }
  }
}

/** Encodes values, one after another, in a scratch buffer of its own. */
export class ValueWriter {
  #idle: Encoder | undefined;

  /**
   * Encodes `value` and returns the bytes, valid until the next call.
   *
   * A getter inside the value may call this again: the inner call works in a buffer of its own. What a getter throws
   * is thrown from here unchanged.
   *
   * @param root The beginning of an error's path.
   * @param uncopied Receives the large parts of the message, in order, which the returned bytes then lack. They are
   *   the value's own memory, so they must be copied before any user code runs.
   * @throws PlaitError ERR_PLAIT_CANNOT_SEND if a part of the value cannot be sent; its message says which.
   */
  write(value: unknown, root: Root, uncopied?: UncopiedPart[]): Uint8Array {
    const encoder = this.#idle ?? new Encoder();
    this.#idle = undefined;
    try {
      return encoder.encode(value, uncopied);
    } catch (error) {
      if (error instanceof Unsendable) throw new PlaitError('ERR_PLAIT_CANNOT_SEND', error.describe(root));
      throw error;
    } finally {
      encoder.forget();
      this.#idle = encoder;
    }
  }
}
