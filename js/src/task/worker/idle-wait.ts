/**
 * How a worker waits that has nothing to do at all: it looks at the queue for a moment, unless that was in vain lately.
 * Then it sleeps in the space, for the quickest wake-up: first for a millisecond, because the next task is often near,
 * then, after its event loop has turned, for a little longer. Then it parks in `Atomics.waitAsync`, so that timers and
 * messages of the user's module run. Where it looks, it makes room for the next large input first (value/receive-buffer.ts).
 *
 * Invariant: what is said is about time only. The core looks at the queue once more after it has said that the worker
 * sleeps.
 */

import { host } from '../../core/host.ts';
import { Pool as P } from '../../core/layout.generated.ts';
import type { Space } from '../../core/space.ts';
import { receiveBuffer } from '../../value/copy.ts';
import { SpinBackoff } from '../spin-backoff.ts';

/** How long an idle worker sleeps with its event loop standing still, before and after a turn of it. */
const FIRST_WAIT_MS = 1;
const SECOND_WAIT_MS = 20;
/**
 * Looks at the queue before the first sleep: some 60 to 150 microseconds, about twice what falling asleep and being
 * woken take.
 */
const SPINS = 40000;

export class IdleWait {
  readonly #space: Space;
  readonly #pool: number;
  readonly #backoff: SpinBackoff = new SpinBackoff();
  #parked: Promise<unknown> | undefined;

  constructor(space: Space, pool: number) {
    this.#space = space;
    this.#pool = pool;
  }

  /**
   * One step of waiting, further from the processor each time. After one without a promise the caller takes what there
   * is before anything else runs here: a wake-up was for that, and a step of the user's may take hours.
   */
  step(step: number): Promise<unknown> | undefined {
    const { core } = this.#space;
    if (step === 0) this.#waitShortly();
    else if (step === 1) return host.turn();
    else if (step === 2) core.plait_worker_wait(SECOND_WAIT_MS, 0);
    else return this.#park();
    return undefined;
  }

  /** Looks at the queue for a moment and then sleeps; or sleeps at once, if looking was in vain lately. */
  #waitShortly(): void {
    const spins = this.#backoff.begin() ? SPINS : 0;
    if (spins !== 0) receiveBuffer.prepare();
    const found = this.#space.core.plait_worker_wait(FIRST_WAIT_MS, spins) !== 0;
    if (spins === 0) return;
    if (found) this.#backoff.found();
    else this.#backoff.missed();
  }

  async #park(): Promise<void> {
    const { core } = this.#space;
    const signal = core.plait_worker_park_begin();
    if (signal === 0) return;
    receiveBuffer.drop();
    await this.parking(signal);
    core.plait_worker_park_end();
  }

  /** Resolves at the next notification. There is one waiter at most: one that is forgotten would swallow a wake-up. */
  parking(signal: number): Promise<unknown> {
    if (this.#parked === undefined) {
      const wait = Atomics.waitAsync(this.#space.i32, (this.#pool + P.parking) >>> 2, signal | 0);
      if (!wait.async) return Promise.resolve();
      this.#parked = wait.value.then(() => {
        this.#parked = undefined;
      });
    }
    return this.#parked;
  }
}
