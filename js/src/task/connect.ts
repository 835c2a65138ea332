/** Pools in threads that do not own them. */

import { commonSpace } from '../core/boot.ts';
import { PlaitError } from '../core/errors.ts';
import { host } from '../core/host.ts';
import type { Space } from '../core/space.ts';
import { PoolCalls, type PoolCallsEvents, type PoolHandle } from './calls.ts';
import { checkOptions } from './option-names.ts';
import { CALLS, mustBeSpace } from './options.ts';
import { Submitter } from './submitter.ts';
import { key, scope, type WorkerContext } from './task-execution.ts';

/** The events of a {@link ConnectedPool}: only the pool's owner receives events of workers. */
export type ConnectedPoolEvents = PoolCallsEvents;

/**
 * A pool in a thread that does not own it. Outstanding tasks keep the thread alive. The pool's memory in the space
 * stays allocated until its last connection is disposed of, or the connected thread ends.
 */
export class ConnectedPool extends PoolCalls {
  readonly #worker: WorkerContext | undefined;
  #disposed = false;

  /** `worker`: this thread is that worker of the pool, and helps to run what it submits here. */
  constructor(space: Space, ref: number, worker?: WorkerContext) {
    let letGo: (() => void) | undefined;
    const submitter = new Submitter(space, ref, (busy) => {
      if (worker !== undefined) return; // the pool keeps its workers alive
      if (busy) letGo ??= host.holdLoop();
      else {
        letGo?.();
        letGo = undefined;
      }
    });
    super(space, ref, submitter);
    this.#worker = worker;
    worker?.addSubmitter(submitter);
  }

  protected override whyNotBlock(): string | undefined {
    if (this.#worker === undefined) return super.whyNotBlock();
    return 'a worker that waits for its own pool would wait for itself: use `await run()`, which helps meanwhile';
  }

  /** Disconnects from the pool. Outstanding tasks are rejected here, but still run. */
  [Symbol.dispose](): void {
    if (this.#disposed) return;
    this.#disposed = true;
    const why = 'this thread has let go of the pool';
    this.submitter.abandon(new PlaitError('ERR_PLAIT_POOL_CLOSED', why));
    this.leave(why);
    this.#worker?.submitters.delete(this.submitter);
    this.space.core.plait_client_release(this.submitter.client);
  }
}

/** Options of {@link connect}. */
export interface ConnectOptions {
  /** The pool's space; default: the common space. */
  readonly space?: Space | undefined;
}

/**
 * Connects the calling thread to a pool of another thread by its `handle`. The pool must not be closed yet. Tasks of
 * this thread get their fair share, whatever other threads submit.
 *
 * @throws {PlaitError} ERR_PLAIT_POOL_CLOSED if the pool no longer exists, or ERR_PLAIT_OUT_OF_MEMORY
 */
export function connect(handle: PoolHandle, options?: ConnectOptions): ConnectedPool {
  const ref = handle?.plaitPool;
  if (!Number.isInteger(ref) || ref <= 0) throw new TypeError("connect needs a pool's handle");
  checkOptions(options, CALLS.connect);
  mustBeSpace(options?.space);
  const space = options?.space ?? commonSpace();
  const worker = scope[key];
  const isOwn = worker?.pool === ref && worker.space.handle.memory === space.handle.memory;
  return new ConnectedPool(space, ref, isOwn ? worker : undefined);
}
