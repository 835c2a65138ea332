/**
 * `fs.promises`: each does its work at once, as memory needs no waiting for, and answers in a promise.
 */

import { constants } from './constants.ts';
import type { ReadFileOptions, WriteFileOptions } from './contents.ts';
import type { Dir, DirOptions } from './dir.ts';
import { checkAbort } from './errors.ts';
import type { GlobOptions } from './glob.ts';
import { FileHandle, type StreamMaker } from './handle.ts';
import type { BigIntStats, Dirent, Stats } from './stats.ts';
import type { RmdirOptions, StatOptions } from './sync.ts';
import { type AsyncTarSource, type ImportTarOptions, type ImportTarResult, importTarAsync } from './tar-import.ts';
import type { CopyOptions, ReaddirOptions, RmOptions, TreeFs } from './tree.ts';
import type { FsEncoding, PathLike, TimeLike } from './values.ts';
import { type WatchEvent, type WatchOptions, watchAsync } from './watch.ts';
import { type Abortable, type Data, writeData } from './write-data.ts';

export class FsPromises {
  readonly #fs: TreeFs;
  readonly #streams: StreamMaker;
  readonly constants: typeof constants = constants;

  constructor(fs: TreeFs, streams: StreamMaker) {
    this.#fs = fs;
    this.#streams = streams;
  }

  #file<Path>(path: Path | FileHandle): Path | number {
    return path instanceof FileHandle ? path.fd : path;
  }

  access = async (path: PathLike, mode?: number): Promise<void> => this.#fs.accessSync(path, mode);
  appendFile = (
    path: PathLike | FileHandle,
    data: Data,
    options?: WriteFileOptions | (WriteFileOptions & Abortable),
  ): Promise<void> => writeData(this.#fs, this.#file(path), data, options, 'a');
  chmod = async (path: PathLike, mode: number | string): Promise<void> => this.#fs.chmodSync(path, mode);
  chown = async (path: PathLike, uid: number, gid: number): Promise<void> => this.#fs.chownSync(path, uid, gid);
  copyFile = async (src: PathLike, dest: PathLike, mode?: number): Promise<void> =>
    this.#fs.copyFileSync(src, dest, mode);
  cp = async (src: string | URL, dest: string | URL, options?: CopyOptions): Promise<void> =>
    this.#fs.cpSync(src, dest, options);
  lchown = async (path: PathLike, uid: number, gid: number): Promise<void> => this.#fs.lchownSync(path, uid, gid);
  lutimes = async (path: PathLike, atime: TimeLike, mtime: TimeLike): Promise<void> =>
    this.#fs.lutimesSync(path, atime, mtime);
  link = async (existing: PathLike, path: PathLike): Promise<void> => this.#fs.linkSync(existing, path);
  lstat: TreeFs['lstatSync'] extends infer Sync ? AsyncOf<Sync> : never = (async (
    path: PathLike,
    options?: StatOptions,
  ) => this.#fs.lstatSync(path, options)) as never;
  stat: AsyncOf<TreeFs['statSync']> = (async (path: PathLike, options?: StatOptions) =>
    this.#fs.statSync(path, options)) as never;
  statfs = async (path: PathLike, options?: { bigint?: boolean | undefined }): Promise<object> =>
    this.#fs.statfsSync(path, options as { bigint?: false | undefined });
  mkdir = async (
    path: PathLike,
    options?: { recursive?: boolean | undefined; mode?: number | string | undefined } | number | string | null,
  ): Promise<string | undefined> => this.#fs.mkdirSync(path, options);
  mkdtemp = async (prefix: string, options?: FsEncoding): Promise<string> => this.#fs.mkdtempSync(prefix, options);
  open = async (path: PathLike, flags?: string | number, mode?: number | string): Promise<FileHandle> =>
    new FileHandle(this.#fs, this.#fs.openSync(path, flags, mode), this.#streams);
  opendir = async (path: PathLike, options?: DirOptions): Promise<Dir> => this.#fs.opendirSync(path, options);
  readdir: AsyncOf<TreeFs['readdirSync']> = (async (path: PathLike, options?: ReaddirOptions) =>
    this.#fs.readdirSync(path, options)) as never;
  readFile: {
    (
      path: PathLike | FileHandle,
      options?: ({ encoding?: null | undefined; flag?: string | number | undefined } & Abortable) | null,
    ): Promise<Uint8Array<ArrayBuffer>>;
    (
      path: PathLike | FileHandle,
      options: FsEncoding | ({ encoding: FsEncoding; flag?: string | number | undefined } & Abortable),
    ): Promise<string>;
  } = (async (path: PathLike | FileHandle, options?: ReadFileOptions) => {
    checkAbort(options);
    return this.#fs.readFileSync(this.#file(path), options);
  }) as never;
  readlink = async (path: PathLike, options?: FsEncoding): Promise<string> => this.#fs.readlinkSync(path, options);
  realpath = async (path: PathLike, options?: FsEncoding): Promise<string> =>
    this.#fs.realpathSync.native(path, options);
  rename = async (from: PathLike, to: PathLike): Promise<void> => this.#fs.renameSync(from, to);
  rm = async (path: PathLike, options?: RmOptions): Promise<void> => this.#fs.rmSync(path, options);
  rmdir = async (path: PathLike, options?: RmdirOptions): Promise<void> => this.#fs.rmdirSync(path, options);
  symlink = async (target: PathLike, path: PathLike, type?: string | null): Promise<void> =>
    this.#fs.symlinkSync(target, path, type);
  truncate = async (path: PathLike, length?: number): Promise<void> => this.#fs.truncateSync(path, length);
  unlink = async (path: PathLike): Promise<void> => this.#fs.unlinkSync(path);
  utimes = async (path: PathLike, atime: TimeLike, mtime: TimeLike): Promise<void> =>
    this.#fs.utimesSync(path, atime, mtime);
  watch = (path: PathLike, options?: WatchOptions): AsyncIterable<WatchEvent> => watchAsync(this.#fs, path, options);

  /** As `fs.importTar()`, from what comes piece by piece: a stream, an iterable. */
  importTar = (source: AsyncTarSource, path: PathLike, options?: ImportTarOptions): Promise<ImportTarResult> =>
    importTarAsync(this.#fs, source, path, options);

  glob = (pattern: string | readonly string[], options?: GlobOptions): AsyncGenerator<string | Dirent> =>
    generate<string | Dirent>(() => this.#fs.globSync(pattern, options));

  writeFile = (
    path: PathLike | FileHandle,
    data: Data,
    options?: WriteFileOptions | (WriteFileOptions & Abortable),
  ): Promise<void> => writeData(this.#fs, this.#file(path), data, options, 'w');
}

async function* generate<Item>(all: () => readonly Item[]): AsyncGenerator<Item> {
  yield* all();
}

/** A function's overloads (the last four of them) with a promise of the result. */
type AsyncOf<Sync> = Sync extends {
  (path: infer P, options?: infer A): infer R;
  (path: infer P2, options: infer A2): infer R2;
}
  ? { (path: P, options?: A): Promise<R>; (path: P2, options: A2): Promise<R2> }
  : never;

export type { BigIntStats, Stats };
