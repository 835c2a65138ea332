/**
 * What a task can know of itself: `import { task } from 'plait/task'`.
 *
 * Invariant: `current` is the task whose function runs on this thread's stack, or whose promise the worker waits for when
 * that is the only one. Where a worker runs several at a time, the host's asynchronous context says which it is.
 */

import { PlaitError } from '../core/errors.ts';
import { Stop, Task, TaskStatus } from '../core/layout.generated.ts';
import { lockTimeout, outOfMemory, type Space } from '../core/space.ts';
import type { PoolCalls } from './calls.ts';
import { Transport } from './transport.ts';

/** One run of a task, as the worker keeps it. */
export class Run {
  /** The task's record. */
  readonly ref: number;
  /** Whether the worker has put it aside. */
  held = false;
  /** Its result is of no interest any more. */
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
      this.look();
    }
    return this.#controller.signal;
  }

  /** Passes a stop on to the signal. */
  look(): void {
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

  /** Sends word to the caller: a record of its own, which goes the way of results. */
  progress(value: unknown): void {
    if (this.over) return;
    const space = this.#space;
    const transport = new Transport(space);
    const size = transport.prepare(value, 'progress');
    const client = space.load(this.ref + Task.client);
    const record = space.core.plait_task_create(client, Math.max(size, 0)) >>> 0;
    if (record === 0) throw outOfMemory(size + Task.BYTES);
    space.cover(record + Task.BYTES);
    const at = record >>> 2;
    if (size >= 0) transport.fill(space.u32[at + (Task.inputLow >>> 2)]!, size);
    const { u32 } = space;
    u32[at + (Task.ticket >>> 2)] = u32[(this.ref + Task.ticket) >>> 2]!;
    u32[at + (Task.inputKind >>> 2)] = transport.kind;
    u32[at + (Task.inputLow >>> 2)] = transport.low;
    u32[at + (Task.inputHigh >>> 2)] = transport.high;
    u32[at + (Task.outputStatus >>> 2)] = TaskStatus.PROGRESS;
    if (space.core.plait_task_emit(record) === 0) return;
    space.core.plait_task_discard(record);
    throw lockTimeout();
  }
}

/** The worker that this thread is, if it is one. */
export interface WorkerContext {
  /** The run that is going on now. */
  current(): Run | undefined;
  readonly seat: number;
  readonly hostId: number;
  pool(): PoolCalls;
}

/** Where the two copies of this module that a bundler may make meet. */
const scope = globalThis as typeof globalThis & { [key]?: WorkerContext };
const key: unique symbol = Symbol.for('plait.worker.2') as never;

/** Makes this thread a worker for {@link task}. */
export function setWorkerContext(context: WorkerContext): void {
  scope[key] = context;
}

function current(): Run {
  const run = scope[key]?.current();
  if (run === undefined) throw new Error('only a running task has this: the thread runs none now');
  return run;
}

/** What a running task can know and say of itself. On a thread that runs no task, reading it throws. */
export interface TaskContext {
  /** Whether the task should stop, because it was aborted or is late. A synchronous loop sees it change. */
  readonly aborted: boolean;
  /** The same as a signal, for what takes one. It fires when the worker's event loop turns. */
  readonly signal: AbortSignal;
  /** Tells the caller something meanwhile: its `onProgress`. */
  progress(value: unknown): void;
  /** The worker that runs the task: its place in the pool, and the host's number for the thread. */
  readonly worker: { readonly seat: number; readonly id: number };
  /** The pool that the task belongs to. While the task awaits calls on it, its worker helps to run them. */
  readonly pool: PoolCalls;
}

/** The task that is running on this thread. */
export const task: TaskContext = {
  get aborted() {
    return current().control !== 0;
  },
  get signal() {
    return current().signal;
  },
  progress(value) {
    current().progress(value);
  },
  get worker() {
    const context = scope[key];
    if (context === undefined) throw new Error('this thread is not a worker of a pool');
    return { seat: context.seat, id: context.hostId };
  },
  get pool() {
    const context = scope[key];
    if (context === undefined) throw new Error('this thread is not a worker of a pool');
    return context.pool();
  },
};
