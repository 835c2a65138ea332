/**
 * The core's calls for mounted files: the same arguments, error numbers, and places of results.
 *
 * Each is called when the core has returned -EREMOTE. Its argument `again` is the core's call itself, for a path that
 * turns out to lead out of the mount, or whose mount was removed. What the core says about a path has to be read before
 * the next call. Data to be written is in the thread's scratch block or in a reserved one, and stays there until it is
 * written.
 */

import {
  Errno,
  FS_LINK_DEPTH,
  FS_PATH_MAX,
  FS_SCRATCH,
  FsFlag,
  FsKind,
  FsResult,
  Fs as FsRoot,
  FsSetBit,
  FsThread,
} from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';
import { type BackendChange, BackendError, type BackendFile, type BackendStats, errorNumber } from './backend.ts';
import type { MountTable } from './mount-table.ts';
import { How, type Mount, Out, type Place, type Start, type Trace, walk } from './mount-walk.ts';
import type { MountedFiles } from './mounted-files.ts';

const REMOTE = -Errno.EREMOTE;
const LISTINGS = 64;
/** How often an open is retried because a file has become a link. */
const TRIES = 40;
/** The bits of a mode that a backend receives; the others have no meaning. */
const PERMISSIONS = 0o7777;

type Again = (length: number) => number;
type Listing = { names: string[]; kinds: number[] };
type Change = readonly [
  mask: number,
  mode: number,
  uid: number,
  gid: number,
  atime: number,
  atimeNs: number,
  mtime: number,
  mtimeNs: number,
];

const wanted = (flags: number): boolean => (flags & 3) !== 0 || (flags & FsFlag.TRUNC) !== 0;

function fail(code: string): never {
  throw new BackendError(code);
}

function attempt(action: () => number): number {
  try {
    return action();
  } catch (error) {
    return errorNumber(error);
  }
}

/**
 * Counts how often a path leads out of a mount and back into one. Without links the rest of the path becomes shorter
 * each time. If it does not, there was a link in memory, and the number of those is limited.
 */
class Returns {
  #left = Number.POSITIVE_INFINITY;
  #links = 0;

  note(rest: string): void {
    if (rest.length >= this.#left && ++this.#links > FS_LINK_DEPTH) fail('ELOOP');
    this.#left = rest.length;
  }
}

/** A directory in a mount that is held open. While it is entered, paths through it start there. */
export interface Held extends Start {
  readonly mount: Mount;
  /** The path by which it was found, as it was at the first mount. */
  readonly way: string;
  /** The path of the directory or of a name in it, without links. */
  readonly found: string;
  readonly isDirectory: boolean;
  leave(): void;
}

export class MountedCalls {
  readonly #space: Space;
  readonly #threadRecord: number;
  readonly #table: MountTable;
  readonly #files: MountedFiles;
  readonly #forget: () => void;
  readonly #listings = new Map<number, Listing>();
  #listed = 0;
  /** Entered directories, the innermost last. */
  readonly #held: Held[] = [];
  /** The file of the last `stat`. */
  last: { mount: Mount; stats: BackendStats } | undefined;

  /** @param forget called when the path in the thread record changes */
  constructor(space: Space, threadRecord: number, table: MountTable, files: MountedFiles, forget: () => void) {
    this.#space = space;
    this.#threadRecord = threadRecord;
    this.#table = table;
    this.#files = files;
    this.#forget = forget;
  }

  // ---- paths ----

