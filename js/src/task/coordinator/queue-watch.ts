/**
 * What a pool's coordinator does about tasks that wait: it wakes workers that sleep although there is something to do,
 * and starts further ones.
 *
 * A submitter wakes a worker itself. It tells the coordinator (pool.alert, pool.attention) where that may not be
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
export interface Crew {
  /** How many there are, those that load among them. */
  readonly size: number;
  readonly loading: number;
  /** Whether a further one could be of use: there may be more, and nothing is known to be wrong with the module. */
  readonly mayGrow: boolean;
  start(): void;
  lookIn(milliseconds: number): void;
}

export class QueueWatch {
  readonly #space: Space;
  readonly #pool: number;
  readonly #crew: Crew;
  /** Since when tasks wait that something can be done about, and when we were last told of one; 0: not now. */
  #waitingSince = 0;
  #toldAt = 0;
  /** Whether all sleepers have been woken, and still some sleep while tasks wait: those do something else. */
  #roused = false;

  constructor(space: Space, pool: number, crew: Crew) {
    this.#space = space;
    this.#pool = pool;
    this.#crew = crew;
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
    return this.#word(P.queued) > 0 && (this.#someSleep() ? this.#word(P.mask) !== 0 : this.#crew.mayGrow);
  }

  look(): void {
    if (this.#isLate()) this.#serve();
    else this.#rest();
  }

  #serve(): void {
    const now = performance.now();
    this.#toldAt = 0;
    if (this.#waitingSince === 0) this.#waitingSince = now;
    if (now - this.#waitingSince >= WAIT_MS - 1) {
      const sleep = this.#someSleep();
      if (sleep) this.#space.core.plait_pool_rouse(this.#pool);
      if (!sleep || this.#roused) this.#grow();
      this.#roused = sleep;
    }
    this.#crew.lookIn(WAIT_MS);
  }

  /** As many further workers as tasks wait, less those that are on their way. */
  #grow(): void {
    const crew = this.#crew;
    for (let more = this.#word(P.queued) - crew.loading; more > 0 && crew.mayGrow; more--) crew.start();
  }

  /** Nothing waits. We want to be told of what comes, but not every time, where it comes quickly and is served. */
  #rest(): void {
    const now = performance.now();
    this.#waitingSince = 0;
    this.#roused = false;
    if (this.#word(P.alert) === Alert.NONE) {
      if (this.#toldAt === 0) this.#toldAt = now;
      if (now - this.#toldAt < WAIT_MS - 1) {
        this.#crew.lookIn(WAIT_MS);
        return;
      }
    }
    this.#toldAt = 0;
    this.#arm(this.#crew.mayGrow ? Alert.ANY : Alert.PARKED);
    if (this.#isLate()) this.#crew.lookIn(WAIT_MS); // one has come just before
  }
}
