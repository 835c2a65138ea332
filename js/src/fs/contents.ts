/**
 * The synchronous API, first part: descriptors, and the bytes of files. Two methods here serve all parts: `targetOf`
 * turns a path or a number into a target of the core, and `checked` turns the core's return value into a result or an
 * error.
 */

import { host } from '../core/host.ts';
import { Errno, FS_SCRATCH, FsFlag } from '../core/layout.generated.ts';
import { codedError, outOfRange, wrongType, wrongValue } from './errors.ts';
import {
  bytesOf,
  checkFd,
  checkInteger,
  dataBytes,
  decode,
  encodingOf,
  type FsEncoding,
  flagsOf,
  isEncoding,
  isFd,
  modeOf,
  newBytes,
  optionsOf,
  type PathLike,
  positionOf,
  writePosition,
} from './values.ts';
import type { Volume } from './volume.ts';

export type ReadFileOptions =
  | { encoding?: FsEncoding | 'buffer' | null | undefined; flag?: string | number | undefined }
  | FsEncoding
  | 'buffer'
  | null;
/** Options of calls that return bytes. */
export interface BytesOptions {
  encoding?: null | undefined;
  flag?: string | number | undefined;
}
/** Options of calls that return a string. */
export type TextOptions = FsEncoding | { encoding: FsEncoding; flag?: string | number | undefined };
export type WriteFileOptions =
  | {
      encoding?: FsEncoding | null | undefined;
      mode?: number | string | undefined;
      flag?: string | number | undefined;
      flush?: boolean | undefined;
    }
  | FsEncoding
  | null;
export interface ReadOptions {
  offset?: number | undefined;
  length?: number | undefined;
  position?: number | bigint | null | undefined;
}
/** A file's bytes in shared memory. `close()` or `using` releases the view. */
export type MappedFile = Uint8Array<SharedArrayBuffer> & { close(): void; [Symbol.dispose](): void };

/** The umask when the thread started: permission bits that new files and directories do not get. */
export const UMASK: number = umask();
/** Bytes that are read at once where memory is short. */
const PIECE = 2 ** 20;
/** The largest size that readFile returns, as in Node. */
const LARGEST_READ = 2 ** 31 - 1;

function umask(): number {
  try {
    return (host.builtin('node:process') as NodeJS.Process | undefined)?.umask() ?? 0o022;
  } catch {
    return 0o022; // a host may not reveal it
  }
}

const WRITE_FLAGS = FsFlag.WRONLY | FsFlag.CREAT | FsFlag.TRUNC;

/** Operations on the bytes of files of one volume. Methods are bound, so they can be passed on by themselves. */
export class ContentsFs {
  readonly #open: () => Volume;
  #opened: Volume | undefined;

  constructor(open: () => Volume) {
    this.#open = open;
  }

  /** This thread's volume, opened at the first use. */
  get volume(): Volume {
    this.#opened ??= this.#open();
    return this.#opened;
  }

  /** The target of a core function for a path, which is put into the thread record. A descriptor is its own target. */
  protected targetOf(path: unknown): number {
    return -1 - this.volume.first(path);
  }

  /** Returns the core's return value, or throws the error that it stands for. */
  protected checked(rc: number, syscall: string, path?: unknown, dest?: unknown): number {
    if (rc < 0) throw this.volume.error(rc, syscall, path, dest);
    return rc;
  }

  // ---- open, read, write, close ----

  openSync = (path: PathLike, flags: string | number = 'r', mode?: number | string | null): number => {
    const { volume } = this;
    const bits = flagsOf(flags);
    const permissions = modeOf(mode, 0o666) & ~UMASK;
    const fd = volume.core.plait_fs_open(volume.first(path), bits, permissions, Date.now());
    return fd < 0 ? this.checked(fd, 'open', path) : fd;
  };

  closeSync = (fd: number): void => {
    const rc = this.volume.core.plait_fs_close(checkFd(fd));
    if (rc < 0) throw this.volume.error(rc, 'close');
  };

