/** plait/task: run functions on worker threads that pull their work from shared memory. */

import { commonSpace } from '../core/boot.ts';

export { PlaitError, type PlaitErrorCode } from '../core/errors.ts';
export type { ResourceLimits } from '../core/host.ts';
export { expose } from './expose.ts';
export type { MapOptions, Settled } from './map.ts';
export { type CloseOptions, Pool, type PoolOptions, type RunOptions } from './pool.ts';
export { type WorkerOptionsLike, workerOptions } from './worker-options.ts';

commonSpace(); // importing attaches the thread, and lets threads started from here find the space
