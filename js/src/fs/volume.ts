/**
 * The core's files, as one thread calls them. Paths and bytes are put into this thread's record in shared memory, one
 * call of Wasm does the work, and the results are read from there.
 *
 * Invariants
 * - The record and the scratch block keep their place as long as the thread exists, and only this thread writes to
 *   them. So views of them never become stale, and bytes that are decoded from them do not change meanwhile.
 * - The core copies the bytes of files, at one instant. JavaScript copies only between private memory and blocks of
 *   this thread. No lock is held while JavaScript runs.
 */

import { Errno, FS_PATH_MAX, FS_SCRATCH, FsResult, FsThread } from '../core/layout.generated.ts';
import { isUrl } from '../core/realms.ts';
import { type Core, outOfMemory, type Space } from '../core/space.ts';
import { Changes } from './changes.ts';
import { fsError } from './errors.ts';
import { Mounts } from './mounts.ts';
import { BigIntStats, BLOCK_SIZE, DEVICE, type RawStats, Stats, typeBits } from './stats.ts';
import { encode, newBytes, nulInPath, pathOf, pathText } from './values.ts';

/** Up to this many bytes, a loop is faster than a view and a call. */
const FEW = 32;

export class Volume {
  readonly core: Core;
  readonly mounts: Mounts;
  readonly changes: Changes;
  readonly space: Space;
  readonly #u8: Uint8Array<SharedArrayBuffer>;
  readonly #u32: Uint32Array<SharedArrayBuffer>;
  readonly #u64: BigUint64Array<SharedArrayBuffer>;
  readonly #first: number;
  readonly #second: number;
  readonly #result: number;
  /** Reference of the scratch block of `FS_SCRATCH` bytes, for reading and writing. */
  readonly scratch: number;
  /** The path in `first`; empty if it is unknown. */
  #known = '';
  #knownLength = 0;

  constructor(space: Space) {
    const threadRecord = space.core.plait_fs_enter() >>> 0;
    if (threadRecord === 0) throw outOfMemory(FS_SCRATCH);
    this.space = space;
    this.changes = new Changes(space);
    this.mounts = new Mounts(space, threadRecord, () => this.forget());
    // As constants, not as properties of the module's exports: the engine then calls them directly.
    this.core = { ...space.core };
    this.scratch = space.load(threadRecord + FsThread.scratch);
    space.cover(Math.max(threadRecord + FsThread.BYTES, this.scratch + FS_SCRATCH));
    this.#u8 = space.u8;
    this.#u32 = space.u32;
    this.#u64 = new BigUint64Array(space.u8.buffer, 0, space.u8.length >>> 3);
    this.#first = threadRecord + FsThread.first;
    this.#second = threadRecord + FsThread.second;
    this.#result = threadRecord + FsThread.result;
  }

  // ---- paths ----

  /** Puts a path where the core reads it. Returns its length in bytes. */
  first(path: unknown, name = 'path'): number {
    this.core.plait_abi_unwind(this.space.stackTop);
    if (path === this.#known) return this.#knownLength;
    this.forget(); // a path that is refused halfway has overwritten the last one
    const length = this.#put(this.#first, path, name);
    if (typeof path === 'string') {
      this.#known = path;
      this.#knownLength = length;
    }
    return length;
  }

  /** The same for a second path. */
  second(path: unknown, name = 'path'): number {
    return this.#put(this.#second, path, name);
  }

  /** Forgets the path in `first`, which was overwritten. */
  forget(): void {
    this.#known = '';
    this.#knownLength = 0;
  }

  #put(at: number, path: unknown, name: string): number {
    if (typeof path !== 'string' || this.mounts.isHolding) return this.#putBytes(at, path, name);
    const u8 = this.#u8;
    const length = path.length;
    if (length >= FS_PATH_MAX) return this.#putBytes(at, path, name);
    for (let i = 0; i < length; i++) {
      const unit = path.charCodeAt(i);
      if (unit === 0 || unit > 127) return this.#putBytes(at, path, name);
      u8[at + i] = unit;
    }
    return length;
  }

  #putBytes(at: number, path: unknown, name: string): number {
    const given = pathOf(path, name);
    const bytes = typeof given === 'string' ? encode(given) : given;
    if (bytes.includes(0)) throw nulInPath(name, isUrl(path) ? given : path);
    const own = this.mounts.resolve(bytes, at === this.#second);
    if (own.length < FS_PATH_MAX) this.#u8.set(own, at);
    return own.length;
  }

