/**
 * The messages between the threads of a pool. Tasks, results and progress do not travel this way: they are in the space
 * (core/task/task.h).
 *
 *     owner ------ open, close, resize, broadcast, --> coordinator ------ start, stop-requested -> worker
 *                  idle, recycle
 *     owner <----- closed, indices, done, event, ----- coordinator <----- ready, failed, leaves -- worker
 *                  message                                               crashed
 *
 * Waiting: the owner waits for `closed`, in close(), for `indices`, in broadcast(), and for `done`. The coordinator
 * waits for no message. A worker waits for `start`, which was posted before it ran. Running tasks need no message, so
 * a blocked owner stops nothing. Whatever the coordinator should notice in the space is signalled there
 * (pool.coordinator_signal).
 */

import type { ResourceLimits } from '../core/host-types.ts';
import type { SpaceHandle } from '../core/space.ts';
import type { NameForm } from './function-name.ts';

/** The coordinator's first message. */
export interface CoordinatorStart {
  readonly role: 'coordinator';
  readonly space: SpaceHandle;
  /** The script of the workers: the same as this thread's. */
  readonly script: string;
}

/** When a worker is replaced by a fresh one; 0: never. */
export interface RecycleRule {
  readonly tasks: number;
  /** Of the worker's JavaScript heap. */
  readonly bytes: number;
}

/** A pool opens: the coordinator starts its workers. The space says how many (pool.min_threads, .max_threads). */
export interface OpenPool {
  readonly type: 'open';
  readonly pool: number;
  /** The owner's client, which receives output that workers write outside of tasks. */
  readonly client: number;
  /** Workers to start at once; the same as pool.min_threads. */
  readonly threads: number;
  readonly module: string;
  readonly concurrency: number;
  readonly grace: number;
  readonly idleTimeout: number;
  /** Milliseconds that a worker may take to load the module; 0: no limit. */
  readonly loadTimeout: number;
  readonly recycle: RecycleRule;
  readonly inline: boolean;
  /** The export to call before a worker ends by itself, and how many milliseconds that may take; 0: no limit. */
  readonly teardown: string | undefined;
  readonly teardownTimeout: number;
  readonly workerData: unknown;
  readonly env: Record<string, string> | undefined;
  /**
   * Without `env`: the owner's environment when the pool was created, for all its workers; undefined if there is none.
   */
  readonly inherited: Record<string, string> | undefined;
  readonly argv: readonly string[] | undefined;
  readonly execArgv: readonly string[] | undefined;
  readonly resourceLimits: ResourceLimits | undefined;
}

/** The pool's state in the space is now CLOSING or CLOSED; `closed` follows when its last worker has exited. */
export interface ClosePool {
  readonly type: 'close';
  readonly pool: number;
  readonly force: boolean;
}

/** pool.min_threads and .max_threads have changed. */
export interface ResizePool {
  readonly type: 'resize';
  readonly pool: number;
}

/** A call that each worker makes once: the function's name, and an encoded value. */
export interface BroadcastCall {
  readonly name: string;
  readonly form: NameForm;
  readonly input: Uint8Array;
}

/**
 * Asks for the indices of the present workers, which `indices` returns. With `later`, workers that start afterwards
 * make the call before they take tasks: no worker falls between the two.
 */
export interface BroadcastPool {
  readonly type: 'broadcast';
  readonly pool: number;
  readonly id: number;
  readonly later: BroadcastCall | undefined;
}

/** Asks for `done` when no task is queued or running. */
export interface AwaitIdle {
  readonly type: 'idle';
  readonly pool: number;
  readonly id: number;
}

/** Replaces the present workers; each ends after its tasks. `done` follows when all of them have ended. */
export interface RecycleWorkers {
  readonly type: 'recycle';
  readonly pool: number;
  readonly id: number;
}

/**
 * A port whose other end a Worker of the user holds. Its first message is a thread id; its close is the thread's exit.
 */
