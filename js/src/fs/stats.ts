/**
 * Stats and Dirent, with Node's members.
 */

import { FsKind } from '../core/layout.generated.ts';

const TYPE_BITS = [0, 0o100000, 0o040000, 0o120000, 0o010000, 0o140000, 0o020000, 0o060000];

/** The type bits of a mode, for a kind of the core. */
export function typeBits(kind: number): number {
  return TYPE_BITS[kind] as number;
}

/** The device number of memory, and its preferred block size. */
export const DEVICE = 1;
export const BLOCK_SIZE = 4096;

/** Adds dates to stats. As in Node, a date is created at its first use, and becomes a property of the object. */
function dateOf(stats: object, name: string, milliseconds: number): Date {
  const date = new Date(milliseconds);
  keepDate(stats, name, date); // a frozen object keeps none
  return date;
}

function keepDate(stats: object, name: string, value: Date): boolean {
  return Reflect.defineProperty(stats, name, { value, writable: true, enumerable: true, configurable: true });
}

/**
 * Base of both classes. Programs copy these objects, inherit from them, wrap them and write to them. So all data is in
 * ordinary properties, and methods need nothing else of `this`.
 */
abstract class StatsBase<Count extends number | bigint> {
  declare mode: Count;
  declare atimeMs: Count;
  declare mtimeMs: Count;
  declare ctimeMs: Count;
  declare birthtimeMs: Count;

  /** Whether it is a regular file. */
  isFile(): boolean {
    return hasType(this.mode, 0o100000);
  }
  /** Whether it is a directory. */
  isDirectory(): boolean {
    return hasType(this.mode, 0o040000);
  }
  /** Whether it is a symbolic link; true only in the result of `lstat`. */
  isSymbolicLink(): boolean {
    return hasType(this.mode, 0o120000);
  }
  /** Possible only in mounts. */
  isBlockDevice(): boolean {
    return hasType(this.mode, 0o060000);
  }
  /** Possible only in mounts. */
  isCharacterDevice(): boolean {
    return hasType(this.mode, 0o020000);
  }
  /** Possible only in mounts. */
  isFIFO(): boolean {
    return hasType(this.mode, 0o010000);
  }
  /** Possible only in mounts. */
  isSocket(): boolean {
    return hasType(this.mode, 0o140000);
  }

  get atime(): Date {
    return dateOf(this, 'atime', Math.round(Number(this.atimeMs)));
  }
  set atime(value: Date) {
    keepDate(this, 'atime', value);
  }
  get mtime(): Date {
    return dateOf(this, 'mtime', Math.round(Number(this.mtimeMs)));
  }
  set mtime(value: Date) {
    keepDate(this, 'mtime', value);
  }
  get ctime(): Date {
    return dateOf(this, 'ctime', Math.round(Number(this.ctimeMs)));
  }
  set ctime(value: Date) {
    keepDate(this, 'ctime', value);
  }
  get birthtime(): Date {
    return dateOf(this, 'birthtime', Math.round(Number(this.birthtimeMs)));
  }
  set birthtime(value: Date) {
    keepDate(this, 'birthtime', value);
  }
}

// Enumerable, as in Node: `for … in` finds them.
for (const [name, member] of Object.entries(Object.getOwnPropertyDescriptors(StatsBase.prototype))) {
  if (name !== 'constructor') Object.defineProperty(StatsBase.prototype, name, { ...member, enumerable: true });
}

function hasType(mode: number | bigint, bits: number): boolean {
  return (Number(mode) & 0o170000) === bits;
}

/** Attributes of a file, as the core reports them. Times are milliseconds, with nanoseconds as the fraction. */
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

/** The result of `stat` and its relatives. The constructor takes Node's arguments; programs also create empty ones. */
export class Stats extends StatsBase<number> {
  declare dev: number;
  declare nlink: number;
  declare uid: number;
  declare gid: number;
  declare rdev: number;
  declare blksize: number;
  declare ino: number;
  declare size: number;
  declare blocks: number;

