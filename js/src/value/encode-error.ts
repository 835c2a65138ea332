/** Encodes errors for another thread, which must receive every error, whatever was thrown. */

import { ValueWriter } from './writer.ts';

/** A value that cannot be sent (a function, a symbol) is replaced by a description: no error means another ending. */
export function encodeError(error: unknown): Uint8Array {
  try {
    return new ValueWriter().write(error, 'error').slice();
  } catch (cause) {
    const description = new Error(`what was thrown cannot be sent: ${(cause as Error).message}`);
    return new ValueWriter().write(description, 'error').slice();
  }
}
