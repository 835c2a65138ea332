/**
 * The inputs of a run, one after the other: the arguments, and the lines of standard input where `-` stands.
 *
 * Invariant: no more of standard input is held than one chunk and the line that is not yet complete. After stop(), the
 * iteration ends, even one that waits for standard input.
 */

import type { Readable } from 'node:stream';

export class Inputs implements AsyncIterable<string> {
  /** How many inputs there are, if that is known before the end. */
  readonly total: number | undefined;

  readonly #files: readonly string[];
  readonly #stdin: () => Readable;
  #open: Readable | undefined;
  #stopped = false;

  /** `stdin` is called when standard input is needed, not before: a stream that is opened wants to be read. */
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

/** The lines of a stream of UTF-8, without their ends. A byte order mark at the beginning is dropped. */
export async function* linesOf(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  // The beginning of a line is only appended to, never searched again: a long line costs no more than its length.
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
