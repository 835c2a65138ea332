/** A worker thread as its pool's coordinator knows it. */

import type { HostThread } from '../../core/host-types.ts';
import { encodeError } from '../../value/encode-error.ts';
import type { EndReason, Uncaught } from '../protocol.ts';

/** What is needed of a worker that has ended. */
export interface EndedWorker {
  readonly thread: HostThread;
  /** Why the coordinator stops it, if it does. */
  stopping: 'overdue' | 'force' | undefined;
  /** Why it takes no more tasks and ends by itself. */
  leaving: 'idle' | 'recycled' | undefined;
  /** What it reported or threw last. */
  error: unknown;
  hasError: boolean;
  /** A task was rejected with that error as its cause. */
  isErrorReported: boolean;
}

export interface WorkerRecord extends EndedWorker {
  readonly index: number;
  state: 'loading' | 'ready' | 'failed';
  /** For the idle timeout: the number of tasks taken at the last poll, and since when it has not changed. */
  tasksTaken: number;
  since: number;
}

const OUT_OF_MEMORY = 'ERR_WORKER_OUT_OF_MEMORY';

export function isOutOfMemory(worker: EndedWorker): boolean {
  return (worker.error as { code?: unknown } | undefined)?.code === OUT_OF_MEMORY;
}

/**
 * The error that ended a worker, for the pool's listeners. If it did not load the module, the error goes to its tasks,
 * or passes.
 */
export function uncaughtError(worker: WorkerRecord): Uncaught | undefined {
  if (!worker.hasError && worker.state !== 'failed') return undefined;
  const isReported = worker.isErrorReported || worker.state !== 'ready';
  return { error: encodeError(worker.error), isReported };
}

/** Why a worker has ended. `closing`: its pool closes. */
export function endReason(worker: EndedWorker, closing: boolean): EndReason {
  if (worker.stopping === 'overdue') return 'stopped';
  if (isOutOfMemory(worker)) return 'memory';
  if (worker.hasError) return 'crashed'; // also one that was to end, and has failed at it
  if (worker.leaving !== undefined) return worker.leaving;
  return closing ? 'closed' : 'exit';
}
