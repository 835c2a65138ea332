/**
 * A directory of the host as a backend, in Node. Each thread calls the operating system itself.
 *
 * Invariant: the kernel never receives a path in which another program could have replaced more than the last name by a
 * link. On Linux a directory is an open descriptor, and `/proc/self/fd/<it>/<name>` acts like openat() with a name. So
 * a step happens in that directory, whatever others do to the path that led there. Directories are entered with
 * O_NOFOLLOW, and files opened with it. Calls that follow links (chmod, utimes, access) receive an open descriptor
 * instead of a name.
 *
 * A Linux without `/proc` is refused. Other systems have no such path, so there a directory is the path that it had. A
 * program that replaces directories by links during a walk can then redirect a step. docs/reference/node-fs.md says so.
 *
 * Files are opened with O_NONBLOCK, and only after a check of their kind. Pipes and devices are refused. If one
 * replaces a file in between, the open does not wait.
 */

import type { Dirent, BigIntStats as NodeStats } from 'node:fs';
import { PlaitError } from '../core/errors.ts';
import { host } from '../core/host.ts';
import { FsFlag, FsKind } from '../core/layout.generated.ts';
import { type Backend, type BackendChange, BackendError, type BackendFile, type BackendStats } from './backend.ts';

type NodeFs = typeof import('node:fs');

/** The description of a host mount that other threads receive. */
export interface HostWords {
  type: 'host';
  directory: string;
  readOnly: boolean;
  /** Which directory it was when it was mounted. */
  device: number;
  file: number;
  /** Time of creation in nanoseconds, where it distinguishes the directory from a later one with the same number. */
  birth?: string | undefined;
}

/** An open directory; on systems other than Linux, its path. */
interface Place {
  readonly fd: number;
  readonly path: string;
}

const O_PATH = 0o10000000; // Linux only; Node has no name for it
/** The largest position, so that the end of a read is a valid position, too. The core has the same limit. */
const LAST_POSITION = 9.2e18;
const KINDS = new Map([
  [0o100000n, FsKind.FILE],
  [0o040000n, FsKind.DIRECTORY],
  [0o120000n, FsKind.SYMLINK],
  [0o010000n, FsKind.FIFO],
  [0o140000n, FsKind.SOCKET],
  [0o020000n, FsKind.CHARACTERS],
  [0o060000n, FsKind.BLOCKS],
]);

function fsOfNode(): NodeFs {
  const fs = host.builtin('node:fs') as NodeFs | undefined;
  if (fs !== undefined && (host.builtin('node:process') as typeof process).platform !== 'win32') return fs;
  throw new PlaitError('ERR_PLAIT_UNSUPPORTED', 'a directory of the host can be mounted in Node, on Linux and macOS');
}

function kindOf(entry: Dirent): number {
  if (entry.isFile()) return FsKind.FILE;
  if (entry.isDirectory()) return FsKind.DIRECTORY;
  if (entry.isSymbolicLink()) return FsKind.SYMLINK;
  if (entry.isFIFO()) return FsKind.FIFO;
  if (entry.isSocket()) return FsKind.SOCKET;
  return entry.isBlockDevice() ? FsKind.BLOCKS : FsKind.CHARACTERS;
}

function code(error: unknown): string | undefined {
  return (error as { code?: string }).code;
}

function statsOf(from: NodeStats): BackendStats {
  return {
    kind: KINDS.get(from.mode & 0o170000n) ?? FsKind.CHARACTERS,
    mode: Number(from.mode & 0o7777n),
    links: Number(from.nlink),
    uid: Number(from.uid),
    gid: Number(from.gid),
    device: Number(from.dev),
    file: from.ino,
    special: Number(from.rdev),
    size: Number(from.size),
    blockSize: Number(from.blksize),
    blocks: Number(from.blocks),
    atime: from.atimeNs,
    mtime: from.mtimeNs,
    ctime: from.ctimeNs,
    birthtime: from.birthtimeNs,
  };
}

/** File systems of Linux that keep the birth time of a directory; overlays and network file systems may not. */
const KEEPS_BIRTH = new Set([0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x01021994]); // ext, XFS, Btrfs, F2FS, tmpfs

/**
 * An identification of this directory that no earlier or later one with its number has; undefined where none is
 * reliable.
 */
