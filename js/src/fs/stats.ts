/**
 * Stats and Dirent, with Node's members.
 */

import { FsKind } from '../core/layout.generated.ts';

const TYPE_BITS = [0, 0o100000, 0o040000, 0o120000, 0o010000, 0o140000, 0o020000, 0o060000];

/** The type bits of a mode, for a kind of the core. */
export function typeBits(kind: number): number {
  return TYPE_BITS[kind] as number;
}

abstract class StatsBase<Count extends number | bigint> {
  declare mode: Count;

  #is(bits: number): boolean {
    return (Number(this.mode) & 0o170000) === bits;
  }
  /** Whether it is a regular file. */
  isFile(): boolean {
    return this.#is(0o100000);
  }
  /** Whether it is a directory. */
  isDirectory(): boolean {
    return this.#is(0o040000);
  }
  /** Whether it is a symbolic link; only `lstat` answers so. */
  isSymbolicLink(): boolean {
    return this.#is(0o120000);
  }
  /** Only behind mounts. */
  isBlockDevice(): boolean {
    return this.#is(0o060000);
  }
  /** Only behind mounts. */
  isCharacterDevice(): boolean {
    return this.#is(0o020000);
  }
  /** Only behind mounts. */
  isFIFO(): boolean {
    return this.#is(0o010000);
  }
  /** Only behind mounts. */
  isSocket(): boolean {
    return this.#is(0o140000);
  }
}

/** What the core says of a file. Times: nanoseconds, as milliseconds with a fraction. */
export interface RawStats {
  kind: number;
  mode: number;
  links: number;
  uid: number;
  gid: number;
  number: number;
  size: number;
  held: number;
  atime: bigint;
  mtime: bigint;
  ctime: bigint;
  birthtime: bigint;
}

/** What `stat` and its family tell. */
export class Stats extends StatsBase<number> {
  dev: number;
  declare mode: number;
  nlink: number;
  uid: number;
  gid: number;
  rdev: number;
  blksize: number;
  ino: number;
  size: number;
  blocks: number;
  atimeMs: number;
  mtimeMs: number;
  ctimeMs: number;
  birthtimeMs: number;

  constructor(
    mode: number,
    nlink: number,
    uid: number,
    gid: number,
    ino: number,
    size: number,
    held: number,
    atimeMs: number,
    mtimeMs: number,
    ctimeMs: number,
    birthtimeMs: number,
  ) {
    super();
    this.dev = 1;
    this.mode = mode;
    this.nlink = nlink;
    this.uid = uid;
    this.gid = gid;
    this.rdev = 0;
    this.blksize = 4096;
    this.ino = ino;
    this.size = size;
    this.blocks = Math.ceil(held / 512);
    this.atimeMs = atimeMs;
    this.mtimeMs = mtimeMs;
    this.ctimeMs = ctimeMs;
    this.birthtimeMs = birthtimeMs;
  }
  get atime(): Date {
    return new Date(Math.round(this.atimeMs));
  }
  get mtime(): Date {
    return new Date(Math.round(this.mtimeMs));
  }
  get ctime(): Date {
    return new Date(Math.round(this.ctimeMs));
  }
  get birthtime(): Date {
    return new Date(Math.round(this.birthtimeMs));
  }
}

/** The same with bigints, and nanoseconds. */
export class BigIntStats extends StatsBase<bigint> {
  dev: bigint = 1n;
  declare mode: bigint;
  nlink: bigint;
  uid: bigint;
  gid: bigint;
  rdev: bigint = 0n;
  blksize: bigint = 4096n;
  ino: bigint;
  size: bigint;
  blocks: bigint;
  atimeMs: bigint;
  mtimeMs: bigint;
  ctimeMs: bigint;
  birthtimeMs: bigint;
  atimeNs: bigint;
  mtimeNs: bigint;
  ctimeNs: bigint;
  birthtimeNs: bigint;

  constructor(raw: RawStats) {
    super();
    this.mode = BigInt(typeBits(raw.kind) | raw.mode);
    this.nlink = BigInt(raw.links);
    this.uid = BigInt(raw.uid);
    this.gid = BigInt(raw.gid);
    this.ino = BigInt(raw.number);
    this.size = BigInt(raw.size);
    this.blocks = BigInt(Math.ceil(raw.held / 512));
    this.atimeNs = raw.atime;
    this.mtimeNs = raw.mtime;
    this.ctimeNs = raw.ctime;
    this.birthtimeNs = raw.birthtime;
    this.atimeMs = raw.atime / 1000000n;
    this.mtimeMs = raw.mtime / 1000000n;
    this.ctimeMs = raw.ctime / 1000000n;
    this.birthtimeMs = raw.birthtime / 1000000n;
  }
  get atime(): Date {
    return new Date(Number(this.atimeMs));
  }
  get mtime(): Date {
    return new Date(Number(this.mtimeMs));
  }
  get ctime(): Date {
    return new Date(Number(this.ctimeMs));
  }
  get birthtime(): Date {
    return new Date(Number(this.birthtimeMs));
  }
}

/** What `statfs` tells. */
export interface StatsFs<Count> {
  type: Count;
  bsize: Count;
  blocks: Count;
  bfree: Count;
  bavail: Count;
  files: Count;
  ffree: Count;
}

/** One name in a directory. */
export class Dirent<Name extends string | Uint8Array = string> {
  name: Name;
  parentPath: string;
  path: string;
  #kind: number;

  constructor(name: Name, parentPath: string, kind: number) {
    this.name = name;
    this.parentPath = parentPath;
    this.path = parentPath;
    this.#kind = kind;
  }
  isFile(): boolean {
    return this.#kind === FsKind.FILE;
  }
  isDirectory(): boolean {
    return this.#kind === FsKind.DIRECTORY;
  }
  isSymbolicLink(): boolean {
    return this.#kind === FsKind.SYMLINK;
  }
  isBlockDevice(): boolean {
    return this.#kind === FsKind.BLOCKS;
  }
  isCharacterDevice(): boolean {
    return this.#kind === FsKind.CHARACTERS;
  }
  isFIFO(): boolean {
    return this.#kind === FsKind.FIFO;
  }
  isSocket(): boolean {
    return this.#kind === FsKind.SOCKET;
  }
}
