/**
 * Pool: runs the functions of a module on worker threads that pull their tasks from shared memory.
 *
 * The pool's structure, its queues and its tasks are in the space. The coordinator owns the worker threads. This object
 * is the owner's handle on both.
 */

import { PlaitError } from '../core/errors.ts';
import { host } from '../core/host.ts';
import { clearTimeout, setTimeout } from '../core/host-timers.ts';
import { Errno, Pool as P, POOL_LIMIT, PoolState } from '../core/layout.generated.ts';
import { lockTimeout, outOfMemory } from '../core/space.ts';
import { freeOwned } from '../heap/owned.ts';
import { readValue } from '../value/reader.ts';
import { ValueWriter } from '../value/writer.ts';
import { PoolCalls, type PoolCallsEvents } from './calls.ts';
import { type CoordinatorClient, coordinatorOf } from './coordinator-client.ts';
import { flag } from './option-names.ts';
import { type BroadcastOptions, CALLS, submitOptions } from './options.ts';
import {
  type CloseOptions,
  closeRules,
  type PoolOptions,
  poolRules,
  type ResizeOptions,
  resizeRules,
} from './pool-options.ts';
import type { BroadcastCall, EndReason, OpenPool, PoolEvent, ToCoordinator, WorkerEvent } from './protocol.ts';
import { isFullOfPools } from './registry.ts';
import { onAbort } from './signals.ts';
import { type Call, Submitter } from './submitter.ts';

/** The events of a pool, by name. */
export interface PoolEvents extends PoolCallsEvents {
  /** A worker is ready. */
  start: WorkerEvent;
  /**
   * A worker has ended, and why. `error`: what it did not catch, or why it could not load the module. If there is no
   * listener, and none for `error`, an error that no task reported either becomes a warning of the process, with its
   * stack.
   */
  end: WorkerEvent & { readonly reason: EndReason; readonly error?: unknown };
  /** A message that code in a worker has posted to its parent: `parentPort.postMessage(value)`. */
  message: unknown;
  /**
   * What a worker did not catch while no task of it could report it. Without a listener for it or for `end`, it becomes
   * a warning of the process.
   */
  error: unknown;
}

/**
 * Extra grace for a worker with several tasks: it abandons a task that does not stop, and is stopped only if it cannot.
 */
const SLACK_MS = 100;
/** How often to retry a lock whose owner is stuck. */
const LOCK_RETRY_MS = 20;

function tooManyPools(): PlaitError {
  const message = `a space has room for ${POOL_LIMIT} pools, and all are in use: close unused pools, or give this pool a space of its own, with the option space: openSpace()`;
  return new PlaitError('ERR_PLAIT_OUT_OF_MEMORY', message);
}

function stuck(): PlaitError {
  const message = 'a worker that was stopped has not ended for 5 s: it sits in native code';
  return new PlaitError('ERR_PLAIT_CLOSE_TIMEOUT', message);
}

/** Nothing else reports this error: the worker was idle, or what it ran is run again. */
function warnOf(error: unknown): void {
  const { stack } = Object(error) as { stack?: unknown };
  const detail = typeof stack === 'string' ? stack : String(error);
  const message = 'a worker of a pool ended after an uncaught error, and no task reports the error';
  host.warn(message, 'PLAIT_WORKER_DIED', detail);
}

/** The results of one broadcast, in the order of its workers. */
class BroadcastResults implements Call {
  readonly promise: Promise<unknown[]>;
  readonly #results: unknown[];
  #left: number;
  #failed = false;
  #resolve: (results: unknown[]) => void = () => {};
  #reject: (reason: unknown) => void = () => {};

  constructor(count: number) {
    this.#left = count;
    this.#results = new Array(count);
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (count === 0) this.#resolve([]);
  }

