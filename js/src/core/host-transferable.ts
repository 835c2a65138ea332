/** Which objects of a host can be sent to another thread only by transferring them. */

const CLASSES = [
  'MessagePort',
  'ReadableStream',
  'WritableStream',
  'TransformStream',
  'OffscreenCanvas',
  'MediaSourceHandle',
  'RTCDataChannel',
];

/** See `mustTransfer` of Host. */
export function mustTransfer(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  // Usual objects first: Node loads its streams when their classes are read.
  if (prototype === null || prototype === Object.prototype || prototype === Array.prototype) return false;
  return CLASSES.some((name) => {
    const found: unknown = Reflect.get(globalThis, name);
    return typeof found === 'function' && value instanceof found;
  });
}