  /** The error for a negative result of the core, with its paths. */
  error(number: number, syscall: string, path?: unknown, dest?: unknown): Error {
    const failure = this.mounts.takeFailure();
    if (failure !== undefined) throw failure.error;
    return fsError(
      number,
      syscall,
      path === undefined ? undefined : pathText(pathOf(path)),
      dest === undefined ? undefined : pathText(pathOf(dest)),
    );
  }

  // ---- results of the core ----

  #word(offset: number): number {
    return this.#u32[(this.#result + offset) >>> 2] as number;
  }

  #wide(offset: number): bigint {
    return this.#u64[(this.#result + offset) >>> 3] as bigint;
  }

  /** 64 bits as a number, exact below 2^53. Signed, because of times before 1970. */
  #number(offset: number): number {
    const index = (this.#result + offset) >>> 2;
    return ((this.#u32[index + 1] as number) | 0) * 4294967296 + (this.#u32[index] as number);
  }

  /** Nanoseconds since 1970 as milliseconds, as Node rounds them. */
  #milliseconds(offset: number): number {
    const index = (this.#result + offset) >>> 2;
    const high = (this.#u32[index + 1] as number) | 0;
    const low = this.#u32[index] as number;
    // 2^32 nanoseconds are 4294 ms and 967296 ns, so 53 bits lose nothing.
    const rest = high * 967296 + low;
    const whole = Math.floor(rest / 1e6);
    return high * 4294 + whole + (rest - whole * 1e6) / 1e6;
  }

  /** The device of a mounted file, which is different for each mount, and from memory's. */
  #mountedDevice(): bigint {
    return BigInt(this.mount) * 2n ** 32n + (this.#wide(FsResult.device) & 0xffffffffn);
  }

  /** After plait_fs_stat(). */
  stats(): Stats {
    const mounted = this.mount !== 0;
    return new Stats(
      mounted ? Number(this.#mountedDevice()) : DEVICE,
      typeBits(this.#word(FsResult.kind)) | this.#word(FsResult.mode),
      this.#word(FsResult.links),
      this.#word(FsResult.uid),
      this.#word(FsResult.gid),
      mounted ? this.#number(FsResult.special) : 0,
      mounted ? this.#word(FsResult.blockSize) : BLOCK_SIZE,
      mounted ? Number(this.#wide(FsResult.file)) : this.#word(FsResult.number),
      this.#number(FsResult.size),
      Math.ceil(this.#number(FsResult.held) / 512),
      this.#milliseconds(FsResult.atime),
      this.#milliseconds(FsResult.mtime),
      this.#milliseconds(FsResult.ctime),
      this.#milliseconds(FsResult.birthtime),
    );
  }

  /** The same, with bigints. */
  bigStats(): BigIntStats {
    const stats = new BigIntStats(this.raw());
    if (this.mount === 0) return stats;
    stats.dev = this.#mountedDevice();
    stats.ino = this.#wide(FsResult.file);
    stats.rdev = this.#wide(FsResult.special);
    stats.blksize = BigInt(this.#word(FsResult.blockSize));
    return stats;
  }

  /** The same, as raw values. */
  raw(): RawStats {
    return {
      kind: this.#word(FsResult.kind),
      mode: this.#word(FsResult.mode),
      links: this.#word(FsResult.links),
      uid: this.#word(FsResult.uid),
      gid: this.#word(FsResult.gid),
      number: this.#word(FsResult.number),
      size: this.#number(FsResult.size),
      held: this.#number(FsResult.held),
      atime: BigInt.asIntN(64, this.#wide(FsResult.atime)),
      mtime: BigInt.asIntN(64, this.#wide(FsResult.mtime)),
      ctime: BigInt.asIntN(64, this.#wide(FsResult.ctime)),
      birthtime: BigInt.asIntN(64, this.#wide(FsResult.birthtime)),
    };
  }

  /** The kind: enum plait_fs_kind. */
  get kind(): number {
    return this.#word(FsResult.kind);
  }

  /** After plait_fs_stat() and plait_fs_list(): reference of the inode; 0: a mounted file. */
  get inode(): number {
    return this.#word(FsResult.block);
  }

  /** After plait_fs_stat(): the inode's sequence; meaningless for a mounted file. */
  get sequence(): number {
    return this.#word(FsResult.bytes);
  }

  /** After plait_fs_stat(): number of the mount that contains the file; 0: memory. */
  get mount(): number {
    return this.#word(FsResult.mount);
  }

  /** After plait_fs_stat(): bytes. After plait_fs_list() in memory: the number of the newest name. */
  get size(): number {
    return this.#number(FsResult.size);
  }

  /** After plait_fs_list(): the next cursor. */
  get cursor(): number {
    return this.#number(FsResult.cursor);
  }

  /** After plait_fs_list(): bytes of names. */
  get listed(): number {
    return this.#word(FsResult.bytes);
  }

  /** After plait_fs_list(): whether all names are ASCII. */
  get ascii(): boolean {
    return this.#word(FsResult.ascii) === 1;
  }

  /** After plait_fs_map(). */
  get mapped(): { block: number; size: number } {
    return { block: this.#word(FsResult.block), size: this.#number(FsResult.size) };
  }

  // ---- bytes ----

  /** A copy of the first bytes of the scratch block. */
  copyScratch(length: number): Uint8Array<ArrayBuffer> {
    const bytes = newBytes(length);
    this.takeScratch(bytes, 0, length);
    return bytes;
  }

  /** Copies the first bytes of the scratch block to a view. */
  takeScratch(to: Uint8Array, offset: number, length: number): void {
    const { scratch } = this;
    if (length <= FEW) {
      const u8 = this.#u8;
      for (let i = 0; i < length; i++) to[offset + i] = u8[scratch + i] as number;
      return;
    }
    to.set(this.#u8.subarray(scratch, scratch + length), offset);
  }

  /** Copies bytes to the scratch block. */
  fillScratch(from: Uint8Array, offset: number, length: number): void {
    const { scratch } = this;
    if (length <= FEW) {
      const u8 = this.#u8;
      for (let i = 0; i < length; i++) u8[scratch + i] = from[offset + i] as number;
      return;
    }
    this.#u8.set(offset === 0 && length === from.length ? from : from.subarray(offset, offset + length), scratch);
  }

  /** The kind of the `index`th listed name. */
  kindAt(index: number): number {
    return this.#u8[this.scratch + FS_SCRATCH - 1 - index] as number;
  }

  /** Copies a short ASCII string to the scratch block. Returns its length, or -1 for any other string. */
  fillScratchText(text: string): number {
    const { length } = text;
    if (length > 512) return -1;
    const u8 = this.#u8;
    const { scratch } = this;
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      if (unit > 127) return -1;
      u8[scratch + i] = unit;
    }
    return length;
  }

  /** Reads into a view, at one instant. Returns the count, or a negative error number. */
  read(fd: number, to: Uint8Array, offset: number, length: number, position: number): number {
    this.core.plait_abi_unwind(this.space.stackTop);
    if (length <= FS_SCRATCH) {
      const count = this.core.plait_fs_read(fd, this.scratch, length, position);
      if (count > 0) this.takeScratch(to, offset, count);
      return count;
    }
    const block = this.core.plait_fs_tx_reserve(length) >>> 0;
    if (block === 0) return this.read(fd, to, offset, FS_SCRATCH, position); // as much as fits
    try {
      const count = this.core.plait_fs_read(fd, block, length, position);
      if (count > 0) to.set(this.space.bytes(block, count), offset);
      return count;
    } finally {
      this.core.plait_fs_tx_unreserve();
    }
  }

  /** Writes from a view. Returns the count, or a negative error number. */
  write(fd: number, from: Uint8Array, offset: number, length: number, position: number, now: number): number {
    this.core.plait_abi_unwind(this.space.stackTop);
    if (length <= FS_SCRATCH) {
      this.fillScratch(from, offset, length);
      return this.core.plait_fs_write(fd, this.scratch, length, position, now);
    }
    const block = this.core.plait_fs_tx_reserve(length) >>> 0;
    if (block === 0) return -Errno.ENOSPC;
    try {
      this.space.bytes(block, length).set(from.subarray(offset, offset + length));
      return this.core.plait_fs_write(fd, block, length, position, now);
    } finally {
      this.core.plait_fs_tx_unreserve();
    }
  }
}
