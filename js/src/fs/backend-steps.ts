/**
 * The steps of backends, as the core calls them (core/fs/backend.h).
 *
 * Invariants
 * - A step never throws: an exception through the core would leave its stack behind. It returns a negative error
 *   number. Any other error is a bug: the step returns -EIO, and `takeFailure` gives the error to whoever throws next.
 * - Directories that a walk has entered are a stack. The core leaves them on every way out of an operation.
 */

import {
  Errno,
  FS_PATH_MAX,
  FS_SCRATCH,
  FsFlag,
  FsKind,
  FsResult,
  FsSetBit,
  FsThread,
} from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';
import { type BackendChange, BackendError, type BackendStats, errorNumber } from './backend.ts';
import type { Mount, MountTable } from './mount-table.ts';
import type { MountedFiles } from './mounted-files.ts';
import { byteString } from './values.ts';

/** Listings that are kept for later pieces. */
const LISTINGS = 64;

type Listing = { names: string[]; kinds: number[] };
type Step = (...args: number[]) => number;

interface Entered {
  readonly mount: Mount;
  readonly directory: unknown;
  /** False: the directory of a descriptor, which stays open. */
  readonly own: boolean;
}

export class BackendSteps {
  readonly #space: Space;
  readonly #threadRecord: number;
  readonly #table: MountTable;
  readonly #files: MountedFiles;
  readonly #entered: Entered[] = [];
  readonly #listings = new Map<number, Listing>();
  #listed = 0;
  /** For `fnext`: the listing of the descriptor that was read last. */
  #reading: { fd: number; uses: number; listing: Listing } | undefined;
  #failure: { error: unknown } | undefined;

  constructor(space: Space, threadRecord: number, table: MountTable, files: MountedFiles) {
    this.#space = space;
    this.#threadRecord = threadRecord;
    this.#table = table;
    this.#files = files;
  }

  /** The error that was no error of a backend, once. */
  takeFailure(): { error: unknown } | undefined {
    const failure = this.#failure;
    this.#failure = undefined;
    return failure;
  }

