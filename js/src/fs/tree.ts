/**
 * The synchronous API, third part: operations on many files.
 */

import { Errno, FsKind } from '../core/layout.generated.ts';
import { makeOpaque } from '../core/opaque.ts';
import { type CopyOptions, copyTreeSync } from './cp.ts';
import { Dir, type DirOptions } from './dir.ts';
import { type FsError, systemError, wrongType } from './errors.ts';
import { type GlobOptions, globSync } from './glob.ts';
import { nativeRealPath, realPath } from './real-path.ts';
import { type Dirent, Dirent as DirentClass } from './stats.ts';
import { SyncFs } from './sync.ts';
import {
  checkInteger,
  checkRemoveOptions,
  decode,
  encode,
  encodedPath,
  type FsEncoding,
  join,
  modeOf,
  newBytes,
  nulInPath,
  optionsOf,
  type PathLike,
  parentOf,
  pathOf,
  pathText,
} from './values.ts';

export interface ReaddirOptions {
  encoding?: FsEncoding | 'buffer' | null | undefined;
  withFileTypes?: boolean | undefined;
  recursive?: boolean | undefined;
}
export interface RmOptions {
  force?: boolean | undefined;
  recursive?: boolean | undefined;
  maxRetries?: number | undefined;
  retryDelay?: number | undefined;
}

type EncodingOption = { encoding?: FsEncoding | 'buffer' | null | undefined } | FsEncoding | 'buffer' | null;
interface Realpath {
  (path: PathLike, options?: { encoding?: FsEncoding | null | undefined } | FsEncoding | null): string;
  (path: PathLike, options: 'buffer' | { encoding: 'buffer' }): Uint8Array;
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

/** Larger files are copied in pieces of this size. */
const COPIED_WHOLE = 2 ** 26;
const COPIED_AT_ONCE = 2 ** 20;

export class TreeFs extends SyncFs {
  static {
    makeOpaque(TreeFs, { name: 'Fs', instead: 'import it there: all threads have the same' }, (fs) => {
      const { bsize, blocks, bfree, files, ffree } = fs.statfsSync('/');
      return { files: files - ffree, bytes: (blocks - bfree) * bsize };
    });
  }

  mkdirSync: {
    (path: PathLike, options: { recursive: true; mode?: number | string | undefined }): string | undefined;
    (
      path: PathLike,
      options?: { recursive?: false | undefined; mode?: number | string | undefined } | number | string | null,
    ): undefined;
    (
      path: PathLike,
      options?: { recursive?: boolean | undefined; mode?: number | string | undefined } | number | string | null,
    ): string | undefined;
  } = ((
    path: PathLike,
    options?: { recursive?: boolean | undefined; mode?: number | string | undefined } | number | string | null,
  ) => {
    pathOf(path);
    const plain = typeof options === 'number' || typeof options === 'string';
    const { recursive = false, mode } = ((plain ? { mode: options } : options) ?? {}) as {
      recursive?: boolean | undefined;
      mode?: number | string | undefined;
    };
    const bits = modeOf(mode, 0o777);
    if (typeof recursive !== 'boolean') throw wrongType('options.recursive', 'of type boolean', recursive);
    const rc = this.makeDirectory(path, bits);
    if (rc === 0 && !recursive) return undefined;
    if (rc < 0 && !recursive) throw this.volume.error(rc, 'mkdir', path);
    const text = pathText(pathOf(path));
    return this.#makeAll(text, rc, bits, text);
  }) as never;

  /**
   * Creates a directory and its missing ancestors, and returns the first that was created. `rc`: the result for `path`
   * itself.
   */
  #makeAll(path: string, rc: number, mode: number, top: string): string | undefined {
    if (rc === 0) return path;
    const { volume } = this;
    if (rc === -Errno.EEXIST) {
      const found = volume.core.plait_fs_stat(-1 - volume.first(path), 1);
      if (found === 0 && volume.kind === FsKind.DIRECTORY) return undefined;
      throw volume.error(found < 0 ? found : path === top ? rc : -Errno.ENOTDIR, 'mkdir', top);
    }
    const above = parentOf(path);
    if (rc !== -Errno.ENOENT || above === path || path === '') throw volume.error(rc, 'mkdir', top);
    const first = this.#makeAll(above, this.makeDirectory(above, mode), mode, top);
    const again = this.makeDirectory(path, mode);
    if (again === 0) return first ?? path;
    if (again === -Errno.ENOENT && first === undefined) throw volume.error(again, 'mkdir', top);
    return this.#makeAll(path, again, mode, top) ?? first;
  }

