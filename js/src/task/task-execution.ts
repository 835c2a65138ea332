/**
 * One execution of a task, and the worker's context for user code. Separate from context.ts, which the worker itself
 * does not load.
 */

import { PlaitError } from '../core/errors.ts';
import { Errno, Stop, Task, TaskStatus } from '../core/layout.generated.ts';
import { lockTimeout, outOfMemory, type Space } from '../core/space.ts';
import { Transport } from '../value/transport.ts';
import type { Submitter } from './submitter.ts';
import { TaskRecords } from './task-record.ts';

/** One execution of a task on its worker. */
export class TaskExecution {
  /** The task's record. */
  readonly ref: number;
  /** Whether the worker has put it aside. */
  held = false;
  /** Its result is ignored. */
  over = false;
  readonly #space: Space;
  #controller: AbortController | undefined;

  constructor(space: Space, ref: number) {
    this.#space = space;
    this.ref = ref;
  }

  get control(): number {
    if (this.over) return Stop.ABORT;
    return Atomics.load(this.#space.u32, (this.ref + Task.control) >>> 2);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      this.checkStop();
    }
    return this.#controller.signal;
  }

  /** Passes a stop request on to the signal. */
  checkStop(): void {
    if (this.#controller !== undefined && !this.#controller.signal.aborted && this.control !== 0) {
      this.#controller.abort(this.stopReason());
    }
  }

  stopReason(): Error {
    if ((this.control & Stop.TIMEOUT) !== 0) return this.timeoutError();
    return new DOMException('the task was aborted by its caller', 'AbortError');
  }

  timeoutError(): PlaitError {
    const timeout = this.over ? 0 : this.#space.load(this.ref + Task.timeoutMs);
    return new PlaitError('ERR_PLAIT_TASK_TIMEOUT', `the task ran for longer than its timeout of ${timeout} ms`);
  }

  /**
   * Sends progress to the caller in a task record of its own, delivered like a result. False: too many are undelivered,
   * and this value was discarded.
   */
  progress(value: unknown): boolean {
    if (this.over) return false;
    const space = this.#space;
    const transport = new Transport(space);
    const size = transport.prepare(value, 'progress');
    const client = space.load(this.ref + Task.client);
    const records = new TaskRecords(space);
    const record = records.create(client, size);
    if (record === 0) throw outOfMemory(size + Task.BYTES);
    records.setInput(record, transport, size);
    records.setMessage(record, TaskStatus.PROGRESS, space.load(this.ref + Task.ticket), this.ref);
    const rc = space.core.plait_task_emit(record);
    if (rc === 0) return true;
    space.core.plait_task_discard(record);
    if (rc === -Errno.ETIMEDOUT) throw lockTimeout();
    return false;
  }
}

/** The worker of this thread, if it is one. */
export interface WorkerContext {
  /** The current execution. */
  current(): TaskExecution | undefined;
  readonly index: number;
  readonly hostId: number;
  readonly space: Space;
  readonly pool: number;
  /** The thread's own connections to its pool. */
  readonly submitters: Set<Submitter>;
  /** Adds a connection: a task may await other tasks that it submits there. */
  addSubmitter(submitter: Submitter): void;
}

/** Shared by the two copies of this module that a bundler may make. */
export const scope = globalThis as typeof globalThis & { [key]?: WorkerContext };
export const key: unique symbol = Symbol.for('plait.worker.3') as never;

/** Makes this thread a worker for {@link task}. */
export function setWorkerContext(context: WorkerContext): void {
  scope[key] = context;
}
