/**
 * watchFile and unwatchFile of one thread. A change in memory is reported at once. A file in a mount is also polled.
 */

import { clearInterval, setInterval } from '../core/host-timers.ts';
import { throwLater } from './emitter.ts';
import type { Stats } from './stats.ts';
import type { TreeFs } from './tree.ts';
import { type PathLike, pathOf, pathText } from './values.ts';

type StatListener = (current: Stats, previous: Stats) => void;

/** As in Node. */
const INTERVAL_MS = 5007;

export interface WatchFileOptions {
  persistent?: boolean | undefined;
  interval?: number | undefined;
}

export class StatWatchers {
  readonly #fs: TreeFs;
  readonly #watched = new Map<string, { listeners: Set<StatListener>; end: () => void }>();

  constructor(fs: TreeFs) {
    this.#fs = fs;
  }

  watch(path: PathLike, options: WatchFileOptions | StatListener, listener?: StatListener): void {
    const callback = typeof options === 'function' ? options : (listener as StatListener);
    const { persistent = true, interval = INTERVAL_MS } = typeof options === 'function' ? {} : options;
    const text = pathText(pathOf(path));
    const known = this.#watched.get(text);
    if (known !== undefined) {
      known.listeners.add(callback);
      return;
    }
    const { volume } = this.#fs;
    const listeners = new Set([callback]);
    const watched = new WatchedFile(this.#fs, text);
    const poll = (): void => {
      const [now, was] = watched.poll() ?? [];
      if (now === undefined || was === undefined) return;
      for (const each of listeners) {
        try {
          each(now, was);
        } catch (error) {
          throwLater(error); // the other listeners are still called
        }
      }
    };
    const stopPolling = volume.changes.watch(poll);
    poll();
    // Without a mount the timer only keeps the process alive.
    const isMounted = volume.mounts.leadsInto(text);
    const timer = setInterval(isMounted ? poll : () => {}, isMounted ? interval : 2 ** 30) as unknown as {
      unref?(): void;
    };
    if (!persistent) timer.unref?.();
    const end = (): void => {
      stopPolling();
      clearInterval(timer as never);
    };
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

/** The file at a path, as it was at the last poll. */
class WatchedFile {
  readonly #fs: TreeFs;
  readonly #path: string;
  #inode = 0;
  #sequence = 0;
  /** When it was polled, in milliseconds since 1970. */
  #at = 0;
  #last: Stats;

  constructor(fs: TreeFs, path: string) {
    this.#fs = fs;
    this.#path = path;
    this.#last = this.#stat();
  }

  #stat(): Stats {
    const { volume } = this.#fs;
    this.#at = Date.now();
    const rc = volume.core.plait_fs_stat(-1 - volume.first(this.#path), 1);
    this.#inode = rc === 0 ? volume.inode : 0;
    this.#sequence = volume.sequence;
    if (rc === 0) return volume.stats();
    const none = this.#fs.statSync('/');
    for (const key of Object.keys(none) as (keyof Stats)[]) (none as unknown as Record<string, number>)[key] = 0;
    return none;
  }

  /** Its current and former stats, if they differ. */
  poll(): [now: Stats, was: Stats] | undefined {
    const { volume } = this.#fs;
    // An inode in memory with the same sequence is unchanged, so no stats are needed.
    const rc = volume.core.plait_fs_stat(-1 - volume.first(this.#path), 1);
    if (rc === 0 && this.#inode !== 0 && volume.inode === this.#inode && volume.sequence === this.#sequence)
      return undefined;
    const was = this.#last;
    // A file that was changed in the millisecond of the last poll may have been changed again, with the same time.
    // Times are inexact.
    const maybe = this.#inode !== 0 && was.ctimeMs >= this.#at - 0.001;
    const now = this.#stat();
    this.#last = now;
    const same = was.ctimeMs === now.ctimeMs && was.ino === now.ino && was.size === now.size && was.nlink === now.nlink;
    if (same && !maybe) return undefined;
    return [now, was];
  }
}
