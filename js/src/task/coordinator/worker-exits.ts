/**
 * The tasks of workers that have exited or are detached, and all tasks of a failed pool.
 *
 * Invariant: a task that this thread has adopted (slot.adopted) is finished before the next one. If its pool's lock is
 * stuck, this happens later, and so does the rest of the worker's recovery.
 */

import { recoverStartedBy, slotOf, threadsOfHost } from '../../core/boot.ts';
import { codeFor, PlaitError } from '../../core/errors.ts';
import { setTimeout } from '../../core/host-timers.ts';
import {
  Errno,
  Next,
  Pool as P,
  PoolState,
  Slot,
  Stop,
  Task,
  TaskStatus,
  WorkerPlace,
} from '../../core/layout.generated.ts';
import type { Space } from '../../core/space.ts';
import { Transport } from '../../value/transport.ts';
import { ValueWriter } from '../../value/writer.ts';
import type { EndReason } from '../protocol.ts';
import { END_REASONS } from '../stats.ts';
import { TaskRecords } from '../task-record.ts';
import { type EndedWorker, endReason, isOutOfMemory } from './worker-record.ts';

/** How often to retry a lock whose owner is stuck. */
const RETRY_MS = 20;

export class WorkerExits {
  readonly #space: Space;
  readonly #pool: number;
  readonly #module: string;

  constructor(space: Space, pool: number, module: string) {
    this.#space = space;
    this.#pool = pool;
    this.#module = module;
  }

  /** Why it has ended. */
  reason(worker: EndedWorker): EndReason {
    const state = this.#space.load(this.#pool + P.state); // the state changes before a message arrives
    return endReason(worker, state === PoolState.CLOSING || state === PoolState.CLOSED);
  }

