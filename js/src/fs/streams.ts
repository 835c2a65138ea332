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

interface NodeFsStreams {
  createReadStream(path: unknown, options: object): AsyncIterable<Uint8Array | string>;
  createWriteStream(path: unknown, options: object): object;
}

const nodeFs = host.builtin('node:fs') as NodeFsStreams | undefined;

/** createReadStream, createWriteStream and what FileHandle needs of them. */
export class Streams implements StreamMaker {
  readonly #tree: TreeFs;
  readonly #fs: () => CallbackFs;

  constructor(tree: TreeFs, fs: () => CallbackFs) {
    this.#tree = tree;
    this.#fs = fs;
  }

  #options(options: object | string | undefined): object {
    return { ...(typeof options === 'string' ? { encoding: options } : options), fs: this.#fs() };
  }

  createReadStream = (path: PathLike, options?: object | string): AsyncIterable<Uint8Array | string> => {
    if (nodeFs === undefined) return new ReadStream(this.#tree, path, options);
    return nodeFs.createReadStream(path === undefined || path === null ? path : pathOf(path), this.#options(options));
  };

  createWriteStream = (path: PathLike, options?: object | string): object => {
    if (nodeFs === undefined) return new WriteStream(this.#tree, path, options);
    return nodeFs.createWriteStream(path === undefined || path === null ? path : pathOf(path), this.#options(options));
  };

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
    return nodeFs.createReadStream('', this.#ofHandle(handle, options));
  }

  write(handle: FileHandle, options?: object): object {
    if (nodeFs === undefined) return new WriteStream(this.#tree, undefined, { ...options, fd: handle });
    return nodeFs.createWriteStream('', this.#ofHandle(handle, options));
  }

  lines(handle: FileHandle, options?: object): Interface {
    const input = this.read(handle, options);
    // Without Node's readline there is no Interface: lines can be iterated over.
    if (input instanceof ReadStream) return linesOf(input) as unknown as Interface;
    const readline = host.builtin('node:readline') as { createInterface(options: object): Interface };
    return readline.createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  }
}
