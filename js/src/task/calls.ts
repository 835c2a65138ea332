/**
 * The calls that a thread can make on a pool: its owner through {@link Pool}, all other threads through the results of
 * `connect()` and `task.pool`.
 */

import { clock } from '../core/clock.ts';
import { PlaitError } from '../core/errors.ts';
import { host } from '../core/host.ts';
import type { EventBase, KeptContext } from '../core/host-types.ts';
import { Pool as P } from '../core/layout.generated.ts';
import { makeOpaque, refuseCloning } from '../core/opaque.ts';
import type { Space } from '../core/space.ts';
import { freeOwned, ownedBlock } from '../heap/owned.ts';
import { pointToCaller } from '../value/error-shape.ts';
import { sourceOf } from './inline.ts';
import { MapRun, type Settled } from './map.ts';
import { flag, type KnownOptions } from './option-names.ts';
import {
  CALLS,
  type MapOptions,
  mapRules,
  type RunManyOptions,
  type RunOptions,
  submitOptions,
  type TaskOptions,
  type UsualTask,
} from './options.ts';
import { resetTimes } from './place-times.ts';
import { ProgressStream } from './progress-stream.ts';
import { onAbort } from './signals.ts';
import { type PoolStats, readStats } from './stats.ts';
import type { Call, SubmitOptions, Submitter } from './submitter.ts';

/** Properties that a proxy of a pool has as any object does, so that it can be logged, compared and converted. */
type Unproxied = 'then' | 'toJSON' | '__proto__' | keyof typeof Object.prototype;

/**
 * The functions of a module as {@link PoolCalls.proxy} offers them: all except those named `then`, `toJSON` or like a
 * property that every object has.
 */
export type Proxied<Module> = {
  readonly [Name in keyof Module as Module[Name] extends (...args: never[]) => unknown
    ? Exclude<Name, Unproxied>
    : never]: Module[Name] extends (...args: infer Args) => infer Output
    ? (
        ...args: [] extends Args ? [input?: Args[0], options?: RunOptions] : [input: Args[0], options?: RunOptions]
      ) => Promise<Awaited<Output>>
    : never;
};

/** Identifies a pool in another thread; can be sent with postMessage. See {@link connect}. */
export interface PoolHandle {
  readonly plaitPool: number;
}

type Resolve = (value: never) => void;
type Reject = (reason: unknown) => void;

/** One task and the promise of its result. */
class SingleCall implements Call {
  readonly #resolve: Resolve;
  readonly #reject: Reject;
  readonly #listener: ((value: never) => void) | undefined;
  readonly progress: ((index: number, value: unknown) => void) | undefined;
  #stopListening: (() => void) | undefined;

  constructor(resolve: Resolve, reject: Reject, onProgress: ((value: never) => void) | undefined) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#listener = onProgress && host.bindContext(onProgress);
    this.progress = onProgress && ((_index, value) => this.#listener?.(value as never));
  }

  /** Aborting the signal aborts the task and rejects the promise. */
  obey(signal: AbortSignal, submitter: Submitter, ticket: number): void {
    const takeBack = (): void => {
      submitter.abort(ticket, this);
      this.#reject(signal.reason);
    };
    if (signal.aborted)
      takeBack(); // by a getter in the input
    else this.#stopListening = onAbort(signal, takeBack);
  }

  settle(_index: number, fulfilled: boolean, value: unknown): void {
    this.#stopListening?.();
    if (fulfilled) this.#resolve(value as never);
    else this.#reject(value);
  }
}

/** Many tasks whose results come together. The first failure aborts the rest. */
class Batch implements Call {
  readonly promise: Promise<never[]>;
  readonly root = (): string => `inputs[${this.#submitted}]`;
  readonly progress: ((index: number, value: unknown) => void) | undefined;
  readonly #submitter: Submitter;
  readonly #inputs: readonly unknown[];
  readonly #how: SubmitOptions;
  readonly #results: unknown[];
  #stopListening: (() => void) | undefined;
  #resolve: Resolve = () => {};
  #reject: Reject = () => {};
  #submitted = 0;
  #left: number;

  constructor(
    submitter: Submitter,
    inputs: readonly unknown[],
    how: SubmitOptions,
    options: RunManyOptions | undefined,
  ) {
    this.#submitter = submitter;
    this.#inputs = inputs;
    this.#how = how;
    this.#left = inputs.length;
    this.#results = new Array(inputs.length);
    const signal = options?.signal;
    const listener = options?.onProgress && host.bindContext(options.onProgress);
    this.progress = listener && ((index, value) => listener(value as never, index));
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (signal?.aborted) this.#fail(signal.reason);
    else if (inputs.length === 0) this.#resolve([] as never);
    else {
      this.#stopListening = signal && onAbort(signal, () => this.#fail(signal.reason));
      this.#pump();
    }
  }

