/**
 * Values that a thread has once, however many copies of Plait it runs.
 *
 * Copies are common. The script of Plait's threads (task/thread.ts) contains one, beside the one that the user's module
 * imports, and a bundler makes one for each bundle. They must share the same space, the same owned views and the same
 * error class.
 *
 * Invariant: only copies of the same version share, because objects of another version may differ.
 */

import { VERSION } from './version.ts';

const KEY = Symbol.for(`plait ${VERSION}`);

const scope = globalThis as typeof globalThis & { [KEY]?: Map<string, unknown> };

/** The thread's value of that name. `make` creates it for the first copy that asks. */
export function threadWide<Value>(name: string, make: () => Value): Value {
  if (scope[KEY] === undefined) Object.defineProperty(scope, KEY, { value: new Map() });
  const values = scope[KEY] as Map<string, unknown>;
  if (!values.has(name)) values.set(name, make());
  return values.get(name) as Value;
}
