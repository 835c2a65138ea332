/**
 * Imports a tar archive into a directory.
 *
 * An archive is untrusted. Invariants
 * - Nothing outside of the target is created, changed or removed, whatever the archive contains and in whatever order.
 *   A name is relative and without `..`. Each directory above it must be a directory, not a link; this is checked for
 *   each entry. A file that has the name already is removed, never written through. In a mount the target is held
 *   (hold.ts), so this is true even if others replace its directories by links meanwhile. (In memory there is no guard
 *   against threads of the space that do so.)
 * - A symbolic link leads nowhere outside, not even through other links: its text goes up first and then only down, and
 *   not above the target.
 * - Memory and time for an entry do not depend on earlier entries, except for one record for each directory.
 * - Memory is allocated only for bytes that have arrived: a size in a header is not trusted.
 */

import { FsSetBit } from '../core/layout.generated.ts';
import { isUint8Array } from '../core/realms.ts';
import { wrongType, wrongValue } from './errors.ts';
import { type Hold, hold } from './hold.ts';
import { Feed } from './tar-feed.ts';
import {
  BLOCK,
  decodeHeader,
  decodeRecords,
  isEnd,
  padded,
  type TarEntry,
  TarType,
  tarError,
  withRecords,
} from './tar-format.ts';
import type { TreeFs } from './tree.ts';
import { byteString, fromByteString as bytesOf, checkInteger, decode, encode, type PathLike } from './values.ts';

export interface ImportTarOptions {
  /** Also sets owners, groups, and the set-user-id, set-group-id and sticky bits. Default: false. */
  owners?: boolean | undefined;
  /** `'any'`: symbolic links may have any text; nothing is ever written through them. Default: `'inside'`. */
  links?: 'inside' | 'any' | undefined;
  /**
   * The maximum number of entries; directories that names imply count, too. Beyond it: ERR_PLAIT_TAR. Default: no
   * limit.
   */
  limits?: { entries?: number | undefined; bytes?: number | undefined } | undefined;
}

export interface ImportTarResult {
  /** Number of entries that were created. */
  entries: number;
  /** Bytes of file contents. */
  bytes: number;
  /** Names that were left out: pipes, devices and unknown kinds. The first 1000 of them. */
  skipped: { name: string; type: string }[];
  /** How many names were left out. */
  skippedCount: number;
}

export type TarSource = Uint8Array | Iterable<Uint8Array>;
export type AsyncTarSource = TarSource | AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>;

const HEADER_LIMIT = 2 ** 20;
const PIECE = 2 ** 20;
const SKIPPED_SHOWN = 1000;
/**
 * The maximum number of parts of a name. Each is looked up from the top, and may need a directory. Deeper names are
 * taken for an attack.
 */
const DEEPEST = 256;

/** The largest owner; the next number, -1, would mean: unchanged. */
const LAST_ID = 2 ** 32 - 2;
const LAST_TIME = 2n ** 63n - 1n;

/** Asks for a number of bytes, and receives them, or fewer at the end of the archive. */
type Steps<Result> = Generator<number, Result, Uint8Array>;

function shown(name: string): string {
  return decode(encode(name, 'latin1'), 'utf8');
}

/** Checks the options, before anything is created. */
function checkOptions({ links, limits = {} }: ImportTarOptions): void {
  if (links !== undefined && links !== 'inside' && links !== 'any') {
    throw wrongValue('options.links', "must be 'inside' or 'any'", links);
  }
  if (typeof limits !== 'object' || limits === null) throw wrongType('options.limits', 'of type object', limits);
  for (const which of ['entries', 'bytes'] as const) {
    const most = limits[which];
    if (most === undefined || most === Number.POSITIVE_INFINITY) continue;
    checkInteger(most, `options.limits.${which}`, 0, Number.MAX_SAFE_INTEGER);
  }
}

class Importer {
  readonly #fs: TreeFs;
  readonly #top: string;
  readonly #options: ImportTarOptions;
  readonly #mostEntries: number;
  readonly #mostBytes: number;
  readonly result: ImportTarResult = { entries: 0, bytes: 0, skipped: [], skippedCount: 0 };
  /** Directories that were created because a name implied them. */
  #implied = 0;
  /** Times and modes of directories, which are set after their contents were created. */
  readonly #directories = new Map<string, TarEntry>();
  /** The entry that is being read, for errors. */
  current = '';
  at = 0;

  constructor(fs: TreeFs, top: string, options: ImportTarOptions) {
    this.#fs = fs;
    this.#top = top === '/' ? '' : top;
    this.#options = options;
    const { entries = Number.POSITIVE_INFINITY, bytes = Number.POSITIVE_INFINITY } = options.limits ?? {};
    this.#mostEntries = entries;
    this.#mostBytes = bytes;
  }

