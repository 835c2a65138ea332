/**
 * Descriptors of files behind mounts, as one thread uses them.
 *
 * A descriptor is the space's: number, owner, flags and position lie there, for every thread. What the backend has open
 * under it is each thread's own: the opener's, and, where another thread uses the descriptor, one that it has opened of
 * the same file. So no thread ever works with a number of the host that another may have closed, and that may mean
 * something else by now.
 *
 * Invariants
 * - What is open here belongs to one life of the descriptor (`uses`). When that is over it is closed, by this thread:
 *   at once if it closes the descriptor, else at its next open() or use.
 * - When a thread ends, the host closes what it had open (Node does so for a Worker, unless it was started with
 *   `trackUnmanagedFds: false`), and recovery frees its descriptors.
 * - The position moves by compare-and-swap: of two threads that read or write at once each has bytes of its own.
 */

import { FsFlag, FsOpen, FsOpenState, FsResult, Fs as FsRoot, FsThread } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';
import { BackendError, type BackendFile } from './backend.ts';
import type { MountTable } from './mount-table.ts';
import type { Mount } from './mount-walk.ts';

/** An open file of a mount, in this thread. */
export interface MountedFile {
  readonly mount: Mount;
  readonly id: number;
  readonly uses: number;
  readonly flags: number;
  /** Where the descriptor's record lies. */
  readonly at: number;
}

export class MountedFiles {
  readonly #space: Space;
  readonly #table: MountTable;
  readonly #result: number;
  readonly #open = new Map<number, MountedFile>();
  #closes = 0;

  /** @param record the thread's */
  constructor(space: Space, threadRecord: number, table: MountTable) {
    this.#space = space;
    this.#result = threadRecord + FsThread.result;
    this.#table = table;
  }

  #word(at: number, offset: number): number {
    return this.#space.load(at + offset);
  }

  /** A descriptor for what was opened; the file is closed if there is none. */
  add(mount: Mount, { id, stats }: BackendFile, flags: number): number {
    this.#sweep();
    const { core } = this.#space;
    const fd = core.plait_fs_mounted_open(mount.number, id, flags, stats.device, Number(stats.file));
    if (fd < 0) {
      mount.backend.close(id);
      return fd;
    }
    // What had the number may have been closed by another thread since the sweep. This one may be closed again by now,
    // and the number be another's: so it is the core that says which life is ours.
    const before = this.#open.get(fd);
    const [uses, at] = [FsResult.links, FsResult.block].map((word) => this.#word(this.#result, word)) as [
      number,
      number,
    ];
    this.#open.set(fd, { mount, id, uses, flags, at });
    if (before !== undefined) before.mount.backend.close(before.id);
    return fd;
  }

  /** The open file of a descriptor. */
  get(fd: number): MountedFile {
    const at = this.#space.core.plait_fs_mounted(fd) >>> 0;
    if (at === 0) throw new BackendError('EBADF');
    const known = this.#open.get(fd);
    const uses = this.#word(at, FsOpen.uses);
    if (known?.uses === uses) return known;
    if (known !== undefined) this.#drop(fd, known);
    return this.#again(fd, at, uses);
  }

  /** Opens for this thread what another has opened. */
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

  /** Closes what belongs to descriptors that other threads have closed. */
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

  /** Reads to `to` in the space. `position`: -1 for where the descriptor stands. */
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
      if (!this.#moved(file, start, end)) continue; // its bytes are this write's from here on
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
