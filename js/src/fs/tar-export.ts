/**
 * Exports a tree as a tar archive, in pieces. Names are in the order of their bytes.
 *
 * Each file has the contents of one instant, even if others change the tree meanwhile. Exception: a large file in a
 * mount is read in pieces while others may change it, or it is an error. Files that were removed before they are read
 * are left out.
 *
 * Invariant: the exported directory is held (hold.ts). So in a mount nothing from outside of the directory gets into
 * the archive, whatever becomes of its directories and files meanwhile.
 */

import { hold } from './hold.ts';
import type { BigIntStats } from './stats.ts';
import { encodeEntry, padded, TarType, tarError } from './tar-format.ts';
import type { TreeFs } from './tree.ts';
import { byteString, fromByteString as bytesOf, type PathLike, pathText } from './values.ts';

export interface ExportTarOptions {
  /** Called for files that our archives cannot contain, which are left out: pipes, sockets and devices in mounts. */
  onSkip?: ((path: string) => void) | undefined;
}

/** In mounts, files larger than this are read in pieces; in memory a file is copied at once. */
const PIECE = 2 ** 20;
const MEMORY_DEVICE = 1n;

type Bytes = Uint8Array<ArrayBuffer>;

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR'].includes((error as { code?: string }).code ?? '');
}

class Exporter {
  readonly #fs: TreeFs;
  /** Files with several names that are in the archive already, with the first name there. */
  readonly #written = new Map<string, string>();

  constructor(fs: TreeFs) {
    this.#fs = fs;
  }

  #stat(path: string): BigIntStats | undefined {
    try {
      return this.#fs.lstatSync(bytesOf(path), { bigint: true });
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  /** Yields pieces of the archive, and as strings the paths that are left out. */
  *entry(path: string, name: string): Generator<Bytes | string> {
    const stats = this.#stat(path);
    if (stats === undefined) return;
    const entry = {
      name,
      type: TarType.FILE as string,
      mode: Number(stats.mode & 0o7777n),
      uid: Number(stats.uid),
      gid: Number(stats.gid),
      size: 0,
      mtime: stats.mtimeNs,
      linkName: '',
    };
    if (stats.isDirectory()) {
      yield encodeEntry({ ...entry, name: `${name}/`, type: TarType.DIRECTORY });
      yield* this.#inside(path, name);
      return;
    }
    if (!stats.isFile() && !stats.isSymbolicLink()) {
      yield path;
      return;
    }
    const key = `${stats.dev}:${stats.ino}`;
    const linkName = stats.nlink > 1n ? this.#written.get(key) : undefined;
    if (linkName !== undefined) {
      yield encodeEntry({ ...entry, type: TarType.HARD_LINK, linkName });
      return;
    }
    try {
      if (stats.isSymbolicLink()) {
        const text = byteString(this.#fs.readlinkSync(bytesOf(path), 'buffer') as unknown as Uint8Array);
        yield encodeEntry({ ...entry, type: TarType.SYMLINK, linkName: text });
      } else if (stats.dev !== MEMORY_DEVICE && stats.size > PIECE) {
        yield* this.#pieces(path, entry);
      } else {
        const data = this.#fs.readFileSync(bytesOf(path));
        const head = encodeEntry({ ...entry, size: data.length });
        const all = new Uint8Array(head.length + padded(data.length));
        all.set(head);
        all.set(data, head.length);
        yield all;
      }
      if (stats.nlink > 1n) this.#written.set(key, name);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  *#pieces(path: string, entry: Parameters<typeof encodeEntry>[0]): Generator<Bytes> {
    const fs = this.#fs;
    const fd = fs.openSync(bytesOf(path), 'r');
    try {
      const { size } = fs.fstatSync(fd);
      yield encodeEntry({ ...entry, size });
      for (let at = 0; at < size; ) {
        const piece = new Uint8Array(Math.min(PIECE, size - at));
        const count = fs.readSync(fd, piece, 0, piece.length, at);
        if (count === 0) throw tarError(`'${entry.name}' was cut short while it was read`);
        yield piece.subarray(0, count);
        at += count;
      }
      if (size % 512 !== 0) yield new Uint8Array(padded(size) - size);
    } finally {
      fs.closeSync(fd);
    }
  }

  *#inside(path: string, name: string): Generator<Bytes | string> {
    let names: string[];
    try {
      names = this.#fs.rawEntries(bytesOf(path)).map((entry) => byteString(entry.name));
    } catch (error) {
      if (isMissing(error)) return;
      throw error;
    }
    for (const one of names.sort()) {
      const below = name === '.' ? one : `${name}/${one}`;
      yield* this.entry(path.endsWith('/') ? path + one : `${path}/${one}`, below);
    }
  }
}

/** The archive of a directory (as `.`, with its contents), or of one file. */
export function* exportTar(fs: TreeFs, path: PathLike, options: ExportTarOptions = {}): Generator<Bytes> {
  fs.statSync(path); // throws if there is nothing
  const { path: top, isDirectory, within, leave } = hold(fs, path);
  const steps = new Exporter(fs).entry(top, isDirectory ? '.' : top.slice(top.lastIndexOf('/') + 1));
  try {
    for (let step = within(() => steps.next()); !step.done; step = within(() => steps.next())) {
      if (typeof step.value === 'string') options.onSkip?.(pathText(bytesOf(step.value)));
      else yield step.value;
    }
  } finally {
    steps.return(undefined);
    leave();
  }
  yield new Uint8Array(1024);
}
