/**
 * Everything that the threads of a pool say to each other by message. Tasks and results never travel this way: they
 * lie in the space (core/task/task.h).
 *
 *     owner ------ open, close, watch ------> coordinator ------ start ------> worker
 *     owner <----- closed ------------------- coordinator <----- ready, failed - worker
 *
 * Who waits for whom: the owner waits for `closed` only, in close(). The coordinator waits for nobody. A worker waits
 * for `start`, which was posted before it ran. Nothing here is needed while tasks flow, so a blocked owner stops nothing.
 */

import type { ResourceLimits } from '../core/host.ts';
import type { SpaceHandle } from '../core/space.ts';

/** The coordinator's first message. */
export interface CoordinatorStart {
  readonly role: 'coordinator';
  readonly space: SpaceHandle;
}

/** A pool begins: the coordinator starts its workers. */
export interface OpenPool {
  readonly type: 'open';
  readonly pool: number;
  readonly threads: number;
  readonly module: string;
  readonly timeout: number | undefined;
  readonly workerData: unknown;
  readonly env: Record<string, string> | undefined;
  readonly execArgv: readonly string[] | undefined;
  readonly resourceLimits: ResourceLimits | undefined;
}

/** The pool's state in the space has changed to CLOSING or CLOSED; `closed` follows when its last worker is gone. */
export interface ClosePool {
  readonly type: 'close';
  readonly pool: number;
  readonly force: boolean;
}

/** A port whose other end a Worker of the user holds: its first message is a thread id, its close is that thread's end. */
export interface WatchThread {
  readonly type: 'watch';
  readonly port: unknown;
}

export type ToCoordinator = OpenPool | ClosePool | WatchThread;

/** No worker of the pool is left, and no task of it runs. */
export interface PoolClosed {
  readonly type: 'closed';
  readonly pool: number;
}

export type FromCoordinator = PoolClosed;

/** A worker's first message. */
export interface WorkerStart {
  readonly role: 'worker';
  readonly space: SpaceHandle;
  readonly pool: number;
  readonly module: string;
}

/** The worker has loaded the module and takes tasks. */
export interface WorkerReady {
  readonly type: 'ready';
}

/** The worker could not load the module: an encoded error. */
export interface WorkerFailed {
  readonly type: 'failed';
  readonly error: Uint8Array;
}

export type FromWorker = WorkerReady | WorkerFailed;
