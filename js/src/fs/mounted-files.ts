/**
 * What one thread's backends have open for descriptors of mounted files.
 *
 * A descriptor belongs to the space: its number, owner, flags and position are there, for every thread. What the
 * backend has open for it belongs to one thread. The opener has its own, and each other thread that uses the descriptor
 * opens the same file again. So no thread uses a host descriptor that another thread may have closed, and that may mean
 * another file by now.
 *
 * Invariants
 * - A file that is open here belongs to one opening of the descriptor (`uses`). When the descriptor is closed, this
 *   thread closes the file: at once if this thread closes it, else at its next open() or first use of another one.
 * - When a thread exits, the host closes its files, and recovery frees its descriptors. (Node does so for a Worker,
 *   unless it was started with `trackUnmanagedFds: false`.)
 */

import { FsFlag, FsOpen, FsOpenState, Fs as FsRoot } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';
import { BackendError } from './backend.ts';
import type { Mount, MountTable } from './mount-table.ts';

/** A mounted file that is open in this thread. */
export interface MountedFile {
  readonly mount: Mount;
  /** The backend's descriptor. */
  readonly id: number;
  readonly uses: number;
  /** FsFlag.APPEND, or 0: how the backend has it open. */
  readonly append: number;
  /** What the backend has open for writes the other way, after the flag has changed. */
  other: number | undefined;
}

export class MountedFiles {
  readonly #space: Space;
  readonly #table: MountTable;
  readonly #open = new Map<number, MountedFile>();
  #closes = 0;

  constructor(space: Space, table: MountTable) {
    this.#space = space;
    this.#table = table;
  }

  /** Keeps what the backend has opened for the descriptor, which nobody knows yet. */
  keep(fd: number, uses: number, mount: Mount, id: number, flags: number): void {
    this.drop(fd);
    this.#open.set(fd, { mount, id, uses, append: flags & FsFlag.APPEND, other: undefined });
    this.#sweep(fd);
  }

  /** The open file of a descriptor, opened for this thread if necessary. */
  get(fd: number, uses: number): MountedFile {
    const at = this.#space.core.plait_fs_mounted(fd) >>> 0;
    if (at === 0) throw new BackendError('EBADF');
    const known = this.#open.get(fd);
    if (known?.uses === uses) return known;
    this.drop(fd);
    return this.#again(fd, at, uses);
  }

  /**
   * The backend's descriptor for writes. `append`: at the end. The other one stays open, because other threads open the
   * file by it.
   */
  writing(fd: number, file: MountedFile, append: number): number {
    if (file.append === append) return file.id;
    if (file.other === undefined) {
      const at = this.#space.core.plait_fs_mounted(fd) >>> 0;
      if (at === 0) throw new BackendError('EBADF');
      const stats = file.mount.backend.fstat(file.id);
      const flags = (this.#space.load(at + FsOpen.flags) & ~FsFlag.APPEND) | append;
      file.other = file.mount.backend.reopen(file.id, stats.device, Number(stats.file), flags).id;
    }
    return file.other;
  }

  /** Opens for this thread a file that another thread has opened. */
  #again(fd: number, at: number, uses: number): MountedFile {
    this.#sweep(fd);
    const word = (offset: number): number => this.#space.load(at + offset);
    const wide = (offset: number): number => word(offset + 4) * 2 ** 32 + word(offset);
    const [number, flags, host] = [word(FsOpen.mount), word(FsOpen.flags), word(FsOpen.host)];
    const [device, file] = [wide(FsOpen.device), wide(FsOpen.file)];
    const same = word(FsOpen.state) === FsOpenState.MOUNTED && word(FsOpen.uses) === uses;
    const mount = same ? this.#table.get(number) : undefined;
    if (mount === undefined) throw new BackendError('EBADF');
    const { id } = mount.backend.reopen(host, device, file, flags);
    const opened = { mount, id, uses, append: flags & FsFlag.APPEND, other: undefined };
    this.#open.set(fd, opened);
    return opened;
  }

  /** Closes what is open here for the descriptor; with `uses`, only if it is that opening. */
  drop(fd: number, uses?: number): void {
    const known = this.#open.get(fd);
    if (known === undefined || (uses !== undefined && known.uses !== uses)) return;
    this.#open.delete(fd);
    known.mount.backend.close(known.id);
    if (known.other !== undefined) known.mount.backend.close(known.other);
  }

  /** Closes the files of descriptors that other threads have closed, except that of `but`. */
  #sweep(but: number): void {
    const { core } = this.#space;
    const closes = this.#space.load((core.plait_abi_fs() >>> 0) + FsRoot.mountedCloses);
    if (closes === this.#closes) return;
    this.#closes = closes;
    for (const [fd, { uses }] of this.#open) {
      if (fd === but) continue;
      const at = core.plait_fs_mounted(fd) >>> 0;
      if (at === 0 || this.#space.load(at + FsOpen.uses) !== uses) this.drop(fd);
    }
  }
}
