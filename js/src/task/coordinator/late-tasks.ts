/**
 * Timeouts of running tasks. The coordinator requests a stop from tasks that exceed their timeout, and has the workers
 * stopped whose tasks run on after the grace period.
 *
 * Invariant: while a task has a timeout or a stop request, one of two things holds. Another poll is scheduled soon
 * enough for it; or pool.timeout_ms is 0, and the thread that submits a task with a timeout signals the coordinator.
 */

import { threadsOfHost } from '../../core/boot.ts';
import { clock, stampOf } from '../../core/clock.ts';
import { Pool as P, Poll } from '../../core/layout.generated.ts';
import type { Space } from '../../core/space.ts';
import type { OpenPool, ToWorker } from '../protocol.ts';
import { noteTimeout } from '../shortest-timeout.ts';
import type { WorkerRecord } from './worker-record.ts';

/** The pool's part. */
export interface LateTasksListener {
  /** The worker takes no more tasks, and its running task did not stop. */
  stop(worker: WorkerRecord): void;
  pollIn(milliseconds: number): void;
}

/** How often a timeout is polled: often enough to be at most a fifth late, rarely enough to cost nothing. */
function tickOf(timeout: number): number {
  return Math.min(Math.max(timeout / 5, 1), 50);
}

export class LateTasks {
  readonly #space: Space;
  readonly #options: OpenPool;
  readonly #workers: ReadonlySet<WorkerRecord>;
  readonly #listener: LateTasksListener;

  constructor(space: Space, options: OpenPool, workers: ReadonlySet<WorkerRecord>, listener: LateTasksListener) {
    this.#space = space;
    this.#options = options;
    this.#workers = workers;
    this.#listener = listener;
  }

  poll(): void {
    const { pool, grace } = this.#options;
    const word = (pool + P.timeoutMs) >>> 2;
    const timeout = this.#space.load(pool + P.timeoutMs);
    let most = this.#pollWorkers();
    if (timeout !== 0 && most === Poll.NONE) {
      // Nothing to time. A thread that submits from here on sees the 0 and signals us. A task that was submitted before
      // is seen here.
      Atomics.store(this.#space.u32, word, 0);
      most = this.#space.load(pool + P.queued) > 0 ? Poll.AGAIN : this.#pollWorkers();
      if (most === Poll.NONE) return;
      noteTimeout(this.#space.u32, word, timeout);
    }
    const every = timeout === 0 ? tickOf(grace) : tickOf(timeout);
    if (most !== Poll.NONE) this.#listener.pollIn(Math.min(every, tickOf(grace)));
  }

  /** Requests stops from late tasks, and stops the workers of those that ran on. Returns the highest poll result. */
  #pollWorkers(): number {
    const now = stampOf(clock());
    let most: number = Poll.NONE;
    for (const worker of this.#workers) {
      const [thread] = threadsOfHost(this.#space, worker.thread.hostId);
      if (thread === undefined || worker.stopping !== undefined) continue;
      const seen = this.#space.core.plait_worker_poll(thread, now);
      if (seen < 0 || seen > most) most = seen < 0 ? Poll.AGAIN : seen; // a stuck lock: retry later
      if (seen === Poll.STOP_REQUESTED) worker.thread.post({ type: 'stop-requested' } satisfies ToWorker);
      if (seen === Poll.OVERDUE) this.#listener.stop(worker);
    }
    return most;
  }
}
