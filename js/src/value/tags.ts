/**
 * The wire format of a value: {@link ValueWriter} writes it and {@link readValue} reads it.
 *
 * Invariant: a message is self-contained and is read in one forward pass. Both sides number repeatable items in the
 * same order: key strings at their first occurrence, objects at their tag (before their contents), buffers at their
 * first view. A message goes to another thread of the same process, so this is no storage format:
 * {@link FORMAT_VERSION} changes whenever a byte changes its meaning.
 *
 * ```text
 * message  = version:u8  flags:u8  value  body*  [buffers  position:f64]
 * ```
 *
 * - `flags` is 0, or {@link HAS_BUFFERS} if the part in brackets exists; then `position` is the start of `buffers`.
 * - Numbers of more than one byte are little-endian. `n` below is an unsigned LEB128 varint of at most 53 bits.
 * - `text` is `n` with the length in UTF-16 units times two, plus one if wide, then one byte a unit (Latin-1), or two
 *   if wide. Lone surrogates are ordinary units.
 * - `value` is a tag byte of {@link TAG}, followed by the contents that are described there.
 * - `properties` is any number of (key, value), followed by a zero byte. A key is `n`: 1 for a new key, whose `text`
 *   follows and which gets the next number, or 2 + the number of an earlier key.
 * - A container (`Object` to `DomError`) at a depth of {@link INLINE_DEPTH} is written as `Later`, its tag and its head
 *   only. The deferred bodies follow the root value, the last deferred one first, and each may defer others. So nesting
 *   of any depth is written and read on a stack of bounded depth.
 * - `buffers` is `n`, followed by n times (start:n, length:n, padding, bytes): the part of each ArrayBuffer that is
 *   sent. A view contains its offset in the whole buffer, so `start` is subtracted from it. The padding consists of
 *   zeros up to the next multiple of eight ({@link paddingAt}), because the engine copies misaligned bytes one by one.
 */

/** The first byte of every message. */
export const FORMAT_VERSION = 2;

/** The number of padding bytes before a buffer's bytes if its length ends at `position`. */
export function paddingAt(position: number): number {
  return -position & 7;
}

/** Bit of the second byte of a message: the message ends with a table of buffers and its position. */
export const HAS_BUFFERS = 1;

/** The depth of containers up to which a value is written in place; deeper bodies follow the root value. */
export const INLINE_DEPTH = 64;

/** A tag byte from here on is the whole number `tag - SMALL_INTEGER`, 0 to 127. */
export const SMALL_INTEGER = 0x80;

/** A tag byte from here up to {@link SMALL_INTEGER} is a Latin-1 string of `tag - SHORT_STRING` bytes, 0 to 63. */
export const SHORT_STRING = 0x40;

/** The remaining tag bytes, each with the contents that follow it. */
export const TAG = {
  /** `undefined`. */
  Undefined: 0x00,
  /** `null`. */
  Null: 0x01,
  /** `false`. */
  False: 0x02,
  /** `true`. */
  True: 0x03,
  /** A hole; only as an element of an array. */
  Hole: 0x04,
  /** n: a 32-bit integer in zigzag form (0, -1, 1, -2, ...). */
  Integer: 0x05,
  /** 8 bytes: an IEEE 754 double. */
  Double: 0x06,
  /** text: a string that has no {@link SHORT_STRING} form. */
  Text: 0x07,
  /** 8 bytes: a bigint that fits in a signed 64-bit integer. */
  BigInt64: 0x08,
  /** n, bytes: a bigint. n is 2 * (byte count) + (1 if negative); the magnitude follows, lowest byte first. */
  BigInt: 0x09,
  /** n: another reference to the object of that number. */
  Reference: 0x0a,
  /** A container's tag and head, without its body. */
  Later: 0x0b,
  /** n: the ArrayBuffer of that number. It has no object number. */
  ArrayBuffer: 0x0c,

  /** 8 bytes: a Date's time value. */
  Date: 0x10,
  /** text, text: source and flags. */
  RegExp: 0x11,
  /** value: the primitive inside a Number, String, Boolean or BigInt object. */
  Boxed: 0x12,
  /** u8, n, n, n: index in {@link VIEW_NAMES}, buffer number, offset in bytes, length in elements. */
  View: 0x13,

  /** body: properties. */
  Object: 0x20,
  /** body: n, and so many values. */
  Array: 0x21,
  /** body: n, so many values, and properties: an array with named properties of its own. */
  ArrayWithExtras: 0x22,
  /** body: n, the length, and properties: its elements and named properties. */
  SparseArray: 0x23,
  /** body: n, and so many of (value, value). */
  Map: 0x24,
  /** body: n, and so many values. */
  Set: 0x25,
  /** head: u8, index in {@link ERROR_NAMES}; body: properties, of which {@link isHiddenErrorKey} names the hidden. */
  Error: 0x26,
  /** A DOMException. head: text, text: message and name; body: properties, as for an error. */
  DomError: 0x27,
} as const;

/** The classes of views by their number in a message. */
export const VIEW_NAMES = [
  'DataView',
  'Int8Array',
  'Uint8Array',
  'Uint8ClampedArray',
  'Int16Array',
  'Uint16Array',
  'Int32Array',
  'Uint32Array',
  'Float16Array',
  'Float32Array',
  'Float64Array',
  'BigInt64Array',
  'BigUint64Array',
] as const;

/** The bytes of an element of each: the number in the class name is in bits. A DataView's elements are single bytes. */
export const ELEMENT_SIZES: readonly number[] = VIEW_NAMES.map((name) => Number(/\d+/.exec(name)?.[0] ?? 8) / 8);

/** The built-in classes of errors by their number in a message. */
export const ERROR_NAMES = [
  'Error',
  'EvalError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'TypeError',
  'URIError',
  'AggregateError',
  'PlaitError',
] as const;

/** Whether an error's property comes back non-enumerable, as the engine itself makes it. */
export function isHiddenErrorKey(key: string, errorName: string): boolean {
  if (key === 'message' || key === 'stack' || key === 'name' || key === 'cause') return true;
  return key === 'errors' && errorName === 'AggregateError';
}