  readSync = (
    fd: number,
    buffer: ArrayBufferView,
    offsetOrOptions?: number | ReadOptions | null,
    ...more: [length?: number | null, position?: number | bigint | null]
  ): number => {
    checkFd(fd);
    const bytes = buffer instanceof Uint8Array ? buffer : bytesOf(buffer, 'buffer');
    const size = bytes.length;
    let offset: unknown = offsetOrOptions;
    let length: unknown = more[0];
    let position: unknown = more[1];
    if (more.length === 0 || typeof offset === 'object') {
      if ((offset !== undefined && typeof offset !== 'object') || Array.isArray(offset)) {
        throw wrongType('options', 'of type object', offset);
      }
      ({ offset, length, position } = (offset ?? {}) as ReadOptions);
      if (length === undefined) length = size - ((offset as number | undefined) ?? 0);
    }
    offset ??= 0;
    if (!(Number.isInteger(offset) && (offset as number) >= 0 && (offset as number) <= size)) {
      checkInteger(offset, 'offset', 0, Number.MAX_SAFE_INTEGER);
    }
    const start = offset as number;
    const count = typeof length === 'number' ? length | 0 : countOf(length);
    if (count === 0) return 0;
    if (size === 0) throw wrongValue('buffer', 'is empty and cannot be written', buffer);
    if (count < 0) throw outOfRange('length', '>= 0', count);
    if (count > size - start) throw outOfRange('length', `<= ${size - start}`, count);
    const rc = this.volume.read(fd, bytes, start, count, positionOf(position));
    if (rc < 0) throw this.volume.error(rc, 'read');
    return rc;
  };

