/**
 * The inputs of a run, one after another: the arguments, with the lines of standard input in place of `-`.
 *
 * Invariant: at most one chunk of standard input and one incomplete line are in memory. After stop(), the iteration
 * ends, even if it waits for standard input.
 */

import type { Readable } from 'node:stream';

export class Inputs implements AsyncIterable<string> {
  /** The number of inputs, if that is known before the end. */
  readonly total: number | undefined;

  readonly #files: readonly string[];
  readonly #stdin: () => Readable;
  #open: Readable | undefined;
  #stopped = false;

  /** `stdin` is called only when standard input is needed, because an opened stream must be read. */
  constructor(files: readonly string[], stdin: () => Readable) {
    this.#files = files;
    this.#stdin = stdin;
    this.total = files.includes('-') ? undefined : files.length;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string, void> {
    for (const file of this.#files) {
      if (this.#stopped) return;
      if (file === '-') yield* this.#lines();
      else yield file;
    }
  }

  async *#lines(): AsyncGenerator<string, void> {
    this.#open = this.#stdin();
    try {
      for await (const line of linesOf(this.#open)) {
        if (this.#stopped) return;
        yield line;
      }
    } catch (error) {
      if (!this.#stopped) throw error;
    } finally {
      this.#open = undefined;
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#open?.destroy();
  }
}

/** The lines of a stream of UTF-8, without their ends. A byte order mark at the beginning is removed. */
export async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  // The beginning of a line is not searched again, so a long line takes time proportional to its length.
  let begun = '';
  for await (const chunk of stream) {
    const text = decoder.decode(chunk, { stream: true });
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      yield withoutReturn(begun + text.slice(from, end));
      begun = '';
      from = end + 1;
    }
    begun += text.slice(from);
  }
  begun += decoder.decode();
  if (begun !== '') yield withoutReturn(begun);
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