  *#take(count: number): Steps<Uint8Array> {
    const bytes = yield count;
    if (bytes.length < count) throw tarError('the archive ends in the middle of it');
    this.at += count;
    return bytes;
  }

  *#small(size: number): Steps<Uint8Array> {
    if (size > HEADER_LIMIT) throw tarError(`its header has ${size} bytes`);
    return (yield* this.#take(padded(size))).slice(0, size);
  }

  *run(): Steps<void> {
    let global = new Map<string, string>();
    let own = new Map<string, string>();
    let long: Partial<TarEntry> = {};
    for (;;) {
      this.current = '';
      const block = (yield* this.#take(BLOCK)).slice();
      if (isEnd(block)) break;
      let entry = decodeHeader(block);
      this.current = entry.name;
      if (entry.type === 'x' || entry.type === 'g') {
        const records = decodeRecords(yield* this.#small(entry.size));
        if (entry.type === 'x') own = records;
        else global = new Map([...global, ...records]);
        continue;
      }
      if (entry.type === 'L' || entry.type === 'K') {
        const name = String.fromCharCode(
          ...(yield* this.#small(Math.min(entry.size, HEADER_LIMIT + 1))).subarray(0, 8192),
        ).replace(/\0.*$/s, '');
        long = { ...long, ...(entry.type === 'L' ? { name } : { linkName: name }) };
        continue;
      }
      entry = withRecords({ ...entry, ...long }, new Map([...global, ...own]));
      this.current = entry.name;
      [own, long] = [new Map(), {}];
      yield* this.#make(entry);
    }
    this.current = '';
    // Deeper directories have longer paths; they are finished first.
    const directories = [...this.#directories].sort(([a], [b]) => b.length - a.length);
    for (const [path, entry] of directories) this.#finish(path, entry);
  }

  // ---- names ----

  /** The parts of a name, which must be relative and without `..`. */
  #parts(name: string): string[] {
    if (name.includes('\0')) throw tarError('its name has a zero byte in it');
    if (name.startsWith('/')) throw tarError('its name is absolute');
    const parts = name.split('/').filter((part) => part !== '' && part !== '.');
    if (parts.includes('..')) throw tarError("its name has '..' in it");
    if (parts.length > DEEPEST) throw tarError(`its name has ${parts.length} parts`);
    return parts;
  }

  #path(parts: readonly string[]): string {
    return parts.length === 0 ? this.#top || '/' : `${this.#top}/${parts.join('/')}`;
  }

  #kind(path: string): 'directory' | 'other' | undefined {
    const stats = this.#fs.lstatSync(bytesOf(path), { throwIfNoEntry: false });
    return stats === undefined ? undefined : stats.isDirectory() ? 'directory' : 'other';
  }

  /** Checks that the directories above exist and are directories. `make`: creates missing ones. */
  #above(parts: readonly string[], make: boolean): void {
    let path = this.#top;
    let isNew = false;
    for (const part of parts.slice(0, -1)) {
      path += `/${part}`;
      const kind = isNew ? undefined : this.#kind(path); // a new directory is empty
      if (kind === 'other') throw tarError(`'${shown(path.slice(this.#top.length + 1))}' above it is no directory`);
      if (kind !== undefined || !make) continue;
      this.#checkCount();
      this.#fs.mkdirSync(bytesOf(path));
      this.#implied++;
      isNew = true;
    }
    if (make) this.#checkCount();
  }

  /** Throws if one more entry would exceed the limit. */
  #checkCount(): void {
    if (this.result.entries + this.#implied >= this.#mostEntries) {
      throw tarError('there are more entries than the limit');
    }
  }

  /** Checks the directories above a new file or link, and removes an old one with its name. Returns its path. */
  #clear(parts: readonly string[]): Uint8Array {
    if (parts.length === 0) throw tarError('it has no name');
    const path = this.#path(parts);
    this.#above(parts, true);
    const kind = this.#kind(path);
    if (kind === 'directory') throw tarError('there is a directory of that name');
    if (kind !== undefined) this.#fs.unlinkSync(bytesOf(path));
    return bytesOf(path);
  }

  #checkLink(parts: readonly string[], text: string): void {
    if (text === '' || text.includes('\0')) throw tarError('it is a link to nowhere');
    if (this.#options.links === 'any') return;
    if (text.startsWith('/')) throw tarError(`it is a link to '${shown(text)}', which is absolute`);
    const steps = text.split('/').filter((part) => part !== '' && part !== '.');
    const up = steps.findIndex((part) => part !== '..');
    const ups = up < 0 ? steps.length : up;
    if (ups > parts.length - 1 || steps.slice(ups).includes('..')) {
      throw tarError(`it is a link to '${shown(text)}', which may lead out of the archive`);
    }
  }

  // ---- entries ----

  *#make(entry: TarEntry): Steps<void> {
    const directory = entry.type === TarType.DIRECTORY || (/[07]/.test(entry.type) && entry.name.endsWith('/'));
    if (!directory && !/^[0127]$/.test(entry.type)) {
      if (entry.type === 'S') throw tarError('it is sparse: write the archive without --sparse');
      if (this.result.skippedCount++ < SKIPPED_SHOWN) {
        this.result.skipped.push({ name: shown(entry.name), type: entry.type });
      }
      return yield* this.#skip(/[346]/.test(entry.type) ? 0 : entry.size);
    }
    const parts = this.#parts(entry.name);
    this.#checkStats(entry);
    if (directory) {
      yield* this.#skip(entry.type === TarType.DIRECTORY ? 0 : entry.size);
      this.#makeDirectory(parts, entry);
    } else if (entry.type === TarType.SYMLINK) {
      this.#checkLink(parts, entry.linkName);
      const path = this.#clear(parts);
      this.#fs.symlinkSync(bytesOf(entry.linkName), path);
      this.#finish(this.#path(parts), entry);
    } else if (entry.type === TarType.HARD_LINK) {
      yield* this.#skip(entry.size); // some writers repeat the contents
      this.#makeHardLink(parts, entry);
    } else {
      yield* this.#makeFile(parts, entry);
    }
    this.result.entries++;
  }

  /** Refuses times and owners that neither memory nor a host can store. */
  #checkStats({ uid, gid, mtime }: TarEntry): void {
    if (mtime > LAST_TIME || mtime < -LAST_TIME) throw tarError('its time is out of range');
    if (this.#options.owners && [uid, gid].some((id) => id < 0 || id > LAST_ID)) {
      throw tarError('its owner or group is out of range');
    }
  }

  #makeDirectory(parts: readonly string[], entry: TarEntry): void {
    const path = this.#path(parts);
    this.#above(parts, true);
    if (this.#kind(path) === 'other') this.#fs.unlinkSync(bytesOf(path));
    if (this.#kind(path) === undefined) this.#fs.mkdirSync(bytesOf(path), { mode: 0o700 });
    this.#directories.set(path, entry);
  }

  #makeHardLink(parts: readonly string[], entry: TarEntry): void {
    const from = this.#parts(entry.linkName);
    this.#above(from, false);
    if (this.#kind(this.#path(from)) !== 'other')
      throw tarError(`it is a link to '${shown(entry.linkName)}', which is no file here`);
    if (from.join('/') === parts.join('/')) return;
    this.#checkLinked(from, parts);
    this.#fs.linkSync(bytesOf(this.#path(from)), this.#clear(parts));
  }

  /**
   * Checks a hard link to a symbolic link: that has the same text at its new name, and may lead elsewhere from there.
   */
  #checkLinked(from: readonly string[], parts: readonly string[]): void {
    const path = bytesOf(this.#path(from));
    if (!this.#fs.lstatSync(path).isSymbolicLink()) return;
    this.#checkLink(parts, byteString(this.#fs.readlinkSync(path, 'buffer') as unknown as Uint8Array));
  }

  *#makeFile(parts: readonly string[], entry: TarEntry): Steps<void> {
    const path = this.#clear(parts);
    if (this.result.bytes + entry.size > this.#mostBytes) throw tarError('the files have more bytes than the limit');
    if (entry.size <= PIECE) {
      const data = (yield* this.#take(padded(entry.size))).subarray(0, entry.size);
      this.#fs.writeFileSync(path, data, { flag: 'wx', mode: 0o600 });
    } else {
      const fd = this.#fs.openSync(path, 'wx', 0o600);
      try {
        for (let left = entry.size; left > 0; ) {
          const piece = yield* this.#take(left > PIECE ? PIECE : padded(left));
          const data = piece.subarray(0, Math.min(left, piece.length));
          for (let at = 0; at < data.length; ) at += this.#fs.writeSync(fd, data, at);
          left -= data.length;
        }
      } catch (error) {
        this.#fs.unlinkSync(path); // no partial files
        throw error;
      } finally {
        this.#fs.closeSync(fd);
      }
    }
    this.result.bytes += entry.size;
    this.#finish(this.#path(parts), entry);
  }

  *#skip(size: number): Steps<void> {
    for (let left = padded(size); left > 0; ) {
      const count = Math.min(left, PIECE);
      yield* this.#take(count);
      left -= count;
    }
  }

  /** Sets mode, owner and times. */
  #finish(path: string, { type, mode, uid, gid, mtime }: TarEntry): void {
    const { owners } = this.#options;
    const { core } = this.#fs.volume;
    const length = this.#fs.volume.first(bytesOf(path));
    const set = (mask: number): number => {
      const seconds = Number(mtime >= 0n ? mtime / 1000000000n : (mtime - 999999999n) / 1000000000n);
      const rest = Number(mtime - BigInt(seconds) * 1000000000n);
      const bits = mode & (owners ? 0o7777 : 0o777);
      return core.plait_fs_set(-1 - length, 0, mask, bits, uid, gid, seconds, rest, seconds, rest, Date.now());
    };
    // The owner first, because changing it removes set-id bits. The times last.
    const changes = [FsSetBit.SET_ATIME | FsSetBit.SET_MTIME];
    if (type !== TarType.SYMLINK) changes.unshift(FsSetBit.SET_MODE);
    if (owners) changes.unshift(FsSetBit.SET_UID | FsSetBit.SET_GID);
    for (const mask of changes) {
      const rc = set(mask);
      if (rc < 0)
        throw this.#fs.volume.error(
          rc,
          mask & FsSetBit.SET_MODE ? 'chmod' : mask & FsSetBit.SET_UID ? 'chown' : 'utime',
          bytesOf(path),
        );
    }
  }
}

