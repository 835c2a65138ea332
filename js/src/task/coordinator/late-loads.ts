/**
 * Workers that still load the module. The coordinator stops those that exceed the pool's `loadTimeout`. When the pool
 * closes and nothing is queued, it stops the loading workers for which no task will come.
 *
 * Invariant: a worker is stopped here only after it was set to take no task, and while it has none. A worker that has
 * not entered the pool yet is simply terminated. A worker that has become ready meanwhile, and whose message is still
 * on its way, finishes what it has taken.
 */

import { slotOf, threadsOfHost } from '../../core/boot.ts';
import { host } from '../../core/host.ts';
import { clearTimeout, setTimeout } from '../../core/host-timers.ts';
import { Slot } from '../../core/layout.generated.ts';
import type { Space } from '../../core/space.ts';
import type { WorkerRecord } from './worker-record.ts';

/** How often to retry a worker that cannot be stopped now. */
const RETRY_MS = 20;

export class LateLoads {
  readonly #space: Space;
  readonly #timeout: number;
  readonly #stopped: (worker: WorkerRecord) => void;
  readonly #timers = new Map<WorkerRecord, ReturnType<typeof setTimeout>>();

  /**
   * `timeout`: milliseconds that loading may take; 0: no limit. `stopped` is called with each worker that is stopped
   * here; `stopping` says why.
   */
  constructor(space: Space, timeout: number, stopped: (worker: WorkerRecord) => void) {
    this.#space = space;
    this.#timeout = timeout;
    this.#stopped = stopped;
  }

  /** The worker's thread has been started. */
  begin(worker: WorkerRecord): void {
    if (this.#timeout !== 0) this.#stopIn(worker, this.#timeout);
  }

  /** It has loaded the module, or its thread has exited. */
  end(worker: WorkerRecord): void {
    clearTimeout(this.#timers.get(worker));
    this.#timers.delete(worker);
  }

  #stopIn(worker: WorkerRecord, milliseconds: number): void {
    const timer = setTimeout(async () => {
      await host.turn(); // after a pause of the whole machine, a message that came in time is received after the timer
      if (this.#timers.get(worker) !== timer) return;
      this.#timers.delete(worker);
      if (worker.state !== 'loading' || worker.stopping !== undefined) return;
      if (!this.#stop(worker, 'overdue')) this.#stopIn(worker, RETRY_MS);
    }, milliseconds);
    this.#timers.set(worker, timer);
  }

  /** False: it had a task, or a lock is stuck. */
  #stop(worker: WorkerRecord, why: 'overdue' | 'force'): boolean {
    const [thread] = threadsOfHost(this.#space, worker.thread.hostId);
    if (thread === undefined) worker.thread.terminate();
    else {
      // A worker that had a task is ready, and only its message is late: it is not even set to drain.
      if (this.hadTask(worker) || this.#space.core.plait_worker_drain(thread) < 0) return false;
      if (this.hadTask(worker)) return false;
    }
    worker.stopping = why;
    if (why === 'overdue') {
      worker.error = new Error(`it was not loaded within the pool's loadTimeout of ${this.#timeout} ms`);
      worker.hasError = true;
    }
    this.#stopped(worker);
    return true;
  }

  /** Whether it has ever taken a task. Its thread has not been recovered. */
  hadTask({ thread: { hostId } }: WorkerRecord): boolean {
    const [thread] = threadsOfHost(this.#space, hostId);
    return thread !== undefined && this.#space.load(slotOf(this.#space, thread) + Slot.tasksTaken) !== 0;
  }

  /**
   * Nothing is queued, and only running tasks can submit more. Returns the milliseconds until the next attempt, or
   * undefined. A ready worker ends by itself, and may have a task until then: that task may need the other workers.
   */
  stopAll(workers: ReadonlySet<WorkerRecord>): number | undefined {
    const loading = [...workers].filter(({ state, stopping }) => state === 'loading' && stopping === undefined);
    if (loading.length === 0 || [...workers].some(({ state }) => state === 'ready')) return undefined;
    let isDone = true;
    for (const worker of loading) {
      if (worker.stopping === undefined) isDone = this.#stop(worker, 'force') && isDone;
    }
    return isDone ? undefined : RETRY_MS;
  }
}
