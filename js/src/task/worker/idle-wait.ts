/**
 * How an idle worker waits. It spins on the queue for a moment, unless that failed recently. Then it sleeps in the
 * space, for the fastest wake-up: first for a millisecond, because the next task is often near; then, after a turn of
 * its event loop, for a little longer. Then it parks in `Atomics.waitAsync`, so that timers and messages of the user's
 * module run. Before it spins, it prefaults the buffer for the next large input (value/receive-buffer.ts).
 *
 * Invariant: this decides only about time. The core checks the queue once more after it has registered the worker as
 * sleeping.
 */

import { host } from '../../core/host.ts';
import { Pool as P } from '../../core/layout.generated.ts';
import type { Space } from '../../core/space.ts';
import { receiveBuffer } from '../../value/copy.ts';
import { Waiter } from '../waiter.ts';

/** How long an idle worker sleeps with its event loop blocked, before and after a turn of it. */
const FIRST_WAIT_MS = 1;
const SECOND_WAIT_MS = 20;
/**
 * Polls of the queue before the first sleep: some 60 to 150 microseconds, about twice what falling asleep and waking
 * take.
 */
const SPINS = 40000;

export class IdleWait {
  readonly #space: Space;
  readonly #waiter: Waiter;

  constructor(space: Space, pool: number) {
    this.#space = space;
    this.#waiter = new Waiter(space, pool + P.parking);
  }

  /**
   * One step of waiting, each longer than the one before. After a step without a promise the caller takes what is
   * queued before anything else runs here: the wake-up was for that, and a step of the user's code may take hours.
   */
  step(step: number): Promise<unknown> | undefined {
    const { core } = this.#space;
    if (step === 0) this.#waitShortly();
    else if (step === 1) return host.turn();
    else if (step === 2) core.plait_worker_wait(SECOND_WAIT_MS, 0);
    else return this.#park();
    return undefined;
  }

  /** Spins on the queue for a moment and then sleeps; or sleeps at once, if spinning failed recently. */
  #waitShortly(): void {
    const spins = this.#waiter.begin() ? SPINS : 0;
    if (spins !== 0) receiveBuffer.prepare();
    const found = this.#space.core.plait_worker_wait(FIRST_WAIT_MS, spins) !== 0;
    if (spins === 0) return;
    if (found) this.#waiter.found();
    else this.#waiter.missed();
  }

  async #park(): Promise<void> {
    const { core } = this.#space;
    const signal = core.plait_worker_park_begin();
    if (signal === 0) return;
    receiveBuffer.drop();
    await this.parking(signal);
    core.plait_worker_park_end();
  }

  /**
   * Resolves at the next notification; at once if it has come already, because a turn of the event loop may run the
   * user's code before the task.
   */
  parking(signal: number): Promise<unknown> {
    return this.#waiter.sleep(signal) ?? Promise.resolve();
  }
}
