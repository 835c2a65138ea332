/**
 * Streams. Where Node is, they are Node's own, over our files: its ReadStream and WriteStream take the functions they
 * call. Elsewhere they are those of portable-streams.ts.
 */

import { host } from '../core/host.ts';
import type { CallbackFs } from './callback-types.ts';
import { FileHandle, type Lines, type StreamMaker } from './handle.ts';
import { type CommonOptions, linesOf, ReadStream, WriteStream } from './portable-streams.ts';
import type { TreeFs } from './tree.ts';
import { type FsEncoding, optionsOf, type PathLike, pathOf } from './values.ts';

/** A class as Node makes them: `new`, a call, and `apply` to an object that inherits from it all make a stream. */
type StreamClass<Stream> = {
  new (path: PathLike, options?: StreamOptions): Stream;
  (path: PathLike, options?: StreamOptions): Stream;
  readonly prototype: Stream;
};
/** Of a stream; Node's own take more. */
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

/** What one of Node's streams is made of; `handle`: whose descriptor it works on, if that is said so. */
interface Made {
  options: { fd?: unknown; fs?: object };
  handle?: FileHandle;
}

/** A class of its own under one of Node's, whose streams work on other files than the host's. */
function under<Stream extends object>(base: StreamClass<Stream>, make: (options?: object | string) => Made) {
  function FileStream(this: unknown, path: PathLike, given?: object | string): Stream {
    const { options, handle } = make(given);
    const named = path !== undefined && path !== null && (options.fd === undefined || options.fd === null);
    const args = [named ? pathOf(path) : path, options as StreamOptions] as const;
    // For classes in the old way: they call this one for what they have made already.
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
   * A copy of the options, with those that are inherited, as Node makes it; with the user's own `fs`, if he gives one,
   * and never the host's. A stream over a handle closes that when it ends, unless `autoClose` says no.
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
