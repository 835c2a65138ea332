/**
 * The coordinator's thread: it starts, watches, stops and replaces the workers of its owner's pools. It never hands out
 * tasks; workers take those from the queues in the space.
 *
 * Invariant: it never blocks. In a browser, a worker starts only while the event loop of its creator turns, so workers
 * start although the owner is busy. Each worker that exits is recovered exactly once, here. Its task is delivered as an
 * error or put back, here.
 */

import { attach, Role, recoverThread } from '../../core/boot.ts';
import { host } from '../../core/host.ts';
import type { HostThread } from '../../core/host-types.ts';
import type { Space } from '../../core/space.ts';
import type {
  CoordinatorStart,
  FromCoordinator,
  OpenPool,
  PoolEvent,
  ToCoordinator,
  WatchThread,
} from '../protocol.ts';
import { EndingThreads } from './ending-threads.ts';
import { forward } from './messages.ts';
import { PoolSupervisor } from './pool-supervisor.ts';
import { publish } from './publish.ts';
import { startWorker } from './start-worker.ts';

/** Runs until this thread ends. */
export function coordinate(start: CoordinatorStart): void {
  const coordinator = new Coordinator(start);
  host.listenToStarter((data) => coordinator.handle(data as ToCoordinator));
}

class Coordinator {
  readonly #start: CoordinatorStart;
  #attached: Space | undefined;
  #ending: EndingThreads | undefined;
  readonly #pools = new Map<number, PoolSupervisor>();
  readonly #modules = new Map<number, string>();
  #isPublished = false;

  constructor(start: CoordinatorStart) {
    this.#start = start;
  }

  get #space(): Space {
    this.#attached ??= attach(this.#start.space, Role.coordinator);
    return this.#attached;
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
      case 'idle':
        this.#pools.get(message.pool)?.awaitIdle(message.id);
        break;
      case 'recycle':
        this.#pools.get(message.pool)?.recycle(message.id);
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
    const post = (said: FromCoordinator): void => host.postToStarter(said);
    const listener = {
      closed: (isStuck: boolean) => {
        this.#pools.delete(pool);
        this.#modules.delete(pool);
        post({ type: 'closed', pool, isStuck });
      },
      indices: (id: number, indices: readonly number[]) => post({ type: 'indices', pool, id, indices }),
      done: (id: number) => post({ type: 'done', pool, id }),
      event: (event: PoolEvent) => post({ type: 'event', pool, event }),
      message: (value: unknown) => forward(pool, value),
    };
    this.#modules.set(pool, message.module);
    // Workers take longer to boot than this thread to attach, so they start first.
    const first = startFirst(this.#start, message);
    this.#ending ??= new EndingThreads(this.#space);
    this.#pools.set(pool, new PoolSupervisor(this.#start, this.#space, message, listener, this.#ending, first));
    // A process that finds this thread's socket must find a pool behind it.
    if (!this.#isPublished) publish(this.#space, () => this.#modules);
    this.#isPublished = true;
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

/** A pool's first workers, by index. Their messages arrive in a later turn of the event loop. */
function startFirst(start: CoordinatorStart, open: OpenPool): HostThread[] {
  const threads: HostThread[] = [];
  try {
    for (let index = 0; index < open.threads; index++) threads.push(startWorker(start, open, index, index + 1, []));
  } catch {
    // Options that the host refuses: the supervisor starts the next worker, fails as well, and reports it.
  }
  return threads;
}
