/**
 * Starting a worker thread. Apart from all else, so that the coordinator can do it before it has loaded the rest of itself:
 * the first workers boot while it does.
 *
 * Invariant: what a thread says before somebody listens is kept, and told in order to whoever takes it over.
 */

import { type HostThread, host } from '../core/host.ts';
import type { SpaceHandle } from '../core/space.ts';
import type { BroadcastCall, OpenPool, WorkerStart } from './protocol.ts';

/** A thread on its way, and what it has said. */
export interface StartedThread {
  readonly thread: HostThread;
  /** Hears what it said so far, and everything from now on. */
  listen(listener: ThreadListener): void;
  /** Called at its first word, if nobody listens yet. */
  onWord: (() => void) | undefined;
}

export interface ThreadListener {
  message(data: unknown): void;
  error(error: unknown): void;
  exit(code: number): void;
}

/** Starts a worker for a seat of the pool; throws what the host says of options that it refuses. */
export function startWorker(
  space: SpaceHandle,
  options: OpenPool,
  seat: number,
  number: number,
  first: readonly BroadcastCall[],
): StartedThread {
  const { pool, module, concurrency, grace, recycle, inline, workerData, env, execArgv, resourceLimits } = options;
  const thread = host.startThread({
    name: `plait worker ${number}`,
    workerData,
    ...(env && { env }),
    ...(execArgv && { execArgv }),
    ...(resourceLimits && { resourceLimits }),
  });
  const said: ((listener: ThreadListener) => void)[] = [];
  const keep = (tell: (listener: ThreadListener) => void): void => {
    said.push(tell);
    started.onWord?.();
  };
  thread.onMessage = (data) => keep((listener) => listener.message(data));
  thread.onError = (error) => keep((listener) => listener.error(error));
  thread.onExit = (code) => keep((listener) => listener.exit(code));
  thread.post({
    role: 'worker',
    space,
    pool,
    seat,
    module,
    concurrency,
    grace,
    recycle,
    inline,
    first,
  } satisfies WorkerStart);
  const started: StartedThread = {
    thread,
    onWord: undefined,
    listen(listener) {
      for (const tell of said.splice(0)) tell(listener);
      thread.onMessage = (data) => listener.message(data);
      thread.onError = (error) => listener.error(error);
      thread.onExit = (code) => listener.exit(code);
    },
  };
  return started;
}
