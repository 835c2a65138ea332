/**
 * One pool in its coordinator: the workers, their number and their exits, and tasks that are to stop.
 *
 * A worker is `loading` until it reports that it is ready, then takes tasks. It takes them from shared memory, so a
 * task may come before the report: a worker that has had a task is ready, too. A worker that exits is recovered and,
 * while the pool needs it, replaced with the same index. A worker that exits while loading is not replaced: a module
 * that cannot be loaded would end all of them, for ever. The coordinator tries again later if other workers are ready.
 * When no worker is left that is ready or loading, the pool has failed, and every task gets the reason. A worker that
 * takes longer than the pool allows is stopped, and counts as one that cannot load.
 *
 * A stopped worker may go on, because native code cannot be interrupted. So a worker is detached as it is stopped: its
 * tasks are settled, it loses its index, and its place is filled. Closing waits at most 5 s for the threads of detached
 * workers: what the pool has in the space cannot be freed before they have exited.
 *
 * When it polls: every thread that changes something relevant raises `pool.coordinator_signal`. A timer also runs while
 * there is something to time: tasks with a timeout or a stop request, a queue that waits for more workers, or workers
 * that may be idle for too long. An idle pool of fixed size has no timer.
 *
 * Invariant: `#workers` and `#detached` hold exactly the threads that were started and whose exit has not been
 * received. No two of `#workers` have the same index.
 */

import { noteExit } from '../../core/boot.ts';
import { PlaitError } from '../../core/errors.ts';
import { host } from '../../core/host.ts';
import { clearTimeout, setTimeout } from '../../core/host-timers.ts';
import type { HostThread } from '../../core/host-types.ts';
import { Pool as P, PoolState } from '../../core/layout.generated.ts';
import type { Space } from '../../core/space.ts';
import { readValue } from '../../value/reader.ts';
import { ValueWriter } from '../../value/writer.ts';
import type {
  BroadcastCall,
  BroadcastPool,
  CoordinatorStart,
  EndReason,
  FromWorker,
  OpenPool,
  PoolEvent,
} from '../protocol.ts';
import { messageOf } from '../protocol.ts';
import { Waiter } from '../waiter.ts';
import { Awaited } from './awaited.ts';
import type { EndingThreads } from './ending-threads.ts';
import { IdleWorkers } from './idle-workers.ts';
import { LateLoads } from './late-loads.ts';
import { LateTasks } from './late-tasks.ts';
import { QueueWatch, type WorkerSetView } from './queue-watch.ts';
import { startWorker } from './start-worker.ts';
import { WorkerExits } from './worker-exits.ts';
import { WorkerPlaces } from './worker-places.ts';
import { uncaughtError, type WorkerRecord } from './worker-record.ts';

/** The events that the supervisor passes to the pool's owner. */
export interface PoolListener {
  /** `isStuck`: a detached worker's thread has not exited. */
  closed(isStuck: boolean): void;
  indices(id: number, indices: readonly number[]): void;
  done(id: number): void;
  event(event: PoolEvent): void;
  /** Code in a worker has posted it to its parent. */
  message(value: unknown): void;
}

/** For events: by the clock of `performance`. */
function wallClock(): number {
  return performance.timeOrigin + performance.now();
}

/** How long closing waits for stopped threads, and so do tasks that are to be run again after a thread's exit. */
const STUCK_MS = 5000;
/** How often to retry a lock whose owner is stuck. */
const LOCK_RETRY_MS = 20;

/** How long a pool with workers waits before it starts another in place of one that could not load. */
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 30_000;