  mkdtempSync: {
    (prefix: PathLike, options?: { encoding?: FsEncoding | null | undefined } | FsEncoding | null): string;
    (prefix: PathLike, options: 'buffer' | { encoding: 'buffer' }): Uint8Array;
  } = ((prefix: PathLike, options?: EncodingOption): string | Uint8Array => {
    optionsOf(options);
    const text = pathText(pathOf(prefix, 'prefix'));
    if (text.includes('\0')) throw nulInPath('prefix', prefix);
    for (;;) {
      const random = crypto.getRandomValues(new Uint8Array(6));
      const path = text + [...random].map((byte) => LETTERS[byte % LETTERS.length]).join('');
      const rc = this.makeDirectory(path, 0o700);
      if (rc === 0) return encodedPath(path, options);
      if (rc !== -Errno.EEXIST) throw this.volume.error(rc, 'mkdtemp', `${text}XXXXXX`);
    }
  }) as never;

  readdirSync: {
    (
      path: PathLike,
      options?:
        | {
            encoding?: FsEncoding | null | undefined;
            withFileTypes?: false | undefined;
            recursive?: boolean | undefined;
          }
        | FsEncoding
        | null,
    ): string[];
    (
      path: PathLike,
      options: { withFileTypes: true; encoding?: FsEncoding | null | undefined; recursive?: boolean | undefined },
    ): Dirent[];
    (
      path: PathLike,
      options: { encoding: 'buffer'; withFileTypes?: false | undefined; recursive?: boolean | undefined } | 'buffer',
    ): Uint8Array[];
    (path: PathLike, options?: ReaddirOptions | FsEncoding | 'buffer' | null): string[] | Dirent[] | Uint8Array[];
  } = ((path: PathLike, options?: ReaddirOptions | FsEncoding | 'buffer' | null) => {
    if (options === undefined) return this.names(path);
    const { withFileTypes = false, recursive = false, encoding } = optionsOf<ReaddirOptions>(options);
    pathOf(path);
    if (typeof recursive !== 'boolean') throw wrongType('options.recursive', 'of type boolean', recursive);
    if (recursive) return this.#readAll(pathText(pathOf(path)), withFileTypes);
    if (encoding && !/^utf-?8$/i.test(encoding)) {
      const text = pathText(pathOf(path));
      return this.rawEntries(path).map(({ name, kind }) => {
        const shown = encoding === 'buffer' ? name : decode(name, encoding);
        return withFileTypes ? new DirentClass(shown as string, text, kind) : shown;
      });
    }
    return withFileTypes ? this.entries(path) : this.names(path);
  }) as never;

