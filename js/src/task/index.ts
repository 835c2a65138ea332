/** plait/task: run functions on worker threads that pull their work from shared memory. */

import { isSupported } from '../core/boot.ts';
import { threadWide } from '../core/thread-wide.ts';
import { PoolCalls as OwnPoolCalls } from './calls.ts';
import { ConnectedPool as OwnConnectedPool, connect as ownConnect } from './connect.ts';
import { task as ownTask, type TaskContext } from './context.ts';
import { Pool as OwnPool } from './pool.ts';

export { PlaitError, type PlaitErrorCode } from '../core/errors.ts';
export type { ResourceLimits } from '../core/host-types.ts';
export { give, transfer } from '../value/transfer.ts';
export type { PoolHandle, Proxied } from './calls.ts';
export type { ConnectedPoolEvents, ConnectOptions } from './connect.ts';
export type { TaskContext } from './context.ts';
export { expose } from './expose.ts';
export type { Times } from './histogram.ts';
export type { Settled } from './map.ts';
export type { BroadcastOptions, CallOptions, MapOptions, RunManyOptions, RunOptions } from './options.ts';
export type { PoolEvents } from './pool.ts';
export type { CloseOptions, PoolOptions, RecycleOptions, ResizeOptions } from './pool-options.ts';
export type { ProgressStream } from './progress-stream.ts';
export type { EndReason, WorkerEvent } from './protocol.ts';
export type { PoolStats, WorkerStats } from './stats.ts';
export { type WatchedWorkerOptions, type WorkerOptionsLike, workerOptions } from './worker-options.ts';

isSupported(); // importing attaches the thread if it can, and lets threads started from here find the space

// A thread may have several copies of this, one imported and one required: `instanceof` says the same in each.
/** A pool of worker threads. @class */
export const Pool: typeof OwnPool = threadWide('Pool', () => OwnPool);
export type Pool = OwnPool;
/** The calls that every thread can make on a pool. @class */
export const PoolCalls: typeof OwnPoolCalls = threadWide('PoolCalls', () => OwnPoolCalls);
export type PoolCalls = OwnPoolCalls;
/** A pool of another thread. @class */
export const ConnectedPool: typeof OwnConnectedPool = threadWide('ConnectedPool', () => OwnConnectedPool);
export type ConnectedPool = OwnConnectedPool;
export const connect: typeof ownConnect = threadWide('connect', () => ownConnect);
/** The task that is running on this thread. */
export const task: TaskContext = threadWide('task', () => ownTask);