export interface WatchThread {
  readonly type: 'watch';
  readonly port: unknown;
}

export type ToCoordinator =
  | OpenPool
  | ClosePool
  | ResizePool
  | BroadcastPool
  | AwaitIdle
  | RecycleWorkers
  | WatchThread;

/** No worker of the pool is left, and none of its tasks runs. `isStuck`: a stopped thread has not exited. */
export interface PoolClosed {
  readonly type: 'closed';
  readonly pool: number;
  readonly isStuck: boolean;
}

export interface WorkerIndices {
  readonly type: 'indices';
  readonly pool: number;
  readonly id: number;
  readonly indices: readonly number[];
}

/** What was asked for with that id is so. */
export interface Done {
  readonly type: 'done';
  readonly pool: number;
  readonly id: number;
}

/** Why a worker ended. */
export type EndReason = 'idle' | 'recycled' | 'stopped' | 'crashed' | 'memory' | 'exit' | 'closed';

/** An event of a worker. */
export interface WorkerEvent {
  /** The host's number for the thread (Node: its threadId). */
  readonly worker: number;
  /** Its index in the pool; its replacement keeps it. */
  readonly index: number;
  /** When the coordinator noticed it, in milliseconds since 1970, by the clock of `performance`. */
  readonly at: number;
}

export type PoolEvent =
  | ({ readonly type: 'start' } & WorkerEvent)
  | ({ readonly type: 'end'; readonly reason: EndReason; readonly uncaught: Uncaught | undefined } & WorkerEvent);

/** The error that ended a worker, or because of which it could not load the module. */
export interface Uncaught {
  /** Encoded. */
  readonly error: Uint8Array;
  /** Whether a task or a call on the pool reports it, too. */
  readonly isReported: boolean;
}

export interface PoolEventMessage {
  readonly type: 'event';
  readonly pool: number;
  readonly event: PoolEvent;
}

/** Code in a worker has posted this to its parent. */
export interface UserMessage {
  readonly type: 'message';
  readonly pool: number;
  readonly value: unknown;
}

export type FromCoordinator = PoolClosed | WorkerIndices | Done | PoolEventMessage | UserMessage;

/** A worker's first message. */
export interface WorkerStart {
  readonly role: 'worker';
  readonly space: SpaceHandle;
  readonly pool: number;
  /** The owner's client. */
  readonly client: number;
  readonly index: number;
  readonly module: string;
  readonly concurrency: number;
  readonly grace: number;
  readonly recycle: RecycleRule;
  readonly inline: boolean;
  readonly teardown: string | undefined;
  readonly teardownTimeout: number;
  /** Calls to make before the first task. */
  readonly first: readonly BroadcastCall[];
}

/** A stop was requested from a task of the worker. */
export interface StopRequested {
  readonly type: 'stop-requested';
}

export type ToWorker = WorkerStart | StopRequested;

/** The worker has loaded the module and takes tasks. */
export interface WorkerReady {
  readonly type: 'ready';
}

/** The worker could not load the module: an encoded error. */
export interface WorkerFailed {
  readonly type: 'failed';
  readonly error: Uint8Array;
}

/** The worker has reached its recycling limit and ends. */
export interface WorkerLeaves {
  readonly type: 'leaves';
}

/** The worker ends, and its teardown has failed: an encoded error. Hosts do not pass on errors of threads whole. */
export interface WorkerCrashed {
  readonly type: 'crashed';
  readonly error: Uint8Array;
}

export type FromWorker = WorkerReady | WorkerFailed | WorkerLeaves | WorkerCrashed;

/** As it is posted: messages of the user's code look different. */
export interface WorkerMessage {
  readonly plait: FromWorker;
}

/** The content of a worker's message, or undefined if the message is not ours. */
export function messageOf(data: unknown): FromWorker | undefined {
  return (data as Partial<WorkerMessage> | null | undefined)?.plait;
}
