/** Starting a worker thread. */

import { host } from '../../core/host.ts';
import type { HostThread } from '../../core/host-types.ts';
import type { BroadcastCall, CoordinatorStart, OpenPool, WorkerStart } from '../protocol.ts';

/**
 * Starts a worker for a seat of the pool; throws what the host says of options that it refuses.
 *
 * A worker inherits this thread's environment, so that becomes the one in which the pool was made. Handed over as
 * `env`, Node would take it for a wish of the user's, and the options of the program's command line would not reach the
 * worker.
 */
export function startWorker(
  { space, script }: CoordinatorStart,
  options: OpenPool,
  index: number,
  number: number,
  first: readonly BroadcastCall[],
): HostThread {
  const { pool, client, module, concurrency, grace, recycle, inline } = options;
  const { workerData, inherited, env, execArgv, resourceLimits } = options;
  if (inherited !== undefined) host.setEnvironment(inherited);
  const name = `plait worker ${number}`;
  const thread = host.startThread(
    { name, workerData, ...(env && { env }), ...(execArgv && { execArgv }), ...(resourceLimits && { resourceLimits }) },
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
    first,
  } satisfies WorkerStart);
  return thread;
}
