/**
 * The synchronous face: what is one operation of the core, with Node's arguments, results and errors. What walks over
 * many files is in tree.ts.
 */

import { Errno, FS_SCRATCH, FsFlag, FsSetBit } from '../core/layout.generated.ts';
import { codedError, outOfRange, wrongType, wrongValue } from './errors.ts';
import { type BigIntStats, Dirent, type Stats, type StatsFs } from './stats.ts';
import {
  bytesOf,
  checkFd,
  checkInteger,
  dataBytes,
  decode,
  encodingOf,
  type FsEncoding,
  flagsOf,
  modeOf,
  newBytes,
  optionsOf,
  type PathLike,
  pathOf,
  pathText,
  positionOf,
  type TimeLike,
  timeOf,
} from './values.ts';
import type { Volume } from './volume.ts';

type EncodingOptions = { encoding?: FsEncoding | 'buffer' | null | undefined } | FsEncoding | 'buffer' | null;
export type ReadFileOptions =
  | { encoding?: FsEncoding | 'buffer' | null; flag?: string | number }
  | FsEncoding
  | 'buffer'
  | null;
export type WriteFileOptions =
  | { encoding?: FsEncoding | null; mode?: number | string; flag?: string | number; flush?: boolean }
  | FsEncoding
  | null;
export interface StatOptions {
  bigint?: boolean;
  throwIfNoEntry?: boolean;
}
export interface ReadOptions {
  offset?: number;
  length?: number;
  position?: number | bigint | null;
}
/** A file's bytes in shared memory. `close()`, or `using`, gives up the view. */
export type MappedFile = Uint8Array<SharedArrayBuffer> & { close(): void; [Symbol.dispose](): void };

const UMASK = (globalThis as { process?: { umask?(): number } }).process?.umask?.() ?? 0o022;
const WRITE_FLAGS = FsFlag.WRONLY | FsFlag.CREAT | FsFlag.TRUNC;

/** The basic operations on one volume. Methods are bound: they can be passed on by themselves. */
export class SyncFs {
  readonly #open: () => Volume;
  #opened: Volume | undefined;

  constructor(open: () => Volume) {
    this.#open = open;
  }

  /** This thread's way into the files. */
  get volume(): Volume {
    this.#opened ??= this.#open();
    return this.#opened;
  }

