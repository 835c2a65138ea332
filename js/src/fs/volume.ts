/**
 * The core's files as one thread calls them: paths and bytes are put into this thread's record in shared memory, one
 * call of Wasm does the work, and what it says is read from there.
 *
 * Invariants
 * - The record and the scratch block lie where they lie for as long as the thread lives, and only this thread writes to
 *   them: views of them never go stale, and what is decoded from them does not change meanwhile.
 * - Bytes of files are copied by the core, at one instant; JavaScript copies only between private memory and blocks of
 *   this thread's own. No lock is held while JavaScript runs.
 */

import { Errno, FS_PATH_MAX, FS_SCRATCH, FsResult, FsThread } from '../core/layout.generated.ts';
import { isUrl } from '../core/realms.ts';
import { outOfMemory, type Space } from '../core/space.ts';
import { Changes } from './changes.ts';
import { fsError } from './errors.ts';
import { type FsCore, Mounts, mountedCore } from './mounts.ts';
import { BigIntStats, BLOCK_SIZE, DEVICE, type RawStats, Stats, typeBits } from './stats.ts';
import { encode, newBytes, nulInPath, pathOf, pathText } from './values.ts';

/** Up to this many bytes a loop is quicker than a view and a call. */
const FEW = 32;

export class Volume {
  /** The core's calls; what leads into a mount goes on to the mount's backend. */
  readonly core: FsCore;
  readonly mounts: Mounts;
  readonly changes: Changes;
  readonly space: Space;
  readonly #u8: Uint8Array<SharedArrayBuffer>;
  readonly #u32: Uint32Array<SharedArrayBuffer>;
  readonly #u64: BigUint64Array<SharedArrayBuffer>;
  readonly #first: number;
  readonly #second: number;
  readonly #result: number;
  /** Where `FS_SCRATCH` bytes for what is read and written lie. */
  readonly scratch: number;
  /** The path in `first`: the empty one if another, or none, was put there. */
  #known = '';
  #knownLength = 0;

  constructor(space: Space) {
    const threadRecord = space.core.plait_fs_enter() >>> 0;
    if (threadRecord === 0) throw outOfMemory(FS_SCRATCH);
    this.space = space;
    this.changes = new Changes(space);
    this.mounts = new Mounts(space, threadRecord, () => this.forget());
    this.core = mountedCore(space.core, this.mounts);
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

  /** Puts a path where the core finds it: its length in bytes. */
  first(path: unknown, name = 'path'): number {
    if (path === this.#known) return this.#knownLength;
    this.forget(); // a path that is refused half-way has written over it
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

  /** What was put first is not there any more. */
  forget(): void {
    this.#known = '';
    this.#knownLength = 0;
  }

  #put(at: number, path: unknown, name: string): number {
    if (typeof path !== 'string') return this.#putBytes(at, path, name);
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
    if (bytes.length < FS_PATH_MAX) this.#u8.set(bytes, at);
    return bytes.length;
  }

  /** The error for what the core answered about paths. */
  error(number: number, syscall: string, path?: unknown, dest?: unknown): Error {
    return fsError(
      number,
      syscall,
      path === undefined ? undefined : pathText(pathOf(path)),
      dest === undefined ? undefined : pathText(pathOf(dest)),
    );
  }

  // ---- what the core says ----

  #word(offset: number): number {
    return this.#u32[(this.#result + offset) >>> 2] as number;
  }

  #wide(offset: number): bigint {
    return this.#u64[(this.#result + offset) >>> 3] as bigint;
  }

