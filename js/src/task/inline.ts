/**
 * Functions that are sent as their source: `runInline`.
 *
 * Invariant: such a name begins with a sign with which no export's does, and the source after it is what the engine itself
 * says of the function.
 */

import { PlaitError } from '../core/errors.ts';
import { host } from '../core/host.ts';

const SIGN = '=';

/**
 * The name of a task that runs this function.
 *
 * @throws {TypeError} for what is no function, or has no source that can be run elsewhere
 */
export function inlineName(call: unknown): string {
  if (typeof call !== 'function') throw new TypeError('runInline needs a function');
  const source = Function.prototype.toString.call(call); // its own toString() may say anything
  if (/\{\s*\[native code\]\s*\}$/.test(source)) {
    throw new TypeError(
      'runInline cannot send a bound function, or one of the host: it has no source; write (input) => … around what it is to do',
    );
  }
  if (/^(class\b(?!\s*\()|@)/.test(source)) {
    throw new TypeError('runInline cannot call a class; write (input) => … and make the object in it');
  }
  return `${SIGN}${source}`;
}

/** The source in such a name; undefined for a name of an export. */
export function inlineSource(name: string): string | undefined {
  return name.startsWith(SIGN) ? name.slice(SIGN.length) : undefined;
}

/** Makes functions of their sources, for a pool of that module: what they import is looked up from there. */
export class InlineFunctions {
  readonly #module: string;
  #evaluate: ((source: string) => unknown) | undefined;

  constructor(module: string) {
    this.#module = module;
  }

  /** @throws {TypeError} for what is the source of no function by itself */
  make(source: string): (input: unknown) => unknown {
    this.#evaluate ??= host.evaluator(this.#module);
    try {
      return this.#evaluate(`(${source})`) as never;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return this.#method(this.#evaluate, source, error);
    }
  }

  /** A method's source is what stands in an object: `twice(n) { … }`. */
  #method(evaluate: (source: string) => unknown, source: string, cause: SyntaxError): (input: unknown) => unknown {
    try {
      const [property] = Object.values(Object.getOwnPropertyDescriptors(evaluate(`({${source}})`) as object));
      const found: unknown = property?.value ?? property?.get;
      if (typeof found === 'function') return found as never;
    } catch {
      // Whatever it is: said below.
    }
    throw new TypeError(
      `the source of the inline function is none by itself (${cause.message}); write it as (input) => …`,
      { cause },
    );
  }
}

/** The error of a pool that runs none. */
export function inlineForbidden(): PlaitError {
  return new PlaitError(
    'ERR_PLAIT_INLINE_FORBIDDEN',
    'this pool runs only the functions of its module; open it with inline: true to run functions from their source',
  );
}
