/** Starting a worker thread. */

import { host } from '../../core/host.ts';
import type { HostThread } from '../../core/host-types.ts';
import type { BroadcastCall, CoordinatorStart, OpenPool, WorkerStart } from '../protocol.ts';

/**
 * Starts a worker with an index of the pool; throws the host's error for options that it refuses.
 *
 * A worker inherits this thread's environment, so that is set to the one in which the pool was created. Node would
 * treat `env` as an explicit option instead, and the worker would not get the options of the program's command line.
 */
export function startWorker(
  { space, script }: CoordinatorStart,
  options: OpenPool,
  index: number,
  number: number,
  first: readonly BroadcastCall[],
): HostThread {
  const { pool, client, module, concurrency, grace, recycle, inline, teardown, teardownTimeout } = options;
  const { workerData, inherited, env, argv, execArgv, resourceLimits } = options;
  if (inherited !== undefined) host.setEnvironment(inherited);
  const name = `plait worker ${number}`;
  const thread = host.startThread(
    {
      name,
      workerData,
      ...(env && { env }),
      ...(argv && { argv }),
      ...(execArgv && { execArgv }),
      ...(resourceLimits && { resourceLimits }),
    },
    script,
  );
  thread.post({
    role: 'worker',
    space,
    pool,
    client,
    index,
    module,
    concurrency,
    grace,
    recycle,
    inline,
    teardown,
    teardownTimeout,
    first,
  } satisfies WorkerStart);
  return thread;
}
