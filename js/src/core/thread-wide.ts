/**
 * What a thread has once, however many copies of Plait it runs.
 *
 * Copies are the rule: the script of Plait's threads (task/thread.ts) has a copy of its own beside the one that the
 * user's module imports, and a bundler makes one for each bundle. They must see the same space, the same owned views
 * and the same error class.
 *
 * Invariant: only copies of the same version share; another version's objects may look different.
 */

import { VERSION } from './version.ts';

const KEY = Symbol.for(`plait ${VERSION}`);

const scope = globalThis as typeof globalThis & { [KEY]?: Map<string, unknown> };

/** The thread's one value of that name; `make` makes it for whichever copy asks first. */
export function threadWide<Value>(name: string, make: () => Value): Value {
  if (scope[KEY] === undefined) Object.defineProperty(scope, KEY, { value: new Map() });
  const values = scope[KEY] as Map<string, unknown>;
  if (!values.has(name)) values.set(name, make());
  return values.get(name) as Value;
}
