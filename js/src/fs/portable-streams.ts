/**
 * ReadStream and WriteStream for hosts without Node's: the events, methods and properties that programs use of them.
 *
 * Invariants
 * - Nothing is emitted before the caller of the constructor, or of a method, has continued: all work is in later turns.
 * - 'close' is the last event and comes once. 'end' and 'finish' come once, and not after an error or destroy().
 * - A chunk is read only when it is wanted. Only data that is written faster than it is stored is buffered.
 */

import { completeLater, settle } from './completion.ts';
import { Emitter } from './emitter.ts';
import { codedError } from './errors.ts';
import type { TreeFs } from './tree.ts';
import { checkInteger, dataBytes, decode, encodingOf, newBytes, optionsOf, type PathLike, pathOf } from './values.ts';

/** Options of both classes. */
export interface CommonOptions {
  flags?: string | number | undefined;
  mode?: number | string | undefined;
  encoding?: string | null | undefined;
  fd?: number | { fd: number; close?(): Promise<void> } | null | undefined;
  autoClose?: boolean | undefined;
  emitClose?: boolean | undefined;
  start?: number | undefined;
  end?: number | undefined;
  highWaterMark?: number | undefined;
  signal?: AbortSignal | undefined;
}
type Done = (error?: Error | null) => void;
interface Sink {
  write(chunk: Uint8Array | string): boolean;
  end(): unknown;
  once(event: string, listener: () => void): unknown;
  emit?(event: string, ...values: unknown[]): unknown;
}

/** Base of both: a descriptor that is opened and closed, and may become closed at any time. */
abstract class FileStream extends Emitter {
  readonly path: PathLike | undefined;
  /** The descriptor; null before it is open and after it is closed. */
  fd: number | null = null;
  destroyed = false;
  closed = false;
  errored: Error | null = null;
  protected readonly fs: TreeFs;
  readonly #close: (() => Promise<void>) | undefined;
  readonly #autoClose: boolean;
  readonly #emitClose: boolean;
  readonly #flags: string | number;
  readonly #mode: number | string;

