/**
 * What is at a path and below it, as a watcher has seen it last, and what is different now.
 *
 * A change in memory costs one comparison for each watched file, and a look at what has changed. An inode's version
 * moves with everything that happens to the inode, its names included. So a name whose inode has the same version is
 * not looked at. A directory's new names are those with a number beyond the last one that was seen.
 *
 * Files behind a mount have no version. There the host tells which name it was. The host may lose notices (the kernel's
 * queue overflows without a word), so everything there is looked at again now and then: `pollMounted`.
 *
 * Invariants
 * - A version is the one of the stat() that told the rest, so a later change is seen at the next look.
 * - The host watches a directory before its names are listed, so a name that comes in between is told or listed.
 */

import { FsKind, Fs as FsRoot, Inode } from '../core/layout.generated.ts';
import type { FsError } from './errors.ts';
import type { TreeFs } from './tree.ts';
import { decode } from './values.ts';

export type EventType = 'rename' | 'change';
/** What has changed, by its path below the top; '' is the top itself. */
export type Events = Map<string, EventType>;

/** One name, as it was at the last look. */
interface Seen {
  /** Where its inode is in the space; 0: it lies behind a mount. */
  readonly inode: number;
  sequence: number;
  readonly mount: number;
  readonly kind: number;
  readonly number: number;
  readonly birthtime: bigint;
  readonly ctime: bigint;
  readonly size: number;
  /** When we looked, in milliseconds since 1970. */
  readonly at: number;
  /** A directory that is looked into; or the file at the top, if the host watches it. */
  inside: Inside | undefined;
  /** Its place in the versions of its directory; -1: none. */
  slot: number;
}

/** The versions of names in memory, side by side: the pass over all of them is what each change costs. */
class Sequences {
  readonly #names: string[] = [];
  /** Where the inodes' versions are in the space, as indices of words, and what they were. */
  #words = new Uint32Array(8);
  #seen = new Uint32Array(8);

  /** Notes what is seen of a name, in place of what `slot` says of it. */
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

  /** Forgets a name. The last one gets its slot: which that is, if there is one. */
  take(slot: number): string | undefined {
    const last = this.#names.length - 1;
    this.#words[slot] = this.#words[last] as number;
    this.#seen[slot] = this.#seen[last] as number;
    const name = this.#names.pop() as string;
    if (slot === last) return undefined;
    this.#names[slot] = name;
    return name;
  }

  /** The names whose version is another one by now. */
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
  /** Of the directory; 0: it lies behind a mount. */
  readonly inode: number;
  readonly names: Map<string, Seen>;
  readonly sequences: Sequences;
  /** Names of directories that are looked into. */
  readonly directories: Set<string>;
  /** The number of the last name that was seen, in memory. */
  cursor: number;
  /** Ends what the host does for it. */
  end: () => void;
}

export interface HostListener {
  /** The host has told of something: `pollNotified` is to be called soon. */
  notified(): void;
  /** The host does not tell any more, or not of all. */
  failed(error: FsError): void;
}

/**
 * How long the times of a host's files may stand still, in nanoseconds. A change that came so shortly before a look may
 * be followed by another one that has the same time. In memory times are whole milliseconds, but for what a double
 * makes of them.
 */
const HOST_TICK = 20000000n;
const MEMORY_TICK = 1000n;
/** No inode's version, because one that is odd is not told. */
const UNKNOWN = 0xffffffff;
const GONE = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ESTALE']);
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
  /** The host can watch no more directories. */
  #refused = false;
  /** Names that the host has told of, by their directory; all of it, if it did not say which. */
  readonly #notified = new Map<string, Set<string> | 'all'>();
  #events: Events = new Map();
  /** Something behind a mount was met: from then on one has to look around. */
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

  // ---- looks ----

  /** After a change in memory. */
  poll(): Events {
    const mounts = this.#mounts();
    const remounted = mounts !== this.#mountChanges;
    this.#mountChanges = mounts;
    const inside = this.#pollTop(false);
    if (inside !== undefined) this.#scan(inside, '', remounted);
    return this.#take();
  }

  /** At what the host has told of. */
  pollNotified(): Events {
    const notified = [...this.#notified];
    this.#notified.clear();
    this.#pollTop(notified.some(([below]) => below === ''));
    for (const [below, names] of notified) {
      const inside = this.#at(below);
      if (inside?.inode !== 0) continue; // gone
      if (names === 'all') this.#listAll(inside, below);
      else for (const name of names) this.#check(inside, below, name, true);
    }
    return this.#take();
  }

  /** At everything behind mounts, whatever was told. */
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

  /** In memory at each name that has moved; `remounted`: and where a mount may have come or gone. */
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

  /** What a stat() has just told. */
  #state(at: number): Seen {
    const { volume } = this.#fs;
    const { inode, sequence, mount } = volume;
    volume.space.cover(inode + Inode.BYTES);
    const { kind, number, birthtime, ctime, size } = volume.raw();
    return { inode, sequence, mount, kind, number, birthtime, ctime, size, at, inside: undefined, slot: -1 };
  }

  /** `notified`: there is a sign that something has happened to it. */
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

  /** Notes what is different at a path, and looks into a directory that is new or has changed. What is there now. */
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

  /** Forgets what was there: all in it has gone. */
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

  /** Looks into what is new at a path. `first`: it is what the watcher was made for, and nothing in it is new. */
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

  /** Has the host tell of what is in a directory, or of the file at the top. */
  #ask(inside: Inside, path: string, first: boolean): void {
    this.isMounted = true;
    if (this.#refused) return;
    const changed = (name: string | undefined): void => {
      const known = this.#notified.get(path) ?? new Set();
      this.#notified.set(path, name === undefined || known === 'all' ? 'all' : known.add(name));
      this.#listener.notified();
    };
    const failed = (error: FsError): void => {
      if (GONE.has(error.code) || this.#refused) return; // the next look tells
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

  /** Looks at the names that were made in a directory in memory since the last time. */
  #listNew(seen: Seen, inside: Inside, below: string): void {
    const path = this.#full(below);
    let end: number | undefined;
    try {
      for (let cursor = inside.cursor; ; ) {
        const { bytes, kinds, next } = this.#fs.list(path, cursor, 'scandir');
        if (this.#fs.volume.inode !== inside.inode) break; // another directory has the name by now
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
      // Gone while we looked.
    }
    seen.sequence = UNKNOWN; // so the next look comes back to it
  }

  /** Looks at all names in a directory behind a mount. */
  #listAll(inside: Inside, below: string): void {
    let names: string[];
    try {
      names = this.#fs.names(this.#full(below));
    } catch {
      return; // gone while we looked, or the file at the top: the next look tells
    }
    for (const name of new Set([...inside.names.keys(), ...names])) this.#check(inside, below, name, false);
  }
}