  /** 64 bits as a number; exact below 2^53. Signed: times before 1970. */
  #number(offset: number): number {
    const index = (this.#result + offset) >>> 2;
    return ((this.#u32[index + 1] as number) | 0) * 4294967296 + (this.#u32[index] as number);
  }

  /** Nanoseconds since 1970 as milliseconds, as Node rounds them. */
  #milliseconds(offset: number): number {
    const index = (this.#result + offset) >>> 2;
    const high = (this.#u32[index + 1] as number) | 0;
    const low = this.#u32[index] as number;
    // 2^32 nanoseconds are 4294 ms and 967296 ns: nothing is lost to the 53 bits of a number.
    const rest = high * 967296 + low;
    const whole = Math.floor(rest / 1e6);
    return high * 4294 + whole + (rest - whole * 1e6) / 1e6;
  }

  /** After plait_fs_stat(). */
  stats(): Stats {
    const stats = new Stats(
      DEVICE,
      typeBits(this.#word(FsResult.kind)) | this.#word(FsResult.mode),
      this.#word(FsResult.links),
      this.#word(FsResult.uid),
      this.#word(FsResult.gid),
      0,
      BLOCK_SIZE,
      this.#word(FsResult.number),
      this.#number(FsResult.size),
      Math.ceil(this.#number(FsResult.held) / 512),
      this.#milliseconds(FsResult.atime),
      this.#milliseconds(FsResult.mtime),
      this.#milliseconds(FsResult.ctime),
      this.#milliseconds(FsResult.birthtime),
    );
    return this.#word(FsResult.mount) === 0 ? stats : this.mounts.complete(stats, Number);
  }

  /** The same with bigints. */
  bigStats(): BigIntStats {
    const stats = new BigIntStats(this.raw());
    return this.#word(FsResult.mount) === 0 ? stats : this.mounts.complete(stats, BigInt);
  }

  /** The same, as it is. */
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

  /** What it is: enum plait_fs_kind. */
  get kind(): number {
    return this.#word(FsResult.kind);
  }

  /** After plait_fs_stat() and plait_fs_list(): where the inode is; 0: behind a mount. */
  get inode(): number {
    return this.#word(FsResult.block);
  }

  /** After plait_fs_stat(): the inode's version; nothing behind a mount. */
  get sequence(): number {
    return this.#word(FsResult.bytes);
  }

  /** After plait_fs_stat(): the number of the mount that it lies in, 0: memory. */
  get mount(): number {
    return this.#word(FsResult.mount);
  }

  /** After plait_fs_stat(): bytes; after plait_fs_list(), of memory: the number of the directory's last name. */
  get size(): number {
    return this.#number(FsResult.size);
  }

  /** After plait_fs_list(): where to go on. */
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

  /** The first bytes of the scratch block, copied. */
  copyScratch(length: number): Uint8Array<ArrayBuffer> {
    const bytes = newBytes(length);
    this.takeScratch(bytes, 0, length);
    return bytes;
  }

  /** The first bytes of the scratch block into a view. */
  takeScratch(to: Uint8Array, offset: number, length: number): void {
    const { scratch } = this;
    if (length <= FEW) {
      const u8 = this.#u8;
      for (let i = 0; i < length; i++) to[offset + i] = u8[scratch + i] as number;
      return;
    }
    to.set(this.#u8.subarray(scratch, scratch + length), offset);
  }

  /** Bytes into the scratch block. */
  fillScratch(from: Uint8Array, offset: number, length: number): void {
    const { scratch } = this;
    if (length <= FEW) {
      const u8 = this.#u8;
      for (let i = 0; i < length; i++) u8[scratch + i] = from[offset + i] as number;
      return;
    }
    this.#u8.set(offset === 0 && length === from.length ? from : from.subarray(offset, offset + length), scratch);
  }

  /** The kind of the `index`th name that was listed. */
  kindAt(index: number): number {
    return this.#u8[this.scratch + FS_SCRATCH - 1 - index] as number;
  }

  /** A short string of ASCII into the scratch block: its length, or -1 if it is another. */
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

  /** Reads into a view, at one instant: the count, or a negative error number. */
  read(fd: number, to: Uint8Array, offset: number, length: number, position: number): number {
    if (length <= FS_SCRATCH) {
      const count = this.core.plait_fs_read(fd, this.scratch, length, position);
      if (count > 0) this.takeScratch(to, offset, count);
      return count;
    }
    const block = this.core.plait_fs_tx_reserve(length) >>> 0;
    if (block === 0) return this.read(fd, to, offset, FS_SCRATCH, position); // as much as there is room for
    try {
      const count = this.core.plait_fs_read(fd, block, length, position);
      if (count > 0) to.set(this.space.bytes(block, count), offset);
      return count;
    } finally {
      this.core.plait_fs_tx_unreserve();
    }
  }

  /** Writes out of a view: the count, or a negative error number. */
  write(fd: number, from: Uint8Array, offset: number, length: number, position: number, now: number): number {
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
