/**
 * Pool: runs the functions of a module on worker threads that pull their work from shared memory.
 *
 * The pool's record, its queue and the tasks lie in the space; the coordinator owns the worker threads; this object is
 * the owner's handle on both.
 */

import { commonSpace } from '../core/boot.ts';
import { PlaitError } from '../core/errors.ts';
import { host, type ResourceLimits } from '../core/host.ts';
import { Errno, Pool as P, POOL_LIMIT, PoolState } from '../core/layout.generated.ts';
import { outOfMemory, type Space } from '../core/space.ts';
import { release } from '../heap/owned.ts';
import { PoolCalls, type PoolHandle } from './calls.ts';
import { readValue, ValueWriter } from './codec.ts';
import { type CoordinatorLink, coordinatorOf, threadAhead } from './coordinator-link.ts';
import { Listeners } from './listeners.ts';
import { type BroadcastOptions, MOST_MILLISECONDS, wholeNumber } from './options.ts';
import {
  type BroadcastCall,
  type EndReason,
  type OpenPool,
  type PoolEvent,
  STUCK_MS,
  type WorkerEvent,
} from './protocol.ts';
import { isFullOfPools } from './registry.ts';
import { mustBeSignal, onAbort } from './signals.ts';
import { type Call, Submitter, USUAL_LANE } from './submitter.ts';

/** Options of a {@link Pool}; each has a default. */
export interface PoolOptions {
  /** How many workers; the number of processors that the process may use, if not given. */
  readonly threads?: number;
  /** The fewest and the most workers, instead of a fixed number; the rest of it is in docs/task.md. */
  readonly minThreads?: number;
  readonly maxThreads?: number;
  /** Milliseconds after which an idle worker above `minThreads` ends; 10 seconds, if not given. */
  readonly idleTimeout?: number;
  /**
   * How many tasks may be queued; a further one is refused with ERR_PLAIT_QUEUE_FULL. 'auto': the square of `maxThreads`.
   * As many as there is memory for, if not given.
   */
  readonly maxQueue?: number | 'auto';
  /** How many asynchronous tasks a worker runs at a time; one, if not given. */
  readonly concurrentTasksPerWorker?: number;
  /** Milliseconds that a task may run, from its start, if it says nothing else. */
  readonly timeout?: number;
  /**
   * Milliseconds that a worker may take, from its start, until it has loaded the module; as long as it wants, if not given. One
   * that takes longer is stopped, and counts as one that could not load it.
   */
  readonly loadTimeout?: number;
  /** Milliseconds that a task may go on after it was told to stop, before its worker is; 100, if not given. */
  readonly grace?: number;
  /** Replaces a worker by a fresh one when it has run so many tasks, or when its JavaScript heap is larger than that. */
  readonly recycle?: { readonly tasks?: number; readonly bytes?: number };
  /** Whether `runInline` may send functions as source to the workers. */
  readonly inline?: boolean;
  /** Handed to each worker as `workerData` of node:worker_threads. */
  readonly workerData?: unknown;
  /** Environment of the workers, instead of a copy of this thread's (Node only). */
  readonly env?: Record<string, string>;
  /** Node's options of the workers, instead of this thread's (Node only). */
  readonly execArgv?: readonly string[];
  /** Limits of each worker's JavaScript memory (Node only). */
  readonly resourceLimits?: ResourceLimits;
  /** The space that holds queue and tasks; the common one, if not given. */
  readonly space?: Space;
}

/** Options of {@link Pool.close}. */
export interface CloseOptions {
  /** Stop running tasks and reject queued ones, instead of finishing them first. */
  readonly force?: boolean;
  /** Milliseconds after which what is left is stopped by force; never, if not given. */
  readonly timeout?: number;
}

/** What a pool's listeners hear, by name. */
export interface PoolEvents {
  /** A worker is ready. */
  start: WorkerEvent;
  /**
   * A worker has ended, and why. `error`: what nothing in it caught, or for which it could not load the module, if that was so.
   * If nobody listens, what no task was told of either is a warning of the process, with the stack.
   */
  end: WorkerEvent & { readonly reason: EndReason; readonly error?: unknown };
  /** A queue that was full is down to half of `maxQueue`. */
  drain: undefined;
}