  /**
   * The core's result for a path that has led into a mount. `path`: with the links in memory before the mount resolved.
   */
  #remote(): { mount: Mount | undefined; rest: string; path: string; start?: Start } {
    const result = this.#threadRecord + FsThread.result;
    const number = this.#space.load(result + FsResult.mount);
    const bytes = this.#space.bytes(
      this.#space.load(result + FsResult.block),
      this.#space.load(result + FsResult.bytes),
    );
    const rest = String.fromCharCode(...bytes);
    const mount = this.#table.get(number);
    const path = `${mount?.place}/${rest}`;
    const through = (way: string): boolean => `${path}/`.startsWith(`${way}/`);
    const start = this.#held.findLast((held) => through(held.way) || through(held.path));
    if (mount === undefined || start === undefined) return { mount, rest, path };
    const { way } = through(start.way) ? start : { way: start.path };
    return { mount: start.mount, rest: path.slice(way.length), path, start };
  }

  #put(at: number, path: string): number {
    this.#forget();
    if (path.length >= FS_PATH_MAX) return path.length;
    const bytes = this.#space.bytes(this.#threadRecord + at, path.length);
    for (let i = 0; i < path.length; i++) bytes[i] = path.charCodeAt(i);
    return path.length;
  }

  /**
   * Performs the action at the place that a path leads to, or calls `again` with the path that it has turned out to be.
   */
  #at(
    length: number,
    how: number,
    again: Again,
    action: (place: Place) => number,
    at: number = FsThread.first,
  ): number {
    return attempt(() => {
      const returns = new Returns();
      for (let size = length; ; ) {
        const { mount, rest, start } = this.#remote();
        const place = mount === undefined ? undefined : walk(mount, rest, how, this.#table.at, start);
        if (place !== undefined && !(place instanceof Out)) {
          try {
            return action(place);
          } finally {
            place.leave();
          }
        }
        if (place !== undefined) {
          returns.note(rest);
          size = this.#put(at, place.way);
        }
        const rc = again(size);
        if (rc !== REMOTE) return rc;
      }
    });
  }

  /** The place that one of two paths leads to; undefined: in memory. */
  #locate(
    length: number,
    how: number,
    second: boolean,
    trace?: Trace,
  ): { place: Place | undefined; length: number; way: string } {
    let way: string | undefined;
    const returns = new Returns();
    for (let size = length; ; ) {
      const rc = this.#space.core.plait_fs_locate(size, how, second ? 1 : 0);
      if (rc === 0) return { place: undefined, length: size, way: '' };
      if (rc !== REMOTE) throw new BackendError(codeOf(rc));
      const { mount, rest, path, start } = this.#remote();
      if (mount === undefined) continue;
      way ??= path;
      const place = walk(mount, rest, how, this.#table.at, start, trace);
      if (!(place instanceof Out)) return { place, length: size, way };
      returns.note(rest);
      size = this.#put(second ? FsThread.second : FsThread.first, place.way);
    }
  }

  /** Performs the action with two places in one mount. */
  #between(
    from: number,
    to: number,
    how: number,
    again: (from: number, to: number) => number,
    action: (from: Place, to: Place) => void,
  ): number {
    let [first, second] = [from, to];
    const once = (): number => {
      const one = this.#locate(first, how, false);
      try {
        if (one.place !== undefined && how === 0) this.#there(one.place);
        const two = this.#locate(second, How.NAME, true);
        [first, second] = [one.length, two.length];
        try {
          if (one.place === undefined && two.place === undefined) return again(one.length, two.length);
          // By number: the list may have been read again in between, and have another object for the same mount.
          if (one.place?.mount.number !== two.place?.mount.number) fail('EXDEV');
          action(one.place as Place, two.place as Place);
          return this.#notifyWatchers();
        } finally {
          two.place?.leave();
        }
      } finally {
        one.place?.leave();
      }
    };
    return attempt(() => {
      // Both may be in memory now, but in a mount when the core follows the paths.
      for (;;) {
        const rc = once();
        if (rc !== REMOTE) return rc;
      }
    });
  }

  /**
   * Holds the directory that a path leads to, or the directory of a file. Undefined: it is in memory.
   *
   * @param follow whether to follow a link at the end
   */
  hold(length: number, follow: boolean): Held | undefined {
    const { place, way } = this.#locate(length, follow ? How.FOLLOW : 0, false);
    if (place === undefined) return undefined;
    const { mount, directory, name, path } = place;
    try {
      const isDirectory = this.#there(place).kind === FsKind.DIRECTORY;
      const inside = isDirectory && name !== '' ? mount.backend.enter(directory, name) : directory;
      if (typeof inside === 'string') fail('ENOTDIR'); // it has become a link
      const leave = (): void => {
        if (inside !== directory) mount.backend.leave(inside);
        place.leave();
      };
      const held = isDirectory ? path.replace(/^\/$/, '') : path.slice(0, path.lastIndexOf('/'));
      let end = way.length;
      while (way[end - 1] === '/') end--;
      const known = isDirectory ? way.slice(0, end) : held;
      return { mount, directory: inside, path: held, way: known, found: path, isDirectory, leave };
    } catch (error) {
      place.leave();
      throw error;
    }
  }

  /** From now on paths through the held directory start there, even if its name has changed. */
  enter(held: Held): void {
    this.#held.push(held);
  }

  /** Undoes the last `enter`. */
  exit(): void {
    this.#held.pop();
  }

  /** The real path, without links, found by one walk. In memory: the path that leads there. */
  realPath(length: number, trace: Trace): { path: string; inMemory: boolean } {
    const { place, length: size } = this.#locate(length, How.FOLLOW, false, trace);
    if (place === undefined) {
      return {
        path: String.fromCharCode(...this.#space.bytes(this.#threadRecord + FsThread.first, size)),
        inMemory: true,
      };
    }
    place.leave();
    if (place.stats === undefined) fail('ENOENT');
    return { path: place.path, inMemory: false };
  }

  #writable({ mount }: { mount: Mount }): void {
    if (mount.readOnly) fail('EROFS');
  }

  /** Notifies the watchers. Returns 0. */
  #notifyWatchers(): number {
    const root = this.#space.core.plait_abi_fs() >>> 0;
    if (this.#space.load(root + FsRoot.watchers) !== 0) {
      Atomics.add(this.#space.i32, (root + FsRoot.changes) >>> 2, 1);
      Atomics.notify(this.#space.i32, (root + FsRoot.changes) >>> 2);
    }
    return 0;
  }

  #there({ mount, directory, name, slash, stats }: Place): BackendStats {
    const found = stats ?? mount.backend.stat(directory, name) ?? fail('ENOENT');
    if (slash && found.kind !== FsKind.DIRECTORY) fail('ENOTDIR');
    return found;
  }

  // ---- opening ----

  /** Opens or creates the file at the place, as open(2) does. */
  #openAt({ mount, directory, name, stats }: Place, flags: number, mode: number): BackendFile {
    const { backend } = mount;
    const found =
      name === '' || !(flags & FsFlag.NOFOLLOW || (flags & FsFlag.CREAT && flags & FsFlag.EXCL))
        ? stats
        : backend.stat(directory, name);
    const kind = name === '' ? FsKind.DIRECTORY : found?.kind;
    const directories = (flags & FsFlag.MUST_DIR) !== 0;
    if (kind === undefined) {
      if (!(flags & FsFlag.CREAT)) fail('ENOENT');
      if (directories) fail('EINVAL');
    } else {
      if (flags & FsFlag.CREAT && flags & FsFlag.EXCL) fail('EEXIST');
      if (kind === FsKind.SYMLINK) fail(directories ? 'ENOTDIR' : 'ELOOP');
      if (kind === FsKind.DIRECTORY && (wanted(flags) || flags & FsFlag.CREAT)) fail('EISDIR');
      if (kind !== FsKind.DIRECTORY && directories) fail('ENOTDIR');
    }
    if (wanted(flags) || kind === undefined) this.#writable({ mount });
    // In a read-only mount a file that is removed just now must not be created again.
    return backend.open(directory, name, mount.readOnly ? flags & ~FsFlag.CREAT : flags, mode);
  }

  /** Walks to the file, opens it, and performs the action with it. */
  #opening(
    length: number,
    flags: number,
    mode: number,
    again: Again,
    action: (mount: Mount, file: BackendFile) => number,
  ): number {
    const follow = flags & FsFlag.NOFOLLOW || (flags & FsFlag.CREAT && flags & FsFlag.EXCL) ? 0 : How.FOLLOW;
    const how = follow | (flags & FsFlag.CREAT ? How.MAKE : 0);
    if ((flags & 3) === 3) return -Errno.EINVAL;
    let size = length;
    const noted = (now: number): number => {
      size = now;
      return again(now);
    };
    const once = (tries: number): number =>
      this.#at(size, how, noted, (place) => {
        let file: BackendFile;
        try {
          file = this.#openAt(place, flags, mode & PERMISSIONS);
        } catch (error) {
          // A file, or nothing, has become a link by now, which has to be followed.
          const { code } = error as { code?: string };
          if (code !== 'ELOOP' || follow === 0 || tries === 0) throw error;
          return -Errno.EAGAIN;
        }
        if (wanted(flags) || flags & FsFlag.CREAT) this.#notifyWatchers();
        return action(place.mount, file);
      });
    for (let tries = TRIES; ; tries--) {
      const rc = once(tries);
      if (rc !== -Errno.EAGAIN || tries === 0) return rc;
      const now = noted(size); // the core resolves the path again
      if (now !== REMOTE) return now;
    }
  }

  open(length: number, flags: number, mode: number, again: Again): number {
    return this.#opening(length, flags, mode, again, (mount, file) => this.#files.add(mount, file, flags));
  }

  close(fd: number): number {
    return attempt(() => this.#files.close(fd));
  }

  // ---- bytes ----

  read(fd: number, to: number, length: number, position: number): number {
    return attempt(() => this.#files.read(this.#files.get(fd), to, length, position));
  }

  write(fd: number, from: number, length: number, position: number): number {
    return attempt(() => {
      const count = this.#files.write(this.#files.get(fd), from, length, position);
      this.#notifyWatchers();
      return count;
    });
  }

  /** Returns the size, and reads as many bytes as fit. A size larger than that: there are more. */
  readFile(target: number, to: number, room: number, again: Again): number {
    return this.#opening(
      -1 - target,
      0,
      0,
      (length) => again(-1 - length),
      ({ backend }, { id, stats }) => {
        try {
          if (stats.kind === FsKind.DIRECTORY) fail('EISDIR');
          for (let at = 0; ; ) {
            if (at === room) {
              // Some files of the host report no size, or an old one.
              return Math.max(at, backend.fstat(id).size > at ? backend.fstat(id).size : room === 0 ? 1 : at + 1);
            }
            const count = backend.read(id, this.#space.bytes(to + at, room - at), at);
            if (count === 0) return at;
            at += count;
          }
        } finally {
          backend.close(id);
        }
      },
    );
  }

  writeFile(length: number, flags: number, mode: number, from: number, size: number, again: Again): number {
    return this.#opening(length, flags, mode, again, ({ backend }, { id }) => {
      try {
        for (let at = 0; at < size; ) at += backend.write(id, this.#space.bytes(from + at, size - at), at);
        return this.#notifyWatchers();
      } finally {
        backend.close(id);
      }
    });
  }

  truncate(target: number, size: number, again: Again): number {
    if (target >= 0) {
      return attempt(() => {
        const { mount, id, flags } = this.#files.get(target);
        if ((flags & 3) === 0) fail('EINVAL');
        mount.backend.truncate(id, size);
        return this.#notifyWatchers();
      });
    }
    const path = (length: number): number => again(-1 - length);
    return this.#opening(-1 - target, FsFlag.RDWR, 0, path, ({ backend }, { id }) => {
      try {
        backend.truncate(id, size);
        return this.#notifyWatchers();
      } finally {
        backend.close(id);
      }
    });
  }

  sync(fd: number, dataOnly: boolean): number {
    return attempt(() => {
      const { mount, id } = this.#files.get(fd);
      mount.backend.sync(id, dataOnly);
      return 0;
    });
  }

  // ---- what files are ----

  stat(target: number, follow: number, again: Again): number {
    if (target >= 0) {
      return attempt(() => {
        const { mount, id } = this.#files.get(target);
        return this.#report(mount, mount.backend.fstat(id));
      });
    }
    return this.#at(
      -1 - target,
      follow ? How.FOLLOW : 0,
      (length) => again(-1 - length),
      (place) => this.#report(place.mount, this.#there(place)),
    );
  }

  /** Puts the attributes where the core would. */
  #report(mount: Mount, stats: BackendStats): number {
    const space = this.#space;
    const result = this.#threadRecord + FsThread.result;
    const word = (offset: number, value: number): void => {
      space.u32[(result + offset) >>> 2] = value;
    };
    const wide = (offset: number, value: bigint): void => {
      word(offset, Number(value & 0xffffffffn));
      word(offset + 4, Number((value >> 32n) & 0xffffffffn));
    };
    word(FsResult.mount, mount.number);
    word(FsResult.block, 0);
    word(FsResult.kind, stats.kind);
    word(FsResult.mode, stats.mode);
    word(FsResult.links, stats.links);
    word(FsResult.uid, stats.uid);
    word(FsResult.gid, stats.gid);
    word(FsResult.number, Number(stats.file & 0xffffffffn));
    wide(FsResult.size, BigInt(stats.size));
    wide(FsResult.held, BigInt(stats.blocks * 512));
    wide(FsResult.atime, stats.atime);
    wide(FsResult.mtime, stats.mtime);
    wide(FsResult.ctime, stats.ctime);
    wide(FsResult.birthtime, stats.birthtime);
    this.last = { mount, stats };
    return 0;
  }

  access(length: number, mode: number, again: Again): number {
    return this.#at(length, How.FOLLOW, again, (place) => {
      this.#there(place);
      if (mode & 2) this.#writable(place);
      place.mount.backend.access(place.directory, place.name, mode);
      return 0;
    });
  }

  set(
    target: number,
    follow: number,
    [mask, mode, uid, gid, atime, atimeNs, mtime, mtimeNs]: Change,
    again: Again,
  ): number {
    const change: BackendChange = {};
    if (mask & FsSetBit.SET_MODE) change.mode = mode & PERMISSIONS;
    if (mask & FsSetBit.SET_UID) change.uid = uid;
    if (mask & FsSetBit.SET_GID) change.gid = gid;
    if (mask & FsSetBit.SET_MTIME) {
      change.times = { atime: atime + atimeNs / 1e9, mtime: mtime + mtimeNs / 1e9 };
    }
    if (target >= 0) {
      return attempt(() => {
        const { mount, id } = this.#files.get(target);
        this.#writable({ mount });
        mount.backend.fset(id, change);
        return this.#notifyWatchers();
      });
    }
    return this.#at(
      -1 - target,
      follow ? How.FOLLOW : 0,
      (length) => again(-1 - length),
      (place) => {
        this.#there(place);
        this.#writable(place);
        place.mount.backend.set(place.directory, place.name, change);
        return this.#notifyWatchers();
      },
    );
  }

  // ---- names ----

  mkdir(length: number, mode: number, again: Again): number {
    return this.#at(length, How.NAME, again, (place) => {
      const { mount, directory, name } = place;
      if (name === '' || place.covered || mount.backend.stat(directory, name) !== undefined) fail('EEXIST');
      this.#writable(place);
      mount.backend.mkdir(directory, name, mode & PERMISSIONS);
      return this.#notifyWatchers();
    });
  }

  remove(length: number, directories: boolean, again: Again): number {
    return this.#at(length, How.NAME, again, (place) => {
      const { mount, directory, name, dots, slash, covered } = place;
      if (name === '' && !directories) fail('EISDIR');
      if (name === '') fail(dots === 1 ? 'EINVAL' : dots === 2 ? 'ENOTEMPTY' : 'EBUSY');
      if (covered) fail(directories ? 'EBUSY' : 'EISDIR');
      if (slash && !directories && this.#there(place).kind === FsKind.DIRECTORY) fail('EISDIR');
      this.#writable(place);
      if (slash && directories) this.#there(place);
      if (directories) mount.backend.rmdir(directory, name);
      else mount.backend.unlink(directory, name);
      return this.#notifyWatchers();
    });
  }

  rename(from: number, to: number, again: (from: number, to: number) => number): number {
    return this.#between(from, to, How.NAME, again, (old, goal) => {
      if (old.name === '' || goal.name === '') fail('EBUSY');
      if (this.#table.within(old.path) || this.#table.within(goal.path)) fail('EBUSY');
      this.#writable(old);
      const { backend } = old.mount;
      if (
        (old.slash || goal.slash) &&
        (backend.stat(old.directory, old.name) ?? fail('ENOENT')).kind !== FsKind.DIRECTORY
      )
        fail('ENOTDIR');
      backend.rename(old.directory, old.name, goal.directory, goal.name);
    });
  }

  link(from: number, to: number, again: (from: number, to: number) => number): number {
    return this.#between(from, to, 0, again, (old, made) => {
      const { kind } = this.#there(old);
      const { backend } = old.mount;
      if (made.name === '' || made.covered || backend.stat(made.directory, made.name) !== undefined) fail('EEXIST');
      if (made.slash) fail('ENOENT');
      if (kind === FsKind.DIRECTORY) fail('EPERM');
      this.#writable(old);
      backend.link(old.directory, old.name, made.directory, made.name);
    });
  }

  symlink(target: number, path: number, again: Again): number {
    return this.#at(
      path,
      How.NAME,
      again,
      (place) => {
        const { mount, directory, name, slash, covered } = place;
        if (target === 0) fail('ENOENT');
        if (target >= FS_PATH_MAX) fail('ENAMETOOLONG');
        if (name === '' || covered || mount.backend.stat(directory, name) !== undefined) fail('EEXIST');
        if (slash) fail('ENOENT');
        this.#writable(place);
        mount.backend.symlink(
          String.fromCharCode(...this.#space.bytes(this.#threadRecord + FsThread.first, target)),
          directory,
          name,
        );
        return this.#notifyWatchers();
      },
      FsThread.second,
    );
  }

  readlink(length: number, again: Again): number {
    return this.#at(length, 0, again, (place) => {
      if (this.#there(place).kind !== FsKind.SYMLINK) fail('EINVAL');
      const text = place.mount.backend.readlink(place.directory, place.name);
      const scratch = this.#space.bytes(this.#space.load(this.#threadRecord + FsThread.scratch), text.length);
      for (let i = 0; i < text.length; i++) scratch[i] = text.charCodeAt(i);
      return text.length;
    });
  }

  /** Watches the path, or the directory, through the host. Undefined: it is in memory. */
  watch(
    length: number,
    changed: (name: string | undefined) => void,
    failed: (error: unknown) => void,
  ): (() => void) | undefined {
    const { place } = this.#locate(length, How.FOLLOW, false);
    if (place === undefined) return undefined;
    const { mount, directory, name, stats } = place;
    let inside = directory;
    const leave = (): void => {
      if (inside !== directory) mount.backend.leave(inside);
      place.leave();
    };
    try {
      if (name !== '' && stats === undefined) fail('ENOENT');
      if (name !== '' && stats?.kind === FsKind.DIRECTORY) {
        const entered = mount.backend.enter(directory, name);
        if (typeof entered === 'string') fail('ENOTDIR'); // it has become a link
        inside = entered;
      }
      // A file is watched in its directory, because another file may take its name.
      const end = mount.backend.watch(inside, changed, failed);
      return () => {
        end();
        leave();
      };
    } catch (error) {
      leave();
      throw error;
    }
  }

  // ---- directories ----

  /**
   * A directory is read in one pass, and returned in pieces. A cursor consists of the number of the pass and the number
   * of names returned.
   */
  list(target: number, cursor: number, again: Again): number {
    const known = this.#listings.get(Math.floor(cursor / 2 ** 32));
    if (cursor !== 0 && known !== undefined) return this.#putListing(known, cursor);
    if (target >= 0) {
      return attempt(() => {
        const { mount, id } = this.#files.get(target);
        if (mount.backend.fstat(id).kind !== FsKind.DIRECTORY) fail('ENOTDIR');
        return this.#putListing(mount.backend.flist(id), cursor);
      });
    }
    return this.#at(
      -1 - target,
      How.FOLLOW,
      (length) => again(-1 - length),
      (place) => {
        if (this.#there(place).kind !== FsKind.DIRECTORY) fail('ENOTDIR');
        const { backend } = place.mount;
        if (place.name === '') return this.#putListing(backend.list(place.directory), cursor);
        const inside = backend.enter(place.directory, place.name);
        if (typeof inside === 'string') return fail('ENOTDIR'); // it has become a link
        try {
          return this.#putListing(backend.list(inside), cursor);
        } finally {
          backend.leave(inside);
        }
      },
    );
  }

  /** Puts as many names as fit where the core would. */
  #putListing(listing: Listing, cursor: number): number {
    const space = this.#space;
    const scratch = space.load(this.#threadRecord + FsThread.scratch);
    const bytes = space.bytes(scratch, FS_SCRATCH);
    const start = cursor % 2 ** 32;
    let [length, ascii, i] = [0, 1, start];
    for (; i < listing.names.length; i++) {
      const name = listing.names[i] as string;
      const slash = i > start ? 1 : 0;
      if (length + slash + name.length + (i - start) + 1 > FS_SCRATCH) break;
      if (slash) bytes[length++] = 47;
      for (let k = 0; k < name.length; k++) {
        const unit = name.charCodeAt(k);
        if (unit > 127) ascii = 0;
        bytes[length++] = unit;
      }
      bytes[FS_SCRATCH - 1 - (i - start)] = listing.kinds[i] as number;
    }
    let id = Math.floor(cursor / 2 ** 32);
    const over = i >= listing.names.length; // also if there are fewer names by now
    if (over) {
      this.#listings.delete(id);
    } else if (!this.#listings.has(id)) {
      id = this.#listed = (this.#listed % 2 ** 20) + 1;
      this.#listings.set(id, listing);
      // Old passes are forgotten. A cursor of such a pass continues in a new one.
      if (this.#listings.size > LISTINGS) this.#listings.delete(this.#listings.keys().next().value as number);
    }
    const result = this.#threadRecord + FsThread.result;
    space.u32[(result + FsResult.cursor) >>> 2] = over ? 0 : i;
    space.u32[(result + FsResult.cursor + 4) >>> 2] = over ? 0 : id;
    space.u32[(result + FsResult.bytes) >>> 2] = length;
    space.u32[(result + FsResult.ascii) >>> 2] = ascii;
    return i - start;
  }
}

function codeOf(rc: number): string {
  return Object.entries(Errno).find(([, number]) => number === -rc)?.[0] ?? 'EIO';
}
