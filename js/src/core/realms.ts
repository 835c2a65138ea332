/**
 * Types of values that may come from another realm: a frame, or a context of node:vm, which test runners create for
 * each file. For those, `instanceof` would compare with the wrong class.
 *
 * Invariant: the result depends on internal slots of the object, or, for URLs, on the properties that Node checks.
 */

const viewKind = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)?.get;
const lengthOfBuffer = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength')?.get;

/** Whether it is a Uint8Array, which a Buffer is, too. */
export function isUint8Array(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array || viewKind?.call(value) === 'Uint8Array';
}

/** Whether it is an ArrayBuffer, but not a shared one. */
export function isArrayBuffer(value: unknown): value is ArrayBuffer {
  try {
    lengthOfBuffer?.call(value);
    return true;
  } catch {
    return false;
  }
}

/** Whether it is a Date. */
export function isDate(value: unknown): value is Date {
  try {
    Date.prototype.getTime.call(value);
    return true;
  } catch {
    return false;
  }
}

/** Whether it is a URL, of any class. Results of `url.parse()` are not: they have `auth` and `path`, too. */
export function isUrl(value: unknown): value is URL {
  const url = value as (Partial<URL> & { readonly auth?: unknown; readonly path?: unknown }) | null | undefined;
  if (typeof url !== 'object' || url === null || url.auth !== undefined || url.path !== undefined) return false;
  return Boolean(url.href && url.protocol) && typeof url.pathname === 'string';
}
