/**
 * watch, watchFile: what others change, on whatever thread.
 *
 * Everybody who changes something raises one word in the space while somebody watches. A watcher sleeps on that word and then
 * compares what is there with what was there. So no event is ever lost for good: the last state is always reported; but what
 * comes and goes between two looks is not seen, and several changes of a file may be one event.
 */

import { Fs as FsRoot } from '../core/layout.generated.ts';
import { makeOpaque, refuseCloning } from '../core/opaque.ts';
import { clearInterval, setInterval, setTimeout } from '../core/timers.ts';
import { fsError } from './errors.ts';
import type { Stats } from './stats.ts';
import type { TreeFs } from './tree.ts';
import { type PathLike, pathOf, pathText } from './values.ts';

export interface WatchOptions {
  encoding?: string | undefined;
  persistent?: boolean | undefined;
  recursive?: boolean | undefined;
  signal?: AbortSignal | undefined;
}
export interface WatchEvent {
  eventType: 'rename' | 'change';
  filename: string;
}
type WatchListener = (eventType: 'rename' | 'change', filename: string) => void;

/** Calls `look` after each change of any file, from the event loop; returns how to end it. */
function onChanges(fs: TreeFs, persistent: boolean, look: () => void, far?: () => void): () => void {
  const { core, space } = fs.volume;
  const word = ((core.plait_abi_fs() >>> 0) + FsRoot.changes) >>> 2;
  let over = false;
  let alive: ReturnType<typeof setInterval> | undefined;
  const rc = core.plait_fs_watch(1);
  if (rc < 0) throw fsError(rc, 'watch');
  // Atomics.waitAsync keeps no process alive.
  if (persistent) alive = setInterval(() => {}, 2 ** 30);
  const turn = (): void => {
    if (over) return;
    const seen = Atomics.load(space.i32, word);
    look();
    const wait = (Atomics as unknown as AtomicsWaitAsync).waitAsync(space.i32, word, seen);
    if (wait.async) void wait.value.then(turn);
    else setTimeout(turn);
  };
  turn();
  return () => {
    if (over) return;
    over = true;
    clearInterval(alive);
    far?.();
    core.plait_fs_watch(-1); // where it cannot be said now, it is when the thread ends
  };
}

interface AtomicsWaitAsync {
  waitAsync(
    words: Int32Array<SharedArrayBuffer>,
    index: number,
    value: number,
  ): { async: true; value: Promise<string> } | { async: false; value: string };
}

type Snapshot = Map<string, string>;

/** What each name below is, in words that differ when it was changed. */
function snapshot(fs: TreeFs, path: string, recursive: boolean): Snapshot {
  const found: Snapshot = new Map();
  const add = (name: string, full: string, follow: boolean): boolean => {
    const rc = fs.volume.core.plait_fs_stat(-1 - fs.volume.first(full), follow ? 1 : 0);
    if (rc !== 0) return false;
    const { kind, number, ctime, birthtime, size } = fs.volume.raw();
    found.set(name, `${kind}:${number}:${birthtime}:${kind === 2 ? '' : `${ctime}:${size}`}`);
    return kind === 2;
  };
  const walk = (below: string): void => {
    for (const name of fs.readdirSync(below === '' ? path : `${path}/${below}`)) {
      const inner = below === '' ? name : `${below}/${name}`;
      if (add(inner, `${path}/${inner}`, false) && recursive) walk(inner);
    }
  };
  try {
    if (add('', path, true)) walk('');
  } catch {
    // Gone while we looked: the next look tells.
  }
  return found;
}

function identity(state: string | undefined): string | undefined {
  return state?.split(':', 3).join(':');
}

/** What fs.watch() returns. */
export class FsWatcher extends EventTarget {
  readonly #end: () => void;
  #look: () => void = () => {};
  readonly #wrapped = new Map<unknown, EventListener>();
  #closed = false;

  static {
    makeOpaque(FsWatcher, { name: 'FsWatcher', instead: 'call fs.watch() there' }, (watcher) => ({
      closed: watcher.#closed,
    }));
  }

  constructor(fs: TreeFs, path: PathLike, options: WatchOptions = {}) {
    super();
    refuseCloning(this);
    const top = pathText(pathOf(path)).replace(/(?!^)\/+$/, '');
    const base = top.slice(top.lastIndexOf('/') + 1);
    const rc = fs.volume.core.plait_fs_stat(-1 - fs.volume.first(top), 1);
    if (rc < 0) throw fs.volume.error(rc, 'watch', path);
    const recursive = options.recursive === true;
    // Behind a mount others change things, too: the host tells.
    const far = fs.volume.mounts.watch(top, recursive, () => this.#look());
    let before = snapshot(fs, top, recursive);
    this.#look = () => {
      const now = snapshot(fs, top, recursive);
      const was = before;
      before = now;
      for (const name of new Set([...was.keys(), ...now.keys()])) {
        const old = was.get(name);
        const current = now.get(name);
        if (old === current || this.#closed) continue;
        this.#emit(identity(old) === identity(current) ? 'change' : 'rename', name === '' ? base : name);
      }
    };
    this.#end = onChanges(fs, options.persistent !== false, this.#look, far);
    options.signal?.addEventListener('abort', () => this.close(), { once: true });
  }

  #emit(eventType: 'rename' | 'change', filename: string): void {
    this.dispatchEvent(Object.assign(new Event('change'), { args: [eventType, filename] }));
  }

