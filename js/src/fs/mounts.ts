/**
 * The mounts of a space, as one thread uses them.
 *
 * The core walks into mounts by itself; here are the steps that it calls (backend-steps.ts), and what is not a function
 * of files: mounting, real paths, watching the host, and directories that are held open.
 */

import { FS_PATH_MAX, FsKind, FsOpen, FsResult, Fs as FsRoot, FsThread } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';
import { errorNumber } from './backend.ts';
import { BackendSteps } from './backend-steps.ts';
import { type FsError, fsError } from './errors.ts';
import { type MountInfo, type MountOptions, MountTable } from './mount-table.ts';
import { MountedFiles } from './mounted-files.ts';
import type { StatsFs } from './stats.ts';
import { byteString, encode, fromByteString, type PathLike, pathOf, pathText } from './values.ts';

/** A directory in a mount that is held open. While it is entered, paths through it start there. */
export interface Held {
  /** The descriptor of the directory, and its `uses`. */
  readonly fd: number;
  readonly uses: number;
  /** The paths by which it is known, as byte strings: the given one, and the one without links. */
  readonly ways: readonly string[];
  /** The path of the directory or of a file in it, without links: a byte string. */
  readonly found: string;
  readonly isDirectory: boolean;
  leave(): void;
}

/** How a real path was found. Paths are byte strings. */
export interface RealPath {
  /** 0, or the error's number. */
  rc: number;
  real: string;
  /** The path leads to a file in memory. */
  inMemory: boolean;
  /** The last name of the path itself that was reached in a mount; '': the walk was in none. */
  reached: string;
  /** The walk is inside the text of that name, which is a link. */
  inLink: boolean;
  /** There was a link for which `byText` may make a difference. */
  winds: boolean;
}

export class Mounts {
  readonly #space: Space;
  readonly #threadRecord: number;
  readonly #forget: () => void;
  readonly #table: MountTable;
  readonly #files: MountedFiles;
  readonly #steps: BackendSteps;
  /** Entered directories, the innermost last. */
  readonly #held: Held[] = [];

  /** @param forget called when the path in the thread record changes */
  constructor(space: Space, threadRecord: number, forget: () => void) {
    this.#space = space;
    this.#threadRecord = threadRecord;
    this.#forget = forget;
    this.#table = new MountTable(space, threadRecord);
    this.#files = new MountedFiles(space, this.#table);
    this.#steps = new BackendSteps(space, threadRecord, this.#table, this.#files);
    space.backends.steps = this.#steps.all();
  }