export class PoolSupervisor {
  readonly #how: CoordinatorStart;
  readonly #space: Space;
  readonly #options: OpenPool;
  readonly #listener: PoolListener;
  readonly #ending: EndingThreads;
  readonly #workers = new Set<WorkerRecord>();
  /** Each with the timer after which no task waits for its exit any more. */
  readonly #detached = new Map<WorkerRecord, ReturnType<typeof setTimeout>>();
  readonly #exits: WorkerExits;
  readonly #places: WorkerPlaces;
  readonly #queue: QueueWatch;
  readonly #waiter: Waiter;
  readonly #idleWorkers: IdleWorkers;
  readonly #lateTasks: LateTasks;
  readonly #lateLoads: LateLoads;
  readonly #awaited: Awaited;
  readonly #later: BroadcastCall[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timerDue = 0;
  /** A poll waits until no lock is held by an exited thread. */
  #isDue = false;
  #stuckTimer: ReturnType<typeof setTimeout> | undefined;
  #closing = false;
  #isForced = false;
  #ended = false;
  #started = 0;
  #failures = 0;
  #loadError: unknown;

  /** `first`: the threads of the first workers, by index, which boot and have sent nothing. */
  constructor(
    how: CoordinatorStart,
    space: Space,
    options: OpenPool,
    listener: PoolListener,
    ending: EndingThreads,
    first: readonly HostThread[],
  ) {
    this.#how = how;
    this.#space = space;
    this.#options = options;
    this.#listener = listener;
    this.#ending = ending;
    this.#exits = new WorkerExits(space, options.pool, options.module);
    space.cover(options.pool + P.BYTES);
    const pollIn = (milliseconds: number): void => this.#pollIn(milliseconds);
    this.#waiter = new Waiter(space, options.pool + P.coordinatorSignal);
    this.#places = new WorkerPlaces(space, options.pool);
    this.#queue = new QueueWatch(space, options.pool, this.#workerSet());
    this.#idleWorkers = new IdleWorkers(space, options, this.#workers, this.#places, pollIn);
    this.#lateTasks = new LateTasks(space, options, this.#workers, {
      stop: (worker) => this.#stopLate(worker),
      pollIn,
    });
    this.#awaited = new Awaited(space, options.pool, { done: (id) => listener.done(id), pollIn });
    this.#lateLoads = new LateLoads(space, options.loadTimeout, (worker) => this.#stoppedLoading(worker));
    this.#started = first.length;
    for (const [index, thread] of first.entries()) this.#take(thread, index);
    while (this.#workers.size < options.threads && this.#loadError === undefined) this.#start();
    this.#awaitSignal();
    this.#poll();
  }

  #word(offset: number): number {
    return this.#space.load(this.#options.pool + offset);
  }

  #setWord(offset: number, value: number): void {
    Atomics.store(this.#space.u32, (this.#options.pool + offset) >>> 2, value);
  }

  #count(offset: number): void {
    Atomics.add(this.#space.u32, (this.#options.pool + offset) >>> 2, 1);
  }

  /**
   * Sleeps until a thread signals the coordinator. It sleeps again before it polls: a signal that comes too late for
   * this poll wakes it once more.
   */
  #awaitSignal(): void {
    const seen = this.#word(P.coordinatorSignal);
    this.#setWord(P.heartbeat, seen); // a thread that waits checks this to know that the coordinator lives
    void (this.#waiter.sleep(seen) ?? host.turn()).then(() => {
      if (this.#ended) return;
      this.#awaitSignal();
      this.#poll();
    });
  }

  /** Polls in `milliseconds`, or sooner. */
  #pollIn(milliseconds: number): void {
    const due = performance.now() + milliseconds;
    if (this.#timer !== undefined) {
      if (this.#timerDue <= due) return;
      clearTimeout(this.#timer);
    }
    this.#timerDue = due;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#poll();
    }, milliseconds);
  }

  #poll(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#ending.whenNoLock(() => {
      this.#isDue = false;
      if (!this.#ended) this.#pollNow();
    });
  }

  #pollNow(): void {
    this.#noticeReady();
    this.#lateTasks.poll();
    this.#awaited.poll([...this.#workers, ...this.#detached.keys()], !this.#exits.hasAdopted());
    const state = this.#word(P.state);
    if (state === PoolState.CLOSING) this.#serveRest();
    if (state !== PoolState.OPEN) return;
    if (this.#canLoad()) this.#fillPlaces();
    // A worker that is about to end keeps its index until then.
    while (this.#canLoad() && this.#workers.size < this.#word(P.minThreads)) this.#start();
    this.#queue.poll();
    if (this.#canLoad()) this.#idleWorkers.poll();
  }

  /** After a failed load, no other worker would fare better for a while. */
  #canLoad(): boolean {
    return this.#loadError === undefined;
  }

  // ---- how many workers ----

  /** A worker queue with tasks needs a worker, even above a maximum that was lowered since. */
  #fillPlaces(): void {
    const max = this.#word(P.maxThreads);
    const taken = new Set([...this.#workers].map((worker) => worker.index));
    for (const index of this.#places.withTasks()) {
      if (!taken.has(index) && (index >= max || this.#workers.size < max)) this.#start(index);
    }
  }

  /** The view of the workers that decides when the pool grows. */
  #workerSet(): WorkerSetView {
    const pool = this;
    return {
      get size() {
        return pool.#workers.size;
      },
      get loading() {
        let loading = 0;
        for (const worker of pool.#workers) if (worker.state === 'loading') loading++;
        return loading;
      },
      get mayGrow() {
        return pool.#canLoad() && pool.#workers.size < pool.#word(P.maxThreads);
      },
      start: () => pool.#start(),
      pollIn: (milliseconds) => pool.#pollIn(milliseconds),
    };
  }

  /** The limits of the number of workers have changed. */
  resize(): void {
    this.#poll();
  }

  #freeIndex(): number {
    const taken = new Set([...this.#workers].map((worker) => worker.index));
    let index = 0;
    while (taken.has(index)) index++;
    return index;
  }

  #start(index: number = this.#freeIndex()): void {
    let thread: HostThread;
    try {
      thread = startWorker(this.#how, this.#options, index, ++this.#started, [...this.#later]);
    } catch (cause) {
      // Options that the host refuses: no worker will ever start.
      const message = `cannot start a worker of ${this.#options.module}: ${(cause as Error)?.message ?? cause}`;
      const error = new PlaitError('ERR_PLAIT_MODULE_LOAD', message, { cause });
      this.#loadError = new ValueWriter().write(error, 'error').slice();
      if (this.#workers.size === 0) this.#exits.fail(this.#loadError as Uint8Array);
      return;
    }
    this.#take(thread, index);
  }

  /** Makes the thread a worker of this pool. */
  #take(thread: HostThread, index: number): void {
    const worker: WorkerRecord = {
      thread,
      index,
      state: 'loading',
      stopping: undefined,
      leaving: undefined,
      error: undefined,
      hasError: false,
      isErrorReported: false,
      tasksTaken: 0,
      since: performance.now(),
    };
    this.#workers.add(worker);
    if (!this.#isForced) this.#waitNoLonger();
    this.#lateLoads.begin(worker);
    this.#count(P.started);
    this.#setWord(P.threads, this.#workers.size);
    thread.onMessage = (data) => {
      const message = messageOf(data);
      if (message === undefined) this.#listener.message(data);
      else this.#receive(worker, message);
    };
    thread.onError = (error) => {
      worker.error = error;
      worker.hasError = true;
    };
    thread.onExit = (code) => {
      noteExit(this.#space, thread.hostId);
      this.#ending.ended(thread);
      this.#ending.whenNoLock(() => this.#exited(worker, code));
    };
  }

  #receive(worker: WorkerRecord, message: FromWorker): void {
    if (worker.stopping !== undefined) return; // it was on its way, and is ignored
    switch (message.type) {
      case 'ready':
        this.#ready(worker);
        this.#poll();
        break;
      case 'failed':
        worker.state = 'failed';
        worker.error = readValue(message.error);
        this.#loadError = message.error;
        break;
      case 'leaves':
        worker.leaving = 'recycled';
        break;
      case 'crashed':
        worker.error = readValue(message.error);
        worker.hasError = true;
        break;
      default:
        message satisfies never;
    }
  }

  /** It has reported that it is ready, or has had a task. */
  #ready(worker: WorkerRecord): void {
    if (worker.state !== 'loading') return;
    worker.state = 'ready';
    this.#failures = 0; // the cause has passed
    this.#lateLoads.end(worker);
    worker.since = performance.now();
    this.#listener.event({ type: 'start', worker: worker.thread.hostId, index: worker.index, at: wallClock() });
  }

  /** Workers whose reports are still on their way, or will not arrive, because hosts may notify of an exit first. */
  #noticeReady(): void {
    for (const worker of this.#workers) {
      if (worker.state === 'loading' && worker.stopping === undefined && this.#lateLoads.hadTask(worker)) {
        this.#ready(worker);
      }
    }
  }

  /** Sends the indices of the present workers; see protocol.ts. */
  broadcast({ id, later }: BroadcastPool): void {
    this.#listener.indices(
      id,
      [...this.#workers].map((worker) => worker.index),
    );
    if (later !== undefined) this.#later.push(later);
  }

  /** Sends `done` when no task is queued or running. */
  awaitIdle(id: number): void {
    this.#awaited.idle(id);
    this.#poll();
  }

  /** Replaces the present workers, and sends `done` when they have ended. Those that still load are new enough. */
  recycle(id: number): void {
    this.#noticeReady();
    const workers = [...this.#workers].filter(({ state, stopping }) => state === 'ready' && stopping === undefined);
    for (const worker of workers) this.#recycle(worker);
    this.#awaited.ends(id, workers);
  }

  #recycle(worker: WorkerRecord): void {
    if (!this.#workers.has(worker) || worker.leaving !== undefined || worker.stopping !== undefined) return;
    if (this.#exits.retire(worker)) worker.leaving = 'recycled';
    else setTimeout(() => this.#recycle(worker), LOCK_RETRY_MS);
  }

  // ---- exits ----

  #exited(worker: WorkerRecord, code: number): void {
    this.#noticeReady(); // before its slot is recovered
    this.#lateLoads.end(worker);
    clearTimeout(this.#detached.get(worker));
    if (this.#detached.delete(worker)) {
      this.#exits.recover(worker, code);
      if (!this.#ended && this.#word(P.state) === PoolState.CLOSING) this.#serveRest(); // what is run again is queued
      this.#endIfLast();
      return;
    }
    const reason = this.#countEnd(worker); // before the callers of its tasks can read the counter
    this.#exits.recover(worker, code);
    this.#places.vacate(worker.index);
    if (worker.state === 'loading' && worker.stopping === undefined) {
      worker.state = 'failed';
      this.#loadError = this.#exits.encodeLoadError(worker, code);
    }
    this.#leaves(worker, reason);
  }

  #countEnd(worker: WorkerRecord): EndReason {
    const reason = this.#exits.reason(worker);
    this.#exits.count(reason);
    return reason;
  }

  /** Frees its index, and starts a replacement if the pool needs one. */
  #leaves(worker: WorkerRecord, reason: EndReason): void {
    this.#workers.delete(worker);
    this.#awaited.ended(worker);
    this.#setWord(P.threads, this.#workers.size);
    const { thread, index } = worker;
    const uncaught = uncaughtError(worker);
    this.#listener.event({ type: 'end', worker: thread.hostId, index, at: wallClock(), reason, uncaught });
    if (this.#needsReplacement(worker)) this.#start(worker.index);
    else if (this.#word(P.state) === PoolState.CLOSING && worker.state !== 'failed') this.#serveRest();
    this.#settle(worker);
    this.#poll();
  }

  /** A task of the worker ran on after a stop request; the worker takes no other. */
  #stopLate(worker: WorkerRecord): void {
    this.#ready(worker);
    worker.stopping = 'overdue';
    this.#detach(worker);
  }

  /** A worker was stopped because loading took too long, or because it need not load any more. */
  #stoppedLoading(worker: WorkerRecord): void {
    if (worker.stopping === 'overdue') {
      worker.state = 'failed';
      this.#loadError = this.#exits.encodeLoadError(worker, 0);
    }
    this.#detach(worker);
  }

  /** A worker takes no more tasks: it is stopped at the end of the turn, and nothing waits for its exit. */
  #detach(worker: WorkerRecord): void {
    this.#ending.stop(worker.thread);
    this.#lateLoads.end(worker);
    // Its exit, which may come in any turn from here on, is that of a detached worker.
    const timer = setTimeout(() => this.#exits.detach(worker, true), STUCK_MS);
    this.#detached.set(worker, timer);
    const reason = this.#countEnd(worker);
    this.#exits.detach(worker);
    this.#leaves(worker, reason);
  }

  #needsReplacement(worker: WorkerRecord): boolean {
    if (worker.state === 'failed') return false;
    const isOpen = this.#word(P.state) === PoolState.OPEN;
    return isOpen && worker.leaving !== 'idle' && worker.index < this.#word(P.maxThreads);
  }

  /**
   * Closing: queued tasks still have to be run, by the worker with their index or by any that is left. Workers need not
   * load if nothing is queued.
   */
  #serveRest(): void {
    if (this.#word(P.queued) === 0) {
      const again = this.#lateLoads.stopAll(this.#workers);
      if (again !== undefined) this.#pollIn(again);
    }
    const isAbandoned = this.#workers.size === 0 && this.#word(P.queued) > 0;
    if (this.#loadError !== undefined) {
      if (isAbandoned) this.#exits.fail(this.#loadError as Uint8Array);
      return;
    }
    this.#fillPlaces();
    if (this.#workers.size === 0 && isAbandoned) this.#start();
  }

  /** After an exit without a replacement: has the pool failed, or is it closed? */
  #settle(worker: WorkerRecord): void {
    if (this.#workers.size > 0) {
      if (worker.state === 'failed') this.#tryLater();
      return;
    }
    if (worker.state === 'failed') this.#exits.fail(this.#loadError as Uint8Array);
    if (this.#closing) this.#endIfLast();
  }

  /** A replacement could not load, but other workers are ready: the cause may pass. */
  #tryLater(): void {
    const wait = Math.min(FIRST_RETRY_MS * 2 ** this.#failures++, LAST_RETRY_MS);
    setTimeout(() => {
      this.#loadError = undefined;
      this.#poll();
    }, wait);
  }

  /** Closing: has the last worker ended? It does not wait for those that may go on for ever. */
  #endIfLast(): void {
    if (!this.#closing || this.#workers.size > 0) return;
    if (this.#detached.size > 0 && !host.threadsLinger)
      this.#stuckTimer ??= setTimeout(() => this.#end(true), STUCK_MS);
    else this.#end(false);
  }

  #waitNoLonger(): void {
    clearTimeout(this.#stuckTimer);
    this.#stuckTimer = undefined;
  }

  #end(isStuck: boolean): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#waitNoLonger();
    // Tasks that were to run again after a detached worker's exit are rejected: no worker is left to run them.
    if (this.#detached.size > 0) this.#space.core.plait_pool_end(this.#options.pool, PoolState.CLOSED);
    for (const [worker, timer] of this.#detached) {
      clearTimeout(timer);
      this.#exits.detach(worker, true);
    }
    // The sleep on this word must end, because the memory may be reused.
    this.#space.core.plait_pool_signal_coordinator(this.#options.pool);
    this.#listener.closed(isStuck);
  }

  /** The owner has changed the pool's state; ends when the last worker has. */
  close(force: boolean): void {
    this.#closing = true;
    this.#noticeReady();
    if (!force) this.#serveRest();
    else if (!this.#isForced) {
      this.#isForced = true;
      this.#stuckTimer ??= setTimeout(() => this.#end(true), STUCK_MS);
      this.#ending.whenNoLock(() => this.#stopAll());
    }
    this.#endIfLast();
  }

  /** Each worker is set to take no more tasks before it is stopped; a stuck lock is retried. */
  #stopAll(): void {
    if (this.#ended) return;
    for (const worker of [...this.#workers]) {
      worker.stopping = 'force';
      if (this.#exits.retire(worker)) this.#detach(worker);
      else this.#ending.stop(worker.thread);
    }
    if (this.#workers.size > 0) setTimeout(() => this.#stopAll(), LOCK_RETRY_MS);
  }
}
