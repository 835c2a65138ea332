/**
 * What a task can know of itself: `import { task } from 'plait/task'`.
 *
 * Invariant: `current` is the task whose function runs on this thread's stack, or whose promise the worker waits for
 * when that is the only one. Where a worker runs several at a time, the host's asynchronous context says which it is.
 */

import { makeOpaque, refuseCloning } from '../core/opaque.ts';
import type { PoolCalls } from './calls.ts';
import { ConnectedPool } from './connect.ts';
import { key, type Run, scope, type WorkerContext } from './task-run.ts';

let own: ConnectedPool | undefined;

function worker(): WorkerContext {
  const context = scope[key];
  if (context === undefined) throw new Error('this thread is not a worker of a pool');
  return context;
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
  /**
   * Tells the caller something meanwhile: its `onProgress`. While a caller's thread is blocked, 8 MiB of it wait; what
   * comes above is dropped, and the answer is false.
   */
  progress(value: unknown): boolean;
  /** The worker that runs the task: its place in the pool, and the host's number for the thread. */
  readonly worker: { readonly index: number; readonly id: number };
  /** The pool that the task belongs to. While the task awaits calls on it, its worker helps to run them. */
  readonly pool: PoolCalls;
}

/** Its getters do not list, so it can be logged on a thread that runs no task. */
class RunningTask implements TaskContext {
  static {
    makeOpaque(
      RunningTask,
      { name: 'Task', instead: 'send what is asked of it, such as task.worker.id' },
      ({ worker: { index }, aborted }) => ({
        index,
        aborted,
      }),
    );
  }

  constructor() {
    refuseCloning(this);
  }

  get aborted(): boolean {
    return current().control !== 0;
  }

  get signal(): AbortSignal {
    return current().signal;
  }

  progress(value: unknown): boolean {
    return current().progress(value);
  }

  get worker(): { readonly index: number; readonly id: number } {
    const { index, hostId } = worker();
    return { index, id: hostId };
  }

  get pool(): PoolCalls {
    const context = worker();
    own ??= new ConnectedPool(context.space, context.pool, context);
    return own;
  }
}

/** The task that is running on this thread. */
export const task: TaskContext = new RunningTask();