  constructor(fs: TreeFs, path: PathLike | undefined | null, options: CommonOptions, flags: string) {
    super();
    this.fs = fs;
    const { fd, autoClose = true, emitClose = true, signal } = options;
    this.path = fd === undefined || fd === null ? pathOf(path) : undefined;
    this.#autoClose = autoClose;
    this.#emitClose = emitClose;
    this.#flags = options.flags ?? flags;
    this.#mode = options.mode ?? 0o666;
    if (typeof fd === 'object' && fd !== null) {
      this.fd = checkInteger(fd.fd, 'fd', 0, 2 ** 31 - 1);
      this.#close = fd.close?.bind(fd);
    } else if (typeof fd === 'number') {
      this.fd = checkInteger(fd, 'fd', 0, 2 ** 31 - 1);
    }
    const abort = (): void => void this.destroy(abortError(signal?.reason));
    if (signal?.aborted) completeLater(abort);
    else signal?.addEventListener('abort', abort, { once: true });
    completeLater(() => this.#open());
  }

  /** Whether the file is not open yet. */
  get pending(): boolean {
    return this.fd === null;
  }

  #open(): void {
    if (this.destroyed) return;
    if (this.fd === null) {
      try {
        this.fd = this.fs.openSync(this.path as PathLike, this.#flags, this.#mode);
      } catch (error) {
        this.destroy(error as Error);
        return;
      }
      this.emit('open', this.fd);
      this.emit('ready');
    }
    if (!this.destroyed) this.opened();
  }

  /** Called when the file is open. */
  protected abstract opened(): void;

  /** Called when all is done: closes the file, unless autoClose is false. */
  protected finished(): void {
    if (this.#autoClose) this.destroy();
  }

  /** Ends the stream at once: closes the file, and emits 'error', if there is one, and 'close'. */
  destroy(error?: Error | null): this {
    if (this.destroyed) return this;
    this.destroyed = true;
    this.errored = error ?? null;
    void this.#end();
    return this;
  }

  async #end(): Promise<void> {
    const fd = this.fd;
    this.fd = null;
    try {
      if (this.#close !== undefined) await this.#close();
      else if (fd !== null) this.fs.closeSync(fd);
    } catch (error) {
      this.errored ??= error as Error;
    }
    completeLater(() => {
      this.closed = true;
      if (this.errored !== null) this.emit('error', this.errored);
      if (this.#emitClose) this.emit('close');
    });
  }

  /** Closes the stream; calls back when it is closed. */
  close(done?: Done): void {
    if (done !== undefined) {
      if (this.closed) completeLater(done);
      else this.once('close', () => done());
    }
    this.destroy();
  }
}

function abortError(cause: unknown): Error {
  const error = new Error('The operation was aborted', { cause });
  return Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR' });
}

/** Decodes bytes in pieces: an incomplete character waits for the rest. */
class PieceDecoder {
  readonly #encoding: string;
  readonly #unit: number;
  readonly #utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
  #rest = new Uint8Array(0);

  constructor(encoding: string) {
    this.#encoding = encoding;
    this.#unit = /^base64/i.test(encoding) ? 3 : /^(ucs-?2|utf-?16le)$/i.test(encoding) ? 2 : 1;
  }

  decode(bytes: Uint8Array, last: boolean): string {
    if (/^utf-?8$/i.test(this.#encoding)) return this.#utf8.decode(bytes, { stream: !last });
    const all = newBytes(this.#rest.length + bytes.length);
    all.set(this.#rest);
    all.set(bytes, this.#rest.length);
    const count = last ? all.length : all.length - (all.length % this.#unit);
    this.#rest = all.slice(count);
    return decode(all.subarray(0, count), this.#encoding);
  }
}

/** Reads a file in pieces. */
export class ReadStream extends FileStream implements AsyncIterable<Uint8Array | string> {
  bytesRead = 0;
  readableEnded = false;
  /** null: no consumer has asked for data yet; false: paused. */
  readableFlowing: boolean | null = null;
  readonly readableHighWaterMark: number;
  #position: number | null;
  readonly #last: number;
  #decoder: PieceDecoder | undefined;
  #isOpen = false;
  #turn = false;
  #isReadableDue = false;

  constructor(fs: TreeFs, path: PathLike | undefined | null, given?: CommonOptions | string | null) {
    const options = optionsOf<CommonOptions>(given) as CommonOptions;
    super(fs, path, options, 'r');
    const { start, end = Number.POSITIVE_INFINITY, highWaterMark = 65536 } = options;
    if (start !== undefined) checkInteger(start, 'start', 0, Number.MAX_SAFE_INTEGER);
    if (end !== Number.POSITIVE_INFINITY) checkInteger(end, 'end', 0, Number.MAX_SAFE_INTEGER);
    if (start !== undefined && start > end) {
      throw codedError(
        RangeError,
        'ERR_OUT_OF_RANGE',
        `The value of "start" is out of range. It must be <= "end" (here: ${end}). Received ${start}`,
      );
    }
    this.readableHighWaterMark = checkInteger(highWaterMark, 'highWaterMark', 1, 2 ** 30);
    this.#position = start ?? null;
    this.#last = start === undefined && end !== Number.POSITIVE_INFINITY ? end + 1 : end - (start ?? 0) + 1;
    const encoding = encodingOf(options);
    if (encoding !== undefined) this.setEncoding(encoding);
  }

  /** From now on chunks are strings. */
  setEncoding(encoding: string): this {
    this.#decoder = new PieceDecoder(encodingOf(encoding) ?? 'utf8');
    return this;
  }

  protected opened(): void {
    this.#isOpen = true;
    this.#go();
  }

  get readable(): boolean {
    return !this.destroyed && !this.readableEnded;
  }

  override on(event: string, listener: Parameters<Emitter['on']>[1]): this {
    super.on(event, listener);
    if (event === 'data' && this.readableFlowing !== false) this.resume();
    if (event === 'readable') this.#emitReadable();
    return this;
  }

  resume(): this {
    this.readableFlowing = true;
    this.#go();
    return this;
  }

  pause(): this {
    this.readableFlowing = false;
    return this;
  }

  isPaused(): boolean {
    return this.readableFlowing === false;
  }

  /** The next chunk; null: there is none now, or the stream has ended. */
  read(): Uint8Array | string | null {
    if (!this.#isOpen || !this.readable) return null;
    const chunk = this.#next();
    if (chunk !== null) {
      this.emit('data', chunk);
      if (this.listenerCount('readable') > 0) this.#emitReadable();
    }
    return chunk;
  }

  /** Reads a chunk. At the end, or after an error, returns null and starts what follows. */
  #next(): Uint8Array | string | null {
    const room = Math.min(this.readableHighWaterMark, this.#last - this.bytesRead);
    const bytes = newBytes(room);
    let count = 0;
    try {
      if (room > 0) count = this.fs.readSync(this.fd as number, bytes, 0, room, this.#position);
    } catch (error) {
      this.destroy(error as Error);
      return null;
    }
    this.bytesRead += count;
    if (this.#position !== null) this.#position += count;
    if (count > 0) {
      const chunk = this.#decoder?.decode(bytes.subarray(0, count), false) ?? bytes.subarray(0, count);
      return chunk === '' ? this.#next() : chunk;
    }
    const rest = this.#decoder?.decode(new Uint8Array(0), true) ?? '';
    this.#decoder = undefined;
    if (rest !== '') return rest;
    this.readableEnded = true;
    completeLater(() => {
      if (this.destroyed) return;
      this.emit('end');
      this.finished();
    });
    return null;
  }

  /** Emits one chunk in each turn, as long as the stream flows. */
  #go(): void {
    if (this.#turn || !this.#isOpen || this.readableFlowing !== true || !this.readable) return;
    this.#turn = true;
    completeLater(() => {
      this.#turn = false;
      if (this.readableFlowing !== true || !this.readable) return;
      const chunk = this.#next();
      if (chunk === null) return;
      this.emit('data', chunk);
      this.#go();
    });
  }

  #emitReadable(): void {
    if (this.#isReadableDue) return;
    this.#isReadableDue = true;
    completeLater(() => {
      this.#isReadableDue = false;
      if (this.#isOpen ? this.readable : !this.destroyed) this.emit('readable');
      if (!this.#isOpen && !this.destroyed) this.once('open', () => this.#emitReadable());
    });
  }

  /** Writes all chunks to `sink`, and ends it afterwards unless `end` is false. */
  pipe<Goal extends Sink>(sink: Goal, options?: { end?: boolean | undefined }): Goal {
    this.on('data', (chunk) => {
      if (sink.write(chunk) !== false) return;
      this.pause();
      sink.once('drain', () => this.resume());
    });
    if (options?.end !== false) this.once('end', () => sink.end());
    sink.emit?.('pipe', this);
    return sink;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array | string, void, undefined> {
    try {
      if (!this.#isOpen && !this.destroyed) {
        await new Promise<void>((resolve) => {
          this.once('open', resolve);
          this.once('close', resolve);
          this.once('error', resolve);
          if (this.fd !== null) completeLater(() => completeLater(resolve));
        });
      }
      while (this.readable) {
        const chunk = await settle(() => this.#next());
        if (chunk === null) break;
        yield chunk;
      }
      if (this.errored !== null) throw this.errored;
    } finally {
      if (!this.readableEnded) this.destroy();
    }
  }
}

/** Writes a file in pieces. */
export class WriteStream extends FileStream {
  bytesWritten = 0;
  writableEnded = false;
  writableFinished = false;
  writableLength = 0;
  writableNeedDrain = false;
  readonly writableHighWaterMark: number;
  #encoding: string;
  #position: number | null;
  #isOpen = false;
  #turn = false;
  readonly #waiting: { bytes: Uint8Array; done: Done | undefined }[] = [];

  constructor(fs: TreeFs, path: PathLike | undefined | null, given?: CommonOptions | string | null) {
    const options = optionsOf<CommonOptions>(given) as CommonOptions;
    super(fs, path, options, 'w');
    const { start, highWaterMark = 16384 } = options;
    if (start !== undefined) checkInteger(start, 'start', 0, Number.MAX_SAFE_INTEGER);
    this.writableHighWaterMark = checkInteger(highWaterMark, 'highWaterMark', 0, 2 ** 30);
    this.#position = start ?? null;
    this.#encoding = encodingOf(options) ?? 'utf8';
  }

  protected opened(): void {
    this.#isOpen = true;
    this.#go();
  }

  get writable(): boolean {
    return !this.destroyed && !this.writableEnded;
  }

  setDefaultEncoding(encoding: string): this {
    this.#encoding = encodingOf(encoding) ?? 'utf8';
    return this;
  }

  /** Returns false if the buffer is full; 'drain' follows when it is not. The bytes must not change until `done`. */
  write(chunk: Uint8Array | string, encoding?: string | Done, done?: Done): boolean {
    const callback = typeof encoding === 'function' ? encoding : done;
    const bytes = dataBytes(chunk, typeof encoding === 'string' ? encoding : this.#encoding);
    if (!this.writable) {
      const [code, message] = this.writableEnded
        ? ['ERR_STREAM_WRITE_AFTER_END', 'write after end']
        : ['ERR_STREAM_DESTROYED', 'Cannot call write after a stream was destroyed'];
      const error = codedError(Error, code as string, message as string);
      completeLater(() => callback?.(error));
      this.destroy(error);
      return false;
    }
    this.#waiting.push({ bytes, done: callback });
    this.writableLength += bytes.length;
    this.#go();
    const room = this.writableLength < this.writableHighWaterMark;
    if (!room) this.writableNeedDrain = true;
    return room;
  }

  /** Writes the given data, then closes. `done` is called when everything is written. */
  end(chunk?: Uint8Array | string | Done | null, encoding?: string | Done, done?: Done): this {
    const callback = [chunk, encoding, done].find((value) => typeof value === 'function') as Done | undefined;
    if (chunk !== undefined && chunk !== null && typeof chunk !== 'function') {
      this.write(chunk, typeof encoding === 'string' ? encoding : undefined);
    }
    if (callback !== undefined) {
      this.once('finish', () => callback());
      this.once('error', (error) => callback(error));
    }
    this.writableEnded = true;
    this.#go();
    return this;
  }

  #go(): void {
    if (this.#turn || !this.#isOpen || this.destroyed) return;
    this.#turn = true;
    completeLater(() => {
      this.#turn = false;
      this.#write();
    });
  }

  #write(): void {
    while (!this.destroyed) {
      const first = this.#waiting.shift();
      if (first === undefined) break;
      const { bytes, done } = first;
      try {
        for (let at = 0; at < bytes.length; ) {
          const count = this.fs.writeSync(this.fd as number, bytes, at, bytes.length - at, this.#position);
          at += count;
          this.bytesWritten += count;
          if (this.#position !== null) this.#position += count;
        }
      } catch (error) {
        this.destroy(error as Error);
        done?.(error as Error);
        return;
      }
      this.writableLength -= bytes.length;
      done?.();
    }
    if (this.destroyed) return;
    if (this.writableNeedDrain && !this.writableEnded) {
      this.writableNeedDrain = false;
      this.emit('drain');
    }
    if (!this.writableEnded || this.writableFinished || this.#waiting.length > 0) return;
    this.writableFinished = true;
    this.emit('finish');
    this.finished();
  }
}

/** Iterates over the lines of a file. */
export async function* linesOf(stream: ReadStream): AsyncGenerator<string, void, undefined> {
  let rest = '';
  for await (const chunk of stream.setEncoding('utf8')) {
    const lines = (rest + chunk).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() as string;
    yield* lines;
  }
  if (rest !== '') yield rest.replace(/\r$/, '');
}
