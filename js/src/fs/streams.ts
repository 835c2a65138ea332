/**
 * Streams. Where Node is, they are Node's own, over our files: its ReadStream and WriteStream take the functions they call.
 */

import type { Interface } from 'node:readline';
import { PlaitError } from '../core/errors.ts';
import { host } from '../core/host.ts';
import type { CallbackFs } from './callback.ts';
import type { FileHandle, StreamMaker } from './handle.ts';
import { type PathLike, pathOf } from './values.ts';

interface NodeFsStreams {
  createReadStream(path: unknown, options: object): AsyncIterable<Uint8Array | string>;
  createWriteStream(path: unknown, options: object): object;
}

function nodeFs(): NodeFsStreams {
  const found = host.builtin('node:fs') as NodeFsStreams | undefined;
  if (found !== undefined) return found;
  throw new PlaitError(
    'ERR_PLAIT_UNSUPPORTED',
    "Node's streams are not there in browsers: use (await fs.promises.open(path)).readableWebStream()",
  );
}

/** createReadStream, createWriteStream and what FileHandle needs of them. */
export class Streams implements StreamMaker {
  readonly #fs: () => CallbackFs;

  constructor(fs: () => CallbackFs) {
    this.#fs = fs;
  }

  #options(options: object | string | undefined): object {
    return { ...(typeof options === 'string' ? { encoding: options } : options), fs: this.#fs() };
  }

  createReadStream = (path: PathLike, options?: object | string): AsyncIterable<Uint8Array | string> =>
    nodeFs().createReadStream(path === undefined || path === null ? path : pathOf(path), this.#options(options));

  createWriteStream = (path: PathLike, options?: object | string): object =>
    nodeFs().createWriteStream(path === undefined || path === null ? path : pathOf(path), this.#options(options));

  /** A stream that closes the handle when it ends, unless `autoClose` says no. */
  #ofHandle(handle: FileHandle, options: object | undefined): object {
    const { autoClose = true } = (options ?? {}) as { autoClose?: boolean };
    const close = (_fd: number, callback: (error: Error | null) => void): void => {
      handle.close().then(() => callback(null), callback);
    };
    return { ...options, fd: handle.fd, autoClose, fs: { ...this.#fs(), close } };
  }

  read(handle: FileHandle, options?: object): AsyncIterable<Uint8Array | string> {
    return nodeFs().createReadStream('', this.#ofHandle(handle, options));
  }

  write(handle: FileHandle, options?: object): object {
    return nodeFs().createWriteStream('', this.#ofHandle(handle, options));
  }

  lines(handle: FileHandle, options?: object): Interface {
    const input = this.read(handle, options);
    const readline = host.builtin('node:readline') as { createInterface(options: object): Interface };
    return readline.createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  }
}
