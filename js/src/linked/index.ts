/**
 * The files of a program that is linked with libplait_fs, from JavaScript: `plait/linked`.
 *
 * The program exports `plait_fs_call` (lib/fs/javascript.c), which acts on its memory. Each call takes its path and its
 * bytes in a block of the program's heap, and copies results out before it frees the block. So nothing here keeps a
 * view of the memory, which may grow.
 */

import { FsKind, FsResult } from '../core/layout.generated.ts';
import { type FsError, fsError } from '../fs/errors.ts';
import { DEVICE, Dirent, Stats, typeBits } from '../fs/stats.ts';

export type { Dirent, FsError, Stats };

type Caller = (
  call: number,
  path: number,
  length: number,
  block: number,
  size: number,
  value: number,
  now: number,
) => number;

/** What {@link linkedFiles} looks for: the exports of an instance, or a module of Emscripten's. */
export interface LinkedProgram {
  plait_fs_call?: unknown;
  _plait_fs_call?: unknown;
  memory?: unknown;
  wasmMemory?: unknown;
}

const Call = {
  ALLOCATE: 0,
  FREE: 1,
  STAT: 2,
  READ: 3,
  WRITE: 4,
  MKDIR: 5,
  REMOVE: 6,
  RENAME: 7,
  SYMLINK: 8,
  LINK: 9,
  READLINK: 10,
  LIST: 11,
  TRUNCATE: 12,
  CHMOD: 13,
  UTIMES: 14,
  UNPACK: 15,
  FAULT: 16,
} as const;

const CREATE = 64;
const EXCLUSIVE = 128;
const EMPTY = 512;
const APPEND = 1024;
const FLAGS: Record<string, number> = {
  w: CREATE | EMPTY,
  wx: CREATE | EMPTY | EXCLUSIVE,
  a: CREATE | APPEND,
  ax: CREATE | APPEND | EXCLUSIVE,
  'r+': 0,
};
const PATH_BYTES = 4096;
const LIST_BYTES = 65536;
const ENOENT = -2;
const EEXIST = -17;
const NO_MEMORY = -12;
const EINVAL = -22;
/** The archive that the program starts with is damaged. */
const BAD_START = -84;
const FAULT_BYTES = 128;

type Data = string | ArrayBufferView;
type Encoding = 'utf8' | 'utf-8' | { encoding: 'utf8' | 'utf-8' };

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

function encode(text: string): Uint8Array {
  return encoder.encode(text);
}

