/** Functions that a module names for its pool, for bundlers that drop a worker's exports. */

import { threadWide } from '../core/thread-wide.ts';

// biome-ignore lint/suspicious/noExplicitAny: functions of every kind.
type AnyFunction = (...inputs: any[]) => unknown;

const exposed = threadWide('exposed functions', () => new Map<string, AnyFunction>());

/**
 * Lets a pool find functions of this module by name, as if they were exported. Only some bundlers need it: Vite and
 * webpack drop the exports of worker modules. Export the functions as well, for types and tests.
 *
 * ```js
 * export function hash(bytes) { … }
 * expose({ hash });
 * ```
 *
 * @throws {TypeError} for anything that is not a function
 */
export function expose(functions: Readonly<Record<string, AnyFunction>>): void {
  for (const [name, value] of Object.entries(functions)) {
    if (typeof value !== 'function') throw new TypeError(`expose() takes functions, and ${name} is none`);
    exposed.set(name, value);
  }
}

/** The functions exposed in this thread. */
export function exposedFunctions(): ReadonlyMap<string, AnyFunction> {
  return exposed;
}
