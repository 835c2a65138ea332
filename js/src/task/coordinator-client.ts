/**
 * The connection of a thread that owns pools to its coordinator; one for each such thread.
 *
 * Invariant: the coordinator keeps the process alive exactly while a pool of this thread has outstanding tasks or is
 * closing. If the coordinator exits, its workers exit with it, and all that waits for it is rejected.
 */

import { recoverHost, recoverThread, threadsOfPool } from '../core/boot.ts';
import { PlaitError } from '../core/errors.ts';
import { host } from '../core/host.ts';
import type { HostThread } from '../core/host-types.ts';
import { PoolState } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';
import type { CoordinatorStart, FromCoordinator, OpenPool, PoolEvent, ToCoordinator } from './protocol.ts';
import { THREAD_SCRIPT } from './thread.generated.ts';

interface Listener {
  /** `isStuck`: a stopped worker has not exited. */
  readonly closed: (isStuck: boolean) => void;
  /** No worker is left, and all tasks are lost. */
  readonly exited: (error: PlaitError) => void;
  readonly indices: (id: number, indices: readonly number[]) => void;
  readonly done: (id: number) => void;
  readonly event: (event: PoolEvent) => void;
  readonly message: (value: unknown) => void;
}

export class CoordinatorClient {
  readonly #thread: HostThread;
  readonly #pools = new Map<number, Listener>();
  #refs = 0;

  constructor(space: Space) {
    const thread = host.startThread({ name: 'plait coordinator' }, THREAD_SCRIPT);
    let cause: unknown;
    thread.onMessage = (data) => this.#receive(data as FromCoordinator);
    thread.onError = (error) => {
      cause = error;
    };
    thread.onExit = (code) => this.#exited(space, code, cause);
    thread.post({ role: 'coordinator', space: space.handle, script: THREAD_SCRIPT } satisfies CoordinatorStart);
    thread.setRef(false);
    this.#thread = thread;
  }

  #receive(message: FromCoordinator): void {
    const listener = this.#pools.get(message.pool);
    switch (message.type) {
      case 'closed':
        this.#pools.delete(message.pool);
        listener?.closed(message.isStuck);
        break;
      case 'indices':
        listener?.indices(message.id, message.indices);
        break;
      case 'done':
        listener?.done(message.id);
        break;
      case 'event':
        listener?.event(message.event);
        break;
      case 'message':
        listener?.message(message.value);
        break;
      default:
        message satisfies never;
    }
  }

  #exited(space: Space, code: number, cause: unknown): void {
    links.delete(space);
    const reason = (cause as Error | undefined)?.message; // of Node's realm, which may not be this one
    const why = reason === undefined ? '' : `: ${reason}`;
    const message = `the coordinator thread ended with code ${code}${why}`;
    const error = new PlaitError('ERR_PLAIT_COORDINATOR_DIED', message, { cause });
    for (const listener of this.#pools.values()) listener.exited(error);
    // Its workers have exited before it, and no other thread recovers them.
    recoverHost(space, this.#thread.hostId);
    for (const pool of this.#pools.keys()) {
      space.core.plait_pool_end(pool, PoolState.CLOSED); // tasks that other threads have queued return to them
      for (const thread of threadsOfPool(space, pool)) recoverThread(space, thread);
    }
    this.#pools.clear();
  }

  /** Begins to coordinate a pool; throws if the message cannot be cloned. */
  open(message: OpenPool, listener: Listener): void {
    this.#thread.post(message);
    this.#pools.set(message.pool, listener);
  }

  send(message: ToCoordinator, transfer: readonly unknown[] = []): void {
    this.#thread.post(message, transfer);
  }

  /** Counts the reasons to keep the process alive. */
  hold(): void {
    if (this.#refs++ === 0) this.#thread.setRef(true);
  }

  release(): void {
    if (--this.#refs === 0) this.#thread.setRef(false);
  }
}

const links = new Map<Space, CoordinatorClient>();

/** This thread's coordinator for a space, started on first use. */
export function coordinatorOf(space: Space): CoordinatorClient {
  let link = links.get(space);
  if (link === undefined) {
    link = new CoordinatorClient(space);
    links.set(space, link);
  }
  return link;
}