  /** Counts an end, before the callers of its tasks can read the counter. */
  count(reason: EndReason): void {
    Atomics.add(this.#space.u32, (this.#pool + P.ended + END_REASONS.indexOf(reason) * 4) >>> 2, 1);
  }

  /** The worker has exited: its tasks are run again if they may be, or end with the reason. */
  recover(worker: EndedWorker, code: number): void {
    const { hostId } = worker.thread;
    const { core } = this.#space;
    for (const thread of threadsOfHost(this.#space, hostId)) {
      for (let task = core.plait_abi_recover(thread) >>> 0; task !== 0; task = core.plait_abi_recover(thread) >>> 0) {
        // Tasks with a stop request, or stopped by force, are not run again. A task beside one that did not stop is.
        const again = this.#control(task) === 0 && worker.stopping !== 'force';
        if (!again || core.plait_task_requeue(task) !== 0) this.#deliver(task, this.#exitError(worker, task, code));
        if (this.hasAdopted()) break; // delivered later
      }
    }
    recoverStartedBy(this.#space, hostId);
    // A thread that is left waits for a lock whose owner makes no progress.
    if (threadsOfHost(this.#space, hostId).length > 0) setTimeout(() => this.recover(worker, code), RETRY_MS);
  }

  /** The worker takes no further task; one that has not entered the pool is stopped. False: a lock is stuck. */
  retire(worker: EndedWorker): boolean {
    const [thread] = threadsOfHost(this.#space, worker.thread.hostId);
    if (thread !== undefined) return this.#space.core.plait_worker_drain(thread) >= 0;
    worker.thread.terminate();
    return true;
  }

  /**
   * The worker takes no further task, and may go on for a while. Its tasks are settled now. Without `all`, tasks that
   * may be run again wait for its exit.
   */
  detach(worker: EndedWorker, all = false): void {
    const [thread] = threadsOfHost(this.#space, worker.thread.hostId);
    if (thread === undefined) return;
    const place = this.#space.load(slotOf(this.#space, thread) + Slot.place);
    this.#space.cover(place + WorkerPlace.BYTES);
    if (place !== 0) Atomics.compareExchange(this.#space.u32, (place + WorkerPlace.thread) >>> 2, thread, 0);
    while (!this.hasAdopted()) {
      const surrogate = this.#space.core.plait_task_detach(thread, all ? 1 : 0) >>> 0;
      if (surrogate === Next.NONE) return;
      if (surrogate === Next.RETRY) break;
      this.#space.cover(surrogate + Task.BYTES);
      this.#deliver(surrogate, this.#exitError(worker, surrogate, 0));
    }
    setTimeout(() => this.detach(worker, all), RETRY_MS);
  }

  /** Whether a task is adopted that is delivered later, because a lock is stuck. */
  hasAdopted(): boolean {
    return this.#space.load(slotOf(this.#space, this.#space.thread) + Slot.adopted) !== 0;
  }

  #control(task: number): number {
    return this.#space.load(task + Task.control);
  }

  /** Why a worker's task will never end by itself. */
  #exitError(worker: EndedWorker, task: number, code: number): Error {
    const module = this.#module;
    const control = this.#control(task);
    if (worker.stopping === 'force') {
      return new PlaitError('ERR_PLAIT_POOL_CLOSED', 'the pool was closed by force while the task was running');
    }
    if ((control & Stop.TIMEOUT) !== 0) {
      const timeout = this.#space.load(task + Task.timeoutMs);
      return new PlaitError('ERR_PLAIT_TASK_TIMEOUT', `the task ran for longer than its timeout of ${timeout} ms`);
    }
    if ((control & Stop.ABORT) !== 0) return new DOMException('the task was aborted by its caller', 'AbortError');
    const cause = worker.hasError ? { cause: worker.error } : undefined;
    worker.isErrorReported ||= worker.hasError;
    if (isOutOfMemory(worker)) {
      return new PlaitError(
        'ERR_PLAIT_WORKER_OUT_OF_MEMORY',
        `a worker of ${module} reached its JavaScript memory limit and ended; see the option resourceLimits`,
        cause,
      );
    }
    const how =
      worker.stopping === 'overdue'
        ? 'because another task on it did not stop'
        : worker.hasError
          ? 'after an error that nothing in it caught'
          : `with code ${code}`;
    return new PlaitError('ERR_PLAIT_WORKER_DIED', `a worker of ${module} ended ${how} before its task did`, cause);
  }

  /** Delivers an adopted task as an error. */
  #deliver(task: number, error: unknown): void {
    const transport = new Transport(this.#space);
    const size = transport.prepare(error, 'error');
    this.#space.cover(task + Task.BYTES);
    // Without memory the status that it has already stays.
    new TaskRecords(this.#space).setOutcome(task, TaskStatus.REJECTED, transport, size);
    this.#finish(task);
  }

  #finish(task: number): void {
    if (this.#space.core.plait_task_finish(task) === -Errno.ETIMEDOUT) setTimeout(() => this.#finish(task), RETRY_MS);
  }

  /** Why no worker could load the module, encoded. */
  encodeLoadError(worker: EndedWorker, code: number): Uint8Array {
    const module = this.#module;
    const message = worker.hasError
      ? `cannot load ${module}: ${(worker.error as Error)?.message ?? worker.error}`
      : `cannot load ${module}: the worker ended with code ${code} while loading it`;
    const error = new PlaitError(
      codeFor(worker.error, 'ERR_PLAIT_MODULE_LOAD'),
      message,
      worker.hasError ? { cause: worker.error } : undefined,
    );
    return new ValueWriter().write(error, 'error').slice();
  }

  /** No worker is left: every task of the pool, now and later, gets the reason. */
  fail(error: Uint8Array): void {
    const { core } = this.#space;
    const pool = this.#pool;
    const block = core.plait_heap_alloc(error.length) >>> 0;
    if (block !== 0) {
      this.#space.bytes(block, error.length).set(error);
      core.plait_pool_set_failure(pool, block, error.length);
    }
    const end = (): void => {
      if (core.plait_pool_end(pool, PoolState.FAILED) === -Errno.ETIMEDOUT) setTimeout(end, RETRY_MS);
    };
    end();
  }
}
