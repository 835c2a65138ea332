/**
 * Tasks that wait although something can be done: the coordinator wakes workers that sleep, and starts further ones.
 *
 * A submitter wakes a worker itself. It also signals the coordinator (pool.alert, pool.coordinator_signal) if that may
 * not suffice: no worker sleeps, or only parked ones, whose event loops run. A parked worker may be in a timer of the
 * user's code when its wake-up comes. We poll WAIT_MS later, again and again while tasks wait.
 *
 * Invariant: after each poll, either pool.alert asks for a signal for the next such task, and none waited when it was
 * set; or another poll is scheduled in WAIT_MS. So a task for which another worker is free waits at most 2 WAIT_MS and
 * two turns of this thread.
 */

import { Alert, Pool as P } from '../../core/layout.generated.ts';
import type { Space } from '../../core/space.ts';

/** How long a task may wait before something is done about it. */
const WAIT_MS = 5;

/** What this needs to know of the pool's workers. */
export interface WorkerSetView {
  /** Their number, including those that load. */
  readonly size: number;
  readonly loading: number;
  /** Whether another worker could help: the maximum allows it, and the module is not known to be broken. */
  readonly mayGrow: boolean;
  start(): void;
  pollIn(milliseconds: number): void;
}

export class QueueWatch {
  readonly #space: Space;
  readonly #pool: number;
  readonly #workerSet: WorkerSetView;
  /** When tasks began to wait for which something can be done, and when we were last signalled; 0: not now. */
  #waitingSince = 0;
  #signalledAt = 0;
  /** Whether all sleepers were woken, and some still sleep while tasks wait: those are busy with something else. */
  #wokeAll = false;

  constructor(space: Space, pool: number, workerSet: WorkerSetView) {
    this.#space = space;
    this.#pool = pool;
    this.#workerSet = workerSet;
    this.#arm(Alert.PARKED);
  }

  #arm(alert: number): void {
    Atomics.store(this.#space.u32, (this.#pool + P.alert) >>> 2, alert);
  }

  #word(offset: number): number {
    return this.#space.load(this.#pool + offset);
  }

  #someSleep(): boolean {
    return this.#word(P.sleepers) > 0;
  }

  /**
   * Whether tasks wait, and a worker can be woken or started for them. Tasks in a worker queue wait for their worker,
   * even if others sleep.
   */
  #isLate(): boolean {
    return this.#word(P.queued) > 0 && (this.#someSleep() ? this.#word(P.mask) !== 0 : this.#workerSet.mayGrow);
  }

  poll(): void {
    if (this.#isLate()) this.#serve();
    else this.#rest();
  }

  #serve(): void {
    const now = performance.now();
    this.#signalledAt = 0;
    if (this.#waitingSince === 0) this.#waitingSince = now;
    if (now - this.#waitingSince >= WAIT_MS - 1) {
      const sleep = this.#someSleep();
      if (sleep) this.#space.core.plait_pool_wake_workers(this.#pool);
      if (!sleep || this.#wokeAll) this.#grow();
      this.#wokeAll = sleep;
    }
    this.#workerSet.pollIn(WAIT_MS);
  }

  /** Starts as many workers as tasks wait, minus those that are loading. */
  #grow(): void {
    const workerSet = this.#workerSet;
    for (let more = this.#word(P.queued) - workerSet.loading; more > 0 && workerSet.mayGrow; more--) workerSet.start();
  }

  /** Nothing waits. Asks for the next signal, but not each time if tasks come fast and are served. */
  #rest(): void {
    const now = performance.now();
    this.#waitingSince = 0;
    this.#wokeAll = false;
    if (this.#word(P.alert) === Alert.NONE) {
      if (this.#signalledAt === 0) this.#signalledAt = now;
      if (now - this.#signalledAt < WAIT_MS - 1) {
        this.#workerSet.pollIn(WAIT_MS);
        return;
      }
    }
    this.#signalledAt = 0;
    this.#arm(this.#workerSet.mayGrow ? Alert.ANY : Alert.PARKED);
    if (this.#isLate()) this.#workerSet.pollIn(WAIT_MS); // a task came just before
  }
}
