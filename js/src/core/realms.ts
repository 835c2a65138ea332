/**
 * What a value is, also if it was made in another realm: a frame, or a context of node:vm, as test runners make one for
 * each file. There `instanceof` asks for the wrong class.
 *
 * Invariant: the answer depends on what the engine keeps in the object, or, for URLs, on what Node looks at, too.
 */

const viewKind = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)?.get;
const lengthOfBuffer = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength')?.get;

/** Whether it is a Uint8Array; a Buffer is one. */
export function isUint8Array(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array || viewKind?.call(value) === 'Uint8Array';
}

/** Whether it is an ArrayBuffer, and no shared one. */
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

/** Whether it is a URL, of whichever class. What `url.parse()` makes is none: it has `auth` and `path`, too. */
export function isUrl(value: unknown): value is URL {
  const url = value as (Partial<URL> & { readonly auth?: unknown; readonly path?: unknown }) | null | undefined;
  if (typeof url !== 'object' || url === null || url.auth !== undefined || url.path !== undefined) return false;
  return Boolean(url.href && url.protocol) && typeof url.pathname === 'string';
}