  on(event: string, listener: (...args: never[]) => void): this {
    const wrapped = (given: Event): void => {
      (listener as (...args: unknown[]) => void)(...((given as Event & { args?: unknown[] }).args ?? []));
    };
    this.#wrapped.set(listener, wrapped);
    this.addEventListener(event, wrapped);
    return this;
  }
  addListener(event: string, listener: (...args: never[]) => void): this {
    return this.on(event, listener);
  }
  once(event: string, listener: (...args: never[]) => void): this {
    const first = (...args: never[]): void => {
      this.off(event, first);
      listener(...args);
    };
    return this.on(event, first);
  }
  off(event: string, listener: (...args: never[]) => void): this {
    this.removeEventListener(event, this.#wrapped.get(listener) ?? null);
    return this;
  }
  removeListener(event: string, listener: (...args: never[]) => void): this {
    return this.off(event, listener);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#end();
    queueMicrotask(() => this.dispatchEvent(new Event('close')));
  }
}

/** fs.watch() of `fs`. */
export function watch(
  fs: TreeFs,
  path: PathLike,
  options?: WatchOptions | string | WatchListener | null,
  listener?: WatchListener,
): FsWatcher {
  const watcher = new FsWatcher(fs, path, typeof options === 'object' && options !== null ? options : {});
  const callback = typeof options === 'function' ? options : listener;
  if (callback !== undefined) watcher.on('change', callback);
  return watcher;
}

/** fs.promises.watch() of `fs`. */
export async function* watchAsync(fs: TreeFs, path: PathLike, options: WatchOptions = {}): AsyncGenerator<WatchEvent> {
  const queue: WatchEvent[] = [];
  let wake: () => void = () => {};
  let aborted = options.signal?.aborted === true;
  const watcher = watch(fs, path, options, (eventType, filename) => {
    queue.push({ eventType, filename });
    wake();
  });
  options.signal?.addEventListener('abort', () => {
    aborted = true;
    wake();
  });
  try {
    for (;;) {
      const next = queue.shift();
      if (next !== undefined) yield next;
      else if (aborted)
        throw Object.assign(new Error('The operation was aborted', { cause: options.signal?.reason }), {
          name: 'AbortError',
          code: 'ABORT_ERR',
        });
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    watcher.close();
  }
}

type StatListener = (current: Stats, previous: Stats) => void;

/** watchFile and unwatchFile of one thread. Told at once, not at intervals. */
export class StatWatchers {
  readonly #fs: TreeFs;
  readonly #watched = new Map<string, { listeners: Set<StatListener>; end: () => void }>();

  constructor(fs: TreeFs) {
    this.#fs = fs;
  }

  #stat(path: string): Stats {
    const { volume } = this.#fs;
    if (volume.core.plait_fs_stat(-1 - volume.first(path), 1) === 0) return volume.stats();
    const none = this.#fs.statSync('/');
    for (const key of Object.keys(none) as (keyof Stats)[]) (none as unknown as Record<string, number>)[key] = 0;
    return none;
  }

  watch(
    path: PathLike,
    options: { persistent?: boolean | undefined; interval?: number | undefined } | StatListener,
    listener?: StatListener,
  ): void {
    const callback = typeof options === 'function' ? options : (listener as StatListener);
    const text = pathText(pathOf(path));
    const known = this.#watched.get(text);
    if (known !== undefined) {
      known.listeners.add(callback);
      return;
    }
    const listeners = new Set([callback]);
    let before = this.#stat(text);
    const persistent = typeof options === 'function' || options.persistent !== false;
    const look = (): void => {
      const now = this.#stat(text);
      const was = before;
      before = now;
      if (was.ctimeMs === now.ctimeMs && was.ino === now.ino && was.size === now.size && was.nlink === now.nlink)
        return;
      for (const each of listeners) each(now, was);
    };
    let far: (() => void) | undefined;
    if (this.#fs.volume.mounts.leadsInto(text)) {
      const { interval = 5007 } = typeof options === 'function' ? {} : options;
      const timer = setInterval(look, interval) as unknown as { unref?(): void };
      timer.unref?.();
      far = () => clearInterval(timer as never);
    }
    const end = onChanges(this.#fs, persistent, look, far);
    this.#watched.set(text, { listeners, end });
  }

  unwatch(path: PathLike, listener?: StatListener): void {
    const text = pathText(pathOf(path));
    const known = this.#watched.get(text);
    if (known === undefined) return;
    if (listener !== undefined) known.listeners.delete(listener);
    if (listener !== undefined && known.listeners.size > 0) return;
    known.end();
    this.#watched.delete(text);
  }
}