function birthOf(fs: NodeFs, directory: string, stats: NodeStats): string | undefined {
  const { platform, execPath } = host.builtin('node:process') as typeof process;
  // A system without birth times reports the time of the last change instead.
  const other = fs.statSync(execPath, { bigint: true, throwIfNoEntry: false });
  const isReported = [stats, other ?? stats].some((one) => one.birthtimeNs !== one.ctimeNs);
  const isKept = platform === 'darwin' || KEEPS_BIRTH.has(fs.statfsSync(directory).type);
  return isReported && isKept ? String(stats.birthtimeNs) : undefined;
}

/** The description of a directory of the host, which must exist now. */
export function hostWords(directory: string | URL, readOnly: boolean): HostWords {
  const fs = fsOfNode();
  const real = fs.realpathSync(directory);
  const stats = fs.statSync(real, { bigint: true });
  if (!stats.isDirectory()) throw new BackendError('ENOTDIR');
  const [device, file, birth] = [Number(stats.dev), Number(stats.ino), birthOf(fs, real, stats)];
  return { type: 'host', directory: real, readOnly, device, file, birth };
}

export class HostBackend implements Backend<Place> {
  readonly root: Place;
  readonly #fs: NodeFs;
  /** Whether directories are descriptors. */
  readonly #linux: boolean;
  readonly #cutsTimes =
    ((host.builtin('node:process') as typeof process).versions.uv ?? '').localeCompare('1.52', 'en', {
      numeric: true,
    }) < 0;
  #ended = false;
  /** Without descriptors: the paths of directories that are open as files. */
  readonly #paths = new Map<number, Buffer>();

  /** @param byPaths walks by paths, as on systems other than Linux */
  constructor({ directory, device, file, birth }: HostWords, byPaths = false) {
    this.#fs = fsOfNode();
    const { platform } = host.builtin('node:process') as typeof process;
    this.#linux = !byPaths && (platform === 'linux' || platform === 'android');
    if (this.#linux && !this.#fs.existsSync('/proc/self/fd')) {
      const why = 'without it, whoever may write in the directory could lead paths out of it';
      throw new PlaitError(
        'ERR_PLAIT_UNSUPPORTED',
        `a directory of the host is mounted with the help of /proc: ${why}`,
      );
    }
    const path = Buffer.from(directory).toString('latin1');
    this.root = this.#directory(path);
    const stats = this.stat(this.root, '') as BackendStats;
    const isSame = stats.device === device && Number(stats.file) === file;
    if (isSame && (birth === undefined || String(stats.birthtime) === birth)) return;
    this.end();
    throw new BackendError('ESTALE');
  }

  end(): void {
    this.#ended = true;
    this.leave(this.root);
  }

  /** The path that the system receives for a name in a directory. */
  #at({ fd, path }: Place, name: string): Buffer {
    if (this.#ended) throw new BackendError('ESTALE'); // the root's descriptor may belong to another file by now
    const directory = fd < 0 ? path : `/proc/self/fd/${fd}`;
    return Buffer.from(name === '' ? directory : `${directory}/${name}`, 'latin1');
  }

