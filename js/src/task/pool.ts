/**
 * Pool: runs the functions of a module on worker threads that pull their work from shared memory.
 *
 * The pool's record, its queue and the tasks lie in the space; the coordinator owns the worker threads; this object is
 * the owner's handle on both.
 */

import { commonSpace } from '../core/boot.ts';
import { PlaitError } from '../core/errors.ts';
import { host, type ResourceLimits } from '../core/host.ts';
import { Errno, Pool as P, PoolState } from '../core/layout.generated.ts';
import { lockTimeout, outOfMemory, type Space } from '../core/space.ts';
import { ownedBlock } from '../heap/heap.ts';
import { type CoordinatorLink, coordinatorOf } from './coordinator-link.ts';
import { type MapOptions, mapSettled, type Settled } from './map.ts';
import { Submitter } from './submitter.ts';

/** Options of a {@link Pool}; each has a default. */
export interface PoolOptions {
  /** How many workers; the number of processors that the process may use, if not given. */
  readonly threads?: number;
  /** Milliseconds that a task may run, from its start. A later one is rejected, its worker stopped and replaced. */
  readonly timeout?: number;
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

/** Options of {@link Pool.run}. */
export interface RunOptions {
  /** Which of the module's exports to call; 'default', if not given. */
  readonly name?: string;
  /**
   * Lends a `Uint8Array` to the function instead of giving it a copy of its own: what the function gets is a view on
   * shared memory. It must not use the view after it has returned, or after its promise has settled.
   */
  readonly lend?: boolean;
  /**
   * Gives the bytes of a view from `heap.bytes()` away: nothing is copied, the function gets a view on them as if they
   * were lent, and they are freed when it has returned or its promise has settled. The caller must not use the view
   * again. If the task cannot be submitted, the view stays the caller's.
   */
  readonly give?: boolean;
}

/** Options of {@link Pool.close}. */
export interface CloseOptions {
  /** Stop running tasks and reject queued ones, instead of finishing them first. */
  readonly force?: boolean;
}

function positiveInteger(value: number, name: string, limit: number): number {
  if (!Number.isInteger(value) || value < 1 || value > limit) {
    throw new RangeError(`options.${name} must be a whole number from 1 to ${limit}, not ${value}`);
  }
  return value;
}

const MOST_THREADS = 250;
const MOST_MILLISECONDS = 2 ** 31 - 1;

/**
 * A pool of worker threads that run the functions of one module.
 *
 * ```js
 * const pool = new Pool(new URL('./work.js', import.meta.url));
 * const digest = await pool.run('file.txt', { name: 'hash' });
 * await pool.close();
 * ```
 *
 * A pool without outstanding tasks does not keep the process alive. It belongs to the thread that made it.
 */
export class Pool {
  /** How many workers the pool keeps. */
  readonly threads: number;

  readonly #space: Space;
  readonly #ref: number;
  readonly #submitter: Submitter;
  readonly #link: CoordinatorLink;
  readonly #ended: Promise<void>;
  #closing: Promise<void> | undefined;
  #busy = false;

  /**
   * @param module the module's URL, or its path (from the current folder, in Node)
   * @throws {TypeError|RangeError} for options outside their range
   * @throws {DataCloneError} for `workerData` that cannot be cloned
   * @throws {PlaitError} ERR_PLAIT_OUT_OF_MEMORY if the space has no room for a pool, or 128 of them
   */
  constructor(module: string | URL, options: PoolOptions = {}) {
    if (!(module instanceof URL) && (typeof module !== 'string' || module === '')) {
      throw new TypeError('a pool needs the URL or path of a module: new Pool(new URL("./work.js", import.meta.url))');
    }
    this.threads = positiveInteger(options.threads ?? host.parallelism, 'threads', MOST_THREADS);
    const timeout = options.timeout && positiveInteger(options.timeout, 'timeout', MOST_MILLISECONDS);
    const space = options.space ?? commonSpace();
    this.#space = space;
    this.#ref = space.core.plait_pool_create() >>> 0;
    if (this.#ref === 0) throw outOfMemory(P.BYTES);
    try {
      this.#submitter = new Submitter(space, this.#ref, (busy) => this.#setBusy(busy));
      this.#link = coordinatorOf(space);
      this.#ended = this.#open(module, timeout || undefined, options);
    } catch (error) {
      space.core.plait_pool_destroy(this.#ref);
      throw error;
    }
    this.#ended.catch(() => {}); // heard by close(), or by the tasks
  }

  /** Has the coordinator start the workers. The promise resolves when the last of them is gone, after close(). */
  #open(module: string | URL, timeout: number | undefined, options: PoolOptions): Promise<void> {
    let closed = (): void => {};
    let failed = (_error: PlaitError): void => {};
    const ended = new Promise<void>((resolve, reject) => {
      closed = resolve;
      failed = reject;
    });
    const died = (error: PlaitError): void => {
      this.#submitter.abandon(error);
      failed(error);
    };
    const { workerData, env, execArgv, resourceLimits } = options;
    this.#link.open(
      {
        type: 'open',
        pool: this.#ref,
        threads: this.threads,
        module: host.moduleUrl(module),
        timeout,
        workerData,
        env,
        execArgv,
        resourceLimits,
      },
      { closed, died },
    );
    return ended;
  }

