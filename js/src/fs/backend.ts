/**
 * The interface of a backend, which holds the files of a mount.
 *
 * The core walks paths, follows links and keeps them inside their mount (core/fs/mount_walk.c). It knows which mount is
 * inside which, refuses changes of read-only mounts, and owns the descriptors that users see. A backend performs single
 * steps: an operation on one name in one directory. It has no paths and no current directory, and does not know where it
 * is mounted. backend-steps.ts is between the two.
 *
 * A backend guarantees:
 * - **No step follows a symbolic link**, and no step leaves its directory: `name` has no slash and is neither `.` nor
 *   `..`. This alone keeps a path inside the mount, whoever changes the files meanwhile.
 * - A `Directory` means one directory until it is left, whatever its name becomes. A step in a removed directory is
 *   ENOENT.
 * - Each step happens wholly or not at all, except a write of many bytes.
 * - No step waits for other programs: files that might (a pipe, a device) are refused with ENXIO.
 * - Errors have Node's `code` (`ENOENT`, `EACCES`...). Unsupported operations are ENOTSUP or ENODEV.
 * - Each thread has its own instance, made from the same description in the mount. Instances share nothing but the
 *   files. A thread may exit in any step, and what it has open is closed with it.
 *
 * Names and links are **byte strings**: one character for each byte, so names that are not UTF-8 are kept.
 *
 * Steps are synchronous, because the core's calls and the synchronous functions of `node:fs` are. A backend with an
 * asynchronous store (a browser's file system, the network) belongs to a thread of its own, which never blocks. Its
 * instances in other threads put a request into the space and sleep on a word there until it is done, as `lockSync`
 * does. On a thread that may not sleep (a page's main thread), such a step is refused with EAGAIN, unless the data is
 * in shared memory already.
 */

import { Errno } from '../core/layout.generated.ts';

/** Attributes of a file in a backend. Times are nanoseconds since 1970. */
export interface BackendStats {
  /** `enum plait_fs_kind`. */
  kind: number;
  /** Permission bits. */
  mode: number;
  links: number;
  uid: number;
  gid: number;
  /** Identifies the file together with `file`: two names with the same pair are one file. */
  device: number;
  file: bigint;
  /** Number of the device, if the file is a device. */
  special: number;
  size: number;
  blockSize: number;
  /** Units of 512 bytes that the file occupies. */
  blocks: number;
  atime: bigint;
  mtime: bigint;
  ctime: bigint;
  birthtime: bigint;
}

/** Attributes to change; the others stay. Times are seconds since 1970. */
export interface BackendChange {
  mode?: number;
  uid?: number;
  gid?: number;
  times?: { atime: number; mtime: number };
}

/** An open file or directory: the backend's descriptor and the attributes. */
export interface BackendFile {
  id: number;
  stats: BackendStats;
}

/** Steps in a store of files. A `name` of '' means the directory itself, in the functions that accept it. */
export interface Backend<Directory = unknown> {
  /** The mounted directory. It is never left. */
  readonly root: Directory;
  /** Ends the backend and leaves `root`. */
  end(): void;

  /** Opens a directory in the directory, until `leave()`. ENOTDIR: anything else, a symbolic link included. */
  enter(directory: Directory, name: string): Directory;
  leave(directory: Directory): void;

  /** Attributes of the name or of the directory; undefined if there is no such name. */
  stat(directory: Directory, name: string): BackendStats | undefined;
  readlink(directory: Directory, name: string): string;
  /** All names except `.` and `..`, with their kinds, from one pass over the directory. */
  list(directory: Directory): { names: string[]; kinds: number[] };
  access(directory: Directory, name: string, mode: number): void;
  statfs(directory: Directory): {
    type: number;
    bsize: number;
    blocks: number;
    bfree: number;
    bavail: number;
    files: number;
    ffree: number;
  };

  mkdir(directory: Directory, name: string, mode: number): void;
  rmdir(directory: Directory, name: string): void;
  unlink(directory: Directory, name: string): void;
  symlink(text: string, directory: Directory, name: string): void;
  link(directory: Directory, name: string, to: Directory, toName: string): void;
  /** As in POSIX: replaces files and empty directories. */
  rename(directory: Directory, name: string, to: Directory, toName: string): void;
  /** ELOOP for a symbolic link, unless only its owner and times change. */
  set(directory: Directory, name: string, change: BackendChange): void;

  /**
   * Opens a file or directory with Linux's `flags`. ELOOP for a symbolic link, ENXIO for anything else. O_PATH: a
   * directory that only `opened` is called for.
   */
  open(directory: Directory, name: string, flags: number, mode: number): BackendFile;
  /**
   * Opens for this thread the file that another thread has open under `id`. EBADF: that thread has another file open
   * there by now.
   */
  reopen(id: number, device: number, file: number, flags: number): BackendFile;
  close(id: number): void;
  /** The directory that is open under `id`, for steps in it as long as it is open. */
  opened(id: number): Directory;
  fstat(id: number): BackendStats;
  /** Reads into shared memory and returns the count. */
  read(id: number, to: Uint8Array<SharedArrayBuffer>, position: number): number;
  /** Writes and returns the count. A position of -1 means the end at that instant. */
  write(id: number, from: Uint8Array<SharedArrayBuffer>, position: number): number;
  truncate(id: number, size: number): void;
  sync(id: number, dataOnly: boolean): void;
  fset(id: number, change: BackendChange): void;
  flist(id: number): { names: string[]; kinds: number[] };

  /**
   * Calls back after any program changes a name in the directory, with the name if it is known. Returns how to end
   * that. Notifications may be lost, so a watcher also polls. `failed`: there will be no more.
   */
  watch(
    directory: Directory,
    changed: (name: string | undefined) => void,
    failed: (error: unknown) => void,
  ): () => void;
}

/** An error of a backend, with the code that the core returns. */
export class BackendError extends Error {
  readonly code: string;
  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** The negative error number for an error of a backend. Any other error is a bug, and is thrown. */
export function errorNumber(error: unknown): number {
  const { code } = error as { code?: string };
  if (typeof code !== 'string' || code.startsWith('ERR_')) throw error;
  if (code === 'EREMOTE') return -Errno.EIO; // the host's EREMOTE; the core's has another meaning
  return -(Errno[code as keyof typeof Errno] ?? (code === 'EOPNOTSUPP' ? Errno.ENOTSUP : Errno.EIO));
}
