/**
 * The files at a path and below it, as a watcher has last seen them, and what has changed since.
 *
 * A change in memory costs one comparison for each watched file, and a check of those that have changed. An inode's
 * sequence changes with everything that happens to the inode, its names included. So a name whose inode has the same
 * sequence is skipped. The new names of a directory are those with a number above the last one seen.
 *
 * Mounted files have no sequence. There the host says which name has changed. The host may lose notifications (the
 * kernel's queue overflows silently), so everything in mounts is also polled at intervals: `pollMounted`.
 *
 * Invariants
 * - A sequence is from the same stat() as the rest, so the next poll sees a later change.
 * - The host watches a directory before its names are listed, so a name that is created in between is notified or
 *   listed.
 */

import { FsKind, Fs as FsRoot, Inode } from '../core/layout.generated.ts';
import type { FsError } from './errors.ts';
import type { TreeFs } from './tree.ts';
import { decode } from './values.ts';

export type EventType = 'rename' | 'change';
/** The changes, by their path below the top; '' is the top itself. */
export type Events = Map<string, EventType>;

/** One name, as it was at the last poll. */
interface Seen {
  /** Reference of its inode; 0: a mounted file. */
  readonly inode: number;
  sequence: number;
  readonly mount: number;
  readonly kind: number;
  readonly number: number;
  readonly birthtime: bigint;
  readonly ctime: bigint;
  readonly size: number;
  /** When it was polled, in milliseconds since 1970. */
  readonly at: number;
  /** For a directory whose contents are watched, or the file at the top, if the host watches it. */
  inside: Inside | undefined;
  /** Its index in the sequences of its directory; -1: none. */
  slot: number;
}

/** The sequences of names in memory, in one array, because each change costs a pass over all of them. */
class Sequences {
  readonly #names: string[] = [];
  /** Word indices of the inodes' sequences in the space, and their last values. */
  #words = new Uint32Array(8);
  #seen = new Uint32Array(8);

