/**
 * Objects that belong to one thread and stand for something in shared memory: a pool, a space, an open file. Logs show
 * a line of each, and who clones one, or posts it to another thread, is told what to send instead.
 *
 * Invariant: neither shows what lies in the memory, or fails because of the state in which the object is.
 */

const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** Where the codec of values finds on the prototype what such an object is; the same for all copies of Plait. */
export const OPAQUE: unique symbol = Symbol.for('plait.opaque') as never;

/** What such an object is called, and what to send instead of it. */
export interface Opaque {
  readonly name: string;
  readonly instead: string;
}

type Shown = Readonly<Record<string, number | boolean | string>>;

/** Makes the objects of a class opaque. `show`: what the line says of one. */
export function makeOpaque<Object extends object>(
  made: { readonly prototype: Object },
  { name, instead }: Opaque,
  show: (object: Object) => Shown,
): void {
  Object.defineProperty(made.prototype, OPAQUE, { value: { name, instead } satisfies Opaque });
  Object.defineProperty(made.prototype, INSPECT, {
    value(this: Object): string {
      return lineOf(name, () => show(this));
    },
    writable: true,
    configurable: true,
  });
}

function lineOf(name: string, show: () => Shown): string {
  let shown: Shown = {};
  try {
    shown = show();
  } catch {
    // The prototype itself, or an object whose memory is gone.
  }
  const parts = Object.entries(shown).map(
    ([key, value]) => `${key}: ${typeof value === 'string' ? JSON.stringify(value) : value}`,
  );
  return parts.length === 0 ? `${name} {}` : `${name} { ${parts.join(', ')} }`;
}

/**
 * To be called for each new object of such a class. Cloning reads the properties that list, and refuses a symbol with
 * the text that it has. JSON leaves symbols out.
 */
export function refuseCloning(object: object): void {
  const { name, instead } = (object as { readonly [OPAQUE]: Opaque })[OPAQUE];
  const value = Symbol(`a ${name}: ${instead}`);
  Object.defineProperty(object, 'cannotBeCloned', { value, enumerable: true });
}