  /** All steps, by the names of the core's imports. */
  all(): Record<string, Step> {
    return Object.fromEntries(
      Object.entries(this.#steps).map(([name, step]): [string, Step] => [
        name,
        (...args) => {
          const space = this.#space;
          const { core, stackTop } = space;
          const top = core.__stack_pointer.value;
          space.stackTop = top;
          try {
            return step(...args) ?? 0;
          } catch (error) {
            return this.#fail(error);
          } finally {
            space.stackTop = stackTop;
            core.plait_abi_unwind(top);
          }
        },
      ]),
    );
  }

  #fail(error: unknown): number {
    try {
      return errorNumber(error);
    } catch {
      this.#failure = { error };
      return -Errno.EIO;
    }
  }

  // ---- arguments and results ----

  #mount(number: number): Mount {
    const mount = this.#table.get(number);
    if (mount === undefined) throw new BackendError('ESTALE');
    return mount;
  }

  /** The mount and the directory of a step, and the name as a byte string. */
  #at(
    number: number,
    handle: number,
    name: number,
    length: number,
  ): { mount: Mount; directory: unknown; name: string } {
    const mount = this.#mount(number);
    const directory = handle === 0 ? mount.backend.root : this.#entered[handle - 1]?.directory;
    return { mount, directory, name: this.#text(name, length) };
  }

  #text(at: number, length: number): string {
    return length === 0 ? '' : byteString(this.#space.bytes(at >>> 0, length));
  }

  #push(mount: Mount, directory: unknown, own: boolean): number {
    return this.#entered.push({ mount, directory, own });
  }

  #leave(from: number): void {
    while (this.#entered.length >= from) {
      const { mount, directory, own } = this.#entered.pop() as Entered;
      if (own) mount.backend.leave(directory);
    }
  }

  #word(offset: number, value: number): void {
    this.#space.u32[(this.#threadRecord + FsThread.result + offset) >>> 2] = value;
  }

  #wide(offset: number, value: bigint): void {
    this.#word(offset, Number(value & 0xffffffffn));
    this.#word(offset + 4, Number((value >> 32n) & 0xffffffffn));
  }

  #report(stats: BackendStats): number {
    this.#word(FsResult.block, 0);
    this.#word(FsResult.kind, stats.kind);
    this.#word(FsResult.mode, stats.mode);
    this.#word(FsResult.links, stats.links);
    this.#word(FsResult.uid, stats.uid);
    this.#word(FsResult.gid, stats.gid);
    this.#word(FsResult.number, Number(stats.file & 0xffffffffn));
    this.#word(FsResult.blockSize, stats.blockSize);
    this.#wide(FsResult.size, BigInt(stats.size));
    this.#wide(FsResult.held, BigInt(stats.blocks * 512));
    this.#wide(FsResult.atime, stats.atime);
    this.#wide(FsResult.mtime, stats.mtime);
    this.#wide(FsResult.ctime, stats.ctime);
    this.#wide(FsResult.birthtime, stats.birthtime);
    this.#wide(FsResult.device, BigInt(stats.device));
    this.#wide(FsResult.file, stats.file);
    this.#wide(FsResult.special, BigInt(stats.special));
    return 0;
  }

  /** The change that struct plait_fs_attributes describes. `now`: asked for a time that is not to change. */
  #change(at: number, now: () => BackendStats | undefined): BackendChange {
    const words = this.#space.bytes(at >>> 0, 32);
    const view = new DataView(words.buffer, words.byteOffset, 32);
    const mask = view.getUint32(0, true);
    const change: BackendChange = {};
    if (mask & FsSetBit.SET_MODE) change.mode = view.getUint32(4, true) & 0o7777;
    if (mask & FsSetBit.SET_UID) change.uid = view.getUint32(8, true);
    if (mask & FsSetBit.SET_GID) change.gid = view.getUint32(12, true);
    const both = FsSetBit.SET_ATIME | FsSetBit.SET_MTIME;
    if ((mask & both) === 0) return change;
    const known = (mask & both) === both ? undefined : now();
    change.times = {
      atime: seconds(mask & FsSetBit.SET_ATIME ? view.getBigInt64(16, true) : (known?.atime ?? 0n)),
      mtime: seconds(mask & FsSetBit.SET_MTIME ? view.getBigInt64(24, true) : (known?.mtime ?? 0n)),
    };
    return change;
  }

  // ---- steps ----

  readonly #steps: Record<string, (...args: number[]) => number | undefined> = {
    enter: (number = 0, handle = 0, at = 0, length = 0) => {
      const { mount, directory, name } = this.#at(number, handle, at, length);
      return this.#push(mount, mount.backend.enter(directory, name), true);
    },
    start: (fd = 0, uses = 0) => {
      const { mount, id } = this.#files.get(fd, uses);
      return this.#push(mount, mount.backend.opened(id), false);
    },
    leave: (from = 1) => {
      this.#leave(from);
      return undefined;
    },
    stat: (number = 0, handle = 0, at = 0, length = 0) => {
      const { mount, directory, name } = this.#at(number, handle, at, length);
      const stats = mount.backend.stat(directory, name);
      return stats === undefined ? -Errno.ENOENT : this.#report(stats);
    },
    access: (number = 0, handle = 0, at = 0, length = 0, mode = 0) => {
      const { mount, directory, name } = this.#at(number, handle, at, length);
      mount.backend.access(directory, name, mode);
      return 0;
    },
    readlink: (number = 0, handle = 0, at = 0, length = 0, to = 0) => {
      const { mount, directory, name } = this.#at(number, handle, at, length);
      const text = mount.backend.readlink(directory, name);
      if (text.length >= FS_PATH_MAX) return -Errno.ENAMETOOLONG;
      const bytes = this.#space.bytes(to >>> 0, text.length);
      for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
      return text.length;
    },
    mkdir: (number = 0, handle = 0, at = 0, length = 0, mode = 0) => {
      const { mount, directory, name } = this.#at(number, handle, at, length);
      mount.backend.mkdir(directory, name, mode);
      return 0;
    },
    remove: (number = 0, handle = 0, at = 0, length = 0, isDirectory = 0) => {
      const { mount, directory, name } = this.#at(number, handle, at, length);
      if (isDirectory === 0) mount.backend.unlink(directory, name);
      else mount.backend.rmdir(directory, name);
      return 0;
    },
    symlink: (number = 0, handle = 0, at = 0, length = 0, text = 0, size = 0) => {
      const { mount, directory, name } = this.#at(number, handle, at, length);
      mount.backend.symlink(this.#text(text, size), directory, name);
      return 0;
    },
    link: (number = 0, handle = 0, at = 0, length = 0, toHandle = 0, to = 0, size = 0) => {
      const from = this.#at(number, handle, at, length);
      const made = this.#at(number, toHandle, to, size);
      from.mount.backend.link(from.directory, from.name, made.directory, made.name);
      return 0;
    },
    rename: (number = 0, handle = 0, at = 0, length = 0, toHandle = 0, to = 0, size = 0) => {
      const from = this.#at(number, handle, at, length);
      const goal = this.#at(number, toHandle, to, size);
      from.mount.backend.rename(from.directory, from.name, goal.directory, goal.name);
      return 0;
    },
    set: (number = 0, handle = 0, at = 0, length = 0, attributes = 0) => {
      const { mount, directory, name } = this.#at(number, handle, at, length);
      const change = this.#change(attributes, () => mount.backend.stat(directory, name));
      mount.backend.set(directory, name, change);
      return 0;
    },
    list: (number = 0, handle = 0, at = 0, length = 0, cursor = 0) => {
      const known = this.#listings.get(Math.floor(cursor / 2 ** 32));
      if (cursor !== 0 && known !== undefined) return this.#putListing(known, cursor);
      const { mount, directory, name } = this.#at(number, handle, at, length);
      if (name === '') return this.#putListing(mount.backend.list(directory), cursor);
      const inside = mount.backend.enter(directory, name);
      try {
        return this.#putListing(mount.backend.list(inside), cursor);
      } finally {
        mount.backend.leave(inside);
      }
    },
    open: (number = 0, handle = 0, at = 0, length = 0, flags = 0, mode = 0, fd = 0, uses = 0) => {
      const { mount, directory, name } = this.#at(number, handle, at, length);
      const { id, stats } = mount.backend.open(directory, name, flags, mode);
      this.#files.keep(fd, uses, mount, id, flags);
      this.#report(stats);
      return id;
    },
    close: (fd = 0, uses = 0) => {
      this.#files.drop(fd, uses);
      return undefined;
    },
    read: (fd = 0, uses = 0, to = 0, length = 0, position = 0) => {
      const { mount, id } = this.#files.get(fd, uses);
      return mount.backend.read(id, this.#space.bytes(to >>> 0, length), position);
    },
    write: (fd = 0, uses = 0, from = 0, length = 0, position = 0) => {
      const file = this.#files.get(fd, uses);
      const { mount } = file;
      const id = this.#files.writing(fd, file, position < 0 ? FsFlag.APPEND : 0);
      return mount.backend.write(id, this.#space.bytes(from >>> 0, length), position);
    },
    truncate: (fd = 0, uses = 0, size = 0) => {
      const { mount, id } = this.#files.get(fd, uses);
      mount.backend.truncate(id, size);
      return 0;
    },
    sync: (fd = 0, uses = 0, dataOnly = 0) => {
      const { mount, id } = this.#files.get(fd, uses);
      mount.backend.sync(id, dataOnly === 1);
      return 0;
    },
    fstat: (fd = 0, uses = 0) => {
      const { mount, id } = this.#files.get(fd, uses);
      return this.#report(mount.backend.fstat(id));
    },
    fset: (fd = 0, uses = 0, attributes = 0) => {
      const { mount, id } = this.#files.get(fd, uses);
      mount.backend.fset(
        id,
        this.#change(attributes, () => mount.backend.fstat(id)),
      );
      return 0;
    },
    flist: (fd = 0, uses = 0, cursor = 0) => {
      const known = this.#listings.get(Math.floor(cursor / 2 ** 32));
      if (cursor !== 0 && known !== undefined) return this.#putListing(known, cursor);
      return this.#putListing(this.#listOpen(fd, uses), cursor);
    },
    fnext: (fd = 0, uses = 0, cookie = 0) => {
      const known = this.#reading;
      if (cookie === 0 || known?.fd !== fd || known.uses !== uses) {
        this.#reading = { fd, uses, listing: this.#listOpen(fd, uses) };
      }
      const { names, kinds } = (this.#reading as { listing: Listing }).listing;
      const name = names[cookie];
      if (name === undefined) return 0;
      const bytes = this.#space.bytes(this.#space.load(this.#threadRecord + FsThread.scratch), name.length);
      for (let i = 0; i < name.length; i++) bytes[i] = name.charCodeAt(i);
      this.#word(FsResult.kind, kinds[cookie] as number);
      this.#word(FsResult.number, 0);
      this.#word(FsResult.bytes, name.length);
      this.#wide(FsResult.cursor, BigInt(cookie + 1));
      return 1;
    },
  };

  // ---- directories ----

  #listOpen(fd: number, uses: number): Listing {
    const { mount, id } = this.#files.get(fd, uses);
    if (mount.backend.fstat(id).kind !== FsKind.DIRECTORY) throw new BackendError('ENOTDIR');
    return mount.backend.flist(id);
  }

  /**
   * Puts as many names as fit where the core would. A directory is read in one pass, and returned in pieces. A cursor
   * consists of the number of the pass and the number of names returned.
   */
  #putListing(listing: Listing, cursor: number): number {
    const scratch = this.#space.load(this.#threadRecord + FsThread.scratch);
    const bytes = this.#space.bytes(scratch, FS_SCRATCH);
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
    this.#word(FsResult.cursor, over ? 0 : i);
    this.#word(FsResult.cursor + 4, over ? 0 : id);
    this.#word(FsResult.bytes, length);
    this.#word(FsResult.ascii, ascii);
    return i - start;
  }
}

/** Nanoseconds as seconds, without a loss but that of the double. */
function seconds(nanoseconds: bigint): number {
  return Number(nanoseconds / 1_000_000_000n) + Number(nanoseconds % 1_000_000_000n) / 1e9;
}
