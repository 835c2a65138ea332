/**
 * How a thread waits for another one, without blocking its event loop: it spins, or sleeps on a word of shared memory
 * until that word is notified. Spinning may save both falling asleep and waking up. It fails if the other thread takes
 * longer, or if it was waiting for this very processor. After each failure more waits go without spinning.
 *
 * The caller decides how long it spins, and what it does meanwhile: see result-wait.ts for results, and
 * worker/idle-wait.ts for tasks. The coordinator only sleeps.
 *
 * Invariants
 * - Spinning decides only about time.
 * - A thread has at most one sleeper on a word. A forgotten one would swallow the wake-up of another thread.
 * - A wake-up is a hint: after sleep() the caller checks the shared state.
 */

import type { Space } from '../core/space.ts';

/** Most waits without spinning after consecutive failures. */
const MOST_WAITS_WITHOUT_SPIN = 31;

export class Waiter {
  readonly #space: Pick<Space, 'i32'>;
  readonly #word: number;
  #sleeping: Promise<unknown> | undefined;
  /** Consecutive failures. */
  #misses = 0;
  /** How many waits are still to go without spinning. */
  #waitsWithoutSpin: number;

  /** `word`: the reference of the word to sleep on. */
  constructor(space: Pick<Space, 'i32'>, word: number, waitsWithoutSpin = 0) {
    this.#space = space;
    this.#word = word;
    this.#waitsWithoutSpin = waitsWithoutSpin;
  }

  /**
   * A wait begins: whether to spin. Then found() or missed() reports the outcome; neither, if the caller did not spin.
   */
  begin(): boolean {
    if (this.#waitsWithoutSpin === 0) return true;
    this.#waitsWithoutSpin--;
    return false;
  }

  found(): void {
    this.#misses = 0;
  }

  missed(): void {
    this.#misses++;
    this.#waitsWithoutSpin = Math.min(2 ** this.#misses - 1, MOST_WAITS_WITHOUT_SPIN);
  }

  /** Resolves after the next notification of the word; undefined if it is not `seen` any more. */
  sleep(seen: number): Promise<unknown> | undefined {
    if (this.#sleeping === undefined) {
      const wait = Atomics.waitAsync(this.#space.i32, this.#word >>> 2, seen | 0);
      if (!wait.async) return undefined;
      this.#sleeping = wait.value.then(() => {
        this.#sleeping = undefined;
      });
    }
    return this.#sleeping;
  }
}
