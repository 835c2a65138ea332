/** A worker thread as its pool's coordinator knows it. */

import type { HostThread } from '../core/host.ts';
import { encodeError } from './encode-error.ts';
import type { EndReason, Uncaught } from './protocol.ts';

/** What is to be known of a worker that has ended. */
export interface EndedWorker {
  readonly thread: HostThread;
  /** Why we stop it, if we do. */
  stopping: 'overdue' | 'force' | undefined;
  /** It takes no more tasks, and ends by itself. */
  leaving: 'idle' | 'recycled' | undefined;
  /** What it said or threw last. */
  error: unknown;
  hasError: boolean;
  /** A task was rejected with that error as its cause. */
  isErrorTold: boolean;
}

export interface WorkerRecord extends EndedWorker {
  readonly seat: number;
  /** The pool's owner started it, and alone can stop it; see start-worker.ts. */
  readonly isLent: boolean;
  state: 'loading' | 'ready' | 'failed';
  /** How a lent one had ended before we came: its owner has settled what it ran, and counted it; see early-death.ts. */
  readonly endedAs: EndReason | undefined;
  /** With which code a lent one has said that it ends. */
  code: number | undefined;
  /** For the idle timeout: how many tasks it had taken at the last look, and since when. */
  takes: number;
  since: number;
}

export const OUT_OF_MEMORY = 'ERR_WORKER_OUT_OF_MEMORY';

export function isOutOfMemory(worker: EndedWorker): boolean {
  return (worker.error as { code?: unknown } | undefined)?.code === OUT_OF_MEMORY;
}

/**
 * The error that ended a worker, for the pool's listeners. One that did not load the module is for its tasks, or
 * passes.
 */
export function uncaughtError(worker: WorkerRecord): Uncaught | undefined {
  if (!worker.hasError && worker.state !== 'failed') return undefined;
  const isTold = worker.isErrorTold || worker.endedAs !== undefined || worker.state !== 'ready';
  return { error: encodeError(worker.error), isTold };
}

/** Why a worker has ended. `closing`: its pool is. */
export function endReason(worker: EndedWorker, closing: boolean): EndReason {
  if (worker.stopping === 'overdue') return 'stopped';
  if (worker.leaving !== undefined) return worker.leaving;
  if (isOutOfMemory(worker)) return 'memory';
  if (worker.hasError) return 'crashed';
  return closing ? 'closed' : 'exit';
}

/**
 * A lent worker that was not stopped and has not said that it ends: from one that takes tasks, nothing but the end of
 * its memory keeps that word.
 */
export function endsWithoutWord(worker: WorkerRecord): boolean {
  return worker.isLent && worker.code === undefined && !worker.hasError && worker.stopping === undefined;
}
