/**
 * Whether a thread that waits for another one looks for it first, in the hope to spare both the falling asleep and the
 * waking up, or sleeps at once, because looking was in vain lately: what it waits for takes longer, or the other thread
 * was waiting for this very processor. So a look in vain is answered by waits without one, more of them each time.
 *
 * Invariant: what is said is about time only.
 */

/** After looks in vain, one after the other, so many waits at most begin without one. */
const MOST_WAITS_WITHOUT_SPIN = 31;

export class SpinBackoff {
  /** How often looking was in vain since it was not. */
  #misses = 0;
  /** So many waits are still to begin without a look. */
  #waitsWithoutSpin: number;

  constructor(waitsWithoutSpin = 0) {
    this.#waitsWithoutSpin = waitsWithoutSpin;
  }

  /**
   * A wait begins: whether with a look. Then found() or inVain() says what became of that; neither, if there was none
   * after all.
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
}