  /** Opens a directory, but not through a link. */
  #directory(path: string): Place {
    const { constants } = this.#fs;
    const bytes = Buffer.from(path, 'latin1');
    if (!this.#linux) {
      const stats = this.#fs.lstatSync(bytes);
      if (!stats.isDirectory()) throw new BackendError('ENOTDIR');
      return { fd: -1, path };
    }
    const fd = this.#fs.openSync(bytes, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    return { fd, path: '' };
  }

  enter(directory: Place, name: string): Place {
    const at = this.#at(directory, name);
    try {
      return this.#directory(at.toString('latin1'));
    } catch (error) {
      throw code(error) === 'ELOOP' ? new BackendError('ENOTDIR') : error;
    }
  }

  opened(id: number): Place {
    return this.#linux ? { fd: id, path: '' } : { fd: -1, path: (this.#paths.get(id) as Buffer).toString('latin1') };
  }

  leave({ fd }: Place): void {
    if (fd >= 0) this.#fs.closeSync(fd);
  }

  stat(directory: Place, name: string): BackendStats | undefined {
    if (name === '' && directory.fd >= 0) return this.fstat(directory.fd);
    const stats = this.#fs.lstatSync(this.#at(directory, name), { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? undefined : statsOf(stats);
  }

  readlink(directory: Place, name: string): string {
    return this.#fs.readlinkSync(this.#at(directory, name), 'latin1');
  }

  list(directory: Place): { names: string[]; kinds: number[] } {
    return this.#list(this.#at(directory, ''));
  }

  #list(path: Buffer): { names: string[]; kinds: number[] } {
    const entries = this.#fs.readdirSync(path, { withFileTypes: true, encoding: 'buffer' });
    const names: string[] = [];
    const kinds: number[] = [];
    for (const entry of entries as unknown as (Dirent | Buffer)[]) {
      // Bun returns only names if they are bytes.
      const isName = Buffer.isBuffer(entry);
      const kind = isName ? this.#kindAt(path, entry) : kindOf(entry);
      if (kind === undefined) continue;
      names.push((isName ? entry : (entry.name as unknown as Buffer)).toString('latin1'));
      kinds.push(kind);
    }
    return { names, kinds };
  }

  /** The kind of a listed name; undefined if it was removed meanwhile. */
  #kindAt(folder: Buffer, name: Buffer): number | undefined {
    const path = Buffer.concat([folder, Buffer.from('/'), name]);
    const stats = this.#fs.lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return stats && statsOf(stats).kind;
  }

  /** Performs an action that follows links, on a path that is not one. */
  #pinned<Result>(directory: Place, name: string, action: (path: Buffer) => Result): Result {
    const path = this.#at(directory, name);
    if (name === '' || !this.#linux) {
      if (name !== '' && this.#fs.lstatSync(path).isSymbolicLink()) throw new BackendError('ELOOP');
      return action(path);
    }
    const fd = this.#fs.openSync(path, O_PATH | this.#fs.constants.O_NOFOLLOW);
    try {
      if (this.#fs.fstatSync(fd).isSymbolicLink()) throw new BackendError('ELOOP');
      return action(Buffer.from(`/proc/self/fd/${fd}`));
    } finally {
      this.#fs.closeSync(fd);
    }
  }

  access(directory: Place, name: string, mode: number): void {
    this.#pinned(directory, name, (path) => this.#fs.accessSync(path, mode));
  }

  statfs(directory: Place): ReturnType<Backend['statfs']> {
    return this.#fs.statfsSync(this.#at(directory, ''));
  }

  mkdir(directory: Place, name: string, mode: number): void {
    this.#fs.mkdirSync(this.#at(directory, name), { mode });
  }

  rmdir(directory: Place, name: string): void {
    this.#fs.rmdirSync(this.#at(directory, name));
  }

  unlink(directory: Place, name: string): void {
    this.#fs.unlinkSync(this.#at(directory, name));
  }

  symlink(text: string, directory: Place, name: string): void {
    this.#fs.symlinkSync(Buffer.from(text, 'latin1'), this.#at(directory, name));
  }

  link(directory: Place, name: string, to: Place, toName: string): void {
    const from = this.#at(directory, name);
    // On other systems than Linux, link() follows symbolic links, even out of the mount.
    if (!this.#linux && this.#fs.lstatSync(from).isSymbolicLink()) throw new BackendError('ENOTSUP');
    this.#fs.linkSync(from, this.#at(to, toName));
  }

  rename(directory: Place, name: string, to: Place, toName: string): void {
    this.#fs.renameSync(this.#at(directory, name), this.#at(to, toName));
  }

  /** Up to 1.52, libuv truncates a double to microseconds; half a microsecond more avoids a loss. */
  #times(times: NonNullable<BackendChange['times']>): [atime: number, mtime: number] {
    const half = this.#cutsTimes ? 5e-7 : 0;
    return [times.atime + half, times.mtime + half];
  }

  set(directory: Place, name: string, { mode, uid = -1, gid = -1, times }: BackendChange): void {
    const fs = this.#fs;
    const path = this.#at(directory, name);
    if (name !== '' && mode === undefined) {
      // These calls do not follow links.
      if (uid !== -1 || gid !== -1) fs.lchownSync(path, uid, gid);
      if (times !== undefined) fs.lutimesSync(path, ...this.#times(times));
      return;
    }
    this.#pinned(directory, name, (pinned) => {
      if (mode !== undefined) fs.chmodSync(pinned, mode);
      if (uid !== -1 || gid !== -1) fs.chownSync(pinned, uid, gid);
      if (times !== undefined) fs.utimesSync(pinned, ...this.#times(times));
    });
  }

  // ---- open files ----

  /** Translates Linux's flags to this system's, without those that mean another kind of open. */
  #flags(flags: number): number {
    const { constants } = this.#fs;
    if (flags & FsFlag.HOLD && this.#linux) return O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;
    let own = constants.O_NONBLOCK | constants.O_NOFOLLOW | (constants.O_NOCTTY ?? 0);
    own |=
      (flags & 3) === FsFlag.WRONLY ? constants.O_WRONLY : (flags & 3) === 0 ? constants.O_RDONLY : constants.O_RDWR;
    if (flags & FsFlag.CREAT) own |= constants.O_CREAT;
    if (flags & FsFlag.EXCL) own |= constants.O_EXCL;
    if (flags & FsFlag.TRUNC) own |= constants.O_TRUNC;
    if (flags & FsFlag.APPEND) own |= constants.O_APPEND;
    if (flags & FsFlag.MUST_DIR) own |= constants.O_DIRECTORY;
    if (flags & 0o10000) own |= constants.O_DSYNC ?? constants.O_SYNC;
    if (flags & 0o4000000) own |= constants.O_SYNC;
    return own;
  }

  #open(path: Buffer, flags: number, mode: number): BackendFile {
    const id = this.#fs.openSync(path, flags, mode);
    try {
      const stats = this.fstat(id);
      if (stats.kind !== FsKind.FILE && stats.kind !== FsKind.DIRECTORY) throw new BackendError('ENXIO');
      if (!this.#linux && stats.kind === FsKind.DIRECTORY) this.#paths.set(id, path);
      return { id, stats };
    } catch (error) {
      this.#fs.closeSync(id);
      throw error;
    }
  }

  open(directory: Place, name: string, flags: number, mode: number): BackendFile {
    if (name !== '') return this.#open(this.#at(directory, name), this.#flags(flags), mode);
    // The directory itself: its path is a link of the system, which may be followed.
    return this.#open(this.#at(directory, ''), this.#flags(flags) & ~this.#fs.constants.O_NOFOLLOW, mode);
  }

  reopen(id: number, device: number, file: number, flags: number): BackendFile {
    const path = Buffer.from(this.#linux ? `/proc/self/fd/${id}` : `/dev/fd/${id}`);
    const is = (stats: BackendStats): boolean => stats.device === device && Number(stats.file) === file;
    const stats = this.#fs.statSync(path, { bigint: true, throwIfNoEntry: false });
    if (stats === undefined || !is(statsOf(stats))) throw new BackendError('EBADF');
    const again = flags & ~(FsFlag.CREAT | FsFlag.EXCL | FsFlag.TRUNC);
    const opened = this.#open(path, this.#flags(again) & ~this.#fs.constants.O_NOFOLLOW, 0);
    if (is(opened.stats)) return opened;
    this.close(opened.id);
    throw new BackendError('EBADF');
  }

  close(id: number): void {
    this.#paths.delete(id);
    this.#fs.closeSync(id);
  }

  fstat(id: number): BackendStats {
    return statsOf(this.#fs.fstatSync(id, { bigint: true }));
  }

  read(id: number, to: Uint8Array<SharedArrayBuffer>, position: number): number {
    if (position >= LAST_POSITION) throw new BackendError('EINVAL');
    return this.#fs.readSync(id, to, 0, to.length, Number.isSafeInteger(position) ? position : BigInt(position));
  }

  write(id: number, from: Uint8Array<SharedArrayBuffer>, position: number): number {
    return this.#fs.writeSync(id, from, 0, from.length, position < 0 ? null : position);
  }

  truncate(id: number, size: number): void {
    this.#fs.ftruncateSync(id, size);
  }

  sync(id: number, dataOnly: boolean): void {
    if (dataOnly) this.#fs.fdatasyncSync(id);
    else this.#fs.fsyncSync(id);
  }

  fset(id: number, { mode, uid = -1, gid = -1, times }: BackendChange): void {
    if (mode !== undefined) this.#fs.fchmodSync(id, mode);
    if (uid !== -1 || gid !== -1) this.#fs.fchownSync(id, uid, gid);
    if (times !== undefined) this.#fs.futimesSync(id, ...this.#times(times));
  }

  flist(id: number): { names: string[]; kinds: number[] } {
    return this.#list(this.#paths.get(id) ?? Buffer.from(`/proc/self/fd/${id}`));
  }

  watch(directory: Place, changed: (name: string | undefined) => void, failed: (error: unknown) => void): () => void {
    const watcher = this.#fs.watch(this.#at(directory, ''), { persistent: false }, (_, name) =>
      changed(name ?? undefined),
    );
    watcher.on('error', failed);
    return () => watcher.close();
  }
}
