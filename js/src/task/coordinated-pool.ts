/**
 * One pool as its coordinator sees it: the workers, how many there should be, their deaths, tasks that are to stop.
 *
 * A worker is `loading` until it says ready, then takes tasks. One that ends is recovered and, while the pool needs it,
 * replaced, on the same seat. One that ends while loading is not: a module that cannot be loaded would end them all,
 * for ever; it is tried again after a while if others are at work. When no worker is left that is ready or loading, the
 * pool has failed, and every task gets the reason. One that takes longer than the pool allows is stopped, and counts as
 * one that cannot load. One that is to be stopped may go on: a lent one for as long as the owner is busy, any in native
 * code. It is given up, and sits nowhere from then on.
 *
 * When it looks: whoever changes something that matters raises `pool.attention`; besides, a timer runs while there is
 * something to time: tasks with a timeout or told to stop, a queue that waits for more workers, workers that may be
 * idle for too long. An idle pool of fixed size has no timer.
 *
 * Invariant: `#workers` and `#givenUp` hold exactly the threads that were started and whose end has not been heard; no
 * two of `#workers` have one seat.
 */

import { threadsOfHost } from '../core/boot.ts';
import { PlaitError } from '../core/errors.ts';
import { host } from '../core/host.ts';
import { Pool as P, PoolState } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';
import { clearTimeout, setTimeout } from '../core/timers.ts';
import { readValue, ValueWriter } from './codec.ts';
import { takeOver } from './early-death.ts';
import { IdleWorkers } from './idle-workers.ts';
import { LateLoads } from './late-loads.ts';
import { LateTasks } from './late-tasks.ts';
import {
  type BroadcastCall,
  type BroadcastPool,
  type CoordinatorStart,
  type EndReason,
  type FromWorker,
  type OpenPool,
  type PoolEvent,
  STUCK_MS,
  wordOf,
} from './protocol.ts';
import { type Crew, QueueWatch } from './queue-watch.ts';
import { Seats } from './seats.ts';
import { type StartedThread, startWorker } from './start-worker.ts';
import { WorkerDeaths } from './worker-deaths.ts';
import { endsWithoutWord, OUT_OF_MEMORY, uncaughtError, type WorkerRecord } from './worker-record.ts';

/** What a pool's coordinator tells its owner. */
export interface PoolListener {
  closed(): void;
  seats(id: number, seats: readonly number[]): void;
  event(event: PoolEvent): void;
}

/** For listeners: by the clock of `performance`. */
function wallClock(): number {
  return performance.timeOrigin + performance.now();
}

/**
 * How long a worker may take to end that was stopped. One that may go on for ever is given up soon: nobody waits for
 * it.
 */
const STOP_MS = host.threadsLinger ? 100 : STUCK_MS;

/** How long a pool that has workers waits before it starts another in the place of one that could not be loaded. */
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 30_000;

export class CoordinatedPool {
  readonly #how: CoordinatorStart;
  readonly #space: Space;
  readonly #options: OpenPool;
  readonly #listener: PoolListener;
  readonly #workers = new Set<WorkerRecord>();
  readonly #givenUp = new Set<WorkerRecord>();
  readonly #deaths: WorkerDeaths;
  readonly #seats: Seats;
  readonly #queue: QueueWatch;
  readonly #idleWorkers: IdleWorkers;
  readonly #lateTasks: LateTasks;
  readonly #lateLoads: LateLoads;
  readonly #later: BroadcastCall[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timerDue = 0;
  #stuckTimer: ReturnType<typeof setTimeout> | undefined;
  #closing = false;
  #ended = false;
  #started = 0;
  #failures = 0;
  #loadError: unknown;
  /** Whether all early threads have been taken: what they said meanwhile must not start others in their place. */
  #complete = false;

