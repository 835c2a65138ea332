/**
 * FileHandle: an open file with promises.
 */

import type { ReadFileOptions, ReadOptions, WriteFileOptions } from './contents.ts';
import { checkAbort, codedError, wrongType } from './errors.ts';
import type { BigIntStats, Stats } from './stats.ts';
import type { StatOptions } from './sync.ts';
import type { TreeFs } from './tree.ts';
import type { TimeLike } from './values.ts';
import { newBytes } from './values.ts';
import { type Data, writeData } from './write-data.ts';

/** What `readLines` gives: in Node its own `readline.Interface`; elsewhere it can be iterated over, and that is all. */
export interface Lines extends AsyncIterable<string> {
  on(event: 'line', listener: (line: string) => void): this;
  on(event: 'close' | 'pause' | 'resume', listener: () => void): this;
  once(event: 'close', listener: () => void): this;
  close(): void;
}

/** Streams over files, from streams.ts; Node's are used where there are some. */
export interface StreamMaker {
  read(handle: FileHandle, options?: object): AsyncIterable<Uint8Array | string>;
  write(handle: FileHandle, options?: object): object;
  lines(handle: FileHandle, options?: object): Lines;
}

/** An open file. `close()` it, or `await using`. */
export class FileHandle {
  readonly #fs: TreeFs;
  readonly #streams: StreamMaker;
  readonly #listeners: (() => void)[] = [];
  #fd: number;

  constructor(fs: TreeFs, fd: number, streams: StreamMaker) {
    this.#fs = fs;
    this.#fd = fd;
    this.#streams = streams;
  }

  /** The descriptor; -1 when it is closed. */
  get fd(): number {
    return this.#fd;
  }

  #open(syscall: string): number {
    if (this.#fd >= 0) return this.#fd;
    throw Object.assign(codedError(Error, 'EBADF', 'file closed'), { syscall });
  }

  async read(
    buffer?: ArrayBufferView | (ReadOptions & { buffer?: ArrayBufferView | undefined }),
    offset?: number | ReadOptions | null,
    length?: number | null,
    position?: number | bigint | null,
  ): Promise<{ bytesRead: number; buffer: ArrayBufferView }> {
    const fd = this.#open('read');
    let view: ArrayBufferView;
    if (ArrayBuffer.isView(buffer)) {
      view = buffer;
    } else {
      if (buffer !== undefined && (typeof buffer !== 'object' || buffer === null))
        throw wrongType('buffer', 'an instance of Buffer, TypedArray, or DataView', buffer);
      view = buffer?.buffer ?? newBytes(16384);
      ({ offset = 0, length = null, position = null } = buffer ?? {});
    }
    if (offset !== null && typeof offset === 'object') ({ offset = 0, length = null, position = null } = offset);
    const from = offset ?? 0;
    return { bytesRead: this.#fs.readSync(fd, view, from, length ?? view.byteLength - from, position), buffer: view };
  }

  async write<Data extends ArrayBufferView | string>(
    data: Data,
    offset?: number | bigint | ReadOptions | null,
    length?: number | string | null,
    position?: number | bigint | null,
  ): Promise<{ bytesWritten: number; buffer: Data }> {
    const from = offset === null && length !== undefined && ArrayBuffer.isView(data) ? 0 : offset;
    return { bytesWritten: this.#fs.writeSync(this.#open('write'), data, from, length, position), buffer: data };
  }

  async readv<Views extends readonly ArrayBufferView[]>(
    buffers: Views,
    position?: number | null,
  ): Promise<{ bytesRead: number; buffers: Views }> {
    return { bytesRead: this.#fs.readvSync(this.#open('read'), buffers, position), buffers };
  }

  async writev<Views extends readonly ArrayBufferView[]>(
    buffers: Views,
    position?: number | null,
  ): Promise<{ bytesWritten: number; buffers: Views }> {
    return { bytesWritten: this.#fs.writevSync(this.#open('write'), buffers, position), buffers };
  }

  async readFile(options?: ReadFileOptions): Promise<string | Uint8Array> {
    const fd = this.#open('read');
    checkAbort(options);
    return this.#fs.readFileSync(fd, options);
  }
  async writeFile(data: Data, options?: WriteFileOptions): Promise<void> {
    await writeData(this.#fs, this.#open('write'), data, options, 'w');
  }
  async appendFile(data: Data, options?: WriteFileOptions): Promise<void> {
    await writeData(this.#fs, this.#open('write'), data, options, 'a');
  }
  async stat(options?: StatOptions): Promise<Stats | BigIntStats> {
    return this.#fs.fstatSync(this.#open('fstat'), options as { bigint?: false | undefined });
  }
  async truncate(length?: number): Promise<void> {
    this.#fs.ftruncateSync(this.#open('ftruncate'), length);
  }
  async chmod(mode: number | string): Promise<void> {
    this.#fs.fchmodSync(this.#open('fchmod'), mode);
  }
  async chown(uid: number, gid: number): Promise<void> {
    this.#fs.fchownSync(this.#open('fchown'), uid, gid);
  }
  async utimes(atime: TimeLike, mtime: TimeLike): Promise<void> {
    this.#fs.futimesSync(this.#open('futime'), atime, mtime);
  }
  async sync(): Promise<void> {
    this.#fs.fsyncSync(this.#open('fsync'));
  }
  async datasync(): Promise<void> {
    this.#fs.fdatasyncSync(this.#open('fdatasync'));
  }

  createReadStream(options?: object): AsyncIterable<Uint8Array | string> {
    return this.#streams.read(this, options);
  }
  createWriteStream(options?: object): object {
    return this.#streams.write(this, options);
  }
  readLines(options?: object): Lines {
    return this.#streams.lines(this, options);
  }

  /** A stream of the web's kind. */
  readableWebStream(): ReadableStream<Uint8Array> {
    return new ReadableStream({
      pull: async (controller) => {
        const { bytesRead, buffer } = await this.read(newBytes(65536));
        if (bytesRead === 0) controller.close();
        else controller.enqueue((buffer as Uint8Array<ArrayBuffer>).subarray(0, bytesRead));
      },
    });
  }

  /** Calls back when it is closed. Only 'close' is ever emitted. */
  on(event: string, listener: () => void): this {
    if (event === 'close') this.#listeners.push(listener);
    return this;
  }
  once(event: string, listener: () => void): this {
    return this.on(event, listener);
  }
  off(_event: string, listener: () => void): this {
    const at = this.#listeners.indexOf(listener);
    if (at >= 0) this.#listeners.splice(at, 1);
    return this;
  }

  async close(): Promise<void> {
    if (this.#fd < 0) return;
    const fd = this.#fd;
    this.#fd = -1;
    this.#fs.closeSync(fd);
    for (const listener of this.#listeners.splice(0)) listener();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
