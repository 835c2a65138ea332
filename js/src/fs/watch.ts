/**
 * watch: reports changes by any thread, and in mounts by any program.
 *
 * A watcher compares the current state with the last one (watched-tree.ts). So no change is lost for good: the last
 * state is always reported. But a file that is created and removed between two polls is not seen, and several changes
 * of a file may be one event.
 *
 * In memory, a poll follows each change. In a mount, a poll follows each notification of the host. Because the host may
 * send none, a poll also follows soon after the start, and then at intervals.
 */

import { clearInterval, clearTimeout, setInterval, setTimeout } from '../core/host-timers.ts';
import { makeOpaque, refuseCloning } from '../core/opaque.ts';
import { Emitter, throwLater } from './emitter.ts';
import { abortError, checkAbort, wrongType } from './errors.ts';
import type { TreeFs } from './tree.ts';
import { type PathLike, pathOf, pathText, withoutSlashes } from './values.ts';
import { type Events, type EventType, WatchedTree } from './watched-tree.ts';

export interface WatchOptions {
  encoding?: string | undefined;
  persistent?: boolean | undefined;
  recursive?: boolean | undefined;
  signal?: AbortSignal | undefined;
}
export interface WatchEvent {
  eventType: EventType;
  filename: string;
}
type WatchListener = (eventType: EventType, filename: string) => void;

/** When a watcher in a mount polls for the first time after the start, and its interval from then on. */
const SOON_MS = 100;
const INTERVAL_MS = 1000;
/** Such polls take at most this part of the thread's time. */
const LARGEST_PART = 1 / 50;

/** Keeps the process alive while it is referenced, like a handle of Node. */
class KeepAlive {
  readonly #timer = setInterval(() => {}, 2 ** 30) as unknown as { ref?(): void; unref?(): void };

  constructor(keeps: boolean) {
    this.refer(keeps);
  }

  refer(keeps: boolean): void {
    if (keeps) this.#timer.ref?.();
    else this.#timer.unref?.();
  }

  end(): void {
    clearInterval(this.#timer as never);
  }
}

/** The result of fs.watch(). */
export class FsWatcher extends Emitter {
  readonly #base: string;
  readonly #tree: WatchedTree;
  readonly #end: () => void;
  readonly #alive: KeepAlive;
  #closed = false;
  #notifiedTimer: unknown;
  #mountedTimer: unknown;

  static {
    makeOpaque(FsWatcher, { name: 'FsWatcher', instead: 'call fs.watch() there' }, (watcher) => ({
      closed: watcher.#closed,
    }));
  }

  constructor(fs: TreeFs, path: PathLike, options: WatchOptions = {}) {
    super();
    refuseCloning(this);
    const { signal } = options;
    if (signal !== undefined && (typeof signal !== 'object' || signal === null || !('aborted' in signal))) {
      throw wrongType('options.signal', 'an instance of AbortSignal', signal);
    }
    const rc = fs.volume.core.plait_fs_stat(-1 - fs.volume.first(path), 1);
    if (rc < 0) throw fs.volume.error(rc, 'watch', path);
    const top = withoutSlashes(pathText(pathOf(path)));
    this.#base = top.slice(top.lastIndexOf('/') + 1);
    let end = (): void => {};
    try {
      // Started before the tree is read, so no change during that is missed.
      end = fs.volume.changes.watch(() => this.#emitAll(this.#tree.poll()));
      this.#tree = new WatchedTree(fs, top, options.recursive === true, {
        notified: () => {
          // Many notifications may come in one turn of the event loop; one poll serves them all.
          if (!this.#closed) this.#notifiedTimer ??= setTimeout(this.#pollNotified);
        },
        failed: (error) => {
          setTimeout(() => this.#closed || this.emit('error', error));
        },
      });
    } catch (error) {
      end();
      throw error;
    }
    this.#end = end;
    this.#alive = new KeepAlive(options.persistent !== false);
    this.#pollMountedIn(SOON_MS);
    if (signal === undefined) return;
    const abort = (): void => this.close();
    if (signal.aborted) queueMicrotask(abort);
    else signal.addEventListener('abort', abort, { once: true });
    this.once('close', () => signal.removeEventListener('abort', abort));
  }

  readonly #pollNotified = (): void => {
    this.#notifiedTimer = undefined;
    if (!this.#closed) this.#emitAll(this.#tree.pollNotified());
  };

  #pollMountedIn(delay: number): void {
    if (this.#closed || !this.#tree.isMounted) return;
    clearTimeout(this.#mountedTimer as never);
    const timer = setTimeout(() => {
      this.#mountedTimer = undefined;
      const start = performance.now();
      try {
        this.#emitAll(this.#tree.pollMounted());
      } finally {
        this.#pollMountedIn(Math.max(INTERVAL_MS, (performance.now() - start) / LARGEST_PART));
      }
    }, delay) as unknown as { unref?(): void };
    timer.unref?.();
    this.#mountedTimer = timer;
  }

  #emitAll(events: Events): void {
    if (this.#mountedTimer === undefined) this.#pollMountedIn(SOON_MS); // a mount may be new in the tree
    for (const [path, eventType] of events) {
      if (this.#closed) return;
      try {
        this.emit('change', eventType, path === '' ? this.#base : path);
      } catch (error) {
        throwLater(error); // the other events are still emitted
      }
    }
  }

  /** Makes the watcher keep the process alive. */
  ref(): this {
    if (!this.#closed) this.#alive.refer(true);
    return this;
  }

  /** Lets the process end even if the watcher is open. */
  unref(): this {
    this.#alive.refer(false);
    return this;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#notifiedTimer as never);
    clearTimeout(this.#mountedTimer as never);
    this.#end();
    this.#tree.end();
    this.#alive.end();
    queueMicrotask(() => this.emit('close'));
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
  checkAbort(options);
  const { signal } = options;
  const queue: WatchEvent[] = [];
  let wake: () => void = () => {};
  let failed: { error: unknown } | undefined;
  const watcher = watch(fs, path, options, (eventType, filename) => {
    queue.push({ eventType, filename });
    wake();
  });
  watcher.once('error', (error: unknown) => {
    failed = { error };
    wake();
  });
  watcher.once('close', () => wake()); // closed by the signal
  try {
    for (;;) {
      const next = queue.shift();
      if (next !== undefined) yield next;
      else if (signal?.aborted) throw abortError(signal);
      else if (failed !== undefined) throw failed.error;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    watcher.close();
  }
}
