/**
 * The mount layer: makes the core's calls work in mounts, too.
 *
 * Invariant: a call goes to the core first. Only if the core returns -EREMOTE, the mount's backend is called. So for
 * files in memory a call costs one more comparison, and the layers above (sync.ts and its users) know nothing of
 * mounts.
 */

import { Errno, FS_PATH_MAX, FsResult, Fs as FsRoot, FsThread } from '../core/layout.generated.ts';
import type { Core, Space } from '../core/space.ts';
import { errorNumber } from './backend.ts';
import { type FsError, fsError } from './errors.ts';
import { type MountInfo, type MountOptions, MountTable, textOf } from './mount-table.ts';
import { newTrace, type Trace } from './mount-walk.ts';
import { type Held, MountedCalls } from './mounted-calls.ts';
import { MountedFiles } from './mounted-files.ts';
import type { StatsFs } from './stats.ts';
import { encode, type PathLike, pathOf, pathText } from './values.ts';

const REMOTE = -Errno.EREMOTE;

/** The core's calls, and those that do something only in mounts. */
export type FsCore = Core & {
  /** fsync() of a descriptor; does nothing in memory. */
  plait_fs_sync(fd: number, dataOnly: number): number;
};

/** The mounts of a space, as one thread uses them. */
export class Mounts {
  readonly #space: Space;
  readonly #threadRecord: number;
  readonly #forget: () => void;
  readonly #table: MountTable;
  readonly calls: MountedCalls;

  constructor(space: Space, threadRecord: number, forget: () => void) {
    this.#space = space;
    this.#threadRecord = threadRecord;
    this.#forget = forget;
    this.#table = new MountTable(space, threadRecord);
    this.calls = new MountedCalls(
      space,
      threadRecord,
      this.#table,
      new MountedFiles(space, threadRecord, this.#table),
      forget,
    );
  }

  readonly #put = (path: string | Uint8Array): number => {
    this.#forget();
    const bytes = typeof path === 'string' ? encode(path) : path;
    if (bytes.length >= FS_PATH_MAX) return bytes.length; // the core refuses it
    this.#space.bytes(this.#threadRecord + FsThread.first, bytes.length).set(bytes);
    return bytes.length;
  };

  /** @param path without links, dots and extra slashes; returns false if it leads elsewhere by now */
  mount(path: string, options: MountOptions): boolean {
    return this.#table.mount(path, options, this.#put);
  }

  unmount(path: PathLike): void {
    this.#table.unmount(path, this.#put);
  }

  list(): MountInfo[] {
    return this.#table.list();
  }

  /** Whether the path leads into a mount. */
  leadsInto(path: string): boolean {
    return this.#space.core.plait_fs_locate(this.#put(path), 0, 0) === REMOTE;
  }

