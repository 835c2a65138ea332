/**
 * The coordinator: starts, watches, stops and replaces the workers of its owner's pools. It never hands out tasks;
 * workers take those from the queue in the space.
 *
 * Invariant: it never blocks, so in a browser, where a worker starts only while its creator's event loop turns, its
 * workers start although the owner is busy. Each worker that ends is recovered exactly once, here, and the task that it
 * ran is delivered as an error, or put back, here; but for a first worker that ends before this runs (early-death.ts).
 */

import { attach, Role, recoverThread } from '../core/boot.ts';
import { host } from '../core/host.ts';
import type { Space } from '../core/space.ts';
import { CoordinatedPool } from './coordinated-pool.ts';
import type { CoordinatorStart, FromCoordinator, OpenPool, PoolEvent, ToCoordinator, WatchThread } from './protocol.ts';
import { publish } from './publish.ts';
import { adoptWorker, type StartedThread } from './start-worker.ts';

export class Coordination {
  readonly #start: CoordinatorStart;
  readonly #space: Space;
  readonly #early: Map<number, StartedThread[]>;
  readonly #pools = new Map<number, CoordinatedPool>();
  readonly #modules = new Map<number, string>();
  #isPublished = false;

  constructor(start: CoordinatorStart, early: Map<number, StartedThread[]>) {
    this.#start = start;
    this.#space = attach(start.space, Role.coordinator);
    this.#early = early;
  }

  handle(message: ToCoordinator): void {
    switch (message.type) {
      case 'open':
        this.#open(message);
        break;
      case 'close':
        this.#pools.get(message.pool)?.close(message.force);
        break;
      case 'resize':
        this.#pools.get(message.pool)?.resize();
        break;
      case 'broadcast':
        this.#pools.get(message.pool)?.broadcast(message);
        break;
      case 'watch':
        this.#watch(message);
        break;
      default:
        message satisfies never;
    }
  }

  #open(message: OpenPool): void {
    const { pool } = message;
    const tell = (said: FromCoordinator): void => host.postToStarter(said);
    const listener = {
      closed: () => {
        this.#pools.delete(pool);
        this.#modules.delete(pool);
        tell({ type: 'closed', pool });
      },
      seats: (id: number, seats: readonly number[]) => tell({ type: 'seats', pool, id, seats }),
      event: (event: PoolEvent) => tell({ type: 'event', pool, event }),
    };
    this.#modules.set(pool, message.module);
    const early = this.#early.get(pool) ?? this.#adopt(message);
    this.#early.delete(pool);
    this.#pools.set(pool, new CoordinatedPool(this.#start, this.#space, message, listener, early));
    // Not before: who finds this thread's socket is to find a pool behind it.
    if (!this.#isPublished) publish(this.#space, () => this.#modules);
    this.#isPublished = true;
  }

  /** The owner was late: this thread has booted before it came to lend its worker. */
  #adopt(message: OpenPool): StartedThread[] {
    const adopted = adoptWorker(message);
    return adopted === undefined ? [] : [adopted];
  }

  #watch(message: WatchThread): void {
    const port = host.wrapPort(message.port);
    let thread = 0;
    port.onMessage = (id) => {
      thread = id as number;
    };
    port.onClose = () => {
      if (thread !== 0) recoverThread(this.#space, thread); // 0: it never attached
    };
  }
}
