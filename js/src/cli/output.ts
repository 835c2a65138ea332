/**
 * Standard output and standard error, as the command writes to them.
 *
 * Invariant: write() resolves after the text has been passed to the system, or if that has become impossible. So a
 * caller that waits holds one piece of text at a time, however slow the reader is. It never rejects: `onError` receives
 * the first error.
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
        this.#fail(error as NodeJS.ErrnoException); // writing to a file is synchronous, and may throw
        resolve();
      }
    });
  }
}

/** Whether the error means that the reader has closed its end. */
export function isClosed(error: NodeJS.ErrnoException): boolean {
  return error.code === 'EPIPE' || error.code === 'ECONNRESET' || error.code === 'EOF';
}

/**
 * Redirects the output of worker threads to `write`. Node pipes it to `process.stdout` and `process.stderr`, where it
 * would be mixed with the results.
 */
export function divertWorkerOutput(write: (text: string) => Promise<void>): void {
  for (const name of ['stdout', 'stderr'] as const) {
    // One decoder for each stream, because a chunk may end within a character.
    const decoder = new TextDecoder();
    const value = new Writable({
      write(chunk: Uint8Array, _encoding, done) {
        void write(decoder.decode(chunk, { stream: true })).then(() => done());
      },
    });
    Object.defineProperty(process, name, { configurable: true, value });
  }
}
