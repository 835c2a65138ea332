/**
 * FileHandle: an open file with promises.
 */

import { makeOpaque, refuseCloning } from '../core/opaque.ts';
import { settle, settleAsync } from './completion.ts';
import type { BytesOptions, ReadFileOptions, ReadOptions, TextOptions, WriteFileOptions } from './contents.ts';
import { Emitter } from './emitter.ts';
import { checkAbort, codedError, wrongType } from './errors.ts';
import type { ReadStream, WriteStream } from './portable-streams.ts';
import type { BigIntStats, Stats } from './stats.ts';
import type { StatOptions } from './sync.ts';
import type { TreeFs } from './tree.ts';
import type { TimeLike } from './values.ts';
import { newBytes } from './values.ts';
import { type Abortable, type Data, writeData } from './write-data.ts';

/** What `readLines` returns: in Node its `readline.Interface`; elsewhere an object that can only be iterated over. */
export interface Lines extends AsyncIterable<string> {
  on(event: 'line', listener: (line: string) => void): this;
  on(event: 'close' | 'pause' | 'resume', listener: () => void): this;
  once(event: 'close', listener: () => void): this;
  close(): void;
}

/** Streams over files, from streams.ts: Node's where available. */
export interface StreamMaker {
  read(handle: FileHandle, options?: object): ReadStream;
  write(handle: FileHandle, options?: object): WriteStream;
  lines(handle: FileHandle, options?: object): Lines;
}

interface State {
  readonly fs: TreeFs;
  readonly streams: StreamMaker;
  fd: number;
}

/** The property that holds the file. As with Node's, objects that inherit from a handle, or wrap it, find it. */
const STATE = Symbol('state');

function stateOf(handle: unknown): State {
  return (handle as { [STATE]: State })[STATE];
}

/** Performs the action on the file now; the promise settles later. */
function onFile<Result>(
  handle: FileHandle,
  syscall: string,
  work: (fs: TreeFs, fd: number) => Result,
): Promise<Result> {
  return settle(() => work(stateOf(handle).fs, fdOf(handle, syscall)));
}

function fdOf(handle: FileHandle, syscall: string): number {
  if (handle.fd >= 0) return handle.fd;
  throw Object.assign(codedError(Error, 'EBADF', 'file closed'), { syscall });
}

/** An open file. `close()` it, or use `await using`. Its only event is 'close'. */
export class FileHandle extends Emitter {
  static {
    const instead = 'open the file there, or send handle.fd, which holds while the handle is open';
    makeOpaque(FileHandle, { name: 'FileHandle', instead }, ({ fd }) => ({ fd }));
  }

  constructor(fs: TreeFs, fd: number, streams: StreamMaker) {
    super();
    refuseCloning(this);
    Object.defineProperty(this, STATE, { value: { fs, fd, streams } satisfies State });
  }

  /** The descriptor; -1 after `close()`. */
  get fd(): number {
    return stateOf(this).fd;
  }

  read<View extends ArrayBufferView>(
    buffer: View,
    offset?: number | null,
    length?: number | null,
    position?: number | bigint | null,
  ): Promise<{ bytesRead: number; buffer: View }>;
  read<View extends ArrayBufferView>(
    buffer: View,
    options?: ReadOptions | null,
  ): Promise<{ bytesRead: number; buffer: View }>;
  read<View extends ArrayBufferView = Uint8Array<ArrayBuffer>>(
    options?: ReadOptions & { buffer?: View | undefined },
  ): Promise<{ bytesRead: number; buffer: View }>;
  read(
    buffer?: ArrayBufferView | (ReadOptions & { buffer?: ArrayBufferView | undefined }),
    offset?: number | ReadOptions | null,
    length?: number | null,
    position?: number | bigint | null,
  ): Promise<{ bytesRead: number; buffer: ArrayBufferView }> {
    return onFile(this, 'read', (fs, fd) => {
      const { view, options } = readArguments(buffer, offset, length, position);
      const from = options.offset ?? 0;
      const count = fs.readSync(fd, view, from, options.length ?? view.byteLength - from, options.position);
      return { bytesRead: count, buffer: view };
    });
  }

  write<Data extends ArrayBufferView | string>(
    data: Data,
    offset?: number | bigint | ReadOptions | null,
    length?: number | string | null,
    position?: number | bigint | null,
  ): Promise<{ bytesWritten: number; buffer: Data }> {
    const from = offset === null && length !== undefined && ArrayBuffer.isView(data) ? 0 : offset;
    return onFile(this, 'write', (fs, fd) => ({
      bytesWritten: fs.writeSync(fd, data, from, length, position),
      buffer: data,
    }));
  }