  writeSync = (
    fd: number,
    data: ArrayBufferView | string,
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
      bytes = dataBytes(data, writeEncoding(data, lengthOrEncoding));
      length = bytes.length;
      at = writePosition(offsetOrPosition);
    } else {
      bytes = data instanceof Uint8Array ? data : bytesOf(data, 'buffer', 'of type string or ');
      let from: unknown = offsetOrPosition;
      let count: unknown = lengthOrEncoding;
      let place: unknown = position;
      if (typeof from === 'object') ({ offset: from, length: count, position: place } = (from ?? {}) as ReadOptions);
      offset = from === undefined || from === null ? 0 : checkInteger(from, 'offset', 0, Number.MAX_SAFE_INTEGER);
      if (offset > bytes.length) throw outOfRange('offset', `<= ${bytes.length}`, offset);
      length = typeof count === 'number' ? count : bytes.length - offset;
      if (length > bytes.length - offset) throw outOfRange('length', `<= ${bytes.length - offset}`, length);
      if (length < 0) throw outOfRange('length', '>= 0', length);
      checkInteger(length, 'length', 0, 2147483647);
      at = writePosition(place);
    }
    const rc = this.volume.write(fd, bytes, offset, length, at, Date.now());
    if (rc < 0) throw this.volume.error(rc, 'write');
    return rc;
  };

  readvSync = (fd: number, buffers: readonly ArrayBufferView[], position?: number | null): number => {
    checkFd(fd);
    const { all, parts } = gather(buffers);
    if (parts.length === 0) throw this.volume.error(-Errno.EINVAL, 'read');
    const rc = this.volume.read(fd, all, 0, all.length, writePosition(position));
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

  writevSync = (fd: number, buffers: readonly ArrayBufferView[], position?: number | null): number => {
    checkFd(fd);
    const { all, parts } = gather(buffers);
    if (parts.length === 0) return 0;
    let at = 0;
    for (const part of parts) {
      all.set(part, at);
      at += part.length;
    }
    const rc = this.volume.write(fd, all, 0, all.length, writePosition(position), Date.now());
    if (rc < 0) throw this.volume.error(rc, 'write');
    return rc;
  };

  // ---- whole files ----

  /** A file's bytes, in private memory. */
  #bytesOfFile(path: PathLike | number, flags: number): Uint8Array<ArrayBuffer> {
    const { volume } = this;
    if (!isFd(path) && flags === 0) {
      const size = volume.core.plait_fs_read_file(-1 - volume.first(path), volume.scratch, FS_SCRATCH);
      if (size < 0) throw size === -Errno.EISDIR ? volume.error(size, 'read') : volume.error(size, 'open', path);
      if (size <= FS_SCRATCH) return volume.copyScratch(size);
      if (size > LARGEST_READ) throw tooLarge(size);
      const whole = this.#largeFile(path, size);
      if (whole !== undefined) return whole;
    }
    const fd = isFd(path) ? path : this.openSync(path, flags);
    try {
      return this.#readAll(fd, this.#size(fd));
    } finally {
      if (!isFd(path)) this.closeSync(fd);
    }
  }

  /**
   * Reads into one buffer of the file's size: all at one instant, or else in pieces, which needs little shared memory.
   * As in Node, bytes that the file gains meanwhile are not read. A file without a size, as in /proc, is read to its
   * end.
   */
  #readAll(fd: number, size: number): Uint8Array<ArrayBuffer> {
    const { volume } = this;
    let all = bufferFor(size > 0 ? size : FS_SCRATCH);
    for (let at = 0; ; ) {
      const count = volume.read(fd, all, at, Math.min(all.length - at, at === 0 ? all.length : PIECE), -1);
      if (count < 0) throw volume.error(count, 'read');
      at += count;
      if (count === 0 || at === size) return at === all.length ? all : all.subarray(0, at);
      if (at < all.length) continue;
      const larger = bufferFor(at * 2);
      larger.set(all);
      all = larger;
    }
  }

  #size(fd: number): number {
    this.checked(this.volume.core.plait_fs_stat(fd, 1), 'fstat');
    return this.volume.size;
  }

  /** A large file's bytes, all at one instant; undefined if there is not enough memory. */
  #largeFile(path: PathLike, size: number): Uint8Array<ArrayBuffer> | undefined {
    const { volume } = this;
    for (let room = size; ; ) {
      const block = volume.core.plait_fs_tx_reserve(room) >>> 0;
      if (block === 0) return undefined;
      try {
        const now = volume.core.plait_fs_read_file(-1 - volume.first(path), block, room);
        if (now < 0) throw volume.error(now, 'open', path);
        if (now <= room) {
          const bytes = newBytes(now);
          bytes.set(volume.space.bytes(block, now));
          return bytes;
        }
        if (now > LARGEST_READ) throw tooLarge(now);
        room = Math.max(now, room * 2); // it has grown meanwhile, or reports no size
      } finally {
        volume.core.plait_fs_tx_unreserve();
      }
    }
  }

  readFileSync: {
    (path: PathLike | number, options?: BytesOptions | null): Uint8Array<ArrayBuffer>;
    (path: PathLike | number, options: TextOptions): string;
    (path: PathLike | number, options?: ReadFileOptions): string | Uint8Array<ArrayBuffer>;
  } = ((path: PathLike | number, options?: ReadFileOptions): string | Uint8Array<ArrayBuffer> => {
    const encoding = options === undefined ? undefined : encodingOf(options);
    const flag = options === undefined ? undefined : optionsOf<{ flag: string | number }>(options).flag;
    const bytes = this.#bytesOfFile(path, flagsOf(flag));
    return encoding === undefined ? bytes : decode(bytes, encoding);
  }) as never;

  writeFileSync = (path: PathLike | number, data: string | ArrayBufferView, options?: WriteFileOptions): void => {
    const { mode, flag } = optionsOf<{ mode: number; flag: string }>(options);
    const name = encodingOf(options) ?? 'utf8';
    this.#writeWhole(path, data, name, flagsOf(flag, WRITE_FLAGS), modeOf(mode, 0o666));
  };

  appendFileSync = (path: PathLike | number, data: string | ArrayBufferView, options?: WriteFileOptions): void => {
    const { mode, flag } = optionsOf<{ mode: number; flag: string }>(options);
    const name = encodingOf(options) ?? 'utf8';
    this.#writeWhole(path, data, name, flagsOf(flag, flagsOf('a')), modeOf(mode, 0o666));
  };

  #writeWhole(path: PathLike | number, data: unknown, encoding: string, flags: number, mode: number): void {
    const { volume } = this;
    const short =
      typeof data === 'string' && (encoding === 'utf8' || encoding === 'utf-8') ? volume.fillScratchText(data) : -1;
    const bytes = short >= 0 ? undefined : dataBytes(data, encoding);
    const whole = FsFlag.CREAT | FsFlag.TRUNC;
    if (isFd(path) || (flags & whole) !== whole || (flags & 3) === 0 || flags & FsFlag.APPEND) {
      this.#writeThrough(path, bytes ?? volume.copyScratch(short), flags, mode);
      return;
    }
    const rc = this.#replaceWhole(path, bytes, short, flags, mode & ~UMASK);
    if (rc < 0) throw rc === -Errno.ENOSPC ? volume.error(rc, 'write') : volume.error(rc, 'open', path);
  }

  /** Replaces the contents in one step: a reader sees either all old or all new bytes. */
  #replaceWhole(path: PathLike, bytes: Uint8Array | undefined, short: number, flags: number, mode: number): number {
    const { volume } = this;
    const length = volume.first(path);
    const size = bytes === undefined ? short : bytes.length;
    if (size <= FS_SCRATCH) {
      if (bytes !== undefined) volume.fillScratch(bytes, 0, size);
      return volume.core.plait_fs_write_file(length, flags, mode, volume.scratch, size, 0, Date.now());
    }
    const block = volume.core.plait_fs_tx_reserve(size) >>> 0;
    if (block === 0) return -Errno.ENOSPC;
    volume.space.bytes(block, size).set(bytes as Uint8Array);
    return volume.core.plait_fs_write_file(length, flags, mode, block, size, 1, Date.now());
  }

  #writeThrough(path: PathLike | number, bytes: Uint8Array, flags: number, mode: number): void {
    const fd = isFd(path) ? path : this.openSync(path, flags, mode);
    try {
      for (let at = 0; at < bytes.length; ) at += this.writeSync(fd, bytes, at);
    } finally {
      if (!isFd(path)) this.closeSync(fd);
    }
  }
  // ---- size ----

  truncateSync = (path: PathLike | number, length = 0): void => {
    if (typeof path === 'number') {
      this.ftruncateSync(path, length);
      return;
    }
    const target = this.targetOf(path);
    const size = Math.max(0, checkInteger(length, 'len', Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER));
    this.checked(this.volume.core.plait_fs_truncate(target, size, Date.now()), 'open', path);
  };

  ftruncateSync = (fd: number, length = 0): void => {
    checkFd(fd);
    const size = Math.max(0, checkInteger(length, 'len', Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER));
    this.checked(this.volume.core.plait_fs_truncate(fd, size, Date.now()), 'ftruncate');
  };

  /** Files in memory need no writing to disk; for them these only check that the descriptor is open. */
  fsyncSync = (fd: number): void => void this.checked(this.volume.core.plait_fs_sync(checkFd(fd), 0), 'fsync');
  fdatasyncSync = (fd: number): void => void this.checked(this.volume.core.plait_fs_sync(checkFd(fd), 1), 'fdatasync');

  // ---- beyond node:fs ----

  /**
   * A view of a file's bytes in shared memory, without a copy. Until it is closed, the bytes stay in place. What a
   * thread writes to the view is in the file at once, and what it writes to the file is in the view. Truncating the
   * file zeroes the bytes that are cut off. Bytes that the file gains later are not in the view. A file that has grown
   * while it was mapped cannot be mapped again until all views are closed (EBUSY).
   */
  mapSync = (path: PathLike | number): MappedFile => {
    const { volume } = this;
    const fd = isFd(path) ? path : this.openSync(path, 'r+');
    let mapping: number;
    try {
      mapping = this.checked(volume.core.plait_fs_map(fd), 'mmap', typeof path === 'number' ? undefined : path);
    } finally {
      if (!isFd(path)) this.closeSync(fd);
    }
    const { block, size } = volume.mapped;
    const view = volume.space.bytes(block, size);
    let open = true;
    const close = (): void => {
      if (open) volume.core.plait_fs_unmap(mapping);
      open = false;
    };
    return Object.defineProperties(view, {
      close: { value: close },
      [Symbol.dispose]: { value: close },
    }) as MappedFile;
  };

  /**
   * Locks bytes of an open file for its descriptor, until `unlockSync`, `closeSync` or the end of the thread. Other
   * descriptors wait. With `wait: false`, or on a thread that may not wait, they are refused (EAGAIN). The locks are
   * advisory: all programs have to ask for them.
   */
  lockSync = (
    fd: number,
    options: {
      exclusive?: boolean | undefined;
      start?: number | undefined;
      end?: number | undefined;
      wait?: boolean | number | undefined;
    } = {},
  ): void => {
    const { exclusive = true, start = 0, end = Number.POSITIVE_INFINITY, wait = true } = options;
    const timeout = wait === true ? -1 : wait === false ? 0 : wait;
    const last = Math.min(end, Number.MAX_SAFE_INTEGER * 2);
    this.checked(this.volume.core.plait_fs_lock(checkFd(fd), exclusive ? 2 : 1, start, last, timeout), 'flock');
  };

  /** Releases the descriptor's locks on these bytes. */
  unlockSync = (fd: number, options: { start?: number | undefined; end?: number | undefined } = {}): void => {
    const { start = 0, end = Number.MAX_SAFE_INTEGER * 2 } = options;
    this.checked(
      this.volume.core.plait_fs_lock(checkFd(fd), 0, start, Math.min(end, Number.MAX_SAFE_INTEGER * 2), 0),
      'flock',
    );
  };
}

