/**
 * Everything that the threads of a pool say to each other by message. Tasks, results and progress never travel this
 * way: they lie in the space (core/task/layout.h).
 *
 *     owner ------ open, close, resize, broadcast ---> coordinator ------ start, look ----------> worker
 *     owner <----- closed, indices, event ------------ coordinator <----- ready, failed, leaves - worker
 *
 * Who waits for whom: the owner waits for `closed`, in close(), and for `indices`, in broadcast(). The coordinator waits
 * for nobody. A worker waits for `start`, which was posted before it ran. Nothing here is needed while tasks flow, so a
 * blocked owner stops nothing. Whatever the coordinator should look at in the space is announced there
 * (pool.coordinator_signal).
 */

import type { ResourceLimits } from '../core/host-types.ts';
import type { SpaceHandle } from '../core/space.ts';

/** The coordinator's first message. */
export interface CoordinatorStart {
  readonly role: 'coordinator';
  readonly space: SpaceHandle;
  /** What the workers run that it starts: the same as this thread. */
  readonly script: string;
}

/** When a worker has done its share, and a fresh one takes its place; 0: never. */
export interface RecycleRule {
  readonly tasks: number;
  /** Of the worker's JavaScript heap. */
  readonly bytes: number;
}

/** A pool begins: the coordinator starts its workers. How many is in the space (pool.min_threads, .max_threads). */
export interface OpenPool {
  readonly type: 'open';
  readonly pool: number;
  /** The owner's client of the pool, which gets what workers write outside of tasks. */
  readonly client: number;
  /** Workers to start at once; the same as pool.min_threads. */
  readonly threads: number;
  readonly module: string;
  readonly concurrency: number;
  readonly grace: number;
  readonly idleTimeout: number;
  /** Milliseconds that a worker may take until it has loaded the module; 0: any time. */
  readonly loadTimeout: number;
  readonly recycle: RecycleRule;
  readonly inline: boolean;
  readonly workerData: unknown;
  readonly env: Record<string, string> | undefined;
  /**
   * Without `env`: the owner's environment when the pool was made, for all its workers; undefined where there is none.
   */
  readonly inherited: Record<string, string> | undefined;
  readonly execArgv: readonly string[] | undefined;
  readonly resourceLimits: ResourceLimits | undefined;
}

/** The pool's state in the space has changed to CLOSING or CLOSED; `closed` follows when its last worker is gone. */
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

/** A call that every worker makes once: an encoded value, and the function's name. */
export interface BroadcastCall {
  readonly name: string;
  readonly input: Uint8Array;
}

/**
 * Which seats have a worker, now? `indices` answers. With `later`, workers that are started from then on make the call
 * before they take tasks: no worker falls between the two.
 */
export interface BroadcastPool {
  readonly type: 'broadcast';
  readonly pool: number;
  readonly id: number;
  readonly later: BroadcastCall | undefined;
}

/**
 * A port whose other end a Worker of the user holds: its first message is a thread id, its close is that thread's end.
 */
export interface WatchThread {
  readonly type: 'watch';
  readonly port: unknown;
}

export type ToCoordinator = OpenPool | ClosePool | ResizePool | BroadcastPool | WatchThread;

/** No worker of the pool is left, and no task of it runs; or `isStuck`: a thread that was stopped has not ended. */
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

/** Why a worker ended. */
export type EndReason = 'idle' | 'recycled' | 'stopped' | 'crashed' | 'memory' | 'exit' | 'closed';

/** What a pool's listeners hear of its workers. */
export interface WorkerEvent {
  /** The host's number for the thread (Node: its threadId). */
  readonly worker: number;
  /** Its place in the pool. */
  readonly index: number;
  /** When the coordinator saw it, in milliseconds since 1970, by the clock of performance. */
  readonly at: number;
}

export type PoolEvent =
  | ({ readonly type: 'start' } & WorkerEvent)
  | ({ readonly type: 'end'; readonly reason: EndReason; readonly uncaught: Uncaught | undefined } & WorkerEvent);

/** The error that ended a worker, or for which it could not load the module. */
export interface Uncaught {
  /** Encoded. */
  readonly error: Uint8Array;
  /** Whether some task, or whoever asks the pool for one, is told of it, too. */
  readonly isReported: boolean;
}

export interface PoolEventMessage {
  readonly type: 'event';
  readonly pool: number;
  readonly event: PoolEvent;
}

export type FromCoordinator = PoolClosed | WorkerIndices | PoolEventMessage;

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
  /** Calls to make before the first task. */
  readonly first: readonly BroadcastCall[];
}

/** A task that the worker has was told to stop. */
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

/** The worker has done its share and ends. */
export interface WorkerLeaves {
  readonly type: 'leaves';
}

export type FromWorker = WorkerReady | WorkerFailed | WorkerLeaves;

/** As they are posted: what the user's code posts from there is something else. */
export interface WorkerMessage {
  readonly plait: FromWorker;
}

/** What a worker says by a message, or undefined if the message is not ours. */
export function messageOf(data: unknown): FromWorker | undefined {
  return (data as Partial<WorkerMessage> | null | undefined)?.plait;
}
