/**
 * How a thread waits for results: when it looks at its inbox, and when it sleeps until somebody wakes it.
 *
 * - Results that come so quickly that waking this thread for each would cost more than they do: a look each
 *   millisecond.
 * - Else a look in each turn of the event loop, for some times as long as falling asleep and being woken would take.
 *   Where that was in vain, because the task takes longer or this thread kept the worker's processor, it is not tried
 *   for a while. After the first one it makes room for a large result (value/receive-buffer.ts): not before, for the program may have
 *   more to submit.
 * - Then, or instead: sleep.
 *
 * Invariant: what is said is about time only. Whichever way is taken, the inbox is looked at after the first result is
 * in it.
 */

import { clock } from '../core/clock.ts';
import { host } from '../core/host.ts';
import { Pool as P } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';
import { receiveBuffer } from '../value/copy.ts';
import type { ReceiveBuffer } from '../value/receive-buffer.ts';
import { SpinBackoff } from './spin-backoff.ts';

/**
 * A look in a millisecond instead of one for each result: when so many results are to be expected until then, and the
 * queue holds tasks for so many times as long, so that no worker runs dry before.
 */
const RESULTS_WORTH_A_WAIT = 4;
const QUEUE_FOR_A_WAIT = 3;

/**
 * For how long a result is looked for in each turn: about twice what the two wake-ups of a round trip cost on a virtual
 * machine. With more, what the engine does in other threads meanwhile (it frees large buffers) is held up.
 */
const SPIN_MS = 0.2;

/**
 * In each turn room is made for so many bytes of the next result: some 30 microseconds, so that the result is seen
 * soon.
 */
const PREPARED_PER_TURN = 2 ** 18;

export type Waiting = 'turn' | 'soon' | 'sleep';

let known = 0;
/** How many threads can run at a time. Asking the system takes longer than many a task. */
function processors(): number {
  if (known === 0) known = host.parallelism;
  return known;
}

export class ResultWait {
  readonly #space: Pick<Space, 'load'>;
  readonly #pool: number;
  /** Tasks that have come back since `#lookedAt`, in milliseconds of clock(). */
  #received = 0;
  #polledAt = 0;
  /** When the wait for the next result began; 0: not yet. */
  #since = 0;
  /** The first wait is slept through: workers are starting. */
  readonly #backoff: SpinBackoff = new SpinBackoff(1);
  /** Whether this wait may be looked at, and whether it has been. */
  #maySpin = false;
  #hasSpun = false;
  readonly #now: () => number;
  readonly #buffer: Pick<ReceiveBuffer, 'prepare' | 'drop'>;

  /** `now` says the time in milliseconds. */
  constructor(
    space: Pick<Space, 'load'>,
    pool: number,
    now: () => number = clock,
    buffer: Pick<ReceiveBuffer, 'prepare' | 'drop'> = receiveBuffer,
  ) {
    this.#space = space;
    this.#pool = pool;
    this.#now = now;
    this.#buffer = buffer;
  }

  /** What to do now. The inbox is empty, and `away` tasks are out. */
  next(away: number): Waiting {
    const now = this.#now();
    if (this.#since === 0) {
      this.#since = now;
      this.#maySpin = this.#backoff.begin();
      this.#hasSpun = false;
    }
    if (host.soon !== undefined && this.#manySoon(now)) return 'soon';
    // Only while a processor is left for this thread: each task may need one.
    if (!this.#maySpin || away >= processors()) return 'sleep';
    if (now - this.#since < SPIN_MS) {
      // That was no looking: the time for it begins anew.
      if (this.#hasSpun && this.#buffer.prepare(PREPARED_PER_TURN)) this.#since = this.#now();
      this.#hasSpun = true;
      return 'turn';
    }
    this.#maySpin = false;
    if (this.#hasSpun) this.#backoff.missed();
    return 'sleep';
  }

  /** So many tasks have come back, all that there were in the inbox. */
  received(count: number): void {
    this.#received += count;
    this.#since = 0;
    if (this.#maySpin && this.#hasSpun) this.#backoff.found();
    this.#maySpin = false;
    this.#buffer.drop();
  }

  #manySoon(now: number): boolean {
    const perMillisecond = this.#received / (now - this.#polledAt);
    this.#received = 0;
    this.#polledAt = now;
    if (!(perMillisecond >= RESULTS_WORTH_A_WAIT)) return false;
    return this.#space.load(this.#pool + P.queued) > perMillisecond * QUEUE_FOR_A_WAIT;
  }
}