const MOST_THREADS = 250;
const MOST_CONCURRENCY = 10000;
const USUAL_IDLE_MS = 10_000;
const USUAL_GRACE_MS = 100;
/** Beside others, a task that does not stop is given up by its worker; the worker is stopped only if it cannot do that. */
const SLACK_MS = 100;
/** How often a lock whose owner is stuck is asked for again. */
const LOCK_RETRY_MS = 20;
const UNLIMITED = 0xffffffff;

/** How many workers there may be, at least and at most. */
function range({ threads, minThreads, maxThreads }: PoolOptions): { min: number; max: number } {
  if (threads !== undefined && (minThreads !== undefined || maxThreads !== undefined)) {
    throw new RangeError('options.threads is a fixed number of workers: give it, or minThreads and maxThreads');
  }
  const usual = (): number => Math.min(host.parallelism, MOST_THREADS);
  if (minThreads === undefined && maxThreads === undefined) {
    const fixed = wholeNumber(threads ?? usual(), 'threads', 1, MOST_THREADS);
    return { min: fixed, max: fixed };
  }
  const max = wholeNumber(maxThreads ?? Math.max(usual(), minThreads as number), 'maxThreads', 1, MOST_THREADS);
  return { min: wholeNumber(minThreads ?? Math.min(1, max), 'minThreads', 0, max), max };
}

function tooManyPools(): PlaitError {
  const message = `a space has room for ${POOL_LIMIT} pools, and has them all: close those that are not used any more, or give this one a space of its own, with the option space: openSpace()`;
  return new PlaitError('ERR_PLAIT_OUT_OF_MEMORY', message);
}

/** Nobody else is told of this error, which has ended an idle worker. */
function warnOf(error: unknown): void {
  const { stack } = Object(error) as { stack?: unknown };
  const detail = typeof stack === 'string' ? stack : String(error);
  host.warn('an idle worker of a pool ended after an error that nothing in it caught', 'PLAIT_WORKER_DIED', detail);
}

/** One broadcast's answers, by seat. */
class Answers implements Call {
  readonly promise: Promise<unknown[]>;
  readonly #answers: unknown[];
  #left: number;
  #failed = false;
  #resolve: (answers: unknown[]) => void = () => {};
  #reject: (reason: unknown) => void = () => {};

  constructor(count: number) {
    this.#left = count;
    this.#answers = new Array(count);
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (count === 0) this.#resolve([]);
  }

