/**
 * Changes of files, as one thread is told of them.
 *
 * Whoever changes something raises one word in the space while somebody watches. A thread with watchers sleeps on that
 * word once, and then lets each of them look. A thread that changes nothing and watches nothing has nothing to do with
 * it.
 *
 * Invariant: the word is read before anybody looks, so a change during the looks wakes the thread again.
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

  /** Calls `poll` after each change of any file, from the event loop; returns how to end it. Keeps no process alive. */
  watch(poll: () => void): () => void {
    if (this.#pollers.size === 0) {
      const rc = this.#space.core.plait_fs_watch(1);
      if (rc < 0) throw fsError(rc, 'watch');
    }
    this.#pollers.add(poll);
    if (!this.#sleeps) this.#sleep(this.#count());
    return () => {
      if (!this.#pollers.delete(poll) || this.#pollers.size > 0) return;
      this.#space.core.plait_fs_watch(-1); // where it cannot be said now, it is when the thread ends
    };
  }

  #word(): number {
    return ((this.#space.core.plait_abi_fs() >>> 0) + FsRoot.changes) >>> 2;
  }

  #count(): number {
    return Atomics.load(this.#space.i32, this.#word());
  }

  /**
   * Sleeps until the word is not `seen`. Nobody is woken by a word that does not move, so the last sleep may never end.
   */
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
      if (!this.#pollers.has(poll)) continue; // ended by one before it
      try {
        poll();
      } catch (error) {
        throwLater(error);
      }
    }
    if (!this.#sleeps) this.#sleep(seen);
  }
}
