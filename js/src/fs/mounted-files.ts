/**
 * Descriptors of mounted files, as one thread uses them.
 *
 * A descriptor belongs to the space: its number, owner, flags and position are there, for every thread. What the
 * backend has open for it belongs to one thread. The opener has its own, and each other thread that uses the descriptor
 * opens the same file again. So no thread uses a host descriptor that another thread may have closed, and that may mean
 * another file by now.
 *
 * Invariants
 * - A file that is open here belongs to one opening of the descriptor (`uses`). When the descriptor is closed, this
 *   thread closes the file: at once if this thread closes it, else at its next open() or use.
 * - When a thread exits, the host closes its files, and recovery frees its descriptors. (Node does so for a Worker,
 *   unless it was started with `trackUnmanagedFds: false`.)
 * - The position moves by compare-and-swap, so two concurrent reads or writes never get the same bytes.
 */

import { FsFlag, FsOpen, FsOpenState, FsResult, Fs as FsRoot, FsThread } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';
import { BackendError, type BackendFile } from './backend.ts';
import type { MountTable } from './mount-table.ts';
import type { Mount } from './mount-walk.ts';

/** A mounted file that is open in this thread. */
export interface MountedFile {
  readonly mount: Mount;
  readonly id: number;
  readonly uses: number;
  readonly flags: number;
  /** Reference of the descriptor's struct plait_fs_open. */
  readonly at: number;
}

export class MountedFiles {
  readonly #space: Space;
  readonly #table: MountTable;
  readonly #result: number;
  readonly #open = new Map<number, MountedFile>();
  #closes = 0;

  /** @param threadRecord the thread's record of fs */
  constructor(space: Space, threadRecord: number, table: MountTable) {
    this.#space = space;
    this.#result = threadRecord + FsThread.result;
    this.#table = table;
  }

  #word(at: number, offset: number): number {
    return this.#space.load(at + offset);
  }

  /** A descriptor for an opened file; closes the file if there is none. */
  add(mount: Mount, { id, stats }: BackendFile, flags: number): number {
    this.#sweep();
    const { core } = this.#space;
    const fd = core.plait_fs_mounted_open(mount.number, id, flags, stats.device, Number(stats.file));
    if (fd < 0) {
      mount.backend.close(id);
      return fd;
    }
    // Another thread may have closed the former file with this number since the sweep. It may also have closed this
    // descriptor already, and reused the number. So `uses` comes from the core's result.
    const before = this.#open.get(fd);
    const [uses, at] = [FsResult.links, FsResult.block].map((word) => this.#word(this.#result, word)) as [
      number,
      number,
    ];
    this.#open.set(fd, { mount, id, uses, flags, at });
    if (before !== undefined) before.mount.backend.close(before.id);
    return fd;
  }

  /** The open file of a descriptor, opened for this thread if necessary. */
  get(fd: number): MountedFile {
    const at = this.#space.core.plait_fs_mounted(fd) >>> 0;
    if (at === 0) throw new BackendError('EBADF');
    const known = this.#open.get(fd);
    const uses = this.#word(at, FsOpen.uses);
    if (known?.uses === uses) return known;
    if (known !== undefined) this.#drop(fd, known);
    return this.#again(fd, at, uses);
  }

  /** Opens for this thread a file that another thread has opened. */
  #again(fd: number, at: number, uses: number): MountedFile {
    this.#sweep();
    const number = this.#word(at, FsOpen.mount);
    const flags = this.#word(at, FsOpen.flags);
    const host = this.#word(at, FsOpen.host);
    const wide = (offset: number): number => this.#word(at, offset + 4) * 2 ** 32 + this.#word(at, offset);
    const [device, file] = [wide(FsOpen.device), wide(FsOpen.file)];
    const same = this.#word(at, FsOpen.state) === FsOpenState.MOUNTED && this.#word(at, FsOpen.uses) === uses;
    const mount = same ? this.#table.get(number) : undefined;
    if (mount === undefined) throw new BackendError('EBADF');
    const { id } = mount.backend.reopen(host, device, file, flags);
    const opened = { mount, id, uses, flags, at };
    this.#open.set(fd, opened);
    return opened;
  }

  close(fd: number): number {
    const rc = this.#space.core.plait_fs_mounted_close(fd);
    const known = this.#open.get(fd);
    if (known !== undefined) this.#drop(fd, known);
    return rc;
  }

  #drop(fd: number, { mount, id }: MountedFile): void {
    this.#open.delete(fd);
    mount.backend.close(id);
  }

  /** Closes the files of descriptors that other threads have closed. */
  #sweep(): void {
    const { core } = this.#space;
    const closes = this.#word(core.plait_abi_fs() >>> 0, FsRoot.mountedCloses);
    if (closes === this.#closes) return;
    this.#closes = closes;
    for (const [fd, file] of this.#open) {
      if (this.#word(file.at, FsOpen.uses) !== file.uses) this.#drop(fd, file);
    }
  }

  // ---- positions ----

  #moved({ at }: MountedFile, from: bigint, to: bigint): boolean {
    const words = new BigInt64Array(this.#space.u8.buffer, at + FsOpen.position, 1);
    return Atomics.compareExchange(words, 0, from, to) === from;
  }

  #position({ at }: MountedFile): bigint {
    return Atomics.load(new BigInt64Array(this.#space.u8.buffer, at + FsOpen.position, 1), 0);
  }

  /** Reads to `to` in the space. `position`: -1 is the file position. */
  read(file: MountedFile, to: number, length: number, position: number): number {
    const { backend } = file.mount;
    const bytes = this.#space.bytes(to, length);
    if (position >= 0) return backend.read(file.id, bytes, position);
    for (;;) {
      const from = this.#position(file);
      const count = backend.read(file.id, bytes, Number(from));
      if (count === 0 || this.#moved(file, from, from + BigInt(count))) return count;
    }
  }

  write(file: MountedFile, from: number, length: number, position: number): number {
    const { backend } = file.mount;
    const bytes = this.#space.bytes(from, length);
    if (file.flags & FsFlag.APPEND) {
      const count = backend.write(file.id, bytes, -1);
      const now = this.#position(file);
      if (position < 0) this.#moved(file, now, BigInt(backend.fstat(file.id).size));
      return count;
    }
    if (position >= 0) return backend.write(file.id, bytes, position);
    for (;;) {
      const start = this.#position(file);
      const end = start + BigInt(length);
      if (!this.#moved(file, start, end)) continue; // from here on this range belongs to this write
      let count = 0;
      try {
        count = backend.write(file.id, bytes, Number(start));
        return count;
      } finally {
        if (count < length) this.#moved(file, end, start + BigInt(count));
      }
    }
  }
}
