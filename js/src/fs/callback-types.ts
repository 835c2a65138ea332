/**
 * The types of the callback API: each function without its options and with them.
 */

import type { BytesOptions, ReadFileOptions, ReadOptions, TextOptions, WriteFileOptions } from './contents.ts';
import type { AsyncCopyOptions } from './cp.ts';
import type { Dir, DirOptions } from './dir.ts';
import type { FsError } from './errors.ts';
import type { GlobOptions } from './glob.ts';
import type { BigIntStats, Dirent, Stats, StatsFs } from './stats.ts';
import type { RmdirOptions, StatOptions } from './sync.ts';
import type { ReaddirOptions, RmOptions } from './tree.ts';
import type { FsEncoding, PathLike, TimeLike } from './values.ts';
import type { Abortable } from './write-data.ts';

type Done<Results extends unknown[]> = (error: FsError | null, ...results: Results) => void;
/** A function with these arguments, and a callback for these results. */
type Plain<Arguments extends unknown[], Results extends unknown[] = []> = (
  ...args: [...Arguments, callback: Done<Results>]
) => void;
/** The same with and without one more argument. */
type Optional<Arguments extends unknown[], Last, Results extends unknown[] = []> = Plain<Arguments, Results> &
  Plain<[...Arguments, options: Last], Results>;

type Bytes = Uint8Array<ArrayBuffer>;
type File = PathLike | number;
type Mode = number | string;
type Flag = boolean | undefined;
type Position = number | bigint | null | undefined;
type Encoding = { encoding?: FsEncoding | null | undefined } | FsEncoding | null | undefined;
type BufferEncoding = { encoding: 'buffer' } | 'buffer';
type Makes = { recursive?: Flag; mode?: Mode | undefined } | Mode | null | undefined;
type Names = { encoding?: FsEncoding | null | undefined; withFileTypes?: false | undefined; recursive?: Flag };
type Entries = { withFileTypes: true; encoding?: FsEncoding | null | undefined; recursive?: Flag };
type RawNames = { encoding: 'buffer'; withFileTypes?: false | undefined; recursive?: Flag } | 'buffer';
type Buffers = readonly ArrayBufferView[];

/** Functions that return a path. */
type PathFunction = Optional<[path: PathLike], Encoding, [path: string]> &
  Plain<[path: PathLike, options: BufferEncoding], [path: Uint8Array]>;

type StatFunction<Target, Options> = Optional<
  [target: Target],
  ({ bigint?: false | undefined } & Options) | undefined,
  [stats: Stats]
> &
  Plain<[target: Target, options: { bigint: true } & Options], [stats: BigIntStats]> &
  Plain<[target: Target, options: StatOptions | undefined], [stats: Stats | BigIntStats]>;

