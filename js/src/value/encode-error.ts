/** Errors on their way to another thread that has to be told of them whatever they are. */

import { ValueWriter } from './writer.ts';

/** What cannot be sent (a function, a symbol) is told in words: an end without a word means something else. */
export function encodeError(error: unknown): Uint8Array {
  try {
    return new ValueWriter().write(error, 'error').slice();
  } catch (cause) {
    const told = new Error(`what was thrown cannot be sent: ${(cause as Error).message}`);
    return new ValueWriter().write(told, 'error').slice();
  }
}