  #setBusy(busy: boolean): void {
    if (busy === this.#busy) return;
    this.#busy = busy;
    if (busy) this.#link.hold();
    else this.#link.release();
  }

  /**
   * Runs one function on a worker and resolves to its result.
   *
   * `input` and the result are copied, as by structured cloning; errors keep class, message, stack, cause, code and own
   * properties.
   *
   * Rejects with the function's error, or a {@link PlaitError}: ERR_PLAIT_CANNOT_SEND (says which part),
   * ERR_PLAIT_NO_SUCH_EXPORT, ERR_PLAIT_MODULE_LOAD, ERR_PLAIT_WORKER_DIED, ERR_PLAIT_WORKER_OUT_OF_MEMORY,
   * ERR_PLAIT_TASK_TIMEOUT, ERR_PLAIT_OUT_OF_MEMORY, ERR_PLAIT_POOL_CLOSED.
   */
  run(input?: unknown, options?: RunOptions): Promise<unknown> {
    const name = options?.name ?? 'default';
    if (options?.give === true) return this.#give(name, input);
    return this.#submitter.submit(name, input, options?.lend === true);
  }

  #give(name: string, input: unknown): Promise<unknown> {
    const block = ownedBlock(input, this.#space);
    if (block === undefined) {
      return Promise.reject(
        new TypeError('only a view from heap.bytes() can be given, once, to a pool on the same space'),
      );
    }
    return this.#submitter.submit(name, input, true, block);
  }

  /**
   * Runs a function over many inputs and yields the results, in the order of the inputs unless `ordered` is false.
   * At most `concurrency` tasks are under way at once, so inputs may be endless. The first error ends the iteration;
   * leaving the loop early starts no further tasks.
   */
  async *map(inputs: Iterable<unknown> | AsyncIterable<unknown>, options: MapOptions = {}): AsyncGenerator<unknown> {
    for await (const result of this.mapSettled(inputs, options)) {
      if (result.status === 'rejected') throw result.reason;
      yield result.value;
    }
  }

  /** As {@link map}, but yields what became of each input, with the input and its index: no error ends it. */
  mapSettled<Input>(
    inputs: Iterable<Input> | AsyncIterable<Input>,
    options: MapOptions = {},
  ): AsyncGenerator<Settled<Input>> {
    const { name = 'default', lend = false, ordered = true, concurrency = Math.max(256, this.threads * 8) } = options;
    positiveInteger(concurrency, 'concurrency', 2 ** 20);
    return mapSettled((input) => this.#submitter.submit(name, input, lend), inputs, ordered, concurrency);
  }

  /**
   * Takes no more tasks, lets those that were submitted end (or, with `force`, stops and rejects them), then ends the
   * workers. Resolves when all of it is gone from the space. Further calls give the same promise; one with `force`
   * hurries a close that is under way.
   */
  close(options: CloseOptions = {}): Promise<void> {
    const force = options.force === true;
    if (this.#closing === undefined) {
      this.#link.hold();
      this.#closing = this.#close(force).finally(() => this.#link.release());
    } else if (force) {
      this.#end(true);
    }
    return this.#closing;
  }

  #end(force: boolean): void {
    const rc = this.#space.core.plait_pool_end(this.#ref, force ? PoolState.CLOSED : PoolState.CLOSING);
    if (rc === -Errno.ETIMEDOUT) throw lockTimeout();
    this.#link.send({ type: 'close', pool: this.#ref, force });
  }

  async #close(force: boolean): Promise<void> {
    this.#end(force);
    try {
      await this.#ended;
    } catch (error) {
      if (!(error instanceof PlaitError)) throw error; // the coordinator died, and all workers with it
    }
    this.#submitter.drain();
    this.#submitter.abandon(new PlaitError('ERR_PLAIT_POOL_CLOSED', 'the pool is closed and takes no more tasks'));
    this.#space.core.plait_pool_destroy(this.#ref);
  }

  /** Closes the pool at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
