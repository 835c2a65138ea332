/**
 * Opaque objects: they belong to one thread and represent something in shared memory, such as a pool, a space or an
 * open file. Logs show one line for each. Code that clones one, or posts it to another thread, gets an error that says
 * what to send instead.
 *
 * Invariant: neither reveals the contents of the memory, nor fails because of the object's state.
 */

const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** The property of the prototype where the codec of values finds the description; the same in all copies of Plait. */
export const OPAQUE: unique symbol = Symbol.for('plait.opaque') as never;

/** The name of such an object, and what to send instead of it. */
export interface Opaque {
  readonly name: string;
  readonly instead: string;
}

type Shown = Readonly<Record<string, number | boolean | string>>;

/** Makes the objects of a class opaque. `show`: the properties in the log line. */
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
    // The prototype itself, or an object whose memory was freed.
  }
  const parts = Object.entries(shown).map(
    ([key, value]) => `${key}: ${typeof value === 'string' ? JSON.stringify(value) : value}`,
  );
  return parts.length === 0 ? `${name} {}` : `${name} { ${parts.join(', ')} }`;
}

/**
 * Must be called for each new object of such a class. Cloning reads enumerable properties, and refuses a symbol with an
 * error that contains its text. JSON omits symbols.
 */
export function refuseCloning(object: object): void {
  const { name, instead } = (object as { readonly [OPAQUE]: Opaque })[OPAQUE];
  const value = Symbol(`a ${name}: ${instead}`);
  Object.defineProperty(object, 'cannotBeCloned', { value, enumerable: true });
}
