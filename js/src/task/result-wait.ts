/**
 * How a thread waits for results: when it looks at its inbox, and when it sleeps until somebody wakes it.
 *
 * - Results that come so quickly that waking this thread for each would cost more than they do: a look each millisecond.
 * - One that is likely to be there in an instant: a look in each turn of the event loop, for as long as falling asleep and being woken
 *   would take. Where that was in vain, perhaps because this thread kept the worker's processor, it is not tried for a while.
 * - Else: sleep.
 *
 * Invariant: what is said is about time only. Whichever way is taken, the inbox is looked at after the first result is in it.
 */

import { clock } from '../core/clock.ts';
import { host } from '../core/host.ts';
import { Pool as P } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';

/**
 * A look in a millisecond instead of one for each result: when so many results are to be expected until then, and the queue
 * holds tasks for so many times as long, so that no worker runs dry before.
 */
const RESULTS_WORTH_A_WAIT = 4;
const QUEUE_FOR_A_WAIT = 3;

/** For how long a result is looked for in each turn: about twice what the two wake-ups of a round trip cost on a virtual machine. */
const LOOK_MS = 0.2;
/** A wait that was no longer than this makes it likely that the next one is short, too; a wake-up may be part of it. */
const NEAR_MS = 0.3;
/** After a look in vain, so many short waits are slept through before another is tried. */
const BLIND_WAITS = 32;

export type Waiting = 'turn' | 'soon' | 'sleep';

let known = 0;
/** How many threads can run at a time. Asking the system takes longer than many a task. */
function processors(): number {
  if (known === 0) known = host.parallelism;
  return known;
}

export class ResultWait {
  readonly #space: Space;
  readonly #pool: number;
  /** Tasks that have come back since `#lookedAt`, in milliseconds of clock(). */
  #heard = 0;
  #lookedAt = 0;
  /** When the wait for the next result began; 0: not yet. */
  #since = 0;
  /** Above 0: the last wait was a short one. Below: so many are still to be slept through. */
  #near = 0;

  constructor(space: Space, pool: number) {
    this.#space = space;
    this.#pool = pool;
  }

  /** What to do now. The inbox is empty, and `away` tasks are out. */
  next(away: number): Waiting {
    const now = clock();
    if (this.#since === 0) this.#since = now;
    if (host.soon !== undefined && this.#manySoon(now)) return 'soon';
    // Only while a processor is left for this thread: each task may need one.
    if (this.#near <= 0 || away >= processors()) return 'sleep';
    if (now - this.#since < LOOK_MS) return 'turn';
    this.#near = -BLIND_WAITS;
    return 'sleep';
  }

  /** So many tasks have come back, all that there were in the inbox. */
  heard(count: number): void {
    this.#heard += count;
    const isShort = this.#since !== 0 && clock() - this.#since < NEAR_MS;
    this.#since = 0;
    if (isShort) this.#near = Math.min(this.#near + 1, 1);
    else if (this.#near > 0) this.#near = 0;
  }

  #manySoon(now: number): boolean {
    const perMillisecond = this.#heard / (now - this.#lookedAt);
    this.#heard = 0;
    this.#lookedAt = now;
    if (!(perMillisecond >= RESULTS_WORTH_A_WAIT)) return false;
    return this.#space.load(this.#pool + P.queued) > perMillisecond * QUEUE_FOR_A_WAIT;
  }
}
