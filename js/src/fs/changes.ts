/**
 * Notifications of changed files, for the watchers of one thread.
 *
 * While there are watchers, a thread that changes something increases one word in the space. A thread with watchers
 * sleeps once on that word, and then lets each of them poll. Other threads are not involved.
 *
 * Invariant: the word is read before the watchers poll, so a change during the polls wakes the thread again.
 */

import { setTimeout } from '../core/host-timers.ts';
import { Fs as FsRoot } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';
import { throwLater } from './emitter.ts';
import { fsError } from './errors.ts';

interface AtomicsWaitAsync {
  waitAsync(
    words: Int32Array<SharedArrayBuffer>,
    index: number,
    value: number,
  ): { async: true; value: Promise<string> } | { async: false; value: string };
}

export class Changes {
  readonly #space: Space;
  readonly #pollers = new Set<() => void>();
  #sleeps = false;

  constructor(space: Space) {
    this.#space = space;
  }

  /**
   * Calls `poll` after each change of any file, from the event loop. Returns how to end that. Keeps no process alive.
   */
  watch(poll: () => void): () => void {
    if (this.#pollers.size === 0) {
      const rc = this.#space.core.plait_fs_watch(1);
      if (rc < 0) throw fsError(rc, 'watch');
    }
    this.#pollers.add(poll);
    if (!this.#sleeps) this.#sleep(this.#count());
    return () => {
      if (!this.#pollers.delete(poll) || this.#pollers.size > 0) return;
      this.#space.core.plait_fs_watch(-1); // if this fails now, recovery does it when the thread has exited
    };
  }

  #word(): number {
    return ((this.#space.core.plait_abi_fs() >>> 0) + FsRoot.changes) >>> 2;
  }

  #count(): number {
    return Atomics.load(this.#space.i32, this.#word());
  }

  /** Sleeps until the word differs from `seen`. If the word never changes again, the last sleep never ends. */
  #sleep(seen: number): void {
    this.#sleeps = true;
    const wake = (): void => this.#wake();
    const wait = (Atomics as unknown as AtomicsWaitAsync).waitAsync(this.#space.i32, this.#word(), seen);
    if (wait.async) void wait.value.then(wake);
    else setTimeout(wake);
  }

  #wake(): void {
    this.#sleeps = false;
    if (this.#pollers.size === 0) return;
    const seen = this.#count();
    for (const poll of [...this.#pollers]) {
      if (!this.#pollers.has(poll)) continue; // ended by an earlier poll
      try {
        poll();
      } catch (error) {
        throwLater(error);
      }
    }
    if (!this.#sleeps) this.#sleep(seen);
  }
}