  /** Records a name in place of the contents of `slot`. */
  put(slot: number, name: string, { inode, sequence }: Seen): number {
    const at = slot < 0 ? this.#names.push(name) - 1 : slot;
    if (at === this.#words.length) {
      const [words, seen] = [new Uint32Array(at * 2), new Uint32Array(at * 2)];
      words.set(this.#words);
      seen.set(this.#seen);
      [this.#words, this.#seen] = [words, seen];
    }
    this.#words[at] = (inode + Inode.sequence) >>> 2;
    this.#seen[at] = sequence;
    return at;
  }

  /** Forgets a name. The last name moves to its slot; returns that name, if there is one. */
  take(slot: number): string | undefined {
    const last = this.#names.length - 1;
    this.#words[slot] = this.#words[last] as number;
    this.#seen[slot] = this.#seen[last] as number;
    const name = this.#names.pop() as string;
    if (slot === last) return undefined;
    this.#names[slot] = name;
    return name;
  }

  /** The names whose sequence has changed. */
  moved(space: Uint32Array): string[] {
    const [words, seen] = [this.#words, this.#seen];
    const moved: string[] = [];
    for (let i = 0; i < this.#names.length; i++) {
      if (Atomics.load(space, words[i] as number) !== seen[i]) moved.push(this.#names[i] as string);
    }
    return moved;
  }
}

interface Inside {
  /** Reference of the directory's inode; 0: it is in a mount. */
  readonly inode: number;
  readonly names: Map<string, Seen>;
  readonly sequences: Sequences;
  /** Names of directories whose contents are watched. */
  readonly directories: Set<string>;
  /** In memory: the number of the last name seen. */
  cursor: number;
  /** Ends the host's watching of it. */
  end: () => void;
}

export interface HostListener {
  /** The host has reported a change: call `pollNotified` soon. */
  notified(): void;
  /** The host reports no changes any more, or not all of them. */
  failed(error: FsError): void;
}

/**
 * The granularity of file times of a host, in nanoseconds. A change so shortly before a poll may be followed by another
 * one with the same time. In memory, times are whole milliseconds, apart from the rounding of a double.
 */
const HOST_TICK = 20000000n;
const MEMORY_TICK = 1000n;
/** A value that no sequence has, because an odd one is never reported. */
const UNKNOWN = 0xffffffff;
const NOT_FOUND = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ESTALE']);
const LIMITS = new Set(['EMFILE', 'ENFILE', 'ENOSPC', 'ENOMEM']);

function join(below: string, name: string): string {
  return below === '' ? name : `${below}/${name}`;
}

function isSame(one: Seen, other: Seen): boolean {
  return (
    one.kind === other.kind &&
    one.number === other.number &&
    one.mount === other.mount &&
    one.birthtime === other.birthtime
  );
}

export class WatchedTree {
  readonly #fs: TreeFs;
  readonly #top: string;
  readonly #recursive: boolean;
  readonly #listener: HostListener;
  #root: Seen | undefined;
  #mountChanges: number;
  /** Whether the host can watch no more directories. */
  #refused = false;
  /** Names that the host has reported, by directory; 'all' if it did not name them. */
  readonly #notified = new Map<string, Set<string> | 'all'>();
  #events: Events = new Map();
  /** Whether a mounted file was found: from then on `pollMounted` is needed. */
  isMounted = false;

  /** @throws if nothing is at `top`, or the host refuses to watch it */
  constructor(fs: TreeFs, top: string, recursive: boolean, listener: HostListener) {
    this.#fs = fs;
    this.#top = top;
    this.#recursive = recursive;
    this.#listener = listener;
    this.#mountChanges = this.#mounts();
    const { volume } = fs;
    const at = Date.now();
    const rc = volume.core.plait_fs_stat(-1 - volume.first(top), 1);
    if (rc < 0) throw volume.error(rc, 'watch', top);
    this.#root = this.#state(at);
    this.#enter(this.#root, '', true);
  }

  end(): void {
    this.#leave(this.#root, '');
    this.#root = undefined;
  }

  // ---- polls ----

  /** Polls after a change in memory. */
  poll(): Events {
    const mounts = this.#mounts();
    const remounted = mounts !== this.#mountChanges;
    this.#mountChanges = mounts;
    const inside = this.#pollTop(false);
    if (inside !== undefined) this.#scan(inside, '', remounted);
    return this.#take();
  }

  /** Polls the names that the host has reported. */
  pollNotified(): Events {
    const notified = [...this.#notified];
    this.#notified.clear();
    this.#pollTop(notified.some(([below]) => below === ''));
    for (const [below, names] of notified) {
      const inside = this.#at(below);
      if (inside?.inode !== 0) continue; // removed
      if (names === 'all') this.#listAll(inside, below);
      else for (const name of names) this.#check(inside, below, name, true);
    }
    return this.#take();
  }

  /** Polls everything in mounts, whatever the host has reported. */
  pollMounted(): Events {
    const inside = this.#pollTop(false);
    if (inside !== undefined) this.#pollMountedIn(inside, '');
    return this.#take();
  }

  #take(): Events {
    const events = this.#events;
    this.#events = new Map();
    return events;
  }

  #mounts(): number {
    const { core, space } = this.#fs.volume;
    return space.load((core.plait_abi_fs() >>> 0) + FsRoot.mountChanges);
  }

  #full(below: string): string {
    return below === '' ? this.#top : this.#top === '/' ? `/${below}` : `${this.#top}/${below}`;
  }

  #at(below: string): Inside | undefined {
    let inside = this.#root?.inside;
    if (below !== '') for (const name of below.split('/')) inside = inside?.names.get(name)?.inside;
    return inside;
  }

  /**
   * Checks each name in memory whose sequence has changed. `remounted`: also names where a mount may have been added or
   * removed.
   */
  #scan(inside: Inside, below: string, remounted: boolean): void {
    if (inside.inode === 0 && !remounted) return;
    for (const name of inside.sequences.moved(this.#fs.volume.space.u32)) this.#check(inside, below, name, true);
    if (remounted) {
      for (const [name, { inode }] of inside.names) if (inode === 0) this.#check(inside, below, name, true);
    }
    for (const name of inside.directories) {
      const deeper = inside.names.get(name)?.inside;
      if (deeper !== undefined) this.#scan(deeper, join(below, name), remounted);
    }
  }

  #pollMountedIn(inside: Inside, below: string): void {
    if (inside.inode === 0) this.#listAll(inside, below);
    for (const name of inside.directories) {
      const deeper = inside.names.get(name)?.inside;
      if (deeper !== undefined) this.#pollMountedIn(deeper, join(below, name));
    }
  }

  #pollTop(notified: boolean): Inside | undefined {
    const { volume } = this.#fs;
    const at = Date.now();
    const there = volume.core.plait_fs_stat(-1 - volume.first(this.#top), 1) === 0;
    this.#root = this.#compare('', this.#root, there ? this.#state(at) : undefined, notified);
    return this.#root?.inside;
  }

  // ---- one name ----

  /** The state from the last stat(). */
  #state(at: number): Seen {
    const { volume } = this.#fs;
    const { inode, sequence, mount } = volume;
    volume.space.cover(inode + Inode.BYTES);
    const { kind, number, birthtime, ctime, size } = volume.raw();
    return { inode, sequence, mount, kind, number, birthtime, ctime, size, at, inside: undefined, slot: -1 };
  }

  /** `notified`: there is a sign that the file has changed. */
  #check(directory: Inside, below: string, name: string, notified: boolean): void {
    const { volume } = this.#fs;
    const path = join(below, name);
    const at = Date.now();
    const there = volume.core.plait_fs_stat(-1 - volume.first(this.#full(path)), 0) === 0;
    const known = directory.names.get(name);
    this.#put(directory, name, known, this.#compare(path, known, there ? this.#state(at) : undefined, notified));
  }

  #put({ names, sequences, directories }: Inside, name: string, old: Seen | undefined, now: Seen | undefined): void {
    if (now === undefined) names.delete(name);
    else names.set(name, now);
    if (now?.inside === undefined) directories.delete(name);
    else directories.add(name);
    const slot = old?.slot ?? -1;
    if (now !== undefined && now.inode !== 0) {
      now.slot = sequences.put(slot, name, now);
    } else if (slot >= 0) {
      const moved = names.get(sequences.take(slot) ?? '');
      if (moved !== undefined) moved.slot = slot;
    }
  }

  /** Records the difference at a path, and reads a directory that is new or has changed. Returns the new state. */
  #compare(path: string, old: Seen | undefined, now: Seen | undefined, notified: boolean): Seen | undefined {
    if (old === undefined || now === undefined || !isSame(old, now)) {
      if (old !== now) this.#events.set(path, 'rename');
      this.#leave(old, path);
      if (now !== undefined) this.#enter(now, path, false);
      return now;
    }
    now.inside = old.inside;
    const moved = now.inode === 0 ? notified : now.sequence !== old.sequence;
    if (now.kind === FsKind.DIRECTORY) {
      if (moved && now.inode !== 0 && now.inside !== undefined) this.#listNew(now, now.inside, path);
      return now;
    }
    const tick = now.inode === 0 ? HOST_TICK : MEMORY_TICK;
    const changed = old.ctime !== now.ctime || old.size !== now.size;
    if (changed || (moved && old.ctime >= BigInt(old.at) * 1000000n - tick)) {
      if (!this.#events.has(path)) this.#events.set(path, 'change');
    }
    return now;
  }

  /** Forgets a file or directory; everything in it is reported as removed. */
  #leave(seen: Seen | undefined, path: string): void {
    const inside = seen?.inside;
    if (inside === undefined) return;
    inside.end();
    this.#notified.delete(path);
    for (const [name, child] of inside.names) {
      const full = join(path, name);
      this.#events.set(full, 'rename');
      this.#leave(child, full);
    }
  }

  // ---- directories ----

  /** Starts to watch what is new at a path. `first`: it is the top of the watcher, so nothing in it is reported. */
  #enter(seen: Seen, path: string, first: boolean): void {
    const isDirectory = seen.kind === FsKind.DIRECTORY;
    if (path === '' ? !isDirectory && seen.inode !== 0 : !isDirectory || !this.#recursive) return;
    const inside: Inside = {
      inode: seen.inode,
      names: new Map(),
      sequences: new Sequences(),
      directories: new Set(),
      cursor: 0,
      end: () => {},
    };
    seen.inside = inside;
    if (seen.inode === 0) this.#ask(inside, path, first);
    if (isDirectory && seen.inode !== 0) this.#listNew(seen, inside, path);
    else if (isDirectory) this.#listAll(inside, path);
    if (first) this.#events.clear();
  }

  /** Makes the host watch a directory, or the file at the top. */
  #ask(inside: Inside, path: string, first: boolean): void {
    this.isMounted = true;
    if (this.#refused) return;
    const changed = (name: string | undefined): void => {
      const known = this.#notified.get(path) ?? new Set();
      this.#notified.set(path, name === undefined || known === 'all' ? 'all' : known.add(name));
      this.#listener.notified();
    };
    const failed = (error: FsError): void => {
      if (NOT_FOUND.has(error.code) || this.#refused) return; // the next poll reports it
      this.#refused = LIMITS.has(error.code);
      this.#listener.failed(error);
    };
    try {
      inside.end = this.#fs.volume.mounts.watch(this.#full(path), changed, failed) ?? inside.end;
    } catch (error) {
      if (first) throw error;
      failed(error as FsError);
    }
  }

  /** Checks the names that were created in a directory in memory since the last poll. */
  #listNew(seen: Seen, inside: Inside, below: string): void {
    const path = this.#full(below);
    let end: number | undefined;
    try {
      for (let cursor = inside.cursor; ; ) {
        const { bytes, kinds, next } = this.#fs.list(path, cursor, 'scandir');
        if (this.#fs.volume.inode !== inside.inode) break; // the name belongs to another directory by now
        end ??= this.#fs.volume.size;
        if (kinds.length > 0)
          for (const name of decode(bytes, 'utf8').split('/')) this.#check(inside, below, name, true);
        if (next === 0) {
          inside.cursor = end;
          return;
        }
        cursor = next;
      }
    } catch {
      // Removed meanwhile.
    }
    seen.sequence = UNKNOWN; // so the next poll checks it again
  }

  /** Checks all names in a directory in a mount. */
  #listAll(inside: Inside, below: string): void {
    let names: string[];
    try {
      names = this.#fs.names(this.#full(below));
    } catch {
      return; // removed meanwhile, or the file at the top: the next poll reports it
    }
    for (const name of new Set([...inside.names.keys(), ...names])) this.#check(inside, below, name, false);
  }
}
