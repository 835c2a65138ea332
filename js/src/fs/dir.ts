/**
 * Dir: a directory that is read in pieces. Its cursor stays valid whatever others do to the directory meanwhile.
 */

import { makeOpaque, refuseCloning } from '../core/opaque.ts';
import { completeLater, settle } from './completion.ts';
import { codedError } from './errors.ts';
import { Dirent } from './stats.ts';
import type { SyncFs } from './sync.ts';
import { checkInteger, decode, optionsOf, type PathLike, pathOf, pathText } from './values.ts';

export interface DirOptions {
  encoding?: string | null | undefined;
  bufferSize?: number | undefined;
  recursive?: boolean | undefined;
}

type Callback<Result> = (error: Error | null, result?: Result) => void;

/** The directory that is read, and the position in it. */
class Reader {
  readonly #fs: SyncFs;
  readonly #recursive: boolean;
  readonly #rest: string[] = [];
  #fd: number;
  #below: string;
  #batch: Dirent[] = [];
  #cursor = 0;
  #ended = false;

  constructor(fs: SyncFs, path: PathLike, text: string, recursive: boolean) {
    this.#fs = fs;
    this.#recursive = recursive;
    this.#below = text;
    try {
      this.#fd = fs.openSync(path, 65536);
    } catch (error) {
      const { errno } = error as { errno?: number };
      if (errno === undefined) throw error;
      throw fs.volume.error(errno, 'opendir', path);
    }
  }

  get isOpen(): boolean {
    return this.#fd >= 0;
  }

  #check(): void {
    if (!this.isOpen) throw codedError(Error, 'ERR_DIR_CLOSED', 'Directory handle was closed');
  }

  next(): Dirent | null {
    this.#check();
    while (this.#batch.length === 0) {
      if (this.#ended) {
        const next = this.#rest.pop();
        if (next === undefined) return null;
        const fd = this.#fs.openSync(next, 65536);
        this.#fs.closeSync(this.#fd);
        this.#fd = fd;
        this.#below = next;
        this.#cursor = 0;
        this.#ended = false;
      }
      const { bytes, kinds, next } = this.#fs.list(this.#fd, this.#cursor, 'scandir');
      const names = kinds.length === 0 ? [] : decode(bytes, 'utf8').split('/');
      this.#batch = names.map((name, i) => new Dirent(name, this.#below, kinds[i] as number)).reverse();
      this.#cursor = next;
      this.#ended = next === 0;
    }
    const entry = this.#batch.pop() as Dirent;
    if (this.#recursive && entry.isDirectory()) this.#rest.push(`${this.#below}/${entry.name}`);
    return entry;
  }

  close(): void {
    this.#check();
    this.#fs.closeSync(this.#fd);
    this.#fd = -1;
  }
}

/** The property that holds the state, so that objects that inherit from a Dir, or wrap it, find it. */
const READER = Symbol('reader');

function readerOf(dir: unknown): Reader {
  return (dir as { [READER]: Reader })[READER];
}

export class Dir implements AsyncIterable<Dirent> {
  readonly path: string;

  static {
    makeOpaque(Dir, { name: 'Dir', instead: 'send dir.path, and open it there' }, ({ path }) => ({ path }));
  }

  constructor(fs: SyncFs, path: PathLike, options?: DirOptions | null) {
    refuseCloning(this);
    this.path = pathText(pathOf(path));
    const { recursive, bufferSize = 32 } = optionsOf<DirOptions>(options);
    checkInteger(bufferSize, 'options.bufferSize', 1, 2 ** 32 - 1);
    Object.defineProperty(this, READER, { value: new Reader(fs, path, this.path, recursive === true) });
  }

  readSync(): Dirent | null {
    return readerOf(this).next();
  }

  closeSync(): void {
    readerOf(this).close();
  }

  read(): Promise<Dirent | null>;
  read(callback: Callback<Dirent | null>): void;
  read(callback?: Callback<Dirent | null>): Promise<Dirent | null> | undefined {
    return later(() => this.readSync(), callback);
  }

  close(): Promise<void>;
  close(callback: Callback<void>): void;
  close(callback?: Callback<void>): Promise<void> | undefined {
    return later(() => this.closeSync(), callback);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Dirent, void, undefined> {
    try {
      for (let entry = await this.read(); entry !== null; entry = await this.read()) yield entry;
    } finally {
      if (readerOf(this).isOpen) this.closeSync();
    }
  }

  [Symbol.dispose](): void {
    if (readerOf(this).isOpen) this.closeSync();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return settle(() => this[Symbol.dispose]());
  }
}

function later<Result>(action: () => Result, callback: Callback<Result> | undefined): Promise<Result> | undefined {
  if (callback === undefined) return settle(action);
  try {
    const result = action();
    completeLater(() => callback(null, result));
  } catch (error) {
    completeLater(() => callback(error as Error));
  }
  return undefined;
}