function decode(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** Whether text is asked for. */
function wantsText(options: Encoding | undefined): boolean {
  const encoding = typeof options === 'object' ? options?.encoding : options;
  if (encoding === undefined || encoding === null) return false;
  if (encoding !== 'utf8' && encoding !== 'utf-8') throw new TypeError(`The encoding '${encoding}' is not utf8`);
  return true;
}

function bytesOf(data: Data): Uint8Array {
  if (typeof data === 'string') return encode(data);
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/**
 * The files of one program, with the synchronous methods of `node:fs` that programs need most, and its errors. Paths
 * start at the program's root directory. Every thread that has an instance of the program may have one of these.
 */
export class LinkedFiles {
  readonly #call: Caller;
  readonly #memory: WebAssembly.Memory;

  /** @internal */
  constructor(call: Caller, memory: WebAssembly.Memory) {
    this.#call = call;
    this.#memory = memory;
  }

  /** A copy of the file's bytes, or its text. */
  readFileSync(path: string): Uint8Array<ArrayBuffer>;
  readFileSync(path: string, options: Encoding): string;
  readFileSync(path: string, options?: Encoding): string | Uint8Array<ArrayBuffer> {
    const isText = wantsText(options);
    for (let size = this.statSync(path).size; ; ) {
      const { result, bytes } = this.#on(Call.READ, 'open', path, size, 0, (block, found) =>
        found > size ? undefined : this.#copy(block, found),
      );
      if (bytes !== undefined) return isText ? decode(bytes) : bytes;
      size = result; // it has grown
    }
  }

  /** Creates or replaces the file. `flag`: w, wx, a, ax or r+. */
  writeFileSync(path: string, data: Data, options?: { flag?: string }): void {
    const flag = options?.flag ?? 'w';
    const flags = FLAGS[flag];
    if (flags === undefined) throw new TypeError(`The flag '${flag}' is none of ${Object.keys(FLAGS).join(', ')}`);
    this.#withBytes(Call.WRITE, 'open', path, bytesOf(data), flags);
  }

  appendFileSync(path: string, data: Data): void {
    this.writeFileSync(path, data, { flag: 'a' });
  }

  /** With `recursive`, the first directory that was made. */
  mkdirSync(path: string, options: { recursive?: boolean; mode?: number } = {}): string | undefined {
    const mode = options.mode ?? 0o777;
    if (!options.recursive) {
      this.#on(Call.MKDIR, 'mkdir', path, 0, mode);
      return undefined;
    }
    let first: string | undefined;
    for (const part of partsOf(path)) {
      const result = this.#try(Call.MKDIR, part, 0, mode);
      if (result === 0) first ??= part;
      else if (result !== EEXIST) throw this.#error(result, 'mkdir', path);
    }
    if (!this.statSync(path).isDirectory()) throw fsError(EEXIST, 'mkdir', path);
    return first;
  }

  /** The names in the directory, in the order of their creation. */
  readdirSync(path: string): string[];
  readdirSync(path: string, options: { withFileTypes: true }): Dirent[];
  readdirSync(path: string, options?: { withFileTypes?: boolean }): string[] | Dirent[];
  readdirSync(path: string, options: { withFileTypes?: boolean } = {}): string[] | Dirent[] {
    const names: string[] = [];
    const entries: Dirent[] = [];
    for (let cookie = 0; ; ) {
      const { result, bytes } = this.#on(Call.LIST, 'scandir', path, LIST_BYTES, cookie, (block) =>
        this.#copy(block, LIST_BYTES),
      );
      const found = bytes as Uint8Array<ArrayBuffer>;
      let at = 8;
      for (let left = result; left > 0; left--) {
        const length = found[at + 1] as number;
        const name = decode(found.subarray(at + 2, at + 2 + length));
        if (options.withFileTypes) entries.push(new Dirent(name, path, found[at] as number));
        else names.push(name);
        at += 2 + length;
      }
      cookie = Number(new DataView(found.buffer, found.byteOffset).getBigUint64(0, true));
      if (cookie === 0) return options.withFileTypes ? entries : names;
    }
  }

  statSync(path: string): Stats {
    return this.#stat('stat', path, 1);
  }

  /** As statSync, of a link itself. */
  lstatSync(path: string): Stats {
    return this.#stat('lstat', path, 0);
  }

  existsSync(path: string): boolean {
    const result = this.#try(Call.STAT, path, FsResult.BYTES, 1);
    if (result === BAD_START) throw this.#error(result, 'stat', path);
    return result === 0;
  }

  unlinkSync(path: string): void {
    this.#on(Call.REMOVE, 'unlink', path, 0, 0);
  }

  rmdirSync(path: string): void {
    this.#on(Call.REMOVE, 'rmdir', path, 0, 1);
  }

  /** Removes a file; with `recursive` a directory, too. `force`: also if there is none. */
  rmSync(path: string, options: { recursive?: boolean; force?: boolean } = {}): void {
    let stats: Stats;
    try {
      stats = this.lstatSync(path);
    } catch (error) {
      if (options.force && (error as FsError).errno === ENOENT) return;
      throw error;
    }
    if (!stats.isDirectory()) {
      this.unlinkSync(path);
      return;
    }
    if (!options.recursive) throw fsError(-21, 'rm', path);
    for (const name of this.readdirSync(path)) this.rmSync(`${path}/${name}`, { recursive: true, force: true });
    this.rmdirSync(path);
  }

  renameSync(from: string, to: string): void {
    this.#withBytes(Call.RENAME, 'rename', from, encode(to), 0, to);
  }

  linkSync(from: string, to: string): void {
    this.#withBytes(Call.LINK, 'link', from, encode(to), 0, to);
  }

  /** Makes the symbolic link `path`, whose text is `target`. */
  symlinkSync(target: string, path: string): void {
    this.#withBytes(Call.SYMLINK, 'symlink', path, encode(target), 0);
  }

  readlinkSync(path: string): string {
    const { bytes } = this.#on(Call.READLINK, 'readlink', path, PATH_BYTES, 0, (block, length) =>
      this.#copy(block, length),
    );
    return decode(bytes as Uint8Array<ArrayBuffer>);
  }

  truncateSync(path: string, size = 0): void {
    this.#on(Call.TRUNCATE, 'truncate', path, 0, size);
  }

  chmodSync(path: string, mode: number): void {
    this.#on(Call.CHMOD, 'chmod', path, 0, mode);
  }

  /** Times as dates, or in seconds since 1970. */
  utimesSync(path: string, atime: Date | number, mtime: Date | number): void {
    const times = [atime, mtime].map((time) => (typeof time === 'number' ? time * 1000 : time.getTime()));
    this.#withBytes(Call.UTIMES, 'utime', path, new Uint8Array(new Float64Array(times).buffer), 0);
  }

  /**
   * Unpacks a tar archive into the root directory. Files that exist are replaced.
   *
   * @throws FsError `EINVAL` if the archive is damaged, cut off, or has a path with `..` in it. The message says what is
   *   wrong, at which byte. Then nothing is unpacked.
   */
  unpackTar(archive: ArrayBufferView): void {
    const bytes = bytesOf(archive);
    this.#borrow(bytes.length, (block) => {
      this.#put(block, bytes);
      const result = this.#call(Call.UNPACK, 0, 0, block, bytes.length, 0, Date.now());
      if (result === EINVAL) throw archiveError(this.#fault(block, bytes.length));
      if (result < 0) throw this.#error(result, 'unpack');
    });
  }

  /** What is wrong with an archive in the program's memory; with the one that it starts with, if `archive` is 0. */
  #fault(archive: number, length: number): string {
    return this.#borrow(FAULT_BYTES, (block) => {
      const found = this.#call(Call.FAULT, archive, length, block, FAULT_BYTES, 0, 0);
      return decode(this.#copy(block, found));
    });
  }

  #error(result: number, syscall: string, path?: string, dest?: string): FsError {
    if (result !== BAD_START) return fsError(result, syscall, path, dest);
    return archiveError(`the files that the program starts with: ${this.#fault(0, 0)}`);
  }

  #stat(syscall: string, path: string, follow: number): Stats {
    const { bytes } = this.#on(Call.STAT, syscall, path, FsResult.BYTES, follow, (block) =>
      this.#copy(block, FsResult.BYTES),
    );
    const view = new DataView((bytes as Uint8Array<ArrayBuffer>).buffer, bytes?.byteOffset);
    const word = (at: number): number => view.getUint32(at, true);
    const milliseconds = (at: number): number => Number(view.getBigInt64(at, true)) / 1e6;
    const kind = word(FsResult.kind);
    return new Stats(
      DEVICE,
      word(FsResult.mode) | typeBits(kind),
      word(FsResult.links),
      word(FsResult.uid),
      word(FsResult.gid),
      0,
      4096,
      word(FsResult.number),
      kind === FsKind.DIRECTORY ? 0 : Number(view.getBigUint64(FsResult.size, true)),
      Math.ceil(Number(view.getBigUint64(FsResult.held, true)) / 512),
      milliseconds(FsResult.atime),
      milliseconds(FsResult.mtime),
      milliseconds(FsResult.ctime),
      milliseconds(FsResult.birthtime),
    );
  }

  /** A private copy of bytes of the program's memory. */
  #copy(address: number, length: number): Uint8Array<ArrayBuffer> {
    const copy = new Uint8Array(length);
    copy.set(new Uint8Array(this.#memory.buffer, address, length));
    return copy;
  }

  /** Allocates in the program, and frees it after `use`. */
  #borrow<Result>(size: number, use: (block: number) => Result): Result {
    const block = this.#call(Call.ALLOCATE, 0, 0, 0, Math.max(size, 8), 0, 0);
    if (block === 0) throw fsError(NO_MEMORY, 'malloc');
    try {
      return use(block);
    } finally {
      this.#call(Call.FREE, 0, 0, block, 0, 0, 0);
    }
  }

  #put(address: number, bytes: Uint8Array): void {
    new Uint8Array(this.#memory.buffer, address, bytes.length).set(bytes);
  }

  #try(call: number, path: string, size: number, value: number): number {
    const name = encode(path);
    return this.#borrow(size + name.length, (block) => {
      this.#put(block + size, name);
      return this.#call(call, block + size, name.length, block, size, value, Date.now());
    });
  }

  /** A call whose block is for results: what `take` makes of it, before it is freed. */
  #on(
    call: number,
    syscall: string,
    path: string,
    size: number,
    value: number,
    take?: (block: number, result: number) => Uint8Array<ArrayBuffer> | undefined,
  ): { result: number; bytes: Uint8Array<ArrayBuffer> | undefined } {
    const name = encode(path);
    return this.#borrow(size + name.length, (block) => {
      this.#put(block + size, name);
      const result = this.#call(call, block + size, name.length, block, size, value, Date.now());
      if (result < 0) throw this.#error(result, syscall, path);
      return { result, bytes: take?.(block, result) };
    });
  }

  /** A call whose block holds bytes that it takes. */
  #withBytes(call: number, syscall: string, path: string, bytes: Uint8Array, value: number, dest?: string): void {
    const name = encode(path);
    this.#borrow(bytes.length + name.length, (block) => {
      this.#put(block, bytes);
      this.#put(block + bytes.length, name);
      const result = this.#call(call, block + bytes.length, name.length, block, bytes.length, value, Date.now());
      if (result < 0) throw this.#error(result, syscall, path, dest);
    });
  }
}

function archiveError(what: string): FsError {
  const error = fsError(EINVAL, 'unpack');
  error.message = `EINVAL: ${what}`;
  return error;
}

/** The path and the directories above it, the outermost first. */
function partsOf(path: string): string[] {
  const parts: string[] = [];
  for (let at = path.indexOf('/', 1); at !== -1; at = path.indexOf('/', at + 1)) parts.push(path.slice(0, at));
  return [...parts, path];
}

/**
 * The files of a program that is linked with libplait_fs.
 *
 * @param program what the instance exports, or a module of Emscripten's. It is linked with `--export=plait_fs_call`
 * @param memory the program's memory, if it does not export it
 * @throws TypeError if the function or the memory is missing
 */
export function linkedFiles(program: LinkedProgram, memory?: WebAssembly.Memory): LinkedFiles {
  const call = program.plait_fs_call ?? program._plait_fs_call;
  if (typeof call !== 'function')
    throw new TypeError('The program does not export plait_fs_call: link it with --export=plait_fs_call');
  const used = memory ?? program.memory ?? program.wasmMemory;
  if (!(used instanceof WebAssembly.Memory))
    throw new TypeError('The program exports no memory: pass it as the second argument');
  return new LinkedFiles(call as Caller, used);
}