  #readAll(top: string, withFileTypes: boolean): (string | Dirent)[] {
    const found: (string | Dirent)[] = [];
    const queue = [''];
    for (const below of queue) {
      for (const entry of this.entries(below === '' ? top : join(top, below))) {
        const path = below === '' ? entry.name : `${below}/${entry.name}`;
        found.push(withFileTypes ? entry : path);
        if (entry.isDirectory()) queue.push(path);
      }
    }
    return found;
  }

  opendirSync = (path: PathLike, options?: DirOptions): Dir => new Dir(this, path, options);

  globSync = (pattern: string | readonly string[], options?: GlobOptions): string[] | Dirent[] =>
    globSync(this, pattern, options);

  // ---- removing ----

  rmSync = (path: PathLike, options: RmOptions = {}): void => {
    const text = pathText(pathOf(path));
    checkRemoveOptions(options);
    const { volume } = this;
    const rc = volume.core.plait_fs_stat(-1 - volume.first(path), 0);
    if (rc < 0) {
      if (options.force && rc === -Errno.ENOENT) return;
      // As in Node, `force` skips the check of the kind. For a link to itself with a trailing slash, unlink() fails and
      // says why.
      if (!options.force || !options.recursive) throw volume.error(rc, 'lstat', path);
      this.#quietly(() => this.unlinkSync(path), true);
      return;
    }
    if (volume.kind !== FsKind.DIRECTORY) {
      this.#quietly(() => this.unlinkSync(path), options.force);
      return;
    }
    if (!options.recursive) throw isDirectoryError('rm', text);
    this.#removeAll(pathOf(path));
  };

  /** The names in a directory; as bytes where they are not UTF-8. */
  #children(path: PathLike): { path: PathLike; directory: boolean }[] {
    if (typeof path === 'string') {
      const entries = this.entries(path);
      if (!entries.some(({ name }) => name.includes('\uFFFD'))) {
        return entries.map((entry) => ({ path: join(path, entry.name), directory: entry.isDirectory() }));
      }
    }
    const top = typeof path === 'string' ? encode(path) : (path as Uint8Array);
    return this.rawEntries(path).map(({ name, kind }) => {
      const child = new Uint8Array(top.length + 1 + name.length);
      child.set(top);
      child[top.length] = 47;
      child.set(name, top.length + 1);
      return { path: child, directory: kind === FsKind.DIRECTORY };
    });
  }

  #removeAll(path: PathLike): void {
    for (let made = false; ; made = true) {
      if (made) this.#empty(path);
      const rc = this.volume.core.plait_fs_rmdir(this.volume.first(path), Date.now());
      if (rc === 0 || rc === -Errno.ENOENT) return;
      if (rc !== -Errno.ENOTEMPTY) throw this.volume.error(rc, 'rmdir', path);
      // The directory is not empty, or another thread has created something in it: try again.
    }
  }

  /** Removes the contents of a directory, but not if it is a link by now. The directory is held: see hold.ts. */
  #empty(path: PathLike): void {
    const { mounts } = this.volume;
    const held = this.#quietly(() => mounts.hold(path, false) ?? null, true); // null: in memory
    if (held === undefined) return;
    if (held === null) {
      // Also where no path can name what lies in it.
      const rc = this.volume.core.plait_fs_empty(this.volume.first(path), Date.now());
      if (rc === 0 || rc === -Errno.ENOENT || rc === -Errno.ENOTDIR) return;
      if (rc === -Errno.EREMOTE) return; // mounted meanwhile: the caller's rmdir says so
      if (rc !== -Errno.EBUSY) throw this.volume.error(rc, 'rmdir', path);
      // There is a mount in it: go on name by name, into the mount.
    }
    if (held !== null) mounts.enter(held);
    try {
      if (held?.isDirectory === false) return;
      for (const child of this.#quietly(() => this.#children(path), true) ?? []) {
        if (child.directory) this.#removeAll(child.path);
        else this.#quietly(() => this.unlinkSync(child.path), true);
      }
    } finally {
      if (held !== null) mounts.exit();
      held?.leave();
    }
  }

  /** Ignores errors for files that another thread has removed already. */
  #quietly<Result>(action: () => Result, quiet: boolean | undefined): Result | undefined {
    try {
      return action();
    } catch (error) {
      if (quiet && (error as FsError).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  // ---- copying ----

  copyFileSync = (src: PathLike, dest: PathLike, how?: number | null): void => {
    const { volume } = this;
    const fail = (rc: number): Error => volume.error(rc, 'copyfile', src, dest);
    const source = volume.first(src, 'src');
    volume.second(dest, 'dest');
    const mode = checkInteger(how ?? 0, 'mode', 0, 7);
    const from = volume.core.plait_fs_stat(-1 - source, 1);
    if (from < 0) throw fail(from);
    const stats = volume.stats();
    const to = volume.core.plait_fs_stat(-1 - volume.first(dest, 'dest'), 1);
    if (to === 0 && mode & 1) throw fail(pathText(pathOf(dest)).endsWith('/') ? -Errno.EISDIR : -Errno.EEXIST);
    if (stats.isDirectory()) throw fail(to < 0 && to !== -Errno.ENOENT ? to : -Errno.EISDIR);
    if (to === 0) {
      const { dev, ino } = volume.stats();
      if (dev === stats.dev && ino === stats.ino) return;
    }
    try {
      const flag = mode & 1 ? 'wx' : 'w';
      if (stats.size > COPIED_WHOLE) this.#copyPieces(src, dest, flag, stats.mode & 0o7777);
      else this.writeFileSync(dest, this.readFileSync(src), { flag, mode: stats.mode & 0o7777 });
      this.chmodSync(dest, stats.mode & 0o7777);
    } catch (error) {
      throw fail((error as FsError).errno ?? -Errno.EINVAL);
    }
  };

  #copyPieces(src: PathLike, dest: PathLike, flag: string, mode: number): void {
    const piece = newBytes(COPIED_AT_ONCE);
    const from = this.openSync(src, 'r');
    try {
      const to = this.openSync(dest, flag, mode);
      try {
        for (let count = -1; count !== 0; ) {
          count = this.readSync(from, piece, 0, piece.length, null);
          for (let at = 0; at < count; ) at += this.writeSync(to, piece, at, count - at, null);
        }
      } finally {
        this.closeSync(to);
      }
    } finally {
      this.closeSync(from);
    }
  }

  cpSync = (src: string | URL, dest: string | URL, options?: CopyOptions): void =>
    copyTreeSync(this, src, dest, options);

  // ---- real paths ----

  realpathSync: Realpath & { native: Realpath } = Object.assign(
    (path: PathLike, options?: EncodingOption) => {
      optionsOf(options);
      return encodedPath(realPath(this.volume, path), options);
    },
    {
      native: (path: PathLike, options?: EncodingOption) => {
        optionsOf(options);
        return encodedPath(nativeRealPath(this.volume, path), options);
      },
    },
  ) as never;
}

function isDirectoryError(syscall: string, path: string): Error {
  return systemError(
    'ERR_FS_EISDIR',
    `Path is a directory: ${syscall} returned EISDIR (is a directory) ${path}`,
    21,
    syscall,
    path,
  );
}
