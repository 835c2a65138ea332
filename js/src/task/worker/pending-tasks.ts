/**
 * The tasks that a worker has: those whose promise is pending, and those that have ended and are not delivered.
 *
 * One whose promise is pending stays the slot's `running` as long as it is the only one; before another is taken it is
 * put aside (plait_task_hold).
 *
 * Invariant: slot.running is 0, or names the task that is under way, or `#alone`, the one pending task that is not put
 * aside, or `#finished`. What was put aside can be delivered only while slot.running names nothing. A lock that is stuck
 * puts all of it off.
 */

import { Errno, Next, WorkerPlace } from '../../core/layout.generated.ts';
import type { Space } from '../../core/space.ts';
import type { Run } from '../task-run.ts';

export class PendingTasks {
  readonly #space: Space;
  readonly #place: number;
  readonly #runs = new Set<Run>();
  #alone: Run | undefined;
  /** Is delivered as the next task is taken. */
  #finished = 0;
  /** Were put aside, and have ended. */
  readonly #undelivered: number[] = [];

  constructor(space: Space, place: number) {
    this.#space = space;
    this.#place = place;
  }

  get size(): number {
    return this.#runs.size;
  }

  /** Those whose promise is pending. */
  [Symbol.iterator](): IterableIterator<Run> {
    return this.#runs.values();
  }

  has(run: Run): boolean {
    return this.#runs.has(run);
  }

  get hasUndelivered(): boolean {
    return this.#undelivered.length > 0;
  }

  get finished(): number {
    return this.#finished;
  }

  /** The task has ended: it is delivered with the next taking. */
  finish(task: number): void {
    this.#finished = task;
  }

  add(run: Run): void {
    this.#runs.add(run);
    this.#alone = run;
    // Beside others it cannot stay where the next one is taken.
    if (this.#runs.size > 1) this.#hold(run);
  }

  /** The promise has settled. False: it was not pending any more. */
  remove(run: Run): boolean {
    return this.#runs.delete(run);
  }

  /** What was pending has an outcome. `isOwn`: the seat's counters are this worker's. */
  end(run: Run, isOwn: boolean): void {
    if (!run.held) {
      this.#alone = undefined;
      this.#finished = run.ref;
      return;
    }
    if (isOwn) this.#space.u32[(this.#place + WorkerPlace.holding) >>> 2]!--;
    this.#undelivered.push(run.ref);
    this.deliverAll();
  }

  #hold(run: Run): void {
    if (this.#space.core.plait_task_hold() !== 0) return; // a stuck lock: another time
    run.held = true;
    this.#alone = undefined;
    this.#space.u32[(this.#place + WorkerPlace.holding) >>> 2]!++;
  }

  /** Makes slot.running name nothing pending, so that another can be taken. False: a stuck lock. */
  #holdAlone(): boolean {
    if (this.#alone !== undefined) this.#hold(this.#alone);
    return this.#alone === undefined;
  }

  /** Takes the next task, and delivers the one that has ended. A task, or one of `Next`. */
  take(busy: number): number {
    if (!this.#holdAlone()) return Next.RETRY;
    const task = this.#space.core.plait_task_next(this.#finished, busy) >>> 0;
    if (task !== Next.RETRY) this.#finished = 0;
    return task;
  }

  /** Takes a task of a client of this thread's own. A task, or one of `Next`. */
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

  /** Delivers whatever has ended. False: a stuck lock. */
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