function tooLarge(size: number): RangeError {
  return codedError(RangeError, 'ERR_FS_FILE_TOO_LARGE', `File size (${size}) is greater than 2 GiB`);
}

/** A private buffer for a file's bytes. */
function bufferFor(size: number): Uint8Array<ArrayBuffer> {
  if (size > LARGEST_READ) throw tooLarge(size);
  try {
    return newBytes(size);
  } catch (cause) {
    const message = `The file has ${size} bytes, more than a buffer can have here`;
    throw Object.assign(codedError(RangeError, 'ERR_FS_FILE_TOO_LARGE', message), { cause });
  }
}

/** What else Node takes for a length; nothing is 0. */
function countOf(length: unknown): number {
  try {
    return (length as number) | 0;
  } catch {
    throw wrongType('length', 'of type number', length);
  }
}

/** As in Node: anything that is not an encoding means UTF-8 here. */
function writeEncoding(text: string, encoding: unknown): string {
  if (encoding === 'hex' && text.length % 2 !== 0) {
    throw wrongValue('encoding', `is invalid for data of length ${text.length}`, encoding);
  }
  return isEncoding(encoding) ? (encoding as string) : 'utf8';
}

/** The views as bytes, and a private buffer for all of them. */
function gather(buffers: readonly ArrayBufferView[]): { all: Uint8Array<ArrayBuffer>; parts: Uint8Array[] } {
  if (!Array.isArray(buffers)) throw wrongType('buffers', 'an ArrayBufferView[]', buffers);
  const parts = buffers.map((buffer) => {
    if (!ArrayBuffer.isView(buffer)) throw wrongType('buffers', 'an ArrayBufferView[]', buffers);
    return bytesOf(buffer, 'buffers');
  });
  const total = parts.reduce((sum, part) => sum + part.length, 0);
  return { all: newBytes(total), parts };
}
