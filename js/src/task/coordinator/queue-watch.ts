/**
 * What a pool's coordinator does about tasks that wait: it wakes workers that sleep although there is something to do,
 * and starts further ones.
 *
 * A submitter wakes a worker itself. It tells the coordinator (pool.alert, pool.coordinator_signal) where that may not be
 * enough: nobody sleeps, or nobody but parked workers, whose event loops turn, so that one may be in a timer of the
 * user's when its wake-up comes. We look WAIT_MS later, again and again while tasks wait.
 *
 * Invariant: after each look, either pool.alert says that we want to hear of the next such task, and none waited when
 * it began to say so, or we have asked to look again in WAIT_MS. So a task for which another worker is free waits for 2
 * WAIT_MS and two turns of this thread at most.
 */

import { Alert, Pool as P } from '../../core/layout.generated.ts';
import type { Space } from '../../core/space.ts';

/** How long a task may wait before something is done about it. */
const WAIT_MS = 5;

/** The workers of the pool, as far as this matters. */
export interface WorkerSetView {
  /** How many there are, those that load among them. */
  readonly size: number;
  readonly loading: number;
  /** Whether a further one could be of use: there may be more, and nothing is known to be wrong with the module. */
  readonly mayGrow: boolean;
  start(): void;
  pollIn(milliseconds: number): void;
}

export class QueueWatch {
  readonly #space: Space;
  readonly #pool: number;
  readonly #workerSet: WorkerSetView;
  /** Since when tasks wait that something can be done about, and when we were last told of one; 0: not now. */
  #waitingSince = 0;
  #signalledAt = 0;
  /** Whether all sleepers have been woken, and still some sleep while tasks wait: those do something else. */
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
   * Whether tasks wait, and somebody can be woken or started for them. A seat's own wait for its worker, whoever
   * sleeps.
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

  /** As many further workers as tasks wait, less those that are on their way. */
  #grow(): void {
    const workerSet = this.#workerSet;
    for (let more = this.#word(P.queued) - workerSet.loading; more > 0 && workerSet.mayGrow; more--) workerSet.start();
  }

  /** Nothing waits. We want to be told of what comes, but not every time, where it comes quickly and is served. */
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
    if (this.#isLate()) this.#workerSet.pollIn(WAIT_MS); // one has come just before
  }
}
