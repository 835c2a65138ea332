/**
 * What can be mounted: the interface between the mount layer (mounts.ts) and what holds the files.
 *
 * The mount layer walks paths, follows links, keeps them inside their mount, knows what is mounted in what, refuses
 * changes of what is read-only, and owns the descriptors that users see. A backend does single steps: something with
 * one name in one directory. It has no paths, no current directory, and no idea where it is mounted.
 *
 * A backend promises
 * - **No step follows a symbolic link**, and no step leaves its directory: `name` has no slash and is neither `.` nor
 *   `..`. That, and nothing else, is what keeps a path inside the mount, whoever changes the files meanwhile.
 * - A `Directory` means one directory, whatever its name becomes, until it is given back. A step in one that is gone is
 *   ENOENT.
 * - Each step happens wholly or not at all, but for a write of many bytes.
 * - Nothing waits for other programs: what might (a pipe, a device) is refused with ENXIO.
 * - It throws errors with Node's `code` (`ENOENT`, `EACCES`...). What it cannot do is ENOTSUP, or ENODEV.
 * - Each thread has an instance of its own, made from the same words in the mount's record. Instances share nothing but
 *   what they stand for; a thread may vanish in any step, and what it has open goes with it.
 *
 * Names and links are **byte strings**: one character for each byte, so a name that is no UTF-8 stays what it is.
 *
 * Steps answer at once, because the core's calls and `node:fs`'s synchronous functions do. A backend whose store can
 * only answer later (a browser's file system, the network) belongs to a thread of its own, which never blocks: its
 * instances in other threads put a request into the space, and sleep on a word there until it is answered, as
 * `lockSync` sleeps. Where a thread may not sleep (a page's main thread) such a step is refused with EAGAIN, unless
 * what is asked for lies in shared memory already.
 */

import { Errno } from '../core/layout.generated.ts';

/** What a file is, in a backend. Times: nanoseconds since 1970. */
export interface BackendStats {
  /** `enum plait_fs_kind`. */
  kind: number;
  /** Permission bits. */
  mode: number;
  links: number;
  uid: number;
  gid: number;
  /** With `file`: which file it is. Two names with the same pair are one file. */
  device: number;
  file: bigint;
  /** Which device it is, if it is one. */
  special: number;
  size: number;
  blockSize: number;
  /** Units of 512 bytes that it takes. */
  blocks: number;
  atime: bigint;
  mtime: bigint;
  ctime: bigint;
  birthtime: bigint;
}

/** What is to be changed; the rest stays. Times: seconds since 1970. */
export interface BackendChange {
  mode?: number;
  uid?: number;
  gid?: number;
  times?: { atime: number; mtime: number };
}

/** An open file or directory, in the numbers of the backend, and what it is. */
export interface BackendFile {
  id: number;
  stats: BackendStats;
}

/** Steps in a store of files. `name` '' means the directory itself, where a function takes it. */
export interface Backend<Directory = unknown> {
  /** The mounted directory. Never given back. */
  readonly root: Directory;
  /** Ends it: `root` is given back. */
  end(): void;

  /** A directory in the directory, for `leave()`; or what a symbolic link of this name says. ENOTDIR: anything else. */
  enter(directory: Directory, name: string): Directory | string;
  leave(directory: Directory): void;

  /** What has that name (or is the directory); nothing if nothing has. */
  stat(directory: Directory, name: string): BackendStats | undefined;
  readlink(directory: Directory, name: string): string;
  /** All names in it but `.` and `..`, and what they are, as of one pass over it. */
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
  /** As POSIX has it: over files and empty directories. */
  rename(directory: Directory, name: string, to: Directory, toName: string): void;
  /** ELOOP for a symbolic link, unless all that changes are its owner and times. */
  set(directory: Directory, name: string, change: BackendChange): void;

  /**
   * Opens a file or directory. `flags`: Linux's. ELOOP for a symbolic link, ENXIO for what is neither file nor
   * directory.
   */
  open(directory: Directory, name: string, flags: number, mode: number): BackendFile;
  /**
   * The same file as another thread has open under `id`, for this thread. EBADF: that thread has something else under
   * it by now.
   */
  reopen(id: number, device: number, file: number, flags: number): BackendFile;
  close(id: number): void;
  fstat(id: number): BackendStats;
  /** Reads into shared memory: how many bytes. */
  read(id: number, to: Uint8Array<SharedArrayBuffer>, position: number): number;
  /** Writes; -1: to the end, wherever that is at that instant. How many bytes. */
  write(id: number, from: Uint8Array<SharedArrayBuffer>, position: number): number;
  truncate(id: number, size: number): void;
  sync(id: number, dataOnly: boolean): void;
  fset(id: number, change: BackendChange): void;
  flist(id: number): { names: string[]; kinds: number[] };

  /**
   * Calls back after changes of names in it, whoever makes them, with the name if it is known; returns how to end it.
   * Some may be missed: who watches looks by himself, too. `failed`: no more will come.
   */
  watch(
    directory: Directory,
    changed: (name: string | undefined) => void,
    failed: (error: unknown) => void,
  ): () => void;
}

/** An error of a backend, or of the mount layer: what the core would answer. */
export class BackendError extends Error {
  readonly code: string;
  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** An error of a backend as the core would say it. Others are no answers, but mistakes. */
export function errorNumber(error: unknown): number {
  const { code } = error as { code?: string };
  if (typeof code !== 'string' || code.startsWith('ERR_')) throw error;
  if (code === 'EREMOTE') return -Errno.EIO; // the host's own; ours is for the mount layer, and no answer
  return -(Errno[code as keyof typeof Errno] ?? (code === 'EOPNOTSUPP' ? Errno.ENOTSUP : Errno.EIO));
}
