/**
 * The tasks of a worker whose promise is pending, or that have ended and are not delivered.
 *
 * A single pending task remains the slot's `running`. Before the worker takes another one, it puts the first aside
 * (plait_task_hold).
 *
 * Invariant: slot.running is 0, or names the current task, or `#alone` (the one pending task that is not put aside), or
 * `#finished`. Tasks that were put aside can be delivered only while slot.running names nothing. A stuck lock delays
 * all of this.
 */

import { Errno, Next, WorkerPlace } from '../../core/layout.generated.ts';
import type { Space } from '../../core/space.ts';
import type { TaskExecution } from '../task-execution.ts';

export class PendingTasks {
  readonly #space: Space;
  readonly #place: number;
  readonly #executions = new Set<TaskExecution>();
  #alone: TaskExecution | undefined;
  /** Delivered when the next task is taken. */
  #finished = 0;
  /** Tasks that were put aside and have ended. */
  readonly #undelivered: number[] = [];

  constructor(space: Space, place: number) {
    this.#space = space;
    this.#place = place;
  }

  get size(): number {
    return this.#executions.size;
  }

  /** The tasks whose promise is pending. */
  [Symbol.iterator](): IterableIterator<TaskExecution> {
    return this.#executions.values();
  }

  has(execution: TaskExecution): boolean {
    return this.#executions.has(execution);
  }

  get hasUndelivered(): boolean {
    return this.#undelivered.length > 0;
  }

  get finished(): number {
    return this.#finished;
  }

  /** The task has ended: it is delivered when the next one is taken. */
  finish(task: number): void {
    this.#finished = task;
  }

  add(execution: TaskExecution): void {
    this.#executions.add(execution);
    this.#alone = execution;
    // Beside others it cannot stay in slot.running.
    if (this.#executions.size > 1) this.#hold(execution);
  }

  /** The promise has settled. False: it was no longer pending. */
  remove(execution: TaskExecution): boolean {
    return this.#executions.delete(execution);
  }

  /** A pending task has an outcome. `isOwn`: the counters of the worker place are still this worker's. */
  end(execution: TaskExecution, isOwn: boolean): void {
    if (!execution.held) {
      this.#alone = undefined;
      this.#finished = execution.ref;
      return;
    }
    if (isOwn) this.#space.u32[(this.#place + WorkerPlace.holding) >>> 2]!--;
    this.#undelivered.push(execution.ref);
    this.deliverAll();
  }

  #hold(execution: TaskExecution): void {
    if (this.#space.core.plait_task_hold() !== 0) return; // a stuck lock: retry later
    execution.held = true;
    this.#alone = undefined;
    this.#space.u32[(this.#place + WorkerPlace.holding) >>> 2]!++;
  }

  /** Makes slot.running name no pending task, so that another can be taken. False: a stuck lock. */
  #holdAlone(): boolean {
    if (this.#alone !== undefined) this.#hold(this.#alone);
    return this.#alone === undefined;
  }

  /** Takes the next task, and delivers the one that has ended. Returns a task or one of `Next`. */
  take(busy: number): number {
    if (!this.#holdAlone()) return Next.RETRY;
    const task = this.#space.core.plait_task_next(this.#finished, busy) >>> 0;
    if (task !== Next.RETRY) this.#finished = 0;
    return task;
  }

  /** Takes a task of a client that this thread owns. Returns a task or one of `Next`. */
  takeOf(client: number): number {
    return this.#holdAlone() ? this.#space.core.plait_task_help(client) >>> 0 : Next.NONE;
  }

  /** False: a stuck lock. */
  #deliver(task: number): boolean {
    return this.#space.core.plait_task_finish(task) !== -Errno.ETIMEDOUT;
  }

  deliverFinished(): boolean {
    if (this.#finished !== 0 && !this.#deliver(this.#finished)) return false;
    this.#finished = 0;
    return true;
  }

  /** Delivers all tasks that have ended. False: a stuck lock. */
  deliverAll(): boolean {
    if (!this.deliverFinished()) return false;
    if (this.#undelivered.length === 0) return true;
    if (!this.#holdAlone()) return false;
    for (const task of [...this.#undelivered]) {
      if (!this.#deliver(task)) return false;
      this.#undelivered.shift();
    }
    return true;
  }
}