  readonly #pump = (): void => {
    const now = clock();
    try {
      while (this.#left > 0 && this.#submitted < this.#inputs.length) {
        const ticket = this.#submitter.submit(this, this.#submitted, this.#inputs[this.#submitted], this.#how, 0, now);
        this.#submitted++;
        if (this.#left <= 0) this.#submitter.abort(ticket, this); // a getter in the input has aborted the call
      }
    } catch (error) {
      if (this.#left <= 0) return;
      // A full queue takes the rest when it has space again.
      if ((error as Partial<PlaitError>)?.code === 'ERR_PLAIT_QUEUE_FULL')
        this.#submitter.backPressure.wait(this.#pump);
      else this.#fail(error);
    }
  };

  settle(index: number, fulfilled: boolean, value: unknown): void {
    if (!fulfilled) {
      this.#fail(value);
      return;
    }
    if (this.#left <= 0) {
      freeOwned(value);
      return;
    }
    this.#results[index] = value;
    if (--this.#left > 0) return;
    this.#stopListening?.();
    this.#resolve(this.#results as never);
  }

  #fail(reason: unknown): void {
    if (this.#left <= 0) return;
    this.#left = 0;
    this.#stopListening?.();
    this.#submitter.backPressure.cancelWait(this.#pump);
    this.#reject(reason);
    this.#submitter.abortAll(this);
    for (const result of this.#results) freeOwned(result); // results that were given have no other owner
  }
}

/** One task whose end a blocked thread waits for. */
class SyncCall implements Call {
  done = false;
  fulfilled = false;
  value: unknown;
  readonly progress: ((index: number, value: unknown) => void) | undefined;

  constructor(onProgress: ((value: never) => void) | undefined) {
    this.progress = onProgress && ((_index, value) => onProgress(value as never));
  }

  settle(_index: number, fulfilled: boolean, value: unknown): void {
    this.done = true;
    this.fulfilled = fulfilled;
    this.value = value;
  }
}

/** The events of a pool that every thread receives, by name. */
export interface PoolCallsEvents {
  /** A queue that was full has shrunk to half of `maxQueue`. */
  drain: undefined;
}

const Base: new <Events>() => EventBase<Events> = host.Events;

/** The calls that a thread can make on a pool, and its events. */
export abstract class PoolCalls<Events extends PoolCallsEvents = PoolCallsEvents> extends Base<Events> {
  readonly #space: Space;
  readonly #ref: number;
  readonly #submitter: Submitter;
  /** In which this object was made, and its listeners are called. */
  readonly #context: KeptContext;
  /** Defaults of the pool for its tasks. */
  readonly #usual: UsualTask;
  /** Why this object no longer reads the pool's memory; empty: it does. */
  #closedReason = '';

  static {
    const instead = 'send pool.handle, and call connect(handle) there';
    makeOpaque(PoolCalls, { name: 'Pool', instead }, (pool) => pool.shown());
  }

  protected constructor(space: Space, ref: number, submitter: Submitter) {
    super();
    for (const name of Object.keys(this)) Object.defineProperty(this, name, { enumerable: false }); // an EventEmitter's
    this.#space = space;
    this.#ref = ref;
    this.#submitter = submitter;
    this.#context = host.keepContext('PlaitPool');
    submitter.backPressure.onDrain = () => this.send('drain', undefined as Events['drain']);
    refuseCloning(this);
    this.#usual = { timeout: space.load(ref + P.usualTimeoutMs), retries: space.load(ref + P.usualRetries) };
  }

  protected get space(): Space {
    return this.#space;
  }

  protected get ref(): number {
    return this.#ref;
  }

  protected get submitter(): Submitter {
    return this.#submitter;
  }

  protected get usual(): UsualTask {
    return this.#usual;
  }

  /** Calls the listeners. What they throw becomes an uncaught error, and this thread goes on. */
  protected send<Name extends keyof Events>(name: Name, detail: Events[Name]): void {
    try {
      this.#context.run(() => this.emit(name, detail));
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  }

  /** What a log shows of it. */
  protected shown(): { readonly threads: number; readonly queued: number } | { readonly closed: true } {
    if (this.#closedReason !== '') return { closed: true };
    const count = (word: number): number => this.#space.load(this.#ref + word);
    return { threads: count(P.maxThreads), queued: count(P.queued) };
  }

  /** From here on this object does not read the pool's memory. */
  protected leave(why: string): void {
    this.#closedReason = why;
    this.#context.release();
  }

  #how(options: TaskOptions | undefined, known: KnownOptions): SubmitOptions {
    const workers =
      options?.affinity === undefined || this.#closedReason !== '' ? 1 : this.#space.load(this.#ref + P.maxThreads);
    return submitOptions(options, known, this.#usual, workers);
  }

  /**
   * Runs one function on a worker and resolves to its result.
   *
   * `input` and the result are copied, as by structured cloning. Errors keep class, message, stack, cause, code and own
   * properties.
   *
   * Rejects with the function's error, with the signal's reason, or with a {@link PlaitError}: ERR_PLAIT_CANNOT_SEND
   * (says which part), ERR_PLAIT_NO_SUCH_EXPORT, ERR_PLAIT_MODULE_LOAD, ERR_PLAIT_WORKER_DIED,
   * ERR_PLAIT_WORKER_OUT_OF_MEMORY, ERR_PLAIT_TASK_TIMEOUT, ERR_PLAIT_QUEUE_FULL, ERR_PLAIT_OUT_OF_MEMORY,
   * ERR_PLAIT_POOL_CLOSED.
   */
  run<Output = unknown>(input?: unknown, options?: RunOptions): Promise<Output> {
    return this.#run(() => this.#how(options, CALLS.run), input, options);
  }

  #run<Output>(makeHow: () => SubmitOptions, input: unknown, options: RunOptions | undefined): Promise<Output> {
    return new Promise<Output>((resolve, reject) => {
      const how = makeHow();
      const signal = options?.signal;
      if (signal?.aborted) throw signal.reason;
      const call = new SingleCall(resolve as Resolve, reject, options?.onProgress);
      const ticket = this.#submitter.submit(call, 0, input, how, this.#given(input, options));
      if (signal !== undefined) call.obey(signal, this.#submitter, ticket);
    });
  }

  /**
   * Starts one function on a worker and returns an iterator of the values that it passes to `task.progress(part)`, in
   * order; partial results, for example. The iteration ends when the task does, and throws what run() rejects with.
   * `result` is the task's result. Leaving the loop early stops the task. Parts that were not read yet are kept: a
   * slow reader does not slow the task.
   */
  parts<Part = unknown, Output = unknown>(
    input?: unknown,
    options?: Omit<RunOptions, 'onProgress'>,
  ): ProgressStream<Part, Output> {
    return new ProgressStream<Part, Output>((call) => {
      const how = this.#how(options, CALLS.parts);
      const ticket = this.#submitter.submit(call, 0, input, how, this.#given(input, options));
      return () => this.#submitter.abort(ticket, call);
    }, options?.signal);
  }

  /** The block that is given; 0: the input is copied. */
  #given(input: unknown, options: Pick<RunOptions, 'give'> | undefined): number {
    if (!flag(options?.give, 'give')) return 0;
    const block = ownedBlock(input, this.#space);
    if (block !== undefined) return block;
    throw new TypeError('only a view from heap.bytes() can be given, once, to a pool on the same space');
  }

  /**
   * Runs a function for each input and resolves to all results, in the order of the inputs. For small tasks it is much
   * faster than the same number of run() calls. The first failure rejects and aborts the rest.
   */
  async runMany<Output = unknown>(inputs: Iterable<unknown>, options?: RunManyOptions): Promise<Output[]> {
    const how = this.#how(options, CALLS.runMany);
    // the caller may change its list while the queue is full
    const list = Array.isArray(inputs) ? inputs.slice() : [...inputs];
    return (await new Batch(this.#submitter, list, how, options).promise) as Output[];
  }

  /**
   * Runs one function and returns its result, also of an asynchronous function. Blocks this thread until then. Throws
   * what run() rejects with. `onProgress` is called meanwhile.
   *
   * @throws {PlaitError} ERR_PLAIT_CANNOT_BLOCK on a page's main thread, and on a worker of the same pool, which would
   *   wait for itself: use `await run()` there, during which the worker runs its own tasks
   */
  runSync<Output = unknown>(input?: unknown, options?: Omit<RunOptions, 'signal'>): Output {
    const how = this.#how(options, CALLS.runSync);
    const problem = this.whyNotBlock();
    if (problem !== undefined) throw new PlaitError('ERR_PLAIT_CANNOT_BLOCK', problem);
    const call = new SyncCall(options?.onProgress);
    const ticket = this.#submitter.submit(call, 0, input, how, this.#given(input, options));
    try {
      this.#submitter.block(() => call.done);
    } catch (error) {
      this.#submitter.abort(ticket, call); // its result is not needed any more
      throw error;
    }
    if (call.fulfilled) return call.value as Output;
    pointToCaller(call.value, this.runSync);
    throw call.value;
  }

  protected whyNotBlock(): string | undefined {
    return host.mayBlock ? undefined : 'this thread must not block: use run()';
  }

  /**
   * Runs a function over many inputs and yields the results, in the order of the inputs unless `ordered` is false. At
   * most `concurrency` tasks are in progress at a time, so inputs may be endless. The first error ends the iteration.
   * Leaving the loop early starts no further tasks and aborts those in progress.
   */
  map<Output = unknown>(
    inputs: Iterable<unknown> | AsyncIterable<unknown>,
    options?: MapOptions,
  ): AsyncGenerator<Output, void, undefined> {
    return this.#map(inputs, options, false) as AsyncGenerator<Output, void, undefined>;
  }

  /**
   * As {@link map}, but yields the outcome of each input, with the input and its index. Errors of tasks do not end the
   * iteration. If the pool takes no more tasks, it yields the outcomes of those that were accepted. Then it throws
   * ERR_PLAIT_POOL_CLOSED, or why the pool has failed.
   */
  mapSettled<Input, Output = unknown>(
    inputs: Iterable<Input> | AsyncIterable<Input>,
    options?: MapOptions,
  ): AsyncGenerator<Settled<Input, Output>, void, undefined> {
    return this.#map(inputs, options, true) as AsyncGenerator<Settled<Input, Output>, void, undefined>;
  }

  #map(inputs: Iterable<unknown> | AsyncIterable<unknown>, options: MapOptions | undefined, settled: boolean): MapRun {
    const how = this.#how(options, CALLS.map);
    const rules = mapRules(options, this.#closedReason !== '' ? 1 : this.#space.load(this.#ref + P.maxThreads));
    return new MapRun(this.#submitter, how, inputs, { ...rules, settled, signal: options?.signal });
  }

  /**
   * The module's functions as methods: `await pool.proxy<typeof import('./work.js')>().hash(bytes)`. Each takes its
   * input, and options as run() does. The proxy does not offer functions named `then`, `toJSON` or like a property that
   * every object has (`toString`, `constructor`, …), because logging and `await` read these. Call such functions
   * with `run(input, { name })`.
   */
  proxy<Module>(): Proxied<Module> {
    const methods = new Map<string, (input?: unknown, options?: RunOptions) => Promise<unknown>>();
    return new Proxy(
      {},
      {
        get: (target, name) => {
          // Code that logs, converts, copies or awaits an object reads these: they are not tasks.
          if (typeof name !== 'string' || name in target || name === 'then' || name === 'toJSON') {
            return Reflect.get(target, name);
          }
          let method = methods.get(name);
          if (method === undefined) {
            method = (input, options) => this.run(input, { ...options, name });
            methods.set(name, method);
          }
          return method;
        },
      },
    ) as Proxied<Module>;
  }

  /**
   * Runs the given function instead of one of the module's. Its source is sent, so it sees only its input and what it
   * imports with `import()`: packages, URLs and, in Node, paths as from the pool's module. Accepts functions and
   * methods. Classes, bound functions and functions of the host have no source that can be sent or called. Only for
   * pools opened with `inline: true`.
   */
  runInline<Input, Output>(
    call: (input: Input) => Output,
    input: Input,
    options?: Omit<RunOptions, 'name'>,
  ): Promise<Awaited<Output>> {
    const how = (): SubmitOptions => ({ ...this.#how(options, CALLS.runInline), name: sourceOf(call), form: 'source' });
    return this.#run(how, input, options);
  }

  /** Whether the queue has reached `maxQueue`; if so, the event 'drain' follows in this thread. */
  get needsDrain(): boolean {
    return this.#submitter.backPressure.needsDrain;
  }

  /** The pool's counters at this moment. Any thread that can reach the pool may call it at any time. */
  stats(): PoolStats {
    if (this.#closedReason !== '') throw new PlaitError('ERR_PLAIT_POOL_CLOSED', this.#closedReason);
    return readStats(this.#space, this.#ref);
  }

  /** Starts `wait` and `run` of `stats()` anew. The counters go on. Any thread may call it at any time. */
  resetTimes(): void {
    if (this.#closedReason !== '') throw new PlaitError('ERR_PLAIT_POOL_CLOSED', this.#closedReason);
    resetTimes(this.#space, this.#ref);
  }

  /** What another thread passes to {@link connect} to use this pool. */
  get handle(): PoolHandle {
    return { plaitPool: this.#ref };
  }
}