  /**
   * As in MountedCalls.
   *
   * @returns `rc`: what the core would return; `trace`: where the walk has ended, if it was in a mount
   */
  realPath(path: string | Uint8Array, byText: boolean): { rc: number; real: string; inMemory: boolean; trace: Trace } {
    const trace = newTrace(byText);
    try {
      const { path: real, inMemory } = this.calls.realPath(this.#put(path), trace);
      return { rc: 0, real, inMemory, trace };
    } catch (error) {
      return { rc: errorNumber(error), real: '', inMemory: false, trace };
    }
  }

  /** As in MountedCalls. */
  hold(path: PathLike, follow: boolean): Held | undefined {
    if (this.#space.load((this.#space.core.plait_abi_fs() >>> 0) + FsRoot.mounts) === 0) return undefined;
    const given = pathOf(path);
    try {
      return this.calls.hold(this.#put(given), follow);
    } catch (error) {
      throw fsError(errorNumber(error), 'open', pathText(given));
    }
  }

  /** As in MountedCalls. ESTALE: the mount was removed, and the path would lead into memory. */
  within<Result>(held: Held, action: () => Result): Result {
    if (this.#table.get(held.mount.number) === undefined) throw fsError(-Errno.ESTALE, 'open', textOf(held.found));
    this.calls.enter(held);
    try {
      return action();
    } finally {
      this.calls.exit();
    }
  }

  /** Attributes of the last stat() for which the core has no words. */
  complete<Count, Stats extends { dev: Count; ino: Count; rdev: Count; blksize: Count; blocks: Count }>(
    stats: Stats,
    count: (value: number | bigint) => Count,
  ): Stats {
    const { last } = this.calls;
    if (last === undefined) return stats;
    const { mount, stats: found } = last;
    // different for each mount, and from memory's
    stats.dev = count(mount.number * 2 ** 32 + (found.device % 2 ** 32));
    stats.ino = count(found.file);
    stats.rdev = count(found.special);
    stats.blksize = count(found.blockSize);
    stats.blocks = count(found.blocks);
    return stats;
  }

  /** The mount of the last stat(); undefined: it was in memory. */
  statfs(): StatsFs<number> | undefined {
    if (this.#space.load(this.#threadRecord + FsThread.result + FsResult.mount) === 0) return undefined;
    const { last } = this.calls;
    return last?.mount.backend.statfs(last.mount.backend.root);
  }

  /**
   * Watches a path in a mount, or a directory, through the host. The callback receives the name, if it is known,
   * whichever program changed it. Undefined: the path is in memory. `failed`: the host cannot notify, or no longer.
   */
  watch(
    path: string,
    changed: (name: string | undefined) => void,
    failed: (error: FsError) => void,
  ): (() => void) | undefined {
    const asOurs = (error: unknown): FsError => fsError(errorNumber(error), 'watch', path);
    try {
      return this.calls.watch(this.#put(path), changed, (error) => failed(asOurs(error)));
    } catch (error) {
      throw asOurs(error);
    }
  }
}

/** The core's calls for one thread, extended to mounts. */
export function mountedCore(core: Core, { calls }: Mounts): FsCore {
  // As constants, not as properties of the module's exports: the engine then calls them directly.
  const {
    plait_fs_access: access,
    plait_fs_close: close,
    plait_fs_link: link,
    plait_fs_list: list,
    plait_fs_lock: lock,
    plait_fs_map: map,
    plait_fs_mkdir: mkdir,
    plait_fs_open: open,
    plait_fs_read: read,
    plait_fs_read_file: readFile,
    plait_fs_readlink: readlink,
    plait_fs_rename: rename,
    plait_fs_rmdir: rmdir,
    plait_fs_set: set,
    plait_fs_stat: stat,
    plait_fs_symlink: symlink,
    plait_fs_truncate: truncate,
    plait_fs_tx_unreserve: unreserve,
    plait_fs_unlink: unlink,
    plait_fs_write: write,
    plait_fs_write_file: writeFile,
  } = core;
  return {
    ...core,
    plait_fs_access(length, mode) {
      const rc = access(length, mode);
      return rc === REMOTE ? calls.access(length, mode, (now) => access(now, mode)) : rc;
    },
    plait_fs_close(fd) {
      const rc = close(fd);
      return rc === REMOTE ? calls.close(fd) : rc;
    },
    plait_fs_link(from, to, now) {
      const rc = link(from, to, now);
      return rc === REMOTE ? calls.link(from, to, (one, two) => link(one, two, now)) : rc;
    },
    plait_fs_list(target, cursor) {
      const rc = list(target, cursor);
      return rc === REMOTE ? calls.list(target, cursor, (now) => list(now, cursor)) : rc;
    },
    plait_fs_lock(fd, kind, start, end, timeout) {
      const rc = lock(fd, kind, start, end, timeout);
      return rc === REMOTE ? -Errno.ENOLCK : rc; // Node has no call that locks the host's files
    },
    plait_fs_map(fd) {
      const rc = map(fd);
      return rc === REMOTE ? -Errno.ENODEV : rc; // only bytes in the space can be viewed
    },
    plait_fs_mkdir(length, mode, now) {
      const rc = mkdir(length, mode, now);
      return rc === REMOTE ? calls.mkdir(length, mode, (size) => mkdir(size, mode, now)) : rc;
    },
    plait_fs_open(length, flags, mode, now) {
      const rc = open(length, flags, mode, now);
      return rc === REMOTE ? calls.open(length, flags, mode, (size) => open(size, flags, mode, now)) : rc;
    },
    plait_fs_read(fd, to, length, position) {
      const rc = read(fd, to, length, position);
      return rc === REMOTE ? calls.read(fd, to, length, position) : rc;
    },
    plait_fs_read_file(target, to, length) {
      const rc = readFile(target, to, length);
      return rc === REMOTE ? calls.readFile(target, to, length, (now) => readFile(now, to, length)) : rc;
    },
    plait_fs_readlink(length) {
      const rc = readlink(length);
      return rc === REMOTE ? calls.readlink(length, readlink) : rc;
    },
    plait_fs_rename(from, to, now) {
      const rc = rename(from, to, now);
      return rc === REMOTE ? calls.rename(from, to, (one, two) => rename(one, two, now)) : rc;
    },
    plait_fs_rmdir(length, now) {
      const rc = rmdir(length, now);
      return rc === REMOTE ? calls.remove(length, true, (size) => rmdir(size, now)) : rc;
    },
    plait_fs_set(target, follow, mask, mode, uid, gid, atime, atimeNs, mtime, mtimeNs, now) {
      const again = (to: number): number => set(to, follow, mask, mode, uid, gid, atime, atimeNs, mtime, mtimeNs, now);
      const rc = again(target);
      if (rc !== REMOTE) return rc;
      return calls.set(target, follow, [mask, mode, uid, gid, atime, atimeNs, mtime, mtimeNs], again);
    },
    plait_fs_stat(target, follow) {
      const rc = stat(target, follow);
      return rc === REMOTE ? calls.stat(target, follow, (now) => stat(now, follow)) : rc;
    },
    plait_fs_symlink(target, path, now) {
      const rc = symlink(target, path, now);
      return rc === REMOTE ? calls.symlink(target, path, (size) => symlink(target, size, now)) : rc;
    },
    plait_fs_sync(fd, dataOnly) {
      const rc = stat(fd, 1);
      return rc === REMOTE ? calls.sync(fd, dataOnly === 1) : rc;
    },
    plait_fs_truncate(target, size, now) {
      const rc = truncate(target, size, now);
      return rc === REMOTE ? calls.truncate(target, size, (to) => truncate(to, size, now)) : rc;
    },
    plait_fs_unlink(length, now) {
      const rc = unlink(length, now);
      return rc === REMOTE ? calls.remove(length, false, (size) => unlink(size, now)) : rc;
    },
    plait_fs_write(fd, from, length, position, now) {
      const rc = write(fd, from, length, position, now);
      return rc === REMOTE ? calls.write(fd, from, length, position) : rc;
    },
    plait_fs_write_file(length, flags, mode, from, size, given, now) {
      const again = (path: number): number => writeFile(path, flags, mode, from, size, given, now);
      const rc = again(length);
      if (rc !== REMOTE) return rc;
      try {
        return calls.writeFile(length, flags, mode, from, size, again);
      } finally {
        unreserve(); // the block of the bytes, if there is one; no effect if the core has written them
      }
    },
  };
}
