/**
 * Whether a thread that waits for another one looks for it first, in the hope to spare both the falling asleep and the
 * waking up, or sleeps at once, because looking was in vain lately: what it waits for takes longer, or the other thread
 * was waiting for this very processor. So a look in vain is answered by waits without one, more of them each time.
 *
 * Invariant: what is said is about time only.
 */

/** After looks in vain, one after the other, so many waits at most begin without one. */
const MOST_BLIND_WAITS = 31;

export class Looks {
  /** How often looking was in vain since it was not. */
  #vain = 0;
  /** So many waits are still to begin without a look. */
  #blindWaits: number;

  constructor(blindWaits = 0) {
    this.#blindWaits = blindWaits;
  }

  /**
   * A wait begins: whether with a look. Then found() or inVain() says what became of that; neither, if there was none
   * after all.
   */
  begin(): boolean {
    if (this.#blindWaits === 0) return true;
    this.#blindWaits--;
    return false;
  }

  found(): void {
    this.#vain = 0;
  }

  inVain(): void {
    this.#vain++;
    this.#blindWaits = Math.min(2 ** this.#vain - 1, MOST_BLIND_WAITS);
  }
}
