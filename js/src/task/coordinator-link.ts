/**
 * The owner's end of its coordinator, one for each thread that owns pools.
 *
 * Invariant: the coordinator keeps the process alive exactly while some pool of this thread has tasks outstanding or is
 * closing. A coordinator that ends takes its workers with it, and the lent one follows; everything that waits for it is
 * then told.
 */

import { recoverHost, recoverThread, threadsOfHost, threadsOfPool } from '../core/boot.ts';
import { PlaitError } from '../core/errors.ts';
import { type HostThread, host, type LentThread } from '../core/host.ts';
import { PoolState } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';
import { CoordinatorThread } from './coordinator-thread.ts';
import { EarlyDeath } from './early-death.ts';
import type { CoordinatorStart, FromCoordinator, LentWorker, OpenPool, PoolEvent, ToCoordinator } from './protocol.ts';
import { startAhead } from './start-worker.ts';
import { WORKER_SCRIPT } from './thread-scripts.ts';

interface Listener {
  readonly closed: () => void;
  /** All tasks are lost; `gone`: no worker is left. */
  readonly died: (error: PlaitError, gone: Promise<void>) => void;
  readonly seats: (id: number, seats: readonly number[]) => void;
  readonly event: (event: PoolEvent) => void;
}

export class CoordinatorLink {
  readonly #thread: CoordinatorThread;
  readonly #pools = new Map<number, Listener>();
  #refs = 0;
  /** A worker that waits for its pool to be opened. */
  #ahead: (LentWorker & { readonly pool: number }) | undefined;
  /** The worker that this thread has started; it lives as long as others do, or less. */
  #lent: HostThread | undefined;
  #isDead = false;
  #lentIsGone = (): void => {};

  /**
   * `first`: the pool for which the coordinator is started, and `ahead` the thread of its first worker, which boots.
   */
  constructor(space: Space, first: OpenPool | undefined, ahead: LentThread | undefined) {
    const start = { role: 'coordinator', space: space.handle, workerScript: WORKER_SCRIPT } satisfies CoordinatorStart;
    const listener = {
      message: (data: unknown) => this.#hear(data as FromCoordinator),
      exit: (code: number, cause: unknown) => this.#died(space, code, cause),
      replaced: () => {
        this.#lent = undefined; // it is the coordinator now
      },
    };
    this.#thread = new CoordinatorThread(start, listener, first, ahead);
    if (first !== undefined && ahead !== undefined) this.#lend(space, ahead, first);
  }

  #hear(message: FromCoordinator): void {
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
      case 'terminate':
        if (this.#lent?.hostId === message.worker) this.#lent.terminate();
        break;
      default:
        message satisfies never;
    }
  }

  #died(space: Space, code: number, cause: unknown): void {
    links.delete(space);
    const reason = (cause as Error | undefined)?.message; // of Node's realm, where this one's is another
    const why = reason === undefined ? '' : `: ${reason}`;
    const message = `the coordinator thread ended with code ${code}${why}`;
    const error = new PlaitError('ERR_PLAIT_COORDINATOR_DIED', message, { cause });
    this.#isDead = true;
    const gone = new Promise<void>((resolve) => {
      if (this.#lent === undefined) resolve();
      else this.#lentIsGone = resolve;
    });
    for (const listener of this.#pools.values()) listener.died(error, gone);
    // Its workers ended before it did, and there is nobody else to recover them.
    if (this.#thread.hostId !== undefined) recoverHost(space, this.#thread.hostId);
    const lent = this.#lent === undefined ? [] : threadsOfHost(space, this.#lent.hostId);
    for (const pool of this.#pools.keys()) {
      space.core.plait_pool_end(pool, PoolState.CLOSED); // what others have queued comes back to them
      for (const thread of threadsOfPool(space, pool)) if (!lent.includes(thread)) recoverThread(space, thread);
    }
    this.#pools.clear();
    this.#lent?.terminate();
  }

  #lend(space: Space, { thread, port }: LentThread, first: OpenPool): void {
    this.#lent = thread;
    const death = new EarlyDeath(space, first, thread);
    this.#ahead = { hostId: thread.hostId, port, word: death.word, state: this.#thread.firstWorker, pool: first.pool };
    thread.onExit = (code) => {
      this.#lent = undefined;
      if (this.#isDead) recoverHost(space, thread.hostId);
      // The coordinator does the rest, or all. To start it takes milliseconds: callers hear of their tasks first.
      else if (death.settle(code)) void host.turn().then(() => this.#thread.begin());
      else this.#thread.begin();
      this.#lentIsGone();
    };
  }

  /** Begins to coordinate a pool. */
  open(message: OpenPool, listener: Listener): void {
    const ahead = this.#ahead?.pool === message.pool ? this.#ahead : undefined;
    this.#ahead = undefined;
    const lent = ahead && { hostId: ahead.hostId, port: ahead.port, word: ahead.word, state: ahead.state };
    this.#thread.open({ ...message, lent }, lent ? [lent.port] : []); // throws for workerData that cannot be cloned
    this.#pools.set(message.pool, listener);
  }

  /**
   * A pool could not be opened. If its first worker is on its way, it is stopped, and the pool is freed after it: true.
   * Else nobody but the caller knows the pool.
   */
  discard(space: Space, pool: number): boolean {
    if (this.#lent === undefined || this.#pools.size > 0) return false;
    this.#thread.begin();
    const lent = this.#lent as HostThread | undefined;
    if (lent === undefined) {
      // It is the coordinator already, and has begun: the pool's few bytes stay there.
      space.core.plait_pool_end(pool, PoolState.CLOSED);
      this.#thread.post({ type: 'close', pool, force: true } satisfies ToCoordinator);
      return true;
    }
    lent.onExit = () => {
      this.#lent = undefined;
      recoverHost(space, lent.hostId);
      space.core.plait_pool_destroy(pool);
      this.#lentIsGone();
    };
    lent.terminate();
    return true;
  }

  send(message: ToCoordinator, transfer: readonly unknown[] = []): void {
    this.#thread.post(message, transfer);
  }

  /** Whether a single task may do without the coordinator for now. */
  get mayWait(): boolean {
    return this.#thread.mayWait;
  }

  /** The coordinator is needed now. */
  begin(): void {
    this.#thread.begin();
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

/**
 * Starts the thread of a pool's first worker, if the pool is the first of this thread: it boots while the pool is made,
 * and before the coordinator does. To be handed to {@link coordinatorOf}, or stopped.
 */
export function threadAhead(space: Space, options: Omit<OpenPool, 'pool' | 'client'>): LentThread | undefined {
  return links.has(space) ? undefined : startAhead(options, WORKER_SCRIPT);
}

/** This thread's coordinator for a space, started if there is none, for the pool `first` if for one. */
export function coordinatorOf(space: Space, first?: OpenPool, ahead?: LentThread): CoordinatorLink {
  let link = links.get(space);
  if (link === undefined) {
    link = new CoordinatorLink(space, first, ahead);
    links.set(space, link);
  } else {
    ahead?.thread.terminate(); // a getter in `workerData` has made another pool meanwhile, which was the first then
  }
  return link;
}