  settle(index: number, fulfilled: boolean, value: unknown): void {
    if (!fulfilled) this.fail(value);
    if (this.#failed) {
      freeOwned(value);
      return;
    }
    this.#results[index] = value;
    if (--this.#left === 0) this.#resolve(this.#results);
  }

  fail(reason: unknown): void {
    this.#failed = true;
    this.#reject(reason);
    for (const result of this.#results) freeOwned(result); // results that were given have no other owner
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
 * A pool without outstanding tasks does not keep the process alive. It belongs to the thread that created it. Other
 * threads use it through `connect(pool.handle)`, and its tasks use it through `task.pool`.
 */
export class Pool extends PoolCalls<PoolEvents> {
  readonly #link: CoordinatorClient;
  readonly #ended: Promise<void>;
  readonly #asked = new Map<number, (indices: readonly number[]) => void>();
  /** To be called when this thread has no outstanding task. */
  #quiet: (() => void)[] = [];
  #questions = 0;
  #closing: Promise<void> | undefined;
  #released = false;
  #forced = false;
  #busy = false;

  /**
   * @param module the module's URL, or its path (from the current folder, in Node)
   * @throws {TypeError|RangeError} for unknown options, or values outside their range
   * @throws {DataCloneError} for `workerData` that cannot be cloned
   * @throws {PlaitError} ERR_PLAIT_OUT_OF_MEMORY if the space is full, or has 128 pools already
   */
  constructor(module: string | URL, options?: PoolOptions) {
    const { space, plan, minThreads, maxThreads, maxQueue, timeout, retries } = poolRules(module, options);
    const { concurrency, grace } = plan;
    const ref = space.core.plait_pool_create() >>> 0;
    if (ref === 0) throw isFullOfPools(space) ? tooManyPools() : outOfMemory(P.BYTES);
    let submitter: Submitter | undefined;
    try {
      space.cover(ref + P.BYTES);
      const set = (offset: number, value: number) => {
        space.u32[(ref + offset) >>> 2] = value;
      };
      set(P.queueLimit, maxQueue);
      set(P.graceMs, grace + (concurrency > 1 ? SLACK_MS : 0));
      set(P.usualTimeoutMs, timeout);
      set(P.usualRetries, retries);
      set(P.timeoutMs, timeout);
      set(P.minThreads, minThreads);
      set(P.maxThreads, maxThreads);
      set(P.wakeAll, concurrency > 1 ? 1 : 0);
      // A listener of the submitter may run only when this object is complete; until then there is no task.
      submitter = new Submitter(space, ref, (busy) => this.#setBusy(busy));
      super(space, ref, submitter);
      this.#link = coordinatorOf(space);
      this.#ended = this.#open({ ...plan, pool: ref, client: this.submitter.client });
    } catch (error) {
      submitter?.abandon(new PlaitError('ERR_PLAIT_POOL_CLOSED', 'the pool could not be opened'));
      space.core.plait_pool_destroy(ref);
      throw error;
    }
    this.#ended.catch(() => {}); // close() or the tasks report it
  }

  /** The most workers that the pool may have. */
  get threads(): number {
    return this.#closing === undefined ? this.space.load(this.ref + P.maxThreads) : 0;
  }

  /** Has the coordinator start the workers. The promise resolves when the last of them has exited, after close(). */
  #open(message: OpenPool): Promise<void> {
    let resolveEnded = (): void => {};
    let failed = (_error: PlaitError): void => {};
    const ended = new Promise<void>((resolve, reject) => {
      resolveEnded = resolve;
      failed = reject;
    });
    const closed = (isStuck: boolean): void => (isStuck ? failed(stuck()) : resolveEnded());
    const exited = (error: PlaitError): void => {
      this.submitter.abandon(error);
      this.#resolveAsked();
      failed(error);
    };
    const indices = (id: number, list: readonly number[]): void => {
      this.#asked.get(id)?.(list);
      this.#asked.delete(id);
    };
    const said = (value: unknown): void => this.send('message', value);
    const done = (id: number): void => indices(id, []);
    this.#link.open(message, { closed, exited, indices, done, message: said, event: (event) => this.#onEvent(event) });
    return ended;
  }

  #setBusy(busy: boolean): void {
    if (busy === this.#busy) return;
    this.#busy = busy;
    if (busy) this.#link.hold();
    else {
      this.#link.release();
      for (const resolve of this.#quiet.splice(0)) resolve();
    }
  }

  #onEvent(event: PoolEvent): void {
    if (event.type === 'start') {
      const { type, ...detail } = event;
      this.send(type, detail);
      return;
    }
    const { type, uncaught, ...detail } = event;
    if (uncaught === undefined) {
      this.send(type, detail);
      return;
    }
    const error = readValue(uncaught.error);
    if (!uncaught.isReported) {
      if (this.listenerCount('error') > 0) this.send('error', error);
      else if (this.listenerCount('end') === 0) warnOf(error);
    }
    this.send(type, { ...detail, error });
  }

  /**
   * Runs a function once on each present worker and resolves to all results. With `later`, workers that start
   * afterwards call it as well, before their first task.
   */
  async broadcast<Output = unknown>(input?: unknown, options?: BroadcastOptions): Promise<Output[]> {
    const how = submitOptions(options, CALLS.broadcast, this.usual, 1);
    const later = flag(options?.later, 'later');
    const signal = options?.signal;
    if (signal?.aborted) throw signal.reason;
    if (this.#closing !== undefined) {
      throw new PlaitError('ERR_PLAIT_POOL_CLOSED', 'the pool is closed and takes no more tasks');
    }
    this.submitter.mustWork();
    const call: BroadcastCall | undefined = later
      ? { name: how.name, form: how.form, input: new ValueWriter().write(input, 'input').slice() }
      : undefined;
    const indices = await this.#ask((id) => ({ type: 'broadcast', pool: this.ref, id, later: call }));
    if (signal?.aborted) throw signal.reason;
    this.submitter.mustBeOpen(); // otherwise the result would be an empty list
    const results = new BroadcastResults(indices.length);
    const takeBack = (reason: unknown): void => {
      this.submitter.abortAll(results);
      results.fail(reason);
    };
    const stopListening = signal && onAbort(signal, () => takeBack(signal.reason));
    try {
      try {
        for (const [index, workerIndex] of indices.entries()) {
          this.submitter.submit(results, index, input, { ...how, workerIndex });
        }
        if (signal?.aborted) takeBack(signal.reason); // by a getter in the input
      } catch (reason) {
        takeBack(reason);
      }
      return (await results.promise) as Output[];
    } finally {
      stopListening?.();
    }
  }

  /** Sends a question to the coordinator. The answer is empty if the pool ends meanwhile. */
  #ask(question: (id: number) => ToCoordinator): Promise<readonly number[]> {
    this.#link.hold();
    return new Promise<readonly number[]>((resolve) => {
      const id = ++this.#questions;
      this.#asked.set(id, resolve);
      this.#link.send(question(id));
    }).finally(() => this.#link.release());
  }

  #resolveAsked(): void {
    for (const resolve of this.#asked.values()) resolve([]);
    this.#asked.clear();
  }

  /**
   * Resolves when no task of the pool is queued or running, whoever has submitted it, and all results of this thread
   * are settled. The pool stays open. It keeps the process alive until then.
   */
  async idle(): Promise<void> {
    let isIdle = false;
    while (!isIdle && this.#closing === undefined && !this.submitter.isAbandoned) {
      await this.#ask((id) => ({ type: 'idle', pool: this.ref, id }));
      isIdle = this.submitter.outstanding === 0;
      if (!isIdle) await new Promise<void>((resolve) => this.#quiet.push(resolve));
    }
    await this.#closing;
  }

  /**
   * Rejects all queued tasks of the pool with an AbortError, whoever has submitted them, except those that running
   * tasks have submitted to their own pool. Returns how many. Running tasks go on.
   */
  cancelQueued(): number {
    if (this.#closing !== undefined) return 0;
    const count = this.space.core.plait_pool_cancel_queued(this.ref);
    if (count < 0) throw lockTimeout();
    return count;
  }

  /**
   * Replaces the present workers. Each ends after its tasks; queued tasks are run by those that replace them. Resolves
   * when all of them have ended.
   */
  async recycleWorkers(): Promise<void> {
    if (this.#closing !== undefined) {
      throw new PlaitError('ERR_PLAIT_POOL_CLOSED', 'the pool is closed and starts no more workers');
    }
    await this.#ask((id) => ({ type: 'recycle', pool: this.ref, id }));
  }

  /** Changes how many workers there may be. More workers start when needed; surplus workers end after their tasks. */
  resize(options: ResizeOptions): void {
    if (this.#closing !== undefined) {
      throw new PlaitError('ERR_PLAIT_POOL_CLOSED', 'the pool is closed and cannot be resized');
    }
    const load = (word: number): number => this.space.load(this.ref + word);
    const { min, max } = resizeRules(options, load(P.minThreads), load(P.maxThreads));
    Atomics.store(this.space.u32, (this.ref + P.maxThreads) >>> 2, max);
    Atomics.store(this.space.u32, (this.ref + P.minThreads) >>> 2, min);
    this.#link.send({ type: 'resize', pool: this.ref });
  }

  /**
   * Takes no more tasks, finishes those that were submitted (with `force`, stops and rejects them; with `drop`, rejects
   * queued ones and finishes running ones), and ends the workers. Resolves when the space holds nothing of the pool
   * any more.
   *
   * Further calls return the same promise. One with `force` forces a close in progress, one with `drop` rejects what is
   * still queued; one with `timeout` forces it later. As long as tasks are queued, close() waits for a module that
   * never finishes loading, as for a task that never ends. When none are queued, it stops workers that still load.
   *
   * Rejects with ERR_PLAIT_CLOSE_TIMEOUT if the thread of a stopped worker still exists after 5 s because it is in
   * native code. Its tasks are rejected. The pool's memory stays allocated, because that thread may still read it.
   */
  close(options?: CloseOptions): Promise<void> {
    const { force, drop, timeout: deadline } = closeRules(options);
    if (this.#closing === undefined) {
      this.#link.hold();
      this.#closing = this.#close(force).finally(() => this.#link.release());
    } else if (force) {
      this.#force();
    }
    if (drop && !force) this.#drop();
    if (deadline !== undefined && !force) {
      const timer = setTimeout(() => this.#force(), deadline);
      this.#closing.then(
        () => clearTimeout(timer),
        () => clearTimeout(timer),
      );
    }
    return this.#closing;
  }

  #drop(): void {
    if (this.#forced || this.#released) return;
    const isStuck = this.space.core.plait_pool_cancel_queued(this.ref) < 0;
    if (isStuck) setTimeout(() => this.#drop(), LOCK_RETRY_MS);
    else this.#link.send({ type: 'close', pool: this.ref, force: false }); // workers for them need not be started
  }

  #force(): void {
    if (this.#forced || this.#released) return;
    this.#end(true);
  }

  #end(force: boolean): void {
    this.#forced ||= force;
    const rc = this.space.core.plait_pool_end(this.ref, force ? PoolState.CLOSED : PoolState.CLOSING);
    const isStuck = rc === -Errno.ETIMEDOUT;
    if (!isStuck || force) this.#link.send({ type: 'close', pool: this.ref, force });
    if (isStuck) setTimeout(() => this.#released || this.#end(this.#forced), LOCK_RETRY_MS); // a stuck lock: retry later
  }

  async #close(force: boolean): Promise<void> {
    this.#end(force);
    const closed = new PlaitError('ERR_PLAIT_POOL_CLOSED', 'the pool is closed and takes no more tasks');
    try {
      await this.#ended;
    } catch (error) {
      this.#resolveAsked();
      if (!(error instanceof PlaitError)) throw error;
      if (error.code === 'ERR_PLAIT_CLOSE_TIMEOUT') {
        this.submitter.abandon(closed);
        throw error;
      }
      // otherwise the coordinator has exited, and all workers with it
    }
    this.#resolveAsked();
    await this.submitter.finish(() => this.#forced);
    this.submitter.abandon(closed);
    this.leave('the pool is closed; its counters went with it');
    this.#released = true; // from here on its memory may be reused
    this.space.core.plait_client_release(this.submitter.client);
    this.space.core.plait_pool_release(this.ref);
  }

  /** Closes the pool at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
