/**
 * The coordinator: a thread that starts, watches, stops and replaces the workers of its owner's pools. It never hands
 * out tasks; workers take those from the queue in the space.
 *
 * Invariant: it never blocks, so in a browser, where a worker starts only while its creator's event loop turns, its
 * workers start although the owner is busy. Each worker that ends is recovered exactly once, here, and the task that it
 * ran is delivered as an error, here.
 */

import { attach, Role, recoverThread } from '../core/boot.ts';
import { host } from '../core/host.ts';
import type { Space } from '../core/space.ts';
import { CoordinatedPool } from './coordinated-pool.ts';
import type { CoordinatorStart, FromCoordinator, PoolEvent, ToCoordinator, WatchThread } from './protocol.ts';

const { space: handle } = (await host.firstMessage()) as CoordinatorStart;
const space: Space = attach(handle, Role.coordinator);
const pools = new Map<number, CoordinatedPool>();

function watch(message: WatchThread): void {
  const port = host.wrapPort(message.port);
  let thread = 0;
  port.onMessage = (id) => {
    thread = id as number;
  };
  port.onClose = () => {
    if (thread !== 0) recoverThread(space, thread); // 0: it never attached
  };
}

host.listenToStarter((data) => {
  const message = data as ToCoordinator;
  switch (message.type) {
    case 'open': {
      const { pool } = message;
      const tell = (said: FromCoordinator): void => host.postToStarter(said);
      const listener = {
        closed: () => {
          pools.delete(pool);
          tell({ type: 'closed', pool });
        },
        seats: (id: number, seats: readonly number[]) => tell({ type: 'seats', pool, id, seats }),
        event: (event: PoolEvent) => tell({ type: 'event', pool, event }),
      };
      pools.set(pool, new CoordinatedPool(space, message, listener));
      break;
    }
    case 'close':
      pools.get(message.pool)?.close(message.force);
      break;
    case 'resize':
      pools.get(message.pool)?.resize();
      break;
    case 'broadcast':
      pools.get(message.pool)?.broadcast(message);
      break;
    case 'watch':
      watch(message);
      break;
    default:
      message satisfies never;
  }
});
