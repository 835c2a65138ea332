/**
 * Whether a thread that waits for another one spins first, or sleeps at once. Spinning may save both falling asleep and
 * waking up. It fails if the result takes longer, or if the other thread was waiting for this very processor. After
 * each failure more waits go without spinning.
 *
 * Invariant: this decides only about time.
 */

/** Most waits without spinning after consecutive failures. */
const MOST_WAITS_WITHOUT_SPIN = 31;

export class SpinBackoff {
  /** Consecutive failures. */
  #misses = 0;
  /** How many waits are still to go without spinning. */
  #waitsWithoutSpin: number;

  constructor(waitsWithoutSpin = 0) {
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
}
