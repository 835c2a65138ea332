/** Functions that a module names for its pool, for bundlers that drop a worker's exports. */

import { threadWide } from '../core/thread-wide.ts';

// biome-ignore lint/suspicious/noExplicitAny: functions of every kind.
type AnyFunction = (...inputs: any[]) => unknown;

const exposed = threadWide('exposed functions', () => new Map<string, AnyFunction>());

/**
 * Lets a pool find functions of this module by name, as if they were exported. Only some bundlers need it: Vite and
 * webpack drop the exports of what they bundle for workers. Export the functions all the same; types and tests are glad
 * of it.
 *
 * ```js
 * export function hash(bytes) { … }
 * expose({ hash });
 * ```
 *
 * @throws {TypeError} for anything that is no function
 */
export function expose(functions: Readonly<Record<string, AnyFunction>>): void {
  for (const [name, value] of Object.entries(functions)) {
    if (typeof value !== 'function') throw new TypeError(`expose() takes functions, and ${name} is none`);
    exposed.set(name, value);
  }
}

/** The functions of that kind in this thread. */
export function exposedFunctions(): ReadonlyMap<string, AnyFunction> {
  return exposed;
}
