/**
 * Starting a worker thread. Apart from all else, so that the coordinator can do it before it has loaded the rest of
 * itself: the first workers boot while it does. The very first one of a new pool boots before the coordinator does: the
 * owner's thread starts it and lends it to the coordinator (coordinator-thread.ts).
 *
 * Invariant: what a thread says before somebody listens is kept, and told in order to whoever takes it over.
 */

import {
  type HostThread,
  host,
  type Instead,
  type LentThread,
  type ThreadOptions,
  type ThreadScript,
} from '../core/host.ts';
import type { SpaceHandle } from '../core/space.ts';
import {
  type BroadcastCall,
  type CoordinatorStart,
  LentState,
  type LentWorker,
  type OpenPool,
  type TerminateLent,
  type WorkerStart,
} from './protocol.ts';

/** A thread on its way, and what it has said. */
export interface StartedThread {
  readonly thread: HostThread;
  /** The pool's owner started it, and alone can stop it; its last words come as messages. */
  readonly lent: LentWorker | undefined;
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

function threadOptions(
  { workerData, env, execArgv, resourceLimits }: Omit<OpenPool, 'pool' | 'client'>,
  number: number,
): ThreadOptions {
  return {
    name: `plait worker ${number}`,
    workerData,
    ...(env && { env }),
    ...(execArgv && { execArgv }),
    ...(resourceLimits && { resourceLimits }),
  };
}

function workerStart(
  space: SpaceHandle,
  { pool, client, module, concurrency, grace, recycle, inline }: OpenPool,
  seat: number,
  first: readonly BroadcastCall[],
  lent: Int32Array | undefined,
): WorkerStart {
  return { role: 'worker', space, pool, client, seat, module, concurrency, grace, recycle, inline, first, lent };
}

/**
 * Starts a worker for a seat of the pool; throws what the host says of options that it refuses.
 *
 * A worker inherits this thread's environment, so that becomes the one in which the pool was made. Handed over as
 * `env`, Node would take it for a wish of the user's, and the options of the program's command line would not reach the
 * worker.
 */
export function startWorker(
  { space, workerScript }: CoordinatorStart,
  options: OpenPool,
  seat: number,
  number: number,
  first: readonly BroadcastCall[],
): StartedThread {
  if (options.inherited !== undefined) host.setEnvironment(options.inherited);
  const thread = host.startThread(threadOptions(options, number), workerScript);
  const started = listening(thread, undefined);
  thread.post(workerStart(space, options, seat, first, undefined));
  return started;
}

/**
 * Starts the thread of a pool's first worker, on seat 0, from the thread that owns the pool; {@link lendWorker} says
 * what it is to do. Undefined where that cannot be. Only for pools whose workers run one task at a time, and without
 * limits of memory: of such a worker's end the coordinator hears no more than what the worker itself says.
 */
export function startAhead(options: Omit<OpenPool, 'pool' | 'client'>, script: ThreadScript): LentThread | undefined {
  const { threads, concurrency, resourceLimits } = options;
  if (host.lendThread === undefined || threads === 0 || concurrency > 1 || resourceLimits !== undefined)
    return undefined;
  try {
    return host.lendThread(threadOptions(options, 1), script);
  } catch {
    return undefined; // options that the host refuses: the coordinator finds out, too, and says so
  }
}

/** Makes that thread the pool's worker. `state`: see {@link LentState}. */
export function lendWorker(
  lent: LentThread,
  space: SpaceHandle,
  options: OpenPool,
  state: Int32Array,
  instead: Instead | undefined,
): void {
  lent.begin(workerStart(space, options, 0, [], state), instead);
}

/** The coordinator's end of that, if the pool has such a thread: the owner alone can stop it, and is asked to. */
export function adoptWorker({ pool, lent }: OpenPool): StartedThread | undefined {
  if (lent === undefined) return undefined;
  const terminate = { type: 'terminate', pool, worker: lent.hostId } satisfies TerminateLent;
  const stop = (): void => {
    Atomics.store(lent.state, 0, LentState.STOPPED);
    host.postToStarter(terminate);
  };
  return listening(host.adoptThread(lent.hostId, lent.port, stop), lent);
}

function listening(thread: HostThread, lent: LentWorker | undefined): StartedThread {
  const said: ((listener: ThreadListener) => void)[] = [];
  const keep = (tell: (listener: ThreadListener) => void): void => {
    said.push(tell);
    started.onWord?.();
  };
  thread.onMessage = (data) => keep((listener) => listener.message(data));
  thread.onError = (error) => keep((listener) => listener.error(error));
  thread.onExit = (code) => keep((listener) => listener.exit(code));
  const started: StartedThread = {
    thread,
    lent,
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
