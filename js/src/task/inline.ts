/**
 * Functions that are sent as source code: `runInline`.
 *
 * Invariant: only `runInline` creates a name that is source code, and the engine itself returns this source; see
 * function-name.ts.
 */

import { PlaitError } from '../core/errors.ts';
import { host } from '../core/host.ts';

/**
 * The source of a function, as it is sent.
 *
 * @throws {TypeError} if it is not a function, or has no source that can be run elsewhere
 */
export function sourceOf(call: unknown): string {
  if (typeof call !== 'function') throw new TypeError('runInline needs a function');
  const source = Function.prototype.toString.call(call); // its own toString() may return anything
  if (/\{\s*\[native code\]\s*\}$/.test(source)) {
    throw new TypeError(
      'runInline cannot send a bound function, or one of the host: it has no source; write (input) => … around what it is to do',
    );
  }
  if (/^(class\b(?!\s*\()|@)/.test(source)) {
    throw new TypeError('runInline cannot call a class; write (input) => … and make the object in it');
  }
  return source;
}

/** Makes functions from source code, for a pool's module: imports are resolved from there. */
export class InlineFunctions {
  readonly #module: string;
  #evaluate: ((source: string) => unknown) | undefined;

  constructor(module: string) {
    this.#module = module;
  }

  /** @throws {TypeError} if the source is not a function by itself */
  make(source: string): (input: unknown) => unknown {
    this.#evaluate ??= host.evaluator(this.#module);
    try {
      return this.#evaluate(`(${source})`) as never;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return this.#method(this.#evaluate, source, error);
    }
  }

  /** A method's source is valid only inside an object: `twice(n) { … }`. */
  #method(evaluate: (source: string) => unknown, source: string, cause: SyntaxError): (input: unknown) => unknown {
    try {
      const [property] = Object.values(Object.getOwnPropertyDescriptors(evaluate(`({${source}})`) as object));
      const found: unknown = property?.value ?? property?.get;
      if (typeof found === 'function') return found as never;
    } catch {
      // Reported below.
    }
    throw new TypeError(
      `the source of the inline function is none by itself (${cause.message}); write it as (input) => …`,
      { cause },
    );
  }
}

/** The error of a pool that does not allow inline functions. */
export function inlineForbidden(): PlaitError {
  return new PlaitError(
    'ERR_PLAIT_INLINE_FORBIDDEN',
    'this pool runs only the functions of its module; open it with inline: true to run functions from their source',
  );
}
