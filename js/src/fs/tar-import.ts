/**
 * A tar archive into a directory.
 *
 * An archive is hostile until shown otherwise. Invariants
 * - Nothing outside of the target is made, changed or removed, whatever the archive says and in whatever order: a name
 *   is relative and without `..`; each directory above it is a directory, not a link, looked at for each entry; what
 *   has the name already is removed, never written through. Behind a mount point the target is held (hold.ts), so that
 *   holds, too, while others change directories in it into links. (In memory, threads of the space that do so are not
 *   guarded against.)
 * - A symbolic link leads nowhere outside, also over other links: its text goes up first and then only down, and not
 *   above the target.
 * - What is kept and done for an entry does not depend on what came before it, but for one record for each directory.
 * - Memory is asked for only for bytes that are there: a size is believed when the bytes have come.
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
  /** Also owners, groups, and the set-user-id, set-group-id and sticky bits. Default: false. */
  owners?: boolean | undefined;
  /**
   * `'any'`: symbolic links may say what they like; nothing is written through them in any case. Default: `'inside'`.
   */
  links?: 'inside' | 'any' | undefined;
  /**
   * The most that may be made; directories that names imply are entries, too. Beyond it: ERR_PLAIT_TAR. Default: any
   * number.
   */
  limits?: { entries?: number | undefined; bytes?: number | undefined } | undefined;
}

export interface ImportTarResult {
  /** Entries that were made. */
  entries: number;
  /** Bytes of files. */
  bytes: number;
  /** What was left out: pipes, devices and what is not known. The first 1000 of them. */
  skipped: { name: string; type: string }[];
  /** How many were left out. */
  skippedCount: number;
}

export type TarSource = Uint8Array | Iterable<Uint8Array>;
export type AsyncTarSource = TarSource | AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>;

const HEADER_LIMIT = 2 ** 20;
const PIECE = 2 ** 20;
const SKIPPED_SHOWN = 1000;
/**
 * Parts of a name. Each is looked up from the top, and may mean a directory of its own: what is deeper is no honest
 * archive.
 */
const DEEPEST = 256;

/** -1 as an owner would mean: as it is. */
const LAST_ID = 2 ** 32 - 2;
const LAST_TIME = 2n ** 63n - 1n;

/** Asks for so many bytes, and gets them, or fewer where the archive ends. */
type Steps<Result> = Generator<number, Result, Uint8Array>;

function shown(name: string): string {
  return decode(encode(name, 'latin1'), 'utf8');
}

/** Before anything is made. */
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
  /** Directories that were made because a name implied them. */
  #implied = 0;
  /** Directories get their times and modes when all that is in them is made. */
  readonly #directories = new Map<string, TarEntry>();
  /** What is being read: for errors. */
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
    // What lies deeper has the longer path: it is finished first.
    const directories = [...this.#directories].sort(([a], [b]) => b.length - a.length);
    for (const [path, entry] of directories) this.#finish(path, entry);
  }

  // ---- names ----

  /** A name's parts: relative, and without a way up. */
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

  /** Sees to it that the directories above are there, and are directories. `make`: those that are missing are made. */
  #above(parts: readonly string[], make: boolean): void {
    let path = this.#top;
    let isNew = false;
    for (const part of parts.slice(0, -1)) {
      path += `/${part}`;
      const kind = isNew ? undefined : this.#kind(path); // in a new directory there is nothing
      if (kind === 'other') throw tarError(`'${shown(path.slice(this.#top.length + 1))}' above it is no directory`);
      if (kind !== undefined || !make) continue;
      this.#checkCount();
      this.#fs.mkdirSync(bytesOf(path));
      this.#implied++;
      isNew = true;
    }
    if (make) this.#checkCount();
  }

  /** One more may be made. */
  #checkCount(): void {
    if (this.result.entries + this.#implied >= this.#mostEntries) {
      throw tarError('there are more entries than the limit');
    }
  }

  /** Makes room for something that is no directory. */
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

  /** What neither memory nor a host has room for. */
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

  /** What is a symbolic link says the same at its new name, and may lead somewhere else from there. */
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
        this.#fs.unlinkSync(path); // a part of a file is none
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

  /** Mode, owner and times. */
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
    // The owner first: changing it takes set-id bits away. The times last.
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

/** One import: it is fed until it wants no more. */
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

  /** Goes as far as it can with what it has; whether it wants more. */
  wants(): boolean {
    for (;;) {
      const { done, value } = this.#step;
      if (done) return false;
      if (!this.#feed.has(value)) {
        this.#feed.keep(); // its source may use the bytes again
        return true;
      }
      const bytes = this.#feed.take(value);
      this.#step = this.#hold.within(() => this.#steps.next(bytes));
    }
  }

  add(part: Uint8Array): void {
    this.#feed.add(part);
  }

  /** There is no more, or it wants none. */
  finish(): void {
    this.#feed.end();
    this.wants();
  }

  /** Takes back what is half made; the error with what it was about, and what was done before it. */
  fail(error: unknown): unknown {
    try {
      this.#hold.within(() => this.#steps.throw(error));
    } catch {
      this.#steps.return(); // it has thrown the same again; or its mount has come off
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

/** What comes, whatever it comes from. */
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