/** One import, which is fed until it needs no more. */
class Import {
  readonly #importer: Importer;
  readonly #steps: Steps<void>;
  readonly #hold: Hold;
  readonly #feed = new Feed();
  #step: IteratorResult<number, void>;

  constructor(fs: TreeFs, path: PathLike, options: ImportTarOptions) {
    checkOptions(options);
    fs.mkdirSync(path, { recursive: true });
    this.#hold = hold(fs, path);
    this.#importer = new Importer(fs, this.#hold.path, options);
    this.#steps = this.#importer.run();
    this.#step = this.#steps.next();
  }

  get result(): ImportTarResult {
    return this.#importer.result;
  }

  /** Continues with the bytes that have arrived. Returns whether it needs more. */
  wants(): boolean {
    for (;;) {
      const { done, value } = this.#step;
      if (done) return false;
      if (!this.#feed.has(value)) {
        this.#feed.keep(); // the source may reuse the bytes
        return true;
      }
      const bytes = this.#feed.take(value);
      this.#step = this.#hold.within(() => this.#steps.next(bytes));
    }
  }

  add(part: Uint8Array): void {
    this.#feed.add(part);
  }

  /** Called at the end of the archive, or when no more is needed. */
  finish(): void {
    this.#feed.end();
    this.wants();
  }

