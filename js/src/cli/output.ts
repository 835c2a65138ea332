/**
 * Standard output and standard error, as the command writes to them.
 *
 * Invariant: write() resolves when its text has been handed to the system, or can never be; so whoever waits for it
 * holds one piece of text at a time, however slow the reader is. It never rejects: what went wrong is told once, to
 * `onError`.
 */

import { Writable } from 'node:stream';

export class Output {
  readonly isTerminal: boolean;
  readonly #stream: Writable;
  readonly #onError: (error: NodeJS.ErrnoException) => void;
  #broken = false;

  constructor(stream: NodeJS.WriteStream, onError: (error: NodeJS.ErrnoException) => void) {
    this.isTerminal = stream.isTTY === true;
    this.#stream = stream;
    this.#onError = onError;
    stream.on('error', (error) => this.#fail(error));
  }

  #fail(error: NodeJS.ErrnoException): void {
    if (this.#broken) return;
    this.#broken = true;
    this.#onError(error);
  }

  write(text: string): Promise<void> {
    if (this.#broken || text === '') return Promise.resolve();
    return new Promise((resolve) => {
      try {
        this.#stream.write(text, (error) => {
          if (error) this.#fail(error);
          resolve();
        });
      } catch (error) {
        this.#fail(error as NodeJS.ErrnoException); // a file is written to at once, and may throw at once
        resolve();
      }
    });
  }
}

/** Whether the error says that the reader has gone. */
export function isClosed(error: NodeJS.ErrnoException): boolean {
  return error.code === 'EPIPE' || error.code === 'ECONNRESET' || error.code === 'EOF';
}

/**
 * From now on, what worker threads print goes to `write`. Node pipes it to `process.stdout` and `process.stderr`, and
 * so it would lie between the results.
 */
export function divertWorkerOutput(write: (text: string) => Promise<void>): void {
  for (const name of ['stdout', 'stderr'] as const) {
    // One for each: a chunk may end within a character, and its rest must come from the same stream.
    const decoder = new TextDecoder();
    const value = new Writable({
      write(chunk: Uint8Array, _encoding, done) {
        void write(decoder.decode(chunk, { stream: true })).then(() => done());
      },
    });
    Object.defineProperty(process, name, { configurable: true, value });
  }
}