  settle(index: number, fulfilled: boolean, value: unknown): void {
    if (!fulfilled) this.fail(value);
    if (this.#failed) {
      release(value);
      return;
    }
    this.#answers[index] = value;
    if (--this.#left === 0) this.#resolve(this.#answers);
  }

  fail(reason: unknown): void {
    this.#failed = true;
    this.#reject(reason);
    for (const answer of this.#answers) release(answer); // given ones are nobody's now
  }
}

/**
 * A pool of worker threads that run the functions of one module.
 *
 * ```js
 * const pool = new Pool(new URL('./work.js', import.meta.url));
 * const digest = await pool.run('file.txt', { name: 'hash' });
 * await pool.close();
 * ```
 *
 * A pool without outstanding tasks does not keep the process alive. It belongs to the thread that made it; other threads use
 * it through `connect(pool.handle)`, and its tasks through `task.pool`.
 */
export class Pool extends PoolCalls {
  readonly #link: CoordinatorLink;
  readonly #ended: Promise<void>;
  readonly #listeners = new Listeners<PoolEvents>();
  readonly #asked = new Map<number, (seats: readonly number[]) => void>();
  #questions = 0;
  #closing: Promise<void> | undefined;
  #released = false;
  #forced = false;
  #busy = false;

  /**
   * @param module the module's URL, or its path (from the current folder, in Node)
   * @throws {TypeError|RangeError} for options outside their range
   * @throws {DataCloneError} for `workerData` that cannot be cloned
   * @throws {PlaitError} ERR_PLAIT_OUT_OF_MEMORY if the space has no room for a pool, or 128 pools already
   */
  constructor(module: string | URL, options: PoolOptions = {}) {
    if (!(module instanceof URL) && (typeof module !== 'string' || module === '')) {
      throw new TypeError('a pool needs the URL or path of a module: new Pool(new URL("./work.js", import.meta.url))');
    }
    const { min, max } = range(options);
    const optional = (name: keyof PoolOptions & string, usual: number, least: number, most: number): number => {
      const value = options[name] as number | undefined;
      return value === undefined ? usual : wholeNumber(value, name, least, most);
    };
    const { recycle = {}, maxQueue } = options;
    const timeout = options.timeout === 0 ? 0 : optional('timeout', 0, 1, MOST_MILLISECONDS);
    const grace = optional('grace', USUAL_GRACE_MS, 0, MOST_MILLISECONDS);
    const concurrency = optional('concurrentTasksPerWorker', 1, 1, MOST_CONCURRENCY);
    const limit = maxQueue === 'auto' ? max * max : optional('maxQueue', UNLIMITED, 1, UNLIMITED);
    const rules = {
      concurrency,
      grace,
      loadTimeout: optional('loadTimeout', 0, 0, MOST_MILLISECONDS),
      idleTimeout: optional('idleTimeout', USUAL_IDLE_MS, 0, MOST_MILLISECONDS),
      recycle: {
        tasks: recycle.tasks === undefined ? 0 : wholeNumber(recycle.tasks, 'recycle.tasks', 1, 2 ** 31),
        bytes:
          recycle.bytes === undefined ? 0 : wholeNumber(recycle.bytes, 'recycle.bytes', 1, Number.MAX_SAFE_INTEGER),
      },
      inline: options.inline === true,
    };
    const space = options.space ?? commonSpace();
    const { workerData, env, execArgv, resourceLimits } = options;
    const message = { type: 'open', threads: min, module: host.moduleUrl(module), ...rules } as const;
    const plan: Omit<OpenPool, 'pool'> = { ...message, workerData, env, execArgv, resourceLimits, lent: undefined };
    const ahead = threadAhead(space, plan);
    const ref = space.core.plait_pool_create() >>> 0;
    if (ref === 0) {
      ahead?.thread.terminate();
      throw isFullOfPools(space) ? tooManyPools() : outOfMemory(P.BYTES);
    }
    let link: CoordinatorLink | undefined;
    try {
      space.cover(ref + P.BYTES);
      const set = (offset: number, value: number) => {
        space.u32[(ref + offset) >>> 2] = value;
      };
      set(P.queueLimit, limit);
      set(P.graceMs, grace + (concurrency > 1 ? SLACK_MS : 0));
      set(P.usualTimeoutMs, timeout);
      set(P.timeoutMs, timeout);
      set(P.minThreads, min);
      set(P.maxThreads, max);
      set(P.wakeAll, concurrency > 1 ? 1 : 0);
      // A listener of the submitter's may run only when this object is whole; until then there is no task.
      super(space, ref, new Submitter(space, ref, (busy) => this.#setBusy(busy)));
      this.submitter.room.onDrain = () => this.#listeners.tell('drain', undefined);
      const open: OpenPool = { ...plan, pool: ref };
      link = coordinatorOf(space, open, ahead);
      this.#link = link;
      this.#ended = this.#open(open);
      if (timeout !== 0 || rules.loadTimeout !== 0) link.begin(); // any task may be late, or the first worker itself
      this.submitter.onDemand = (alone) => {
        if (alone && this.#link.mayWait) return;
        this.submitter.onDemand = undefined;
        this.#link.begin();
      };
    } catch (error) {
      if (link === undefined) ahead?.thread.terminate();
      if (link?.discard(space, ref) !== true) space.core.plait_pool_destroy(ref);
      throw error;
    }
    this.#ended.catch(() => {}); // heard by close(), or by the tasks
  }

  /** The most workers that the pool may have. */
  get threads(): number {
    return this.#closing === undefined ? this.space.load(this.ref + P.maxThreads) : 0;
  }

  /** Has the coordinator start the workers. The promise resolves when the last of them is gone, after close(). */
  #open(message: OpenPool): Promise<void> {
    let closed = (): void => {};
    let failed = (_error: PlaitError): void => {};
    const ended = new Promise<void>((resolve, reject) => {
      closed = resolve;
      failed = reject;
    });
    const died = (error: PlaitError, gone: Promise<void>): void => {
      this.submitter.abandon(error);
      this.#answerAll();
      this.#forced = true; // a close() waits for the rest as after a forced end
      void gone.then(() => failed(error));
    };
    const seats = (id: number, list: readonly number[]): void => {
      this.#asked.get(id)?.(list);
      this.#asked.delete(id);
    };
    this.#link.open(message, { closed, died, seats, event: (event) => this.#happened(event) });
    return ended;
  }

  /** Tasks may come from others now, whatever this thread does meanwhile. */
  override get handle(): PoolHandle {
    this.#link.begin();
    return super.handle;
  }

  #setBusy(busy: boolean): void {
    if (busy === this.#busy) return;
    this.#busy = busy;
    if (busy) this.#link.hold();
    else this.#link.release();
  }

  /** Hears of what happens to the pool; see {@link PoolEvents}. Listening does not keep the process alive. */
  on<Name extends keyof PoolEvents>(name: Name, listener: (detail: PoolEvents[Name]) => void): this {
    this.#listeners.add(name, listener);
    return this;
  }

  /** Hears no more. */
  off<Name extends keyof PoolEvents>(name: Name, listener: (detail: PoolEvents[Name]) => void): this {
    this.#listeners.remove(name, listener);
    return this;
  }

  #happened(event: PoolEvent): void {
    if (event.type === 'start') {
      const { type, ...detail } = event;
      this.#listeners.tell(type, detail);
      return;
    }
    const { type, uncaught, ...detail } = event;
    if (uncaught === undefined) {
      this.#listeners.tell(type, detail);
      return;
    }
    const error = readValue(uncaught.error);
    if (!uncaught.isTold && !this.#listeners.has('end')) warnOf(error);
    this.#listeners.tell(type, { ...detail, error });
  }

  /**
   * Runs a function once on every worker that there is, and resolves to all results. With `later`, workers that are started
   * from then on call it as well, before their first task.
   */
  async broadcast<Output = unknown>(input?: unknown, options: BroadcastOptions = {}): Promise<Output[]> {
    const { name = 'default', signal, later } = options;
    const timeout = options.timeout ?? this.timeout;
    if (timeout !== 0) wholeNumber(timeout, 'timeout', 1, MOST_MILLISECONDS);
    mustBeSignal(signal);
    if (signal?.aborted) throw signal.reason;
    if (this.#closing !== undefined) {
      throw new PlaitError('ERR_PLAIT_POOL_CLOSED', 'the pool is closed and takes no more tasks');
    }
    this.submitter.mustWork();
    const call: BroadcastCall | undefined =
      later === true ? { name, input: new ValueWriter().write(input, 'input').slice() } : undefined;
    const seats = await this.#askSeats(call);
    if (signal?.aborted) throw signal.reason;
    this.submitter.mustBeOpen(); // else nobody is no answer
    const answers = new Answers(seats.length);
    const takeBack = (reason: unknown): void => {
      this.submitter.abortAll(answers);
      answers.fail(reason);
    };
    const stopListening = signal && onAbort(signal, () => takeBack(signal.reason));
    try {
      try {
        for (const [index, seat] of seats.entries()) {
          const how = { name, lend: false, transfer: undefined, timeout, lane: USUAL_LANE, seat, retries: 0 };
          this.submitter.submit(answers, index, input, how);
        }
        if (signal?.aborted) takeBack(signal.reason); // by a getter in the input
      } catch (reason) {
        takeBack(reason);
      }
      return (await answers.promise) as Output[];
    } finally {
      stopListening?.();
    }
  }

  #askSeats(later: BroadcastCall | undefined): Promise<readonly number[]> {
    this.#link.hold();
    return new Promise<readonly number[]>((resolve) => {
      const id = ++this.#questions;
      this.#asked.set(id, resolve);
      this.#link.send({ type: 'broadcast', pool: this.ref, id, later });
    }).finally(() => this.#link.release());
  }

  #answerAll(): void {
    for (const answer of this.#asked.values()) answer([]);
    this.#asked.clear();
  }

  /** Changes how many workers there may be. More start when they are needed; too many end when they have done their tasks. */
  resize({ min, max }: { readonly min?: number; readonly max?: number }): void {
    if (this.#closing !== undefined) {
      throw new PlaitError('ERR_PLAIT_POOL_CLOSED', 'the pool is closed and cannot be resized');
    }
    const most = wholeNumber(max ?? this.space.load(this.ref + P.maxThreads), 'max', 1, MOST_THREADS);
    const least = wholeNumber(min ?? Math.min(this.space.load(this.ref + P.minThreads), most), 'min', 0, most);
    Atomics.store(this.space.u32, (this.ref + P.maxThreads) >>> 2, most);
    Atomics.store(this.space.u32, (this.ref + P.minThreads) >>> 2, least);
    this.#link.send({ type: 'resize', pool: this.ref });
  }

  /**
   * Takes no more tasks, lets those that were submitted end (or, with `force`, stops and rejects them), then ends the
   * workers. Resolves when all of it is gone from the space. Further calls give the same promise; one with `force`
   * hurries a close that is under way, one with `timeout` does so later. While tasks are queued it waits for a module that never
   * ends loading, as for a task that never ends; when none are, workers that load are stopped.
   *
   * Rejects with ERR_PLAIT_CLOSE_TIMEOUT if a worker is still there 5 s after it was stopped, because it sits in native
   * code. What it runs is rejected; what the pool has in the space stays there, for the worker may still look at it.
   */
  close(options: CloseOptions = {}): Promise<void> {
    const force = options.force === true;
    const deadline =
      options.timeout === undefined ? undefined : wholeNumber(options.timeout, 'timeout', 0, MOST_MILLISECONDS);
    if (this.#closing === undefined) {
      this.#link.hold();
      this.#closing = this.#close(force).finally(() => this.#link.release());
    } else if (force) {
      this.#force();
    }
    if (deadline !== undefined && !force) {
      const timer = setTimeout(() => this.#force(), deadline);
      this.#closing.then(
        () => clearTimeout(timer),
        () => clearTimeout(timer),
      );
    }
    return this.#closing;
  }

  #force(): void {
    if (this.#forced || this.#released) return;
    this.#end(true);
  }

  #end(force: boolean): void {
    this.#forced ||= force;
    const rc = this.space.core.plait_pool_end(this.ref, force ? PoolState.CLOSED : PoolState.CLOSING);
    if (rc !== -Errno.ETIMEDOUT) this.#link.send({ type: 'close', pool: this.ref, force });
    else setTimeout(() => this.#released || this.#end(this.#forced), LOCK_RETRY_MS); // a stuck lock: another time
  }

  async #close(force: boolean): Promise<void> {
    this.#end(force);
    const closed = new PlaitError('ERR_PLAIT_POOL_CLOSED', 'the pool is closed and takes no more tasks');
    try {
      await this.#untilEnded();
    } catch (error) {
      this.#answerAll();
      if (!(error instanceof PlaitError)) throw error;
      if (error.code === 'ERR_PLAIT_CLOSE_TIMEOUT') {
        this.submitter.abandon(closed);
        throw error;
      }
      // else the coordinator died, and all workers with it
    }
    this.#answerAll();
    this.submitter.abandon(closed);
    this.leave('the pool is closed; its counters went with it');
    this.#released = true; // what was the pool's may be anybody's from here on
    this.space.core.plait_client_release(this.submitter.client);
    this.space.core.plait_pool_release(this.ref);
  }

  /** Waits for the last worker; not much longer than a forced end takes. */
  #untilEnded(): Promise<void> {
    return new Promise((resolve, reject) => {
      let patience = STUCK_MS;
      const watch = setInterval(() => {
        if (this.#forced) patience -= 100;
        if (patience <= 0) {
          clearInterval(watch);
          const message = `a worker did not end within ${STUCK_MS / 1000} s of having been stopped: it sits in native code`;
          reject(new PlaitError('ERR_PLAIT_CLOSE_TIMEOUT', message));
        }
      }, 100);
      this.#ended.then(resolve, reject).finally(() => clearInterval(watch));
    });
  }

  /** Closes the pool at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
