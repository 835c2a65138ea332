/**
 * The synchronous API, second part: attributes and names. Each function is one operation of the core, with Node's
 * arguments, results and errors. Operations on many files are in tree.ts.
 */

import { Errno, FsSetBit } from '../core/layout.generated.ts';
import { ContentsFs, UMASK } from './contents.ts';
import { codedError, wrongType } from './errors.ts';
import { type BigIntStats, Dirent, type Stats, type StatsFs } from './stats.ts';
import {
  checkFd,
  checkInteger,
  checkRemoveOptions,
  decode,
  encodedPath,
  type FsEncoding,
  modeOf,
  optionsOf,
  type PathLike,
  pathOf,
  pathText,
  type TimeLike,
  timeOf,
} from './values.ts';

type EncodingOptions = { encoding?: FsEncoding | 'buffer' | null | undefined } | FsEncoding | 'buffer' | null;
export interface RmdirOptions {
  recursive?: boolean | undefined;
  maxRetries?: number | undefined;
  retryDelay?: number | undefined;
}
export interface StatOptions {
  bigint?: boolean | undefined;
  throwIfNoEntry?: boolean | undefined;
}

/** The basic operations on one volume. Methods are bound, so they can be passed on by themselves. */
export class SyncFs extends ContentsFs {
  // ---- attributes ----