  readv<Views extends readonly ArrayBufferView[]>(
    buffers: Views,
    position?: number | null,
  ): Promise<{ bytesRead: number; buffers: Views }> {
    return onFile(this, 'read', (fs, fd) => ({ bytesRead: fs.readvSync(fd, buffers, position), buffers }));
  }

  writev<Views extends readonly ArrayBufferView[]>(
    buffers: Views,
    position?: number | null,
  ): Promise<{ bytesWritten: number; buffers: Views }> {
    return onFile(this, 'write', (fs, fd) => ({ bytesWritten: fs.writevSync(fd, buffers, position), buffers }));
  }

  readFile(options?: BytesOptions | null): Promise<Uint8Array<ArrayBuffer>>;
  readFile(options: TextOptions): Promise<string>;
  readFile(options?: ReadFileOptions): Promise<string | Uint8Array<ArrayBuffer>>;
  readFile(options?: ReadFileOptions): Promise<string | Uint8Array<ArrayBuffer>> {
    return onFile(this, 'read', (fs, fd) => {
      checkAbort(options);
      return fs.readFileSync(fd, options);
    });
  }
  writeFile(data: Data, options?: WriteFileOptions & Abortable): Promise<void> {
    return settleAsync(async () => writeData(stateOf(this).fs, fdOf(this, 'write'), data, options, 'w'));
  }
  appendFile(data: Data, options?: WriteFileOptions & Abortable): Promise<void> {
    return settleAsync(async () => writeData(stateOf(this).fs, fdOf(this, 'write'), data, options, 'a'));
  }
  stat(options?: { bigint?: false | undefined }): Promise<Stats>;
  stat(options: { bigint: true }): Promise<BigIntStats>;
  stat(options?: StatOptions): Promise<Stats | BigIntStats>;
  stat(options?: StatOptions): Promise<Stats | BigIntStats> {
    return onFile(this, 'fstat', (fs, fd) => fs.fstatSync(fd, options as { bigint?: false | undefined }));
  }
  truncate(length?: number): Promise<void> {
    return onFile(this, 'ftruncate', (fs, fd) => fs.ftruncateSync(fd, length));
  }
  chmod(mode: number | string): Promise<void> {
    return onFile(this, 'fchmod', (fs, fd) => fs.fchmodSync(fd, mode));
  }
  chown(uid: number, gid: number): Promise<void> {
    return onFile(this, 'fchown', (fs, fd) => fs.fchownSync(fd, uid, gid));
  }
  utimes(atime: TimeLike, mtime: TimeLike): Promise<void> {
    return onFile(this, 'futime', (fs, fd) => fs.futimesSync(fd, atime, mtime));
  }
  sync(): Promise<void> {
    return onFile(this, 'fsync', (fs, fd) => fs.fsyncSync(fd));
  }
  datasync(): Promise<void> {
    return onFile(this, 'fdatasync', (fs, fd) => fs.fdatasyncSync(fd));
  }

  createReadStream(options?: object): ReadStream {
    return stateOf(this).streams.read(this, options);
  }
  createWriteStream(options?: object): WriteStream {
    return stateOf(this).streams.write(this, options);
  }
  readLines(options?: object): Lines {
    return stateOf(this).streams.lines(this, options);
  }

  /** A web stream of the file's bytes. */
  readableWebStream(): ReadableStream<Uint8Array> {
    return new ReadableStream({
      pull: async (controller) => {
        const { bytesRead, buffer } = await this.read(newBytes(65536));
        if (bytesRead === 0) controller.close();
        else controller.enqueue((buffer as Uint8Array<ArrayBuffer>).subarray(0, bytesRead));
      },
    });
  }

  close(): Promise<void> {
    return settle(() => {
      const state = stateOf(this);
      const { fd } = state;
      if (fd < 0) return;
      state.fd = -1;
      state.fs.closeSync(fd);
      this.emit('close');
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** The arguments of `read()`, in Node's three forms. */
function readArguments(
  buffer: ArrayBufferView | (ReadOptions & { buffer?: ArrayBufferView | undefined }) | undefined,
  offset: number | ReadOptions | null | undefined,
  length: number | null | undefined,
  position: number | bigint | null | undefined,
): { view: ArrayBufferView; options: ReadOptions } {
  const place = (typeof offset === 'object' && offset !== null ? offset : { offset, length, position }) as ReadOptions;
  if (ArrayBuffer.isView(buffer)) return { view: buffer, options: place };
  if (buffer !== undefined && (typeof buffer !== 'object' || buffer === null))
    throw wrongType('buffer', 'an instance of Buffer, TypedArray, or DataView', buffer);
  return { view: buffer?.buffer ?? newBytes(16384), options: buffer ?? {} };
}