/** The callback functions of node:fs. */
export interface CallbackFs {
  access: Optional<[path: PathLike], number | undefined>;
  appendFile: Optional<[path: File, data: string | ArrayBufferView], WriteFileOptions & Abortable>;
  chmod: Plain<[path: PathLike, mode: Mode]>;
  chown: Plain<[path: PathLike, uid: number, gid: number]>;
  close(fd: number, callback?: Done<[]>): void;
  copyFile: Optional<[src: PathLike, dest: PathLike], number>;
  cp: Optional<[src: string | URL, dest: string | URL], AsyncCopyOptions>;
  exists(path: PathLike, callback: (exists: boolean) => void): void;
  fchmod: Plain<[fd: number, mode: Mode]>;
  fchown: Plain<[fd: number, uid: number, gid: number]>;
  fdatasync: Plain<[fd: number]>;
  fstat: StatFunction<number, object>;
  fsync: Plain<[fd: number]>;
  ftruncate: Optional<[fd: number], number | null | undefined>;
  futimes: Plain<[fd: number, atime: TimeLike, mtime: TimeLike]>;
  glob: Optional<[pattern: string | readonly string[]], GlobOptions, [found: (string | Dirent)[]]>;
  lchown: Plain<[path: PathLike, uid: number, gid: number]>;
  link: Plain<[existingPath: PathLike, newPath: PathLike]>;
  lstat: StatFunction<PathLike, { throwIfNoEntry?: Flag }>;
  lutimes: Plain<[path: PathLike, atime: TimeLike, mtime: TimeLike]>;
  mkdir: Optional<[path: PathLike], Makes, [first?: string]>;
  mkdtemp: PathFunction;
  open: Plain<[path: PathLike], [fd: number]> &
    Plain<[path: PathLike, flags: Mode | undefined], [fd: number]> &
    Plain<[path: PathLike, flags: Mode | undefined, mode: Mode | null | undefined], [fd: number]>;
  opendir: Optional<[path: PathLike], DirOptions, [dir: Dir]>;
  read: Plain<[fd: number], [read: number, buffer: Bytes]> & {
    <View extends ArrayBufferView>(
      fd: number,
      buffer: View,
      offset: number,
      length: number,
      position: Position,
      callback: Done<[read: number, buffer: View]>,
    ): void;
    <View extends ArrayBufferView>(
      fd: number,
      buffer: View,
      options: ReadOptions | undefined,
      callback: Done<[read: number, buffer: View]>,
    ): void;
    <View extends ArrayBufferView>(
      fd: number,
      options: View | (ReadOptions & { buffer?: View | undefined }),
      callback: Done<[read: number, buffer: View]>,
    ): void;
  };
  readdir: Optional<[path: PathLike], Names | FsEncoding | null | undefined, [names: string[]]> &
    Plain<[path: PathLike, options: Entries], [entries: Dirent[]]> &
    Plain<[path: PathLike, options: RawNames], [names: Uint8Array[]]> &
    Plain<[path: PathLike, options: ReaddirOptions], [found: string[] | Dirent[] | Uint8Array[]]>;
  readFile: Optional<[path: File], (BytesOptions & Abortable) | null | undefined, [data: Bytes]> &
    Plain<[path: File, options: TextOptions | (TextOptions & Abortable)], [data: string]> &
    Plain<[path: File, options: ReadFileOptions | (ReadFileOptions & Abortable)], [data: string | Bytes]>;
  readlink: PathFunction;
  readv: Optional<[fd: number, buffers: Buffers], number | null, [read: number, buffers: Buffers]>;
  realpath: PathFunction & { native: PathFunction };
  rename: Plain<[oldPath: PathLike, newPath: PathLike]>;
  rm: Optional<[path: PathLike], RmOptions>;
  rmdir: Optional<[path: PathLike], RmdirOptions>;
  stat: StatFunction<PathLike, { throwIfNoEntry?: Flag }>;
  statfs: Optional<[path: PathLike], { bigint?: false | undefined } | undefined, [stats: StatsFs<number>]> &
    Plain<[path: PathLike, options: { bigint: true }], [stats: StatsFs<bigint>]>;
  symlink: Optional<[target: PathLike, path: PathLike], string | null | undefined>;
  truncate: Optional<[path: PathLike], number | null | undefined>;
  unlink: Plain<[path: PathLike]>;
  utimes: Plain<[path: PathLike, atime: TimeLike, mtime: TimeLike]>;
  write: WriteFunction;
  writeFile: Optional<[path: File, data: string | ArrayBufferView], WriteFileOptions & Abortable>;
  writev: Optional<[fd: number, buffers: Buffers], number | null, [written: number, buffers: Buffers]>;
}

interface WriteFunction {
  <View extends ArrayBufferView>(fd: number, data: View, callback: Done<[written: number, data: View]>): void;
  <View extends ArrayBufferView>(
    fd: number,
    data: View,
    offset: number | ReadOptions | null | undefined,
    callback: Done<[written: number, data: View]>,
  ): void;
  <View extends ArrayBufferView>(
    fd: number,
    data: View,
    offset: number | null | undefined,
    length: number | null | undefined,
    callback: Done<[written: number, data: View]>,
  ): void;
  <View extends ArrayBufferView>(
    fd: number,
    data: View,
    offset: number | null | undefined,
    length: number | null | undefined,
    position: Position,
    callback: Done<[written: number, data: View]>,
  ): void;
  (fd: number, text: string, callback: Done<[written: number, text: string]>): void;
  (fd: number, text: string, position: Position, callback: Done<[written: number, text: string]>): void;
  (
    fd: number,
    text: string,
    position: Position,
    encoding: FsEncoding | null | undefined,
    callback: Done<[written: number, text: string]>,
  ): void;
}
