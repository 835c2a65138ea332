/**
 * The context of the running task: `import { task } from 'plait/task'`.
 *
 * Invariant: `current` is the task whose function is on this thread's stack, or the only task whose promise the worker
 * waits for. If a worker runs several tasks at a time, the host's asynchronous context identifies the task.
 */

import { makeOpaque, refuseCloning } from '../core/opaque.ts';
import type { PoolCalls } from './calls.ts';
import { ConnectedPool } from './connect.ts';
import { key, scope, type TaskExecution, type WorkerContext } from './task-execution.ts';

let own: ConnectedPool | undefined;

function worker(): WorkerContext {
  const context = scope[key];
  if (context === undefined) throw new Error('this thread is not a worker of a pool');
  return context;
}

function current(): TaskExecution {
  const execution = scope[key]?.current();
  if (execution === undefined) throw new Error('only a running task has this: the thread runs none now');
  return execution;
}

/** What a running task can read and do. On a thread that runs no task, reading it throws. */
export interface TaskContext {
  /**
   * Whether the task should stop, because it was aborted or has exceeded its timeout. A synchronous loop sees it
   * change.
   */
  readonly aborted: boolean;
  /** The same as an AbortSignal. It fires when the worker's event loop turns. */
  readonly signal: AbortSignal;
  /**
   * Sends a value to the caller's `onProgress`. While the caller's thread is blocked, at most 8 MiB wait. Beyond that
   * the value is discarded, and the result is false.
   */
  progress(value: unknown): boolean;
  /** The worker that runs the task: its index in the pool, and the host's number for its thread. */
  readonly worker: { readonly index: number; readonly id: number };
  /** The task's pool. While the task awaits calls on it, its worker helps to run them. */
  readonly pool: PoolCalls;
}

/** Its getters are not enumerable, so it can be logged on a thread that runs no task. */
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
