/** A worker thread as its pool's coordinator knows it. */

import type { HostThread } from '../core/host.ts';
import { encodeError } from './encode-error.ts';
import type { EndReason, Uncaught } from './protocol.ts';

export interface WorkerRecord {
  readonly thread: HostThread;
  readonly seat: number;
  /** The pool's owner started it, and alone can stop it; see start-worker.ts. */
  readonly isLent: boolean;
  state: 'loading' | 'ready' | 'failed';
  /** Why we stop it, if we do. */
  stopping: 'overdue' | 'force' | undefined;
  /** It takes no more tasks, and ends by itself. */
  leaving: 'idle' | 'recycled' | undefined;
  /** What it said or threw last. */
  error: unknown;
  hasError: boolean;
  /** A task was rejected with that error as its cause. */
  isErrorTold: boolean;
  /** With which code a lent one has said that it ends. */
  code: number | undefined;
  /** For the idle timeout: how many tasks it had taken at the last look, and since when. */
  takes: number;
  since: number;
}

export const OUT_OF_MEMORY = 'ERR_WORKER_OUT_OF_MEMORY';

export function isOutOfMemory(worker: WorkerRecord): boolean {
  return (worker.error as { code?: unknown } | undefined)?.code === OUT_OF_MEMORY;
}

/** The error that ended a worker, for the pool's listeners. One that did not load the module is for its tasks, or passes. */
export function uncaughtError(worker: WorkerRecord): Uncaught | undefined {
  if (!worker.hasError && worker.state !== 'failed') return undefined;
  return { error: encodeError(worker.error), isTold: worker.isErrorTold || worker.state !== 'ready' };
}

/** Why a worker has ended. `closing`: its pool is. */
export function endReason(worker: WorkerRecord, closing: boolean): EndReason {
  if (worker.stopping === 'overdue') return 'stopped';
  if (worker.leaving !== undefined) return worker.leaving;
  if (isOutOfMemory(worker)) return 'memory';
  if (worker.hasError) return 'crashed';
  return closing ? 'closed' : 'exit';
}

/**
 * A lent worker that was not stopped and has not said that it ends: from one that takes tasks, nothing but the end of its
 * memory keeps that word.
 */
export function endsWithoutWord(worker: WorkerRecord): boolean {
  return worker.isLent && worker.code === undefined && !worker.hasError && worker.stopping === undefined;
}
