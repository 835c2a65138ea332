/**
 * The end of a pool's first worker while the coordinator is on its way: its owner, which started it, settles what it
 * ran.
 *
 * The owner hears of that end as whoever starts a thread does, if its event loop turns. All that need not be at once is
 * left to the coordinator, which hears of the end from the worker: a replacement, what listeners are told, a worker
 * that ran nothing.
 *
 * Invariant: the word that both share is changed once, from NOBODY, by compare-and-swap: by the coordinator when it
 * takes the worker, or by the owner after the worker's end, which says how it ended. Whoever has changed it counts the
 * worker and its end, before anybody hears of the task. That the task is settled once does not hang on this: a dead
 * thread's are adopted once.
 */

import { slotOf, threadsOfHost } from '../core/boot.ts';
import type { HostThread } from '../core/host.ts';
import { Pool as P, Slot } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';
import { readValue } from './codec.ts';
import { type EndReason, type OpenPool, wordOf } from './protocol.ts';
import { END_REASONS } from './stats.ts';
import { WorkerDeaths } from './worker-deaths.ts';
import type { EndedWorker } from './worker-record.ts';

const NOBODY = 0;
const COORDINATOR = 1;
/** The owner has settled it; the reason's index is added. */
const OWNER = 2;

/** The coordinator answers for the worker from now on; or it has ended already, for that reason. */
export function takeOver(word: Int32Array): EndReason | undefined {
  const before = Atomics.compareExchange(word, 0, NOBODY, COORDINATOR);
  return before < OWNER ? undefined : END_REASONS[before - OWNER];
}

/** The owner's part, for the thread that it has started as the first worker of `open`. */
export class EarlyDeath {
  /** In shared memory, for {@link takeOver}. */
  readonly word: Int32Array = new Int32Array(new SharedArrayBuffer(4));
  readonly #space: Space;
  readonly #pool: number;
  readonly #deaths: WorkerDeaths;
  readonly #worker: EndedWorker;
  #threw: Uint8Array | undefined;

  constructor(space: Space, { pool, module }: OpenPool, thread: HostThread) {
    this.#space = space;
    this.#pool = pool;
    this.#deaths = new WorkerDeaths(space, pool, module);
    const worker: EndedWorker = {
      thread,
      stopping: undefined,
      leaving: undefined,
      error: undefined,
      hasError: false,
      isErrorTold: false,
    };
    this.#worker = worker;
    thread.onError = (error) => {
      worker.error = error;
      worker.hasError = true;
    };
    thread.onMessage = (data) => {
      const word = wordOf(data);
      if (word?.type === 'threw') this.#threw = word.error;
    };
  }

  /** The thread is gone. False: whatever there is to do is the coordinator's. */
  settle(code: number): boolean {
    const space = this.#space;
    const runs = threadsOfHost(space, this.#worker.thread.hostId).some((thread) => {
      const slot = slotOf(space, thread);
      return space.load(slot + Slot.running) !== 0 || space.load(slot + Slot.holding) !== 0;
    });
    if (!runs) return false;
    // Its own words are what the coordinator would tell; the host's are less, but it says when there was no more
    // memory.
    if (this.#threw !== undefined) this.#worker.error = readValue(this.#threw);
    this.#worker.hasError ||= this.#threw !== undefined;
    const reason = this.#deaths.reason(this.#worker);
    if (Atomics.compareExchange(this.word, 0, NOBODY, OWNER + END_REASONS.indexOf(reason)) !== NOBODY) return false;
    Atomics.add(space.u32, (this.#pool + P.born) >>> 2, 1);
    this.#deaths.count(reason);
    this.#deaths.recover(this.#worker, code);
    return true;
  }
}