  /** `early`: threads that were started for the first seats. */
  constructor(
    how: CoordinatorStart,
    space: Space,
    options: OpenPool,
    listener: PoolListener,
    early: readonly StartedThread[],
  ) {
    this.#how = how;
    this.#space = space;
    this.#options = options;
    this.#listener = listener;
    this.#deaths = new WorkerDeaths(space, options.pool, options.module);
    space.cover(options.pool + P.BYTES);
    const lookIn = (milliseconds: number): void => this.#lookIn(milliseconds);
    this.#seats = new Seats(space, options.pool);
    this.#queue = new QueueWatch(space, options.pool, this.#crew());
    this.#idleWorkers = new IdleWorkers(space, options, this.#workers, this.#seats, lookIn);
    this.#lateTasks = new LateTasks(space, options, this.#workers, {
      stop: (worker) => this.#stopLate(worker),
      lookIn,
    });
    this.#lateLoads = new LateLoads(space, options.loadTimeout, (worker) => this.#loadedLate(worker));
    this.#started = early.length;
    for (const [seat, thread] of early.entries()) this.#take(thread, seat);
    this.#complete = true;
    while (this.#workers.size < options.threads && this.#loadError === undefined) this.#start();
    this.#attend();
    this.#look();
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
   * Sleeps until somebody wants this pool looked at. It lies down again before it looks: what is announced while it
   * looks, and comes too late for that, wakes it.
   */
  #attend(): void {
    const seen = this.#word(P.attention);
    this.#setWord(P.attended, seen); // a thread that waits and is in doubt sees that this one is alive
    const wait = Atomics.waitAsync(this.#space.i32, (this.#options.pool + P.attention) >>> 2, seen | 0);
    const woken = wait.async ? wait.value : host.turn();
    void woken.then(() => {
      if (this.#ended) return;
      this.#attend();
      this.#look();
    });
  }

  /** Looks again in `milliseconds`, or sooner. */
  #lookIn(milliseconds: number): void {
    const due = performance.now() + milliseconds;
    if (this.#timer !== undefined) {
      if (this.#timerDue <= due) return;
      clearTimeout(this.#timer);
    }
    this.#timerDue = due;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#look();
    }, milliseconds);
  }

  #look(): void {
    if (this.#ended || !this.#complete) return;
    this.#lateTasks.look();
    const state = this.#word(P.state);
    if (state === PoolState.CLOSING) this.#serveRest();
    if (state !== PoolState.OPEN) return;
    if (this.#isWell()) this.#fillSeats();
    // One that is about to end keeps its seat until then.
    while (this.#isWell() && this.#workers.size < this.#word(P.minThreads)) this.#start();
    this.#queue.look();
    if (this.#isWell()) this.#idleWorkers.look();
  }

  /** After one that failed to load, no further worker would fare better, for a while. */
  #isWell(): boolean {
    return this.#loadError === undefined;
  }

  // ---- how many workers ----

  /** A seat with tasks of its own needs a worker, also one above the maximum, from before it was lowered. */
  #fillSeats(): void {
    const max = this.#word(P.maxThreads);
    const taken = new Set([...this.#workers].map((worker) => worker.seat));
    for (const index of this.#seats.withTasks()) {
      if (!taken.has(index) && (index >= max || this.#workers.size < max)) this.#start(index);
    }
  }

  /** What decides when the pool grows. */
  #crew(): Crew {
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
        return pool.#isWell() && pool.#workers.size < pool.#word(P.maxThreads);
      },
      start: () => pool.#start(),
      lookIn: (milliseconds) => pool.#lookIn(milliseconds),
    };
  }

  /** The numbers of threads have changed. */
  resize(): void {
    this.#look();
  }

  #freeSeat(): number {
    const taken = new Set([...this.#workers].map((worker) => worker.seat));
    let seat = 0;
    while (taken.has(seat)) seat++;
    return seat;
  }

  #start(seat: number = this.#freeSeat()): void {
    let started: StartedThread;
    try {
      started = startWorker(this.#how, this.#options, seat, ++this.#started, [...this.#later]);
    } catch (cause) {
      // Options that the host refuses: no worker will ever start.
      const message = `cannot start a worker of ${this.#options.module}: ${(cause as Error)?.message ?? cause}`;
      const error = new PlaitError('ERR_PLAIT_MODULE_LOAD', message, { cause });
      this.#loadError = new ValueWriter().write(error, 'error').slice();
      if (this.#workers.size === 0) this.#deaths.fail(this.#loadError as Uint8Array);
      return;
    }
    this.#take(started, seat);
  }

  /** A thread that was started for a seat is this pool's worker from now on. */
  #take(started: StartedThread, seat: number): void {
    const worker: WorkerRecord = {
      thread: started.thread,
      seat,
      isLent: started.lent !== undefined,
      state: 'loading',
      stopping: undefined,
      leaving: undefined,
      error: undefined,
      hasError: false,
      isErrorTold: false,
      endedAs: started.lent && takeOver(started.lent.word),
      code: undefined,
      takes: 0,
      since: performance.now(),
    };
    this.#workers.add(worker);
    this.#lateLoads.begin(worker);
    if (worker.endedAs === undefined) this.#count(P.born);
    this.#setWord(P.threads, this.#workers.size);
    started.listen({
      message: (data) => {
        const word = wordOf(data);
        if (word !== undefined) this.#hear(worker, word);
      },
      error: (error) => {
        worker.error = error;
        worker.hasError = true;
      },
      exit: (code) => this.#exited(worker, code),
    });
  }

  #hear(worker: WorkerRecord, message: FromWorker): void {
    // That of one that has been stopped was on its way, or its owner is busy: it sits nowhere, and what it loads is of
    // no interest.
    if (worker.stopping !== undefined && (message.type === 'ready' || message.type === 'failed')) return;
    switch (message.type) {
      case 'ready':
        worker.state = 'ready';
        this.#failures = 0; // what was wrong has passed
        this.#lateLoads.end(worker);
        worker.since = performance.now();
        this.#listener.event({ type: 'start', worker: worker.thread.hostId, seat: worker.seat, at: wallClock() });
        this.#look();
        break;
      case 'failed':
        worker.state = 'failed';
        worker.error = readValue(message.error);
        this.#loadError = message.error;
        break;
      case 'leaves':
        worker.leaving = 'recycled';
        break;
      case 'threw':
        worker.error = readValue(message.error);
        worker.hasError = true;
        break;
      case 'ends':
        worker.code = message.code;
        break;
      default:
        message satisfies never;
    }
  }

  /** Answers which seats have a worker, now; see protocol.ts. */
  broadcast({ id, later }: BroadcastPool): void {
    this.#listener.seats(
      id,
      [...this.#workers].map((worker) => worker.seat),
    );
    if (later !== undefined) this.#later.push(later);
  }

  // ---- deaths ----

  #exited(worker: WorkerRecord, exitCode: number): void {
    this.#lateLoads.end(worker);
    const code = worker.code ?? exitCode;
    // Of a lent one that did not come to its first word, nobody can say why: the next one tells.
    const isUnexplained = worker.state === 'loading' && endsWithoutWord(worker);
    if (!isUnexplained && endsWithoutWord(worker)) {
      const error = new Error('it ended without a word, as a thread does that has reached its memory limit');
      worker.error = Object.assign(error, { code: OUT_OF_MEMORY });
      worker.hasError = true;
    }
    if (this.#givenUp.delete(worker)) {
      this.#deaths.recover(worker, code);
      if (this.#closing) this.#endIfLast();
      return;
    }
    const reason = this.#countEnd(worker); // before its tasks' callers can look
    this.#deaths.recover(worker, code);
    this.#seats.vacate(worker.seat);
    if (worker.state === 'loading' && worker.stopping === undefined && !isUnexplained) {
      worker.state = 'failed';
      this.#loadError = this.#deaths.encodeLoadError(worker, code);
    }
    this.#leaves(worker, reason);
    this.#settle(worker);
    this.#look();
  }

  #countEnd(worker: WorkerRecord): EndReason {
    if (worker.endedAs !== undefined) return worker.endedAs;
    const reason = this.#deaths.reason(worker);
    this.#deaths.count(reason);
    return reason;
  }

  /** Its seat is free from now on, and taken again if the pool needs it. */
  #leaves(worker: WorkerRecord, reason: EndReason): void {
    this.#workers.delete(worker);
    this.#setWord(P.threads, this.#workers.size);
    const { thread, seat } = worker;
    const uncaught = uncaughtError(worker);
    this.#listener.event({ type: 'end', worker: thread.hostId, seat, at: wallClock(), reason, uncaught });
    if (this.#needsReplacement(worker)) this.#start(worker.seat);
    else if (this.#word(P.state) === PoolState.CLOSING && worker.state !== 'failed') this.#serveRest();
  }

  /**
   * A worker's task has been told to stop, and goes on. It takes no other: what we stop is the late one, or nothing.
   */
  #stopLate(worker: WorkerRecord): void {
    worker.stopping = 'overdue';
    worker.thread.terminate();
    this.#giveUpLater(worker);
  }

  /** A worker was stopped because it took too long to load the module. */
  #loadedLate(worker: WorkerRecord): void {
    worker.state = 'failed';
    this.#loadError = this.#deaths.encodeLoadError(worker, 0);
    this.#giveUpLater(worker);
  }

  /** Of one that was stopped the rest follows when it has ended. If nobody here can stop it, that is given up. */
  #giveUpLater(worker: WorkerRecord): void {
    const giveUp = (): void => {
      if (!this.#workers.has(worker)) return;
      this.#giveUp(worker);
      this.#settle(worker);
      this.#look();
    };
    if (worker.isLent) giveUp();
    else setTimeout(giveUp, STOP_MS);
  }

  /**
   * A worker is to end, and nobody here can stop it now: its owner is busy, or it sits in native code. Nothing waits
   * for that.
   */
  #giveUp(worker: WorkerRecord): void {
    this.#givenUp.add(worker);
    const reason = this.#countEnd(worker);
    this.#deaths.giveUp(worker);
    this.#leaves(worker, reason);
  }

  /**
   * What was stopped and goes on sits in native code, perhaps for ever. What it runs ends now, in whichever thread that
   * waits.
   */
  #giveUpStuck(): void {
    this.#stuckTimer = undefined;
    for (const worker of this.#workers) this.#giveUpRetired(worker);
    this.#endIfLast();
    if (this.#workers.size > 0 && !this.#ended) this.#stuckTimer = setTimeout(() => this.#giveUpStuck(), STOP_MS);
  }

  /** The same of one that has not been told yet that it takes no more. */
  #giveUpRetired(worker: WorkerRecord): void {
    const [thread] = threadsOfHost(this.#space, worker.thread.hostId);
    if (thread !== undefined && this.#space.core.plait_worker_retire(thread) === 1) this.#giveUp(worker);
  }

  #needsReplacement(worker: WorkerRecord): boolean {
    if (worker.state === 'failed') return false;
    const isOpen = this.#word(P.state) === PoolState.OPEN;
    return isOpen && worker.leaving !== 'idle' && worker.seat < this.#word(P.maxThreads);
  }

  /** Closing: what is queued still wants to be run, on its seat, or by whoever is left. Nobody has to load for less. */
  #serveRest(): void {
    if (this.#word(P.queued) === 0) {
      const again = this.#lateLoads.stopAll(this.#workers);
      if (again !== undefined) this.#lookIn(again);
    }
    const isAbandoned = this.#workers.size === 0 && this.#word(P.queued) > 0;
    if (this.#loadError !== undefined) {
      if (isAbandoned) this.#deaths.fail(this.#loadError as Uint8Array);
      return;
    }
    this.#fillSeats();
    if (this.#workers.size === 0 && isAbandoned) this.#start();
  }

  /** After a death without a replacement: has the pool failed, or is it closed? */
  #settle(worker: WorkerRecord): void {
    if (this.#workers.size > 0) {
      if (worker.state === 'failed') this.#tryLater();
      return;
    }
    if (worker.state === 'failed') this.#deaths.fail(this.#loadError as Uint8Array);
    if (this.#closing) this.#endIfLast();
  }

  /** A replacement could not be loaded, but others are at work: what is wrong may pass. */
  #tryLater(): void {
    const wait = Math.min(FIRST_RETRY_MS * 2 ** this.#failures++, LAST_RETRY_MS);
    setTimeout(() => {
      this.#loadError = undefined;
      this.#look();
    }, wait);
  }

  #endIfLast(): void {
    if (this.#ended || this.#workers.size > 0 || (this.#givenUp.size > 0 && !host.threadsLinger)) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#stuckTimer);
    // Whoever sleeps there must not lie in wait where some other word may be soon.
    this.#space.core.plait_pool_attend(this.#options.pool);
    this.#listener.closed();
  }

  /** The pool's state has been changed by its owner; ends when the last worker has. */
  close(force: boolean): void {
    this.#closing = true;
    if (force) {
      for (const worker of this.#workers) {
        if (worker.stopping !== undefined) continue;
        worker.stopping = 'force';
        worker.thread.terminate();
        if (worker.isLent) this.#giveUpRetired(worker);
      }
      this.#stuckTimer ??= setTimeout(() => this.#giveUpStuck(), STOP_MS);
    }
    if (!force) this.#serveRest();
    this.#endIfLast();
  }
}
