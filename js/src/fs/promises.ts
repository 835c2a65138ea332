/**
 * `fs.promises`. Each function does its work at once, because memory needs no waiting, and returns a promise of the
 * result.
 */

import { makeOpaque } from '../core/opaque.ts';
import { settle, settleAsync } from './completion.ts';
import { constants } from './constants.ts';
import type { BytesOptions, ReadFileOptions, TextOptions, WriteFileOptions } from './contents.ts';
import { type AsyncCopyOptions, copyTree } from './cp.ts';
import type { Dir, DirOptions } from './dir.ts';
import { checkAbort } from './errors.ts';
import type { GlobOptions } from './glob.ts';
import { FileHandle, type StreamMaker } from './handle.ts';
import type { BigIntStats, Dirent, Stats, StatsFs } from './stats.ts';
import type { RmdirOptions, StatOptions } from './sync.ts';
import { type AsyncTarSource, type ImportTarOptions, type ImportTarResult, importTarAsync } from './tar-import.ts';
import type { ReaddirOptions, RmOptions, TreeFs } from './tree.ts';
import type { FsEncoding, PathLike, TimeLike } from './values.ts';
import { type WatchEvent, type WatchOptions, watchAsync } from './watch.ts';
import { type Abortable, type Data, writeData } from './write-data.ts';

type Flag = boolean | undefined;
type Mode = number | string | undefined;
type MkdirOptions = { recursive?: Flag; mode?: Mode } | Mode | null;
type TextEncoding = FsEncoding | null;
interface AsyncStat {
  (path: PathLike, options?: { bigint?: false | undefined; throwIfNoEntry?: true | undefined }): Promise<Stats>;
  (path: PathLike, options: { bigint: true; throwIfNoEntry?: true | undefined }): Promise<BigIntStats>;
  (path: PathLike, options?: StatOptions): Promise<Stats | BigIntStats | undefined>;
}
/** Functions that return a path, or a text that may be one. */
interface AsyncPath {
  (path: PathLike, options?: { encoding?: FsEncoding | null | undefined } | TextEncoding): Promise<string>;
  (path: PathLike, options: 'buffer' | { encoding: 'buffer' }): Promise<Uint8Array>;
}

export class FsPromises {
  readonly #fs: TreeFs;
  readonly #streams: StreamMaker;
  readonly constants: typeof constants = constants;

  static {
    const instead = 'import it there: all threads have the same';
    makeOpaque(FsPromises, { name: 'FsPromises', instead }, () => ({}));
  }

  constructor(fs: TreeFs, streams: StreamMaker) {
    this.#fs = fs;
    this.#streams = streams;
  }

