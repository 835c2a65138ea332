/**
 * Functions that are sent as their source: `runInline`.
 *
 * Invariant: only `runInline` makes a name that is a source, and the source is what the engine itself says of the
 * function. In the space such a name begins with a byte that no UTF-8 has, so no export's name can look like one.
 */

import { PlaitError } from '../core/errors.ts';
import { host } from '../core/host.ts';
import { TextDecoder, TextEncoder } from '../core/host-text.ts';

const SIGN = 0xff;

/**
 * The source of a function, as it is sent.
 *
 * @throws {TypeError} for what is no function, or has no source that can be run elsewhere
 */
export function sourceOf(call: unknown): string {
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
  return source;
}

/** What a task calls, as bytes in the space: an export by its name, or a function by its source. */
export function encodeName(name: string, inline: boolean): Uint8Array {
  const text = new TextEncoder().encode(name);
  if (!inline) return text;
  const bytes = new Uint8Array(text.length + 1);
  bytes[0] = SIGN;
  bytes.set(text, 1);
  return bytes;
}

/** What such bytes say. */
export function decodeName(bytes: Uint8Array): { name: string; inline: boolean } {
  const inline = bytes[0] === SIGN;
  return { name: new TextDecoder('utf-8', { ignoreBOM: true }).decode(inline ? bytes.subarray(1) : bytes), inline };
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
