/** plait/task: run functions on worker threads that pull their work from shared memory. */

import { isSupported } from '../core/boot.ts';

export { PlaitError, type PlaitErrorCode } from '../core/errors.ts';
export type { ResourceLimits } from '../core/host.ts';
export { PoolCalls, type PoolHandle, type Proxied } from './calls.ts';
export { ConnectedPool, type ConnectedPoolEvents, type ConnectOptions, connect } from './connect.ts';
export { type TaskContext, task } from './context.ts';
export { expose } from './expose.ts';
export type { Settled } from './map.ts';
export type { BroadcastOptions, CallOptions, MapOptions, RunManyOptions, RunOptions } from './options.ts';
export type { Parts } from './parts.ts';
export { Pool, type PoolEvents } from './pool.ts';
export type { CloseOptions, PoolOptions, RecycleOptions, ResizeOptions } from './pool-options.ts';
export type { EndReason, WorkerEvent } from './protocol.ts';
export type { PoolStats, Times, WorkerStats } from './stats.ts';
export { give, transfer } from './transfer.ts';
export { type WatchedWorkerOptions, type WorkerOptionsLike, workerOptions } from './worker-options.ts';

isSupported(); // importing attaches the thread if it can, and lets threads started from here find the space