  /** Removes an unfinished file. Returns the error, with the entry and what was imported before it. */
  fail(error: unknown): unknown {
    try {
      this.#hold.within(() => this.#steps.throw(error));
    } catch {
      this.#steps.return(); // it threw the same error again, or its mount was removed
    }
    if (typeof error !== 'object' || error === null) return error;
    const { current, at, result } = this.#importer;
    const known = error as Error & { code?: string; imported?: ImportTarResult };
    known.imported = result;
    if (known.code !== 'ERR_PLAIT_TAR') return error;
    const where = current === '' ? `entry ${result.entries + 1}` : `entry ${result.entries + 1}, '${shown(current)}'`;
    known.message = `${where}, near byte ${at}: ${known.message}; ${result.entries} entries were made before it`;
    return error;
  }

  end(): void {
    this.#hold.leave();
  }
}

export function importTar(
  fs: TreeFs,
  source: TarSource,
  path: PathLike,
  options: ImportTarOptions = {},
): ImportTarResult {
  const work = new Import(fs, path, options);
  try {
    for (const part of isUint8Array(source) ? [source] : source) {
      work.add(part);
      if (!work.wants()) break;
    }
    work.finish();
  } catch (error) {
    throw work.fail(error);
  } finally {
    work.end();
  }
  return work.result;
}

export async function importTarAsync(
  fs: TreeFs,
  source: AsyncTarSource,
  path: PathLike,
  options: ImportTarOptions = {},
): Promise<ImportTarResult> {
  const work = new Import(fs, path, options);
  try {
    for await (const part of partsOf(source)) {
      work.add(part);
      if (!work.wants()) break;
    }
    work.finish();
  } catch (error) {
    throw work.fail(error);
  } finally {
    work.end();
  }
  return work.result;
}

/** Iterates over the parts of any source. */
async function* partsOf(source: AsyncTarSource): AsyncGenerator<Uint8Array> {
  if (isUint8Array(source)) yield source;
  else if (Symbol.asyncIterator in source || Symbol.iterator in source) yield* source as AsyncIterable<Uint8Array>;
  else {
    const reader = (source as ReadableStream<Uint8Array>).getReader(); // not every browser iterates streams
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        yield value;
      }
    } finally {
      await reader.cancel();
    }
  }
}