  #stat(
    rc: number,
    options: StatOptions | undefined,
    syscall: string,
    path?: unknown,
  ): Stats | BigIntStats | undefined {
    if (rc < 0) {
      const missing = rc === -Errno.ENOENT || (rc === -Errno.ENOTDIR && syscall === 'stat');
      if (missing && options?.throwIfNoEntry === false) return undefined;
      throw this.volume.error(rc, syscall, path);
    }
    return options?.bigint === true ? this.volume.bigStats() : this.volume.stats();
  }

  statSync: {
    (path: PathLike, options?: { bigint?: false | undefined; throwIfNoEntry?: true | undefined }): Stats;
    (path: PathLike, options: { bigint: true; throwIfNoEntry?: true | undefined }): BigIntStats;
    (path: PathLike, options: { bigint?: false | undefined; throwIfNoEntry: false }): Stats | undefined;
    (path: PathLike, options?: StatOptions): Stats | BigIntStats | undefined;
  } = ((path: PathLike, options?: StatOptions) =>
    this.#stat(this.volume.core.plait_fs_stat(-1 - this.volume.first(path), 1), options, 'stat', path)) as never;

  lstatSync: {
    (path: PathLike, options?: { bigint?: false | undefined; throwIfNoEntry?: true | undefined }): Stats;
    (path: PathLike, options: { bigint: true; throwIfNoEntry?: true | undefined }): BigIntStats;
    (path: PathLike, options: { bigint?: false | undefined; throwIfNoEntry: false }): Stats | undefined;
    (path: PathLike, options?: StatOptions): Stats | BigIntStats | undefined;
  } = ((path: PathLike, options?: StatOptions) =>
    this.#stat(this.volume.core.plait_fs_stat(-1 - this.volume.first(path), 0), options, 'lstat', path)) as never;

  fstatSync: {
    (fd: number, options?: { bigint?: false | undefined }): Stats;
    (fd: number, options: { bigint: true }): BigIntStats;
  } = ((fd: number, options?: StatOptions) =>
    this.#stat(this.volume.core.plait_fs_stat(checkFd(fd), 1), { bigint: options?.bigint === true }, 'fstat')) as never;

  existsSync = (path: PathLike): boolean => {
    try {
      return this.volume.core.plait_fs_access(this.volume.first(path), 0) === 0;
    } catch {
      return false;
    }
  };

  accessSync = (path: PathLike, mode?: number | null): void => {
    const length = this.volume.first(path);
    this.checked(this.volume.core.plait_fs_access(length, checkInteger(mode ?? 0, 'mode', 0, 7)), 'access', path);
  };

  /** `path`: for the error message; undefined for a descriptor. */
  #set(
    syscall: string,
    target: number,
    path: unknown,
    follow: number,
    mask: number,
    values: { mode?: number | undefined; uid?: number | undefined; gid?: number | undefined },
  ): void {
    const { mode = 0, uid = 0, gid = 0 } = values;
    const rc = this.volume.core.plait_fs_set(target, follow, mask, mode, uid, gid, 0, 0, 0, 0, Date.now());
    this.checked(rc, syscall, path);
  }

  chmodSync = (path: PathLike, mode: number | string): void => {
    const target = this.targetOf(path);
    this.#set('chmod', target, path, 1, FsSetBit.SET_MODE, { mode: modeOf(mode) });
  };

  fchmodSync = (fd: number, mode: number | string): void =>
    this.#set('fchmod', checkFd(fd), undefined, 1, FsSetBit.SET_MODE, { mode: modeOf(mode) });

  #own(syscall: string, target: number, path: unknown, follow: number, uid: number, gid: number): void {
    checkInteger(uid, 'uid', -1, 2 ** 32 - 1);
    checkInteger(gid, 'gid', -1, 2 ** 32 - 1);
    const mask = (isNobody(uid) ? 0 : FsSetBit.SET_UID) | (isNobody(gid) ? 0 : FsSetBit.SET_GID);
    this.#set(syscall, target, path, follow, mask, { uid, gid });
  }

  chownSync = (path: PathLike, uid: number, gid: number): void =>
    this.#own('chown', this.targetOf(path), path, 1, uid, gid);
  lchownSync = (path: PathLike, uid: number, gid: number): void =>
    this.#own('lchown', this.targetOf(path), path, 0, uid, gid);
  fchownSync = (fd: number, uid: number, gid: number): void => this.#own('fchown', checkFd(fd), undefined, 1, uid, gid);

  #times(syscall: string, target: number, path: unknown, follow: number, atime: TimeLike, mtime: TimeLike): void {
    const access = timeOf(atime, 'time');
    const modified = timeOf(mtime, 'time');
    const mask = FsSetBit.SET_ATIME | FsSetBit.SET_MTIME;
    const [a, aNs] = secondsAndRest(access);
    const [m, mNs] = secondsAndRest(modified);
    const rc = this.volume.core.plait_fs_set(target, follow, mask, 0, 0, 0, a, aNs, m, mNs, Date.now());
    this.checked(rc, syscall, path);
  }

  utimesSync = (path: PathLike, atime: TimeLike, mtime: TimeLike): void =>
    this.#times('utime', this.targetOf(path), path, 1, atime, mtime);
  lutimesSync = (path: PathLike, atime: TimeLike, mtime: TimeLike): void =>
    this.#times('lutime', this.targetOf(path), path, 0, atime, mtime);
  futimesSync = (fd: number, atime: TimeLike, mtime: TimeLike): void =>
    this.#times('futime', checkFd(fd), undefined, 1, atime, mtime);

  // ---- names ----

  /** Creates one directory, without its ancestors. */
  makeDirectory(path: PathLike, mode: number): number {
    const { volume } = this;
    return volume.core.plait_fs_mkdir(volume.first(path), mode & ~UMASK, Date.now());
  }

  rmdirSync = (path: PathLike, options?: RmdirOptions): void => {
    const length = this.volume.first(path);
    checkRemoveOptions(options);
    if (options?.recursive)
      throw codedError(TypeError, 'ERR_INVALID_ARG_VALUE', 'rmdir has no recursive form any more: use rm');
    this.checked(this.volume.core.plait_fs_rmdir(length, Date.now()), 'rmdir', path);
  };

  unlinkSync = (path: PathLike): void => {
    const rc = this.volume.core.plait_fs_unlink(this.volume.first(path), Date.now());
    if (rc < 0) this.checked(rc, 'unlink', path);
  };

  renameSync = (oldPath: PathLike, newPath: PathLike): void => {
    const { volume } = this;
    const from = volume.first(oldPath, 'oldPath');
    const rc = volume.core.plait_fs_rename(from, volume.second(newPath, 'newPath'), Date.now());
    if (rc < 0) this.checked(rc, 'rename', oldPath, newPath);
  };

  linkSync = (existingPath: PathLike, newPath: PathLike): void => {
    const { volume } = this;
    const from = volume.first(existingPath, 'existingPath');
    const rc = volume.core.plait_fs_link(from, volume.second(newPath, 'newPath'), Date.now());
    this.checked(rc, 'link', existingPath, newPath);
  };

  /** `type` is for Windows; it is only checked. */
  symlinkSync = (target: PathLike, path: PathLike, type?: string | null): void => {
    const { volume } = this;
    const text = volume.first(target, 'target');
    const length = volume.second(path);
    if (typeof type === 'string' && !/^(dir|file|junction)$/.test(type)) {
      const message = `Symlink type must be one of "dir", "file", or "junction". Received "${type}"`;
      throw codedError(Error, 'ERR_FS_INVALID_SYMLINK_TYPE', message);
    }
    this.checked(volume.core.plait_fs_symlink(text, length, Date.now()), 'symlink', target, path);
  };

  readlinkSync: {
    (path: PathLike, options?: EncodingOptions): string;
    (path: PathLike, options: 'buffer' | { encoding: 'buffer' }): Uint8Array;
  } = ((path: PathLike, options?: EncodingOptions): string | Uint8Array => {
    const { volume } = this;
    const from = volume.first(path);
    optionsOf(options);
    const length = this.checked(volume.core.plait_fs_readlink(from), 'readlink', path);
    return encodedPath(volume.copyScratch(length), options);
  }) as never;

  // ---- directories ----

  /**
   * Names and kinds in a directory from a cursor on, as many as one call returns. `next`: the next cursor, 0 at the
   * end.
   */
  list(
    target: PathLike | number,
    cursor: number,
    syscall: string,
  ): { bytes: Uint8Array; kinds: number[]; ascii: boolean; next: number } {
    const { volume } = this;
    const count = volume.core.plait_fs_list(typeof target === 'number' ? target : this.targetOf(target), cursor);
    if (count < 0) this.checked(count, syscall, typeof target === 'number' ? undefined : target);
    const kinds: number[] = [];
    for (let i = 0; i < count; i++) kinds.push(volume.kindAt(i));
    return { bytes: volume.copyScratch(volume.listed), kinds, ascii: volume.ascii, next: volume.cursor };
  }

  /** All names in a directory, as strings. */
  names(path: PathLike): string[] {
    const { volume } = this;
    let all: string[] | undefined;
    for (let cursor = 0; ; ) {
      const count = volume.core.plait_fs_list(-1 - volume.first(path), cursor);
      if (count < 0) this.checked(count, 'scandir', path);
      cursor = volume.cursor;
      const names =
        count === 0 ? [] : decode(volume.copyScratch(volume.listed), volume.ascii ? 'latin1' : 'utf8').split('/');
      if (all === undefined && cursor === 0) return names;
      all ??= [];
      for (const name of names) all.push(name);
      if (cursor === 0) return all;
    }
  }

  /** All names in a directory, with their kinds. */
  entries(path: PathLike): Dirent[] {
    const text = pathText(pathOf(path));
    const all: Dirent[] = [];
    for (let cursor = 0; ; ) {
      const { bytes, kinds, next } = this.list(path, cursor, 'scandir');
      if (kinds.length > 0) {
        for (const [i, name] of decode(bytes, 'utf8').split('/').entries())
          all.push(new Dirent(name, text, kinds[i] as number));
      }
      if (next === 0) return all;
      cursor = next;
    }
  }

  /** All names in a directory as bytes, which need not be UTF-8, with their kinds. */
  rawEntries(path: PathLike): { name: Uint8Array; kind: number }[] {
    const all: { name: Uint8Array; kind: number }[] = [];
    for (let cursor = 0; ; ) {
      const { bytes, kinds, next } = this.list(path, cursor, 'scandir');
      let start = 0;
      for (const kind of kinds) {
        const slash = bytes.indexOf(47, start);
        const end = slash < 0 ? bytes.length : slash;
        all.push({ name: bytes.subarray(start, end), kind });
        start = end + 1;
      }
      if (next === 0) return all;
      cursor = next;
    }
  }

  // ---- limits ----

  /** Limits all files together, in bytes and in number; 0: no limit but the memory. Beyond it: ENOSPC. */
  setLimits = (limits: { bytes?: number | undefined; files?: number | undefined }): void => {
    if (typeof limits !== 'object' || limits === null) throw wrongType('limits', 'of type object', limits);
    const bytes = checkInteger(limits.bytes ?? 0, 'limits.bytes', 0, Number.MAX_SAFE_INTEGER);
    this.volume.core.plait_fs_limit(bytes, checkInteger(limits.files ?? 0, 'limits.files', 0, 2 ** 32 - 1));
  };

  #usage(): StatsFs<number> {
    const { volume } = this;
    volume.core.plait_fs_usage();
    const { held, number: files, size: most, links: mostFiles } = volume.raw();
    const blocks = Math.floor((most || 2 ** 32) / 4096);
    const free = Math.max(0, blocks - Math.ceil(held / 4096));
    const all = mostFiles || 2 ** 22;
    return { type: 0x504c4149, bsize: 4096, blocks, bfree: free, bavail: free, files: all, ffree: all - files };
  }

  statfsSync: {
    (path: PathLike, options?: { bigint?: false | undefined }): StatsFs<number>;
    (path: PathLike, options: { bigint: true }): StatsFs<bigint>;
  } = ((path: PathLike, options?: { bigint?: boolean | undefined }) => {
    const { volume } = this;
    this.checked(volume.core.plait_fs_stat(-1 - volume.first(path), 1), 'statfs', path);
    const stats = volume.mounts.statfs() ?? this.#usage();
    if (options?.bigint !== true) return stats; // as in Node: no other truthy value
    return Object.fromEntries(Object.entries(stats).map(([key, value]) => [key, BigInt(value)]));
  }) as never;
}

/** The number that leaves the owner unchanged. */
function isNobody(id: number): boolean {
  return id >>> 0 === 2 ** 32 - 1;
}

function secondsAndRest(time: number): [number, number] {
  const whole = Math.floor(time);
  return [whole, Math.floor((time - whole) * 1e9)]; // as in libuv from Node 24 on; before, it was microseconds
}
