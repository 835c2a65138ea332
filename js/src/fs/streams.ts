/**
 * Streams. In Node they are Node's own classes over our files: its ReadStream and WriteStream take the functions that
 * they call. On other hosts they are those of portable-streams.ts.
 */

import { host } from '../core/host.ts';
import type { CallbackFs } from './callback-types.ts';
import { FileHandle, type Lines, type StreamMaker } from './handle.ts';
import { type CommonOptions, linesOf, ReadStream, WriteStream } from './portable-streams.ts';
import type { TreeFs } from './tree.ts';
import { type FsEncoding, optionsOf, type PathLike, pathOf } from './values.ts';

/** A class like Node's: `new`, a call, and `apply` to an object that inherits from it all create a stream. */
type StreamClass<Stream> = {
  new (path: PathLike, options?: StreamOptions): Stream;
  (path: PathLike, options?: StreamOptions): Stream;
  readonly prototype: Stream;
};
/** Options of a stream; Node's own streams take more. */
type StreamOptions = CommonOptions | FsEncoding | null;
/** The class of `createReadStream`'s streams. In browsers it cannot be called without `new`. */
export type ReadStreamClass = StreamClass<ReadStream>;
/** The class of `createWriteStream`'s streams. */
export type WriteStreamClass = StreamClass<WriteStream>;

interface NodeFsStreams {
  ReadStream: ReadStreamClass;
  WriteStream: WriteStreamClass;
}

const nodeFs = host.builtin('node:fs') as NodeFsStreams | undefined;

/** The arguments of one of Node's streams. `handle`: the FileHandle whose descriptor it uses, if one is given. */
interface Made {
  options: { fd?: unknown; fs?: object };
  handle?: FileHandle;
}

/** A subclass of one of Node's classes, whose streams use our files instead of the host's. */
function under<Stream extends object>(base: StreamClass<Stream>, make: (options?: object | string) => Made) {
  function FileStream(this: unknown, path: PathLike, given?: object | string): Stream {
    const { options, handle } = make(given);
    const named = path !== undefined && path !== null && (options.fd === undefined || options.fd === null);
    const args = [named ? pathOf(path) : path, options as StreamOptions] as const;
    // For classes written as functions: they call this one with an object that they have created.
    const old = new.target === undefined && this instanceof FileStream;
    const stream = old
      ? (base.call(this, ...args) ?? (this as Stream))
      : Reflect.construct(base, args, new.target ?? FileStream);
    handle?.on('close', () => (stream as unknown as { close(): void }).close());
    return stream;
  }
  Object.defineProperty(FileStream, 'name', { value: base.name });
  Object.setPrototypeOf(FileStream, base);
  Object.setPrototypeOf(FileStream.prototype, base.prototype);
  return FileStream as unknown as StreamClass<Stream>;
}

/** createReadStream, createWriteStream, their classes, and the functions that FileHandle needs. */
export class Streams implements StreamMaker {
  readonly ReadStream: ReadStreamClass;
  readonly WriteStream: WriteStreamClass;
  readonly #tree: TreeFs;
  readonly #fs: () => CallbackFs;

  constructor(tree: TreeFs, fs: () => CallbackFs) {
    this.#tree = tree;
    this.#fs = fs;
    if (nodeFs !== undefined) {
      this.ReadStream = under(nodeFs.ReadStream, this.#make);
      this.WriteStream = under(nodeFs.WriteStream, this.#make);
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

  /**
   * A copy of the options, including inherited ones, as Node makes it. `fs` is the user's own, if given, and never the
   * host's. A stream over a handle closes the handle when it ends, unless `autoClose` is false.
   */
  readonly #make = (given: object | string | undefined): Made => {
    const options: Made['options'] = {};
    const source = typeof given === 'object' ? given : optionsOf(given);
    for (const key in source) Object.assign(options, { [key]: source[key as keyof typeof source] });
    options.fs ||= this.#fs();
    const handle = options.fd;
    if (!(handle instanceof FileHandle)) return { options };
    const close = (_fd: number, callback: (error: Error | null) => void): void => {
      handle.close().then(() => callback(null), callback);
    };
    return { options: { ...options, fd: handle.fd, fs: { ...this.#fs(), close } }, handle };
  };

  createReadStream = (path: PathLike, options?: StreamOptions): ReadStream => new this.ReadStream(path, options);

  createWriteStream = (path: PathLike, options?: StreamOptions): WriteStream => new this.WriteStream(path, options);

  read(handle: FileHandle, options?: object): ReadStream {
    if (nodeFs === undefined) return new ReadStream(this.#tree, undefined, { ...options, fd: handle });
    return new this.ReadStream('', { ...options, fd: handle });
  }

  write(handle: FileHandle, options?: object): WriteStream {
    if (nodeFs === undefined) return new WriteStream(this.#tree, undefined, { ...options, fd: handle });
    return new this.WriteStream('', { ...options, fd: handle });
  }

  lines(handle: FileHandle, options?: object): Lines {
    const input = this.read(handle, options);
    if (input instanceof ReadStream) return linesOf(input) as unknown as Lines;
    const readline = host.builtin('node:readline') as { createInterface(options: object): Lines };
    return readline.createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  }
}
