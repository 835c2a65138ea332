/**
 * The owner's end of its coordinator: started at the first need, one for each thread that owns pools.
 *
 * Invariant: the coordinator keeps the process alive exactly while some pool of this thread has tasks outstanding or is
 * closing. A coordinator that ends takes its workers with it; everything that waits for it is then told.
 */

import { recoverHost, recoverThread, threadsOfPool } from '../core/boot.ts';
import { PlaitError } from '../core/errors.ts';
import { type HostThread, host } from '../core/host.ts';
import type { Space } from '../core/space.ts';
import type { CoordinatorStart, FromCoordinator, OpenPool, PoolEvent, ToCoordinator } from './protocol.ts';
import { THREAD_SCRIPT } from './thread.generated.ts';

interface Listener {
  readonly closed: () => void;
  readonly died: (error: PlaitError) => void;
  readonly seats: (id: number, seats: readonly number[]) => void;
  readonly event: (event: PoolEvent) => void;
}

export class CoordinatorLink {
  readonly #thread: HostThread;
  readonly #pools = new Map<number, Listener>();
  #refs = 0;

  constructor(space: Space) {
    this.#thread = host.startThread({ name: 'plait coordinator' }, THREAD_SCRIPT);
    this.#thread.setRef(false);
    this.#thread.onMessage = (data) => {
      const message = data as FromCoordinator;
      const listener = this.#pools.get(message.pool);
      switch (message.type) {
        case 'closed':
          this.#pools.delete(message.pool);
          listener?.closed();
          break;
        case 'seats':
          listener?.seats(message.id, message.seats);
          break;
        case 'event':
          listener?.event(message.event);
          break;
        default:
          message satisfies never;
      }
    };
    let cause: unknown;
    this.#thread.onError = (error) => {
      cause = error;
    };
    this.#thread.onExit = (code) => {
      links.delete(space);
      const why = cause instanceof Error ? `: ${cause.message}` : '';
      const message = `the coordinator thread ended with code ${code}${why}`;
      const error = new PlaitError('ERR_PLAIT_COORDINATOR_DIED', message, { cause });
      for (const listener of this.#pools.values()) listener.died(error);
      // Its workers ended before it did, and there is nobody else to recover them.
      recoverHost(space, this.#thread.hostId);
      for (const pool of this.#pools.keys()) {
        for (const thread of threadsOfPool(space, pool)) recoverThread(space, thread);
      }
      this.#pools.clear();
    };
    this.#thread.post({ role: 'coordinator', space: space.handle } satisfies CoordinatorStart);
  }

  /** Begins to coordinate a pool. */
  open(message: OpenPool, listener: Listener): void {
    this.#thread.post(message); // throws for workerData that cannot be cloned
    this.#pools.set(message.pool, listener);
  }

  send(message: ToCoordinator, transfer: readonly Transferable[] = []): void {
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

const links = new Map<Space, CoordinatorLink>();

/** This thread's coordinator for a space, started if there is none. */
export function coordinatorOf(space: Space): CoordinatorLink {
  let link = links.get(space);
  if (link === undefined) {
    link = new CoordinatorLink(space);
    links.set(space, link);
  }
  return link;
}
