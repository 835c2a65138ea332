/**
 * How a thread waits for results: when it polls its inbox, and when it sleeps until it is woken.
 *
 * - If results come so fast that a wake-up for each would cost more than the results do: it polls each millisecond.
 * - Otherwise it spins: it polls in each turn of the event loop, for about as long as falling asleep and waking take.
 *   If that failed, because the task takes longer or this thread kept the worker's processor, it does not spin for a
 *   while. After the first poll it prefaults a receive buffer (value/receive-buffer.ts); not before, because the
 *   program may have more to submit.
 * - Then, or instead, it sleeps.
 *
 * Invariant: this decides only about time. In each case the inbox is polled after the first result is in it.
 */

import { clock } from '../core/clock.ts';
import { host } from '../core/host.ts';
import { Pool as P } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';
import { receiveBuffer } from '../value/copy.ts';
import type { ReceiveBuffer } from '../value/receive-buffer.ts';
import type { Waiter } from './waiter.ts';

/**
 * Conditions for polling each millisecond. At least this many results are expected until then. The queue holds tasks
 * for this many times as long, so that no worker runs dry before.
 */
const RESULTS_WORTH_A_WAIT = 4;
const QUEUE_FOR_A_WAIT = 3;

/**
 * How long to spin: about twice what the two wake-ups of a round trip cost on a virtual machine. A longer time delays
 * what the engine does in other threads meanwhile, such as freeing large buffers.
 */
const SPIN_MS = 0.2;

/** Bytes of the receive buffer to prefault in each turn: some 30 microseconds, so that a result is noticed soon. */
const PREPARED_PER_TURN = 2 ** 18;

export type Waiting = 'turn' | 'soon' | 'sleep';

let known = 0;
/** How many threads can run at a time. Asking the system takes longer than many tasks. */
function processors(): number {
  if (known === 0) known = host.parallelism;
  return known;
}

export class ResultWait {
  readonly #space: Pick<Space, 'load'>;
  readonly #pool: number;
  /** Tasks that have come back since `#polledAt`, in milliseconds of clock(). */
  #received = 0;
  #polledAt = 0;
  /** When the wait for the next result began; 0: not yet. */
  #since = 0;
  readonly #waiter: Pick<Waiter, 'begin' | 'found' | 'missed'>;
  /** Whether this wait may spin, and whether it has. */
  #maySpin = false;
  #hasSpun = false;
  readonly #now: () => number;
  readonly #buffer: Pick<ReceiveBuffer, 'prepare' | 'drop'>;

  /** `now` returns the time in milliseconds. */
  constructor(
    space: Pick<Space, 'load'>,
    pool: number,
    waiter: Pick<Waiter, 'begin' | 'found' | 'missed'>,
    now: () => number = clock,
    buffer: Pick<ReceiveBuffer, 'prepare' | 'drop'> = receiveBuffer,
  ) {
    this.#space = space;
    this.#pool = pool;
    this.#waiter = waiter;
    this.#now = now;
    this.#buffer = buffer;
  }

  /** How to wait now. The inbox is empty, and `away` tasks are outstanding. */
  next(away: number): Waiting {
    const now = this.#now();
    if (this.#since === 0) {
      this.#since = now;
      this.#maySpin = this.#waiter.begin();
      this.#hasSpun = false;
    }
    if (host.soon !== undefined && this.#manySoon(now)) return 'soon';
    // Only while a processor is left for this thread: each task may need one.
    if (!this.#maySpin || away >= processors()) return 'sleep';
    if (now - this.#since < SPIN_MS) {
      // Prefaulting was not spinning: its time begins again.
      if (this.#hasSpun && this.#buffer.prepare(PREPARED_PER_TURN)) this.#since = this.#now();
      this.#hasSpun = true;
      return 'turn';
    }
    this.#maySpin = false;
    if (this.#hasSpun) this.#waiter.missed();
    return 'sleep';
  }

  /** `count` tasks have come back, all that were in the inbox. */
  received(count: number): void {
    this.#received += count;
    this.#since = 0;
    if (this.#maySpin && this.#hasSpun) this.#waiter.found();
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