  constructor(
    dev?: number,
    mode?: number,
    nlink?: number,
    uid?: number,
    gid?: number,
    rdev?: number,
    blksize?: number,
    ino?: number,
    size?: number,
    blocks?: number,
    atimeMs?: number,
    mtimeMs?: number,
    ctimeMs?: number,
    birthtimeMs?: number,
  ) {
    super();
    this.dev = dev as number;
    this.mode = mode as number;
    this.nlink = nlink as number;
    this.uid = uid as number;
    this.gid = gid as number;
    this.rdev = rdev as number;
    this.blksize = blksize as number;
    this.ino = ino as number;
    this.size = size as number;
    this.blocks = blocks as number;
    this.atimeMs = atimeMs as number;
    this.mtimeMs = mtimeMs as number;
    this.ctimeMs = ctimeMs as number;
    this.birthtimeMs = birthtimeMs as number;
  }
}

/** The same with bigints and nanoseconds. */
export class BigIntStats extends StatsBase<bigint> {
  declare dev: bigint;
  declare nlink: bigint;
  declare uid: bigint;
  declare gid: bigint;
  declare rdev: bigint;
  declare blksize: bigint;
  declare ino: bigint;
  declare size: bigint;
  declare blocks: bigint;
  declare atimeNs: bigint;
  declare mtimeNs: bigint;
  declare ctimeNs: bigint;
  declare birthtimeNs: bigint;

  constructor(raw: RawStats) {
    super();
    this.dev = BigInt(DEVICE);
    this.mode = BigInt(typeBits(raw.kind) | raw.mode);
    this.nlink = BigInt(raw.links);
    this.uid = BigInt(raw.uid);
    this.gid = BigInt(raw.gid);
    this.rdev = 0n;
    this.blksize = BigInt(BLOCK_SIZE);
    this.ino = BigInt(raw.number);
    this.size = BigInt(raw.size);
    this.blocks = BigInt(Math.ceil(raw.held / 512));
    this.atimeMs = raw.atime / 1000000n;
    this.mtimeMs = raw.mtime / 1000000n;
    this.ctimeMs = raw.ctime / 1000000n;
    this.birthtimeMs = raw.birthtime / 1000000n;
    this.atimeNs = raw.atime;
    this.mtimeNs = raw.mtime;
    this.ctimeNs = raw.ctime;
    this.birthtimeNs = raw.birthtime;
  }
}

/** The result of `statfs`. */
export interface StatsFs<Count> {
  type: Count;
  bsize: Count;
  blocks: Count;
  bfree: Count;
  bavail: Count;
  files: Count;
  ffree: Count;
}

/** The property that holds the kind of a name. Copies of the properties include it, and JSON does not show it. */
const KIND = Symbol('type');
interface Kinded {
  [KIND]: number;
}

function kindOf(entry: unknown): number {
  return (entry as Kinded)[KIND];
}

/** One name in a directory. */
export class Dirent<Name extends string | Uint8Array = string> {
  name: Name;
  parentPath: string;
  path: string;

  constructor(name: Name, parentPath: string, kind: number) {
    this.name = name;
    this.parentPath = parentPath;
    this.path = parentPath;
    (this as unknown as Kinded)[KIND] = kind;
  }
  isFile(): boolean {
    return kindOf(this) === FsKind.FILE;
  }
  isDirectory(): boolean {
    return kindOf(this) === FsKind.DIRECTORY;
  }
  isSymbolicLink(): boolean {
    return kindOf(this) === FsKind.SYMLINK;
  }
  isBlockDevice(): boolean {
    return kindOf(this) === FsKind.BLOCKS;
  }
  isCharacterDevice(): boolean {
    return kindOf(this) === FsKind.CHARACTERS;
  }
  isFIFO(): boolean {
    return kindOf(this) === FsKind.FIFO;
  }
  isSocket(): boolean {
    return kindOf(this) === FsKind.SOCKET;
  }
}