  /** The target of a core function: a path that is put in place, or a descriptor. */
  #target(path: unknown): number {
    return typeof path === 'number' ? checkFd(path) : -1 - this.volume.first(path);
  }

  #check(rc: number, syscall: string, path?: unknown, dest?: unknown): number {
    if (rc < 0) throw this.volume.error(rc, syscall, path, dest);
    return rc;
  }

  // ---- open, read, write, close ----

  openSync = (path: PathLike, flags: string | number = 'r', mode?: number | string | null): number => {
    const { volume } = this;
    const bits = flagsOf(flags);
    const permissions = modeOf(mode, 0o666) & ~UMASK;
    const fd = volume.core.plait_fs_open(volume.first(path), bits, permissions, Date.now());
    return fd < 0 ? this.#check(fd, 'open', path) : fd;
  };

  closeSync = (fd: number): void => {
    const rc = this.volume.core.plait_fs_close(checkFd(fd));
    if (rc < 0) throw this.volume.error(rc, 'close');
  };

  readSync = (
    fd: number,
    buffer: NodeJS.ArrayBufferView,
    offsetOrOptions?: number | ReadOptions | null,
    ...more: [length?: number | null, position?: number | bigint | null]
  ): number => {
    checkFd(fd);
    const bytes = buffer instanceof Uint8Array ? buffer : bytesOf(buffer, 'buffer');
    let offset = offsetOrOptions;
    let [length, position] = more;
    if (typeof offset !== 'number') {
      if (offset !== null && typeof offset === 'object') ({ offset = 0, length, position } = offset);
      offset ??= 0;
    } else if (more.length === 0) {
      throw wrongType('options', 'of type object', offset);
    }
    const size = bytes.length;
    if (!(Number.isInteger(offset) && (offset as number) >= 0 && (offset as number) <= size)) {
      checkInteger(offset, 'offset', 0, Number.MAX_SAFE_INTEGER);
    }
    const start = offset as number;
    const count = length === undefined || length === null ? size - start : length | 0;
    if (count === 0) return 0;
    if (size === 0) throw wrongValue('buffer', 'is empty and cannot be written', buffer);
    if (count < 0) throw outOfRange('length', '>= 0', count);
    if (count > size - start) throw outOfRange('length', `<= ${size - start}`, count);
    const rc = this.volume.read(
      fd,
      bytes,
      start,
      count,
      position === null || position === undefined ? -1 : positionOf(position),
    );
    if (rc < 0) throw this.volume.error(rc, 'read');
    return rc;
  };

  writeSync = (
    fd: number,
    data: NodeJS.ArrayBufferView | string,
    offsetOrPosition?: number | bigint | ReadOptions | null,
    lengthOrEncoding?: number | string | null,
    position?: number | bigint | null,
  ): number => {
    checkFd(fd);
    let bytes: Uint8Array;
    let offset = 0;
    let length: number;
    let at: number;
    if (typeof data === 'string') {
      bytes = dataBytes(data, (lengthOrEncoding as string) ?? 'utf8');
      length = bytes.length;
      at = positionOf(offsetOrPosition as number);
    } else {
      bytes = data instanceof Uint8Array ? data : bytesOf(data, 'buffer');
      let from: unknown = offsetOrPosition;
      let count: unknown = lengthOrEncoding;
      let place: unknown = position;
      if (from !== null && typeof from === 'object') {
        ({ offset: from, length: count, position: place } = from as ReadOptions);
      }
      offset = from === undefined || from === null ? 0 : checkInteger(from, 'offset', 0, Number.MAX_SAFE_INTEGER);
      if (offset > bytes.length) throw outOfRange('offset', `<= ${bytes.length}`, offset);
      length = typeof count === 'number' ? count : bytes.length - offset;
      if (length > bytes.length - offset) throw outOfRange('length', `<= ${bytes.length - offset}`, length);
      if (length < 0) throw outOfRange('length', '>= 0', length);
      checkInteger(length, 'length', 0, 2147483647);
      at = typeof place === 'number' || typeof place === 'bigint' ? positionOf(place) : -1;
    }
    const rc = this.volume.write(fd, bytes, offset, length, at, Date.now());
    if (rc < 0) throw this.volume.error(rc, 'write');
    return rc;
  };

  readvSync = (fd: number, buffers: readonly NodeJS.ArrayBufferView[], position?: number | null): number => {
    const { all, parts } = gather(buffers, checkFd(fd));
    const rc = this.volume.read(fd, all, 0, all.length, typeof position === 'number' ? positionOf(position) : -1);
    if (rc < 0) throw this.volume.error(rc, 'read');
    let at = 0;
    for (const part of parts) {
      const count = Math.min(part.length, rc - at);
      if (count <= 0) break;
      part.set(all.subarray(at, at + count));
      at += count;
    }
    return rc;
  };

  writevSync = (fd: number, buffers: readonly NodeJS.ArrayBufferView[], position?: number | null): number => {
    const { all, parts } = gather(buffers, checkFd(fd));
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    const place = typeof position === 'number' ? positionOf(position) : -1;
    const rc = this.volume.write(fd, all, 0, all.length, place, Date.now());
    if (rc < 0) throw this.volume.error(rc, 'write');
    return rc;
  };

  // ---- whole files ----

  /** A file's bytes, private ones. */
  #bytesOfFile(path: PathLike | number, flags: number): Uint8Array<ArrayBuffer> {
    const { volume } = this;
    if (typeof path !== 'number' && flags === 0) {
      const size = volume.core.plait_fs_read_file(-1 - volume.first(path), volume.scratch, FS_SCRATCH);
      if (size < 0) throw size === -Errno.EISDIR ? volume.error(size, 'read') : volume.error(size, 'open', path);
      if (size <= FS_SCRATCH) return volume.copyScratch(size);
      const whole = this.#largeFile(path, size);
      if (whole !== undefined) return whole;
    }
    const fd = typeof path === 'number' ? checkFd(path) : this.openSync(path, flags);
    try {
      const parts: Uint8Array<ArrayBuffer>[] = [];
      let rest = Math.max(this.fstatSync(fd).size, 1);
      for (let total = 0; ; ) {
        const part = newBytes(rest);
        const count = volume.read(fd, part, 0, rest, -1);
        if (count < 0) throw volume.error(count, 'read');
        total += count;
        if (count > 0) parts.push(count < rest ? part.subarray(0, count) : part);
        if (count === 0) return parts.length === 1 ? (parts[0] as Uint8Array<ArrayBuffer>) : joined(parts, total);
        rest = Math.max(this.fstatSync(fd).size - total, 1);
      }
    } finally {
      if (typeof path !== 'number') this.closeSync(fd);
    }
  }

  /** A large file's bytes, all at one instant; nothing if there is no memory for that. */
  #largeFile(path: PathLike, size: number): Uint8Array<ArrayBuffer> | undefined {
    const { volume } = this;
    for (let room = size; ; ) {
      const block = volume.core.plait_fs_hold(room) >>> 0;
      if (block === 0) return undefined;
      try {
        const now = volume.core.plait_fs_read_file(-1 - volume.first(path), block, room);
        if (now < 0) throw volume.error(now, 'open', path);
        if (now <= room) {
          const bytes = newBytes(now);
          bytes.set(volume.space.bytes(block, now));
          return bytes;
        }
        room = now; // it has grown meanwhile
      } finally {
        volume.core.plait_fs_unhold();
      }
    }
  }

  readFileSync: {
    (path: PathLike | number, options?: { encoding?: null; flag?: string | number } | null): Uint8Array<ArrayBuffer>;
    (path: PathLike | number, options: FsEncoding | { encoding: FsEncoding; flag?: string | number }): string;
    (path: PathLike | number, options?: ReadFileOptions): string | Uint8Array<ArrayBuffer>;
  } = ((path: PathLike | number, options?: ReadFileOptions): string | Uint8Array<ArrayBuffer> => {
    const encoding = options === undefined ? undefined : encodingOf(options);
    const flag = options === undefined ? undefined : optionsOf<{ flag: string | number }>(options).flag;
    const bytes = this.#bytesOfFile(path, flagsOf(flag));
    return encoding === undefined ? bytes : decode(bytes, encoding);
  }) as never;

  writeFileSync = (
    path: PathLike | number,
    data: string | NodeJS.ArrayBufferView,
    options?: WriteFileOptions,
  ): void => {
    const { encoding, mode, flag } = optionsOf<{ encoding: string; mode: number; flag: string }>(options);
    const name = encodingOf({ encoding }) ?? 'utf8';
    this.#writeWhole(path, data, name, flagsOf(flag, WRITE_FLAGS), modeOf(mode, 0o666));
  };

  appendFileSync = (
    path: PathLike | number,
    data: string | NodeJS.ArrayBufferView,
    options?: WriteFileOptions,
  ): void => {
    const { encoding, mode, flag } = optionsOf<{ encoding: string; mode: number; flag: string }>(options);
    const name = encodingOf({ encoding }) ?? 'utf8';
    this.#writeWhole(path, data, name, flagsOf(flag, flagsOf('a')), modeOf(mode, 0o666));
  };

  #writeWhole(path: PathLike | number, data: unknown, encoding: string, flags: number, mode: number): void {
    const { volume } = this;
    const short =
      typeof data === 'string' && (encoding === 'utf8' || encoding === 'utf-8') ? volume.fillScratchText(data) : -1;
    const bytes = short >= 0 ? undefined : dataBytes(data, encoding);
    const whole = FsFlag.CREAT | FsFlag.TRUNC;
    if (typeof path === 'number' || (flags & whole) !== whole || (flags & 3) === 0 || flags & FsFlag.APPEND) {
      this.#writeThrough(path, bytes ?? volume.copyScratch(short), flags, mode);
      return;
    }
    const rc = this.#replaceWhole(path, bytes, short, flags, mode & ~UMASK);
    if (rc < 0) throw rc === -Errno.ENOSPC ? volume.error(rc, 'write') : volume.error(rc, 'open', path);
  }

  /** The new contents come into being in one step: no reader sees less than all of them, or of the old ones. */
  #replaceWhole(path: PathLike, bytes: Uint8Array | undefined, short: number, flags: number, mode: number): number {
    const { volume } = this;
    const length = volume.first(path);
    const size = bytes === undefined ? short : bytes.length;
    if (size <= FS_SCRATCH) {
      if (bytes !== undefined) volume.fillScratch(bytes, 0, size);
      return volume.core.plait_fs_write_file(length, flags, mode, volume.scratch, size, 0, Date.now());
    }
    const block = volume.core.plait_fs_hold(size) >>> 0;
    if (block === 0) return -Errno.ENOSPC;
    volume.space.bytes(block, size).set(bytes as Uint8Array);
    return volume.core.plait_fs_write_file(length, flags, mode, block, size, 1, Date.now());
  }

  #writeThrough(path: PathLike | number, bytes: Uint8Array, flags: number, mode: number): void {
    const fd = typeof path === 'number' ? checkFd(path) : this.openSync(path, flags, mode);
    try {
      for (let at = 0; at < bytes.length; ) at += this.writeSync(fd, bytes, at);
    } finally {
      if (typeof path !== 'number') this.closeSync(fd);
    }
  }

  // ---- what files are ----

  #stat(
    rc: number,
    options: StatOptions | undefined,
    syscall: string,
    path?: unknown,
  ): Stats | BigIntStats | undefined {
    if (rc < 0) {
      if (rc === -Errno.ENOENT && options?.throwIfNoEntry === false) return undefined;
      throw this.volume.error(rc, syscall, path);
    }
    return options?.bigint ? this.volume.bigStats() : this.volume.stats();
  }

  statSync: {
    (path: PathLike, options?: { bigint?: false; throwIfNoEntry?: true }): Stats;
    (path: PathLike, options: { bigint: true; throwIfNoEntry?: true }): BigIntStats;
    (path: PathLike, options?: StatOptions): Stats | BigIntStats | undefined;
  } = ((path: PathLike, options?: StatOptions) =>
    this.#stat(this.volume.core.plait_fs_stat(-1 - this.volume.first(path), 1), options, 'stat', path)) as never;

  lstatSync: {
    (path: PathLike, options?: { bigint?: false; throwIfNoEntry?: true }): Stats;
    (path: PathLike, options: { bigint: true; throwIfNoEntry?: true }): BigIntStats;
    (path: PathLike, options?: StatOptions): Stats | BigIntStats | undefined;
  } = ((path: PathLike, options?: StatOptions) =>
    this.#stat(this.volume.core.plait_fs_stat(-1 - this.volume.first(path), 0), options, 'lstat', path)) as never;

  fstatSync: {
    (fd: number, options?: { bigint?: false }): Stats;
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

  accessSync = (path: PathLike, mode = 0): void => {
    const length = this.volume.first(path);
    this.#check(this.volume.core.plait_fs_access(length, checkInteger(mode, 'mode', 0, 7)), 'access', path);
  };

  #set(
    syscall: string,
    path: unknown,
    follow: number,
    mask: number,
    values: { mode?: number; uid?: number; gid?: number },
  ): void {
    const { mode = 0, uid = 0, gid = 0 } = values;
    const { core } = this.volume;
    const rc = core.plait_fs_set(this.#target(path), follow, mask, mode, uid, gid, 0, 0, 0, 0, Date.now());
    this.#check(rc, syscall, typeof path === 'number' ? undefined : path);
  }

  chmodSync = (path: PathLike, mode: number | string): void => {
    pathOf(path);
    this.#set('chmod', path, 1, FsSetBit.SET_MODE, { mode: modeOf(mode) });
  };

  fchmodSync = (fd: number, mode: number | string): void =>
    this.#set('fchmod', checkFd(fd), 1, FsSetBit.SET_MODE, { mode: modeOf(mode) });

  #own(syscall: string, path: unknown, follow: number, uid: number, gid: number): void {
    checkInteger(uid, 'uid', -1, 2 ** 32 - 1);
    checkInteger(gid, 'gid', -1, 2 ** 32 - 1);
    const mask = (uid === -1 ? 0 : FsSetBit.SET_UID) | (gid === -1 ? 0 : FsSetBit.SET_GID);
    this.#set(syscall, path, follow, mask, { uid, gid });
  }

  chownSync = (path: PathLike, uid: number, gid: number): void => this.#own('chown', path, 1, uid, gid);
  lchownSync = (path: PathLike, uid: number, gid: number): void => this.#own('lchown', path, 0, uid, gid);
  fchownSync = (fd: number, uid: number, gid: number): void => this.#own('fchown', checkFd(fd), 1, uid, gid);

  #times(syscall: string, path: unknown, follow: number, atime: TimeLike, mtime: TimeLike): void {
    const access = timeOf(atime, 'time');
    const modified = timeOf(mtime, 'time');
    const mask = FsSetBit.SET_ATIME | FsSetBit.SET_MTIME;
    const [a, aNs] = secondsAndRest(access);
    const [m, mNs] = secondsAndRest(modified);
    const rc = this.volume.core.plait_fs_set(this.#target(path), follow, mask, 0, 0, 0, a, aNs, m, mNs, Date.now());
    this.#check(rc, syscall, typeof path === 'number' ? undefined : path);
  }

  utimesSync = (path: PathLike, atime: TimeLike, mtime: TimeLike): void => this.#times('utime', path, 1, atime, mtime);
  lutimesSync = (path: PathLike, atime: TimeLike, mtime: TimeLike): void =>
    this.#times('lutime', path, 0, atime, mtime);
  futimesSync = (fd: number, atime: TimeLike, mtime: TimeLike): void =>
    this.#times('futime', checkFd(fd), 1, atime, mtime);

  truncateSync = (path: PathLike | number, length: number | null = 0): void => {
    if (typeof path === 'number') {
      this.ftruncateSync(path, length);
      return;
    }
    const size = Math.max(0, checkInteger(length ?? 0, 'len', Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER));
    this.#check(this.volume.core.plait_fs_truncate(this.#target(path), size, Date.now()), 'open', path);
  };

  ftruncateSync = (fd: number, length: number | null = 0): void => {
    const size = Math.max(0, checkInteger(length ?? 0, 'len', Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER));
    this.#check(this.volume.core.plait_fs_truncate(checkFd(fd), size, Date.now()), 'ftruncate');
  };

  /** Memory has nothing to write: of its files these only look whether the descriptor is open. */
  fsyncSync = (fd: number): void => void this.#check(this.volume.core.plait_fs_sync(checkFd(fd), 0), 'fsync');
  fdatasyncSync = (fd: number): void => void this.#check(this.volume.core.plait_fs_sync(checkFd(fd), 1), 'fdatasync');

  // ---- names ----

  /** One directory, without those above it. */
  makeDirectory(path: PathLike, mode: number): number {
    const { volume } = this;
    return volume.core.plait_fs_mkdir(volume.first(path), mode & ~UMASK, Date.now());
  }

  rmdirSync = (path: PathLike, options?: { recursive?: boolean; maxRetries?: number; retryDelay?: number }): void => {
    if (options?.recursive)
      throw codedError(TypeError, 'ERR_INVALID_ARG_VALUE', 'rmdir has no recursive form any more: use rm');
    this.#check(this.volume.core.plait_fs_rmdir(this.volume.first(path), Date.now()), 'rmdir', path);
  };

  unlinkSync = (path: PathLike): void => {
    const rc = this.volume.core.plait_fs_unlink(this.volume.first(path), Date.now());
    if (rc < 0) this.#check(rc, 'unlink', path);
  };

  renameSync = (oldPath: PathLike, newPath: PathLike): void => {
    const { volume } = this;
    const from = volume.first(oldPath, 'oldPath');
    const rc = volume.core.plait_fs_rename(from, volume.second(newPath, 'newPath'), Date.now());
    if (rc < 0) this.#check(rc, 'rename', oldPath, newPath);
  };

  linkSync = (existingPath: PathLike, newPath: PathLike): void => {
    const { volume } = this;
    const from = volume.first(existingPath, 'existingPath');
    const rc = volume.core.plait_fs_link(from, volume.second(newPath, 'newPath'), Date.now());
    this.#check(rc, 'link', existingPath, newPath);
  };

  symlinkSync = (target: PathLike, path: PathLike, _type?: string | null): void => {
    const { volume } = this;
    const text = volume.first(target, 'target');
    this.#check(volume.core.plait_fs_symlink(text, volume.second(path), Date.now()), 'symlink', target, path);
  };

  readlinkSync: {
    (path: PathLike, options?: EncodingOptions): string;
    (path: PathLike, options: 'buffer' | { encoding: 'buffer' }): Uint8Array;
  } = ((path: PathLike, options?: EncodingOptions): string | Uint8Array => {
    const encoding =
      options === 'buffer' || optionsOf<{ encoding: string }>(options).encoding === 'buffer' ? undefined : 'utf8';
    const { volume } = this;
    const length = this.#check(volume.core.plait_fs_readlink(volume.first(path)), 'readlink', path);
    const bytes = volume.copyScratch(length);
    return encoding === undefined ? bytes : decode(bytes, encodingOf(options) ?? encoding);
  }) as never;

  // ---- directories ----

  /** Names and kinds in a directory from a cursor on, as many as come at once; and where to go on, 0 at the end. */
  list(
    target: PathLike | number,
    cursor: number,
    syscall: string,
  ): { bytes: Uint8Array; kinds: number[]; ascii: boolean; next: number } {
    const { volume } = this;
    const count = volume.core.plait_fs_list(this.#target(target), cursor);
    if (count < 0) this.#check(count, syscall, typeof target === 'number' ? undefined : target);
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
      if (count < 0) this.#check(count, 'scandir', path);
      cursor = volume.cursor;
      const names =
        count === 0 ? [] : decode(volume.copyScratch(volume.listed), volume.ascii ? 'latin1' : 'utf8').split('/');
      if (all === undefined && cursor === 0) return names;
      all ??= [];
      for (const name of names) all.push(name);
      if (cursor === 0) return all;
    }
  }

  /** All names in a directory with what they are. */
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

  /** All names in a directory as bytes, which need not be UTF-8, with what they are. */
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

  // ---- beyond node:fs ----

  /**
   * A view of a file's bytes in shared memory, no copy. Until it is closed the file's bytes stay where they are: what is
   * written to the view is in the file at once, and the other way round, on every thread. Truncating the file zeroes what is
   * cut off; bytes that the file gains later are not in the view. A file that has grown while it was mapped cannot be
   * mapped anew until all have closed their views (EBUSY).
   */
  mapSync = (path: PathLike | number): MappedFile => {
    const { volume } = this;
    const fd = typeof path === 'number' ? checkFd(path) : this.openSync(path, 'r+');
    let mapping: number;
    try {
      mapping = this.#check(volume.core.plait_fs_map(fd), 'mmap', typeof path === 'number' ? undefined : path);
    } finally {
      if (typeof path !== 'number') this.closeSync(fd);
    }
    const { block, size } = volume.mapped;
    const view = volume.space.bytes(block, size);
    let open = true;
    const close = (): void => {
      if (open) volume.core.plait_fs_close(mapping);
      open = false;
    };
    return Object.defineProperties(view, {
      close: { value: close },
      [Symbol.dispose]: { value: close },
    }) as MappedFile;
  };

  /**
   * Locks bytes of an open file for its descriptor, until `unlockSync`, `closeSync` or the end of the thread: others wait, or
   * are refused (EAGAIN) with `wait: false` or on a thread that may not wait. Programs have to agree to ask.
   */
  lockSync = (
    fd: number,
    options: { exclusive?: boolean; start?: number; end?: number; wait?: boolean | number } = {},
  ): void => {
    const { exclusive = true, start = 0, end = Number.POSITIVE_INFINITY, wait = true } = options;
    const timeout = wait === true ? -1 : wait === false ? 0 : wait;
    const last = Math.min(end, Number.MAX_SAFE_INTEGER * 2);
    this.#check(this.volume.core.plait_fs_lock(checkFd(fd), exclusive ? 2 : 1, start, last, timeout), 'flock');
  };

  /** Gives back locks of the descriptor on these bytes. */
  unlockSync = (fd: number, options: { start?: number; end?: number } = {}): void => {
    const { start = 0, end = Number.MAX_SAFE_INTEGER * 2 } = options;
    this.#check(
      this.volume.core.plait_fs_lock(checkFd(fd), 0, start, Math.min(end, Number.MAX_SAFE_INTEGER * 2), 0),
      'flock',
    );
  };

  /** The most that files may hold from now on, in bytes and in files; 0: no limit but the memory's. More is ENOSPC. */
  setLimits = (limits: { bytes?: number; files?: number }): void =>
    this.volume.core.plait_fs_limit(limits.bytes ?? 0, limits.files ?? 0);

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
    (path: PathLike, options?: { bigint?: false }): StatsFs<number>;
    (path: PathLike, options: { bigint: true }): StatsFs<bigint>;
  } = ((path: PathLike, options?: { bigint?: boolean }) => {
    const { volume } = this;
    this.#check(volume.core.plait_fs_stat(-1 - volume.first(path), 1), 'statfs', path);
    const stats = volume.mounts.statfs() ?? this.#usage();
    if (!options?.bigint) return stats;
    return Object.fromEntries(Object.entries(stats).map(([key, value]) => [key, BigInt(value)]));
  }) as never;
}

function secondsAndRest(time: number): [number, number] {
  const whole = Math.floor(time);
  return [whole, Math.floor((time - whole) * 1e6) * 1000]; // as libuv: microseconds
}

function joined(parts: Uint8Array[], total: number): Uint8Array<ArrayBuffer> {
  const all = newBytes(total);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** The views as bytes, and private room for all of them. */
function gather(
  buffers: readonly NodeJS.ArrayBufferView[],
  _fd: number,
): { all: Uint8Array<ArrayBuffer>; parts: Uint8Array[] } {
  if (!Array.isArray(buffers)) throw wrongType('buffers', 'an ArrayBufferView[]', buffers);
  const parts = buffers.map((buffer) => {
    if (!ArrayBuffer.isView(buffer)) throw wrongType('buffers', 'an ArrayBufferView[]', buffers);
    return bytesOf(buffer, 'buffers');
  });
  const total = parts.reduce((sum, part) => sum + part.length, 0);
  return { all: newBytes(total), parts };
}