  #word(offset: number): number {
    return this.#space.load(this.#threadRecord + offset);
  }

  readonly #put = (path: string | Uint8Array): number => {
    this.#forget();
    const bytes = typeof path === 'string' ? encode(path) : path;
    if (bytes.length >= FS_PATH_MAX) return bytes.length; // the core refuses it
    this.#space.bytes(this.#threadRecord + FsThread.first, bytes.length).set(bytes);
    return bytes.length;
  };

  /** The first bytes of `where`, or of `second`, of the thread's record. */
  #path(offset: number, length: number): string {
    return byteString(this.#space.bytes(this.#threadRecord + offset, length));
  }

  /** The error that a step could not return, once. */
  takeFailure(): { error: unknown } | undefined {
    return this.#steps.takeFailure();
  }

  /** @param path without links, dots and extra slashes */
  mount(path: string, options: MountOptions): void {
    this.#table.mount(path, options, this.#put);
  }

  unmount(path: PathLike): void {
    this.#table.unmount(path, this.#put);
  }

  list(): MountInfo[] {
    return this.#table.list();
  }

  /** Whether the path leads into a mount. */
  leadsInto(path: string): boolean {
    return this.#space.core.plait_fs_locate(this.#put(path)) > 0;
  }

  /** The real path. `byText`: `x/..` in the text of a mount's link is skipped, as `realpathSync` does. */
  realPath(path: string | Uint8Array, byText: boolean): RealPath {
    const rc = this.#space.core.plait_fs_real(this.#put(path), byText ? 1 : 0);
    const result = (offset: number): number => this.#word(FsThread.result + offset);
    return {
      rc,
      real: rc === 0 ? this.#path(FsThread.where, result(FsResult.bytes)) || '/' : '',
      inMemory: rc === 0 && result(FsResult.mount) === 0,
      reached: this.#word(FsThread.crossed) === 1 ? this.#path(FsThread.second, this.#word(FsThread.reached)) : '',
      inLink: this.#word(FsThread.inLink) === 1,
      winds: this.#word(FsThread.winds) === 1,
    };
  }

  // ---- held directories ----

  /**
   * Holds the directory that a path leads to, or the directory of a file. Undefined: it is in memory.
   *
   * @param follow whether to follow a link at the end
   */
  hold(path: PathLike, follow: boolean): Held | undefined {
    const { core } = this.#space;
    if (this.#space.load((core.plait_abi_fs() >>> 0) + FsRoot.mounts) === 0) return undefined;
    const given = pathOf(path);
    const bytes = typeof given === 'string' ? encode(given) : given;
    const fd = core.plait_fs_hold(this.#put(this.resolve(bytes, false)), follow ? 1 : 0);
    if (fd < 0) throw this.#error(fd, 'open', pathText(given));
    if (fd === 0) return undefined;
    const [kind, length] = [FsResult.kind, FsResult.bytes].map((word) => this.#word(FsThread.result + word));
    const found = this.#path(FsThread.where, length as number);
    const isDirectory = kind === FsKind.DIRECTORY;
    const ways = isDirectory
      ? [byteString(bytes).replace(/\/+$/, ''), found]
      : [found.slice(0, found.lastIndexOf('/'))];
    const uses = this.#space.load((core.plait_fs_mounted(fd) >>> 0) + FsOpen.uses);
    return { fd, uses, ways, found: found || '/', isDirectory, leave: () => void core.plait_fs_close(fd) };
  }

  /** Performs an action whose paths through the held directory start there, even if its name has changed. */
  within<Result>(held: Held, action: () => Result): Result {
    this.enter(held);
    try {
      return action();
    } finally {
      this.exit();
    }
  }

  enter(held: Held): void {
    this.#forget();
    this.#held.push(held);
  }

  /** Undoes the last `enter`. */
  exit(): void {
    this.#forget();
    this.#held.pop();
    this.#start(FsThread.from, undefined);
    this.#start(FsThread.secondFrom, undefined);
  }

  /** Whether a directory is entered, so that `resolve` has to be asked for each path. */
  get isHolding(): boolean {
    return this.#held.length > 0;
  }

  /** Tells the core where the path starts, and returns the path from there. `second`: it is the second of two. */
  resolve(path: Uint8Array, second: boolean): Uint8Array {
    if (!this.isHolding) return path;
    const text = byteString(path);
    const way = (held: Held): string | undefined => held.ways.find((one) => text === one || text.startsWith(`${one}/`));
    const held = this.#held.findLast((one) => way(one) !== undefined);
    this.#start(second ? FsThread.secondFrom : FsThread.from, held);
    if (held === undefined) return path;
    const rest = text.slice((way(held) as string).length).replace(/^\/+/, '');
    return fromByteString(rest === '' ? '.' : rest);
  }

  #start(word: number, held: Held | undefined): void {
    const index = (this.#threadRecord + word) >>> 2;
    this.#space.u32[index] = held?.fd ?? 0;
    this.#space.u32[index + 1] = held?.uses ?? 0;
  }

  #error(rc: number, syscall: string, path: string): unknown {
    return this.takeFailure()?.error ?? fsError(rc, syscall, path);
  }

  // ---- the host ----

  /** The mount of the last stat(); undefined: it was in memory. */
  statfs(): StatsFs<number> | undefined {
    const number = this.#word(FsThread.result + FsResult.mount);
    const mount = number === 0 ? undefined : this.#table.get(number);
    return mount?.backend.statfs(mount.backend.root);
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
    const held = this.hold(path, true);
    if (held === undefined) return undefined;
    try {
      const { mount, id } = this.#files.get(held.fd, held.uses);
      // A file is watched in its directory, because another file may take its name.
      return mount.backend.watch(mount.backend.opened(id), changed, (error) => failed(asOurs(error)));
    } catch (error) {
      throw asOurs(error);
    } finally {
      held.leave();
    }
  }
}
