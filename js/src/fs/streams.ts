/**
 * Streams. Where Node is, they are Node's own, over our files: its ReadStream and WriteStream take the functions they call.
 * Elsewhere they are those of own-streams.ts.
 */

import type { Interface } from 'node:readline';
import { host } from '../core/host.ts';
import type { CallbackFs } from './callback.ts';
import type { FileHandle, StreamMaker } from './handle.ts';
import { linesOf, ReadStream, WriteStream } from './own-streams.ts';
import type { TreeFs } from './tree.ts';
import { type PathLike, pathOf } from './values.ts';

type Chunks = AsyncIterable<Uint8Array | string>;
/** A class as Node makes them: `new`, a call, and `apply` to an object that inherits from it all make a stream. */
type StreamClass<Stream> = (new (
  path: PathLike,
  options?: object | string,
) => Stream) &
  ((path: PathLike, options?: object | string) => Stream);
/** The class of `createReadStream`'s streams. In browsers it cannot be called without `new`. */
export type ReadStreamClass = StreamClass<Chunks>;
/** The class of `createWriteStream`'s streams. */
export type WriteStreamClass = StreamClass<object>;

interface NodeFsStreams {
  ReadStream: ReadStreamClass;
  WriteStream: WriteStreamClass;
}

const nodeFs = host.builtin('node:fs') as NodeFsStreams | undefined;

/** A class of its own under one of Node's, whose streams work on other files than the host's. */
function under<Stream extends object>(base: StreamClass<Stream>, optionsOf: (options?: object | string) => object) {
  function FileStream(this: unknown, path: PathLike, options?: object | string): Stream {
    const args = [path === undefined || path === null ? path : pathOf(path), optionsOf(options)] as const;
    // For classes in the old way: they call this one for what they have made already.
    if (new.target === undefined && this instanceof FileStream) return base.call(this, ...args) ?? (this as Stream);
    return Reflect.construct(base, args, new.target ?? FileStream);
  }
  Object.defineProperty(FileStream, 'name', { value: base.name });
  Object.setPrototypeOf(FileStream, base);
  Object.setPrototypeOf(FileStream.prototype, base.prototype);
  return FileStream as unknown as StreamClass<Stream>;
}

/** createReadStream, createWriteStream, their classes, and what FileHandle needs of them. */
export class Streams implements StreamMaker {
  readonly ReadStream: ReadStreamClass;
  readonly WriteStream: WriteStreamClass;
  readonly #tree: TreeFs;
  readonly #fs: () => CallbackFs;

  constructor(tree: TreeFs, fs: () => CallbackFs) {
    this.#tree = tree;
    this.#fs = fs;
    if (nodeFs !== undefined) {
      this.ReadStream = under(nodeFs.ReadStream, this.#options);
      this.WriteStream = under(nodeFs.WriteStream, this.#options);
      return;
    }
    this.ReadStream = class extends ReadStream {
      constructor(path: PathLike, options?: object | string) {
        super(tree, path, options);
      }
    } as unknown as ReadStreamClass;
    this.WriteStream = class extends WriteStream {
      constructor(path: PathLike, options?: object | string) {
        super(tree, path, options);
      }
    } as unknown as WriteStreamClass;
  }

  /** The user's own `fs`, if he gives one, as in Node; never the host's. */
  readonly #options = (options: object | string | undefined): object => {
    const given: { fs?: object } = typeof options === 'string' ? ({ encoding: options } as object) : (options ?? {});
    return { ...given, fs: given.fs ?? this.#fs() };
  };

  createReadStream = (path: PathLike, options?: object | string): Chunks => new this.ReadStream(path, options);

  createWriteStream = (path: PathLike, options?: object | string): object => new this.WriteStream(path, options);

  /** A stream that closes the handle when it ends, unless `autoClose` says no. */
  #ofHandle(handle: FileHandle, options: object | undefined): object {
    const { autoClose = true } = (options ?? {}) as { autoClose?: boolean };
    const close = (_fd: number, callback: (error: Error | null) => void): void => {
      handle.close().then(() => callback(null), callback);
    };
    return { ...options, fd: handle.fd, autoClose, fs: { ...this.#fs(), close } };
  }

  read(handle: FileHandle, options?: object): AsyncIterable<Uint8Array | string> {
    if (nodeFs === undefined) return new ReadStream(this.#tree, undefined, { ...options, fd: handle });
    return new this.ReadStream('', this.#ofHandle(handle, options));
  }

  write(handle: FileHandle, options?: object): object {
    if (nodeFs === undefined) return new WriteStream(this.#tree, undefined, { ...options, fd: handle });
    return new this.WriteStream('', this.#ofHandle(handle, options));
  }

  lines(handle: FileHandle, options?: object): Interface {
    const input = this.read(handle, options);
    // Without Node's readline there is no Interface: lines can be iterated over.
    if (input instanceof ReadStream) return linesOf(input) as unknown as Interface;
    const readline = host.builtin('node:readline') as { createInterface(options: object): Interface };
    return readline.createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  }
}