  #file<Path>(path: Path | FileHandle): Path | number {
    return path instanceof FileHandle ? path.fd : path;
  }

  access = (path: PathLike, mode?: number): Promise<void> => settle(() => this.#fs.accessSync(path, mode));
  appendFile = (
    path: PathLike | FileHandle,
    data: Data,
    options?: WriteFileOptions | (WriteFileOptions & Abortable),
  ): Promise<void> => settleAsync(() => writeData(this.#fs, this.#file(path), data, options, 'a'));
  chmod = (path: PathLike, mode: number | string): Promise<void> => settle(() => this.#fs.chmodSync(path, mode));
  chown = (path: PathLike, uid: number, gid: number): Promise<void> => settle(() => this.#fs.chownSync(path, uid, gid));
  copyFile = (src: PathLike, dest: PathLike, mode?: number): Promise<void> =>
    settle(() => this.#fs.copyFileSync(src, dest, mode));
  cp = (src: string | URL, dest: string | URL, options?: AsyncCopyOptions): Promise<void> =>
    settleAsync(() => copyTree(this.#fs, src, dest, options));
  lchown = (path: PathLike, uid: number, gid: number): Promise<void> =>
    settle(() => this.#fs.lchownSync(path, uid, gid));
  lutimes = (path: PathLike, atime: TimeLike, mtime: TimeLike): Promise<void> =>
    settle(() => this.#fs.lutimesSync(path, atime, mtime));
  link = (existing: PathLike, path: PathLike): Promise<void> => settle(() => this.#fs.linkSync(existing, path));
  lstat: AsyncStat = ((path: PathLike, options?: StatOptions) =>
    settle(() => this.#fs.lstatSync(path, options))) as AsyncStat;
  stat: AsyncStat = ((path: PathLike, options?: StatOptions) =>
    settle(() => this.#fs.statSync(path, options))) as AsyncStat;
  statfs: {
    (path: PathLike, options?: { bigint?: false | undefined }): Promise<StatsFs<number>>;
    (path: PathLike, options: { bigint: true }): Promise<StatsFs<bigint>>;
  } = ((path: PathLike, options?: { bigint?: boolean | undefined }) =>
    settle(() => this.#fs.statfsSync(path, options as { bigint?: false | undefined }))) as never;
  mkdir: {
    (path: PathLike, options: { recursive: true; mode?: Mode }): Promise<string | undefined>;
    (path: PathLike, options?: { recursive?: false | undefined; mode?: Mode } | Mode | null): Promise<void>;
    (path: PathLike, options?: MkdirOptions): Promise<string | undefined>;
  } = ((path: PathLike, options?: MkdirOptions) => settle(() => this.#fs.mkdirSync(path, options))) as never;
  mkdtemp: AsyncPath = ((prefix: PathLike, options?: TextEncoding) =>
    settle(() => this.#fs.mkdtempSync(prefix, options))) as AsyncPath;
  open = (path: PathLike, flags?: string | number, mode?: number | string): Promise<FileHandle> =>
    settle(() => new FileHandle(this.#fs, this.#fs.openSync(path, flags, mode), this.#streams));
  opendir = (path: PathLike, options?: DirOptions): Promise<Dir> => settle(() => this.#fs.opendirSync(path, options));
  readdir: {
    (
      path: PathLike,
      options?:
        | { encoding?: FsEncoding | null | undefined; withFileTypes?: false | undefined; recursive?: Flag }
        | TextEncoding,
    ): Promise<string[]>;
    (
      path: PathLike,
      options: { withFileTypes: true; encoding?: FsEncoding | null | undefined; recursive?: Flag },
    ): Promise<Dirent[]>;
    (
      path: PathLike,
      options: { encoding: 'buffer'; withFileTypes?: false | undefined; recursive?: Flag } | 'buffer',
    ): Promise<Uint8Array[]>;
    (path: PathLike, options?: ReaddirOptions | TextEncoding | 'buffer'): Promise<string[] | Dirent[] | Uint8Array[]>;
  } = ((path: PathLike, options?: ReaddirOptions) => settle(() => this.#fs.readdirSync(path, options))) as never;
  readFile: {
    (path: PathLike | FileHandle, options?: (BytesOptions & Abortable) | null): Promise<Uint8Array<ArrayBuffer>>;
    (path: PathLike | FileHandle, options: TextOptions | (TextOptions & Abortable)): Promise<string>;
    (
      path: PathLike | FileHandle,
      options?: ReadFileOptions | (ReadFileOptions & Abortable),
    ): Promise<string | Uint8Array<ArrayBuffer>>;
  } = ((path: PathLike | FileHandle, options?: ReadFileOptions) =>
    settle(() => {
      checkAbort(options);
      return this.#fs.readFileSync(this.#file(path), options);
    })) as never;
  readlink: AsyncPath = ((path: PathLike, options?: TextEncoding) =>
    settle(() => this.#fs.readlinkSync(path, options))) as AsyncPath;
  realpath: AsyncPath = ((path: PathLike, options?: TextEncoding) =>
    settle(() => this.#fs.realpathSync.native(path, options))) as AsyncPath;
  rename = (from: PathLike, to: PathLike): Promise<void> => settle(() => this.#fs.renameSync(from, to));
  rm = (path: PathLike, options?: RmOptions): Promise<void> => settle(() => this.#fs.rmSync(path, options));
  rmdir = (path: PathLike, options?: RmdirOptions): Promise<void> => settle(() => this.#fs.rmdirSync(path, options));
  symlink = (target: PathLike, path: PathLike, type?: string | null): Promise<void> =>
    settle(() => this.#fs.symlinkSync(target, path, type));
  truncate = (path: PathLike, length?: number): Promise<void> => settle(() => this.#fs.truncateSync(path, length));
  unlink = (path: PathLike): Promise<void> => settle(() => this.#fs.unlinkSync(path));
  utimes = (path: PathLike, atime: TimeLike, mtime: TimeLike): Promise<void> =>
    settle(() => this.#fs.utimesSync(path, atime, mtime));
  watch = (path: PathLike, options?: WatchOptions): AsyncIterable<WatchEvent> => watchAsync(this.#fs, path, options);

  /** Like `fs.importTar()`, for an archive that arrives in pieces: a stream or an iterable. */
  importTar = (source: AsyncTarSource, path: PathLike, options?: ImportTarOptions): Promise<ImportTarResult> =>
    settleAsync(() => importTarAsync(this.#fs, source, path, options));

  glob = (pattern: string | readonly string[], options?: GlobOptions): AsyncGenerator<string | Dirent> =>
    generate<string | Dirent>(() => this.#fs.globSync(pattern, options));

  writeFile = (
    path: PathLike | FileHandle,
    data: Data,
    options?: WriteFileOptions | (WriteFileOptions & Abortable),
  ): Promise<void> => settleAsync(() => writeData(this.#fs, this.#file(path), data, options, 'w'));
}

async function* generate<Item>(all: () => readonly Item[]): AsyncGenerator<Item> {
  yield* await settle(all);
}
