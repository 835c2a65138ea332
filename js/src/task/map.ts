/**
 * Running a function over many inputs with bounded concurrency.
 *
 * Invariant: `#running` + `#ready` (results that wait to be yielded) + a stalled input never exceed the concurrency. So
 * neither endless inputs nor a slow consumer fills the memory. Only #step() asks for inputs and yields results; it runs
 * until neither is possible. If the pool takes no more tasks, the refused input is the last one. The iteration ends
 * with that error after the results of all earlier inputs.
 */

import { host } from '../core/host.ts';
import { freeOwned } from '../heap/owned.ts';
import { InOrder } from './in-order.ts';
import { onAbort } from './signals.ts';
import type { Call, SubmitOptions, Submitter } from './submitter.ts';

/** The outcome of one input. */
export type Settled<Input, Output = unknown> =
  | { readonly index: number; readonly input: Input; readonly status: 'fulfilled'; readonly value: Output }
  | { readonly index: number; readonly input: Input; readonly status: 'rejected'; readonly reason: unknown };

export interface MapRules {
  readonly ordered: boolean;
  readonly concurrency: number;
  /** Yield the outcome of each input, instead of results and the first error. */
  readonly settled: boolean;
  readonly signal: AbortSignal | undefined;
}

type Step = IteratorResult<unknown, void>;

interface Waiter {
  readonly resolve: (step: Step) => void;
  readonly reject: (reason: unknown) => void;
}

/** An error that ends the iteration when its turn comes. */
class Failure {
  readonly reason: unknown;

  constructor(reason: unknown) {
    this.reason = reason;
  }
}

const DONE: Step = { value: undefined, done: true };

export class MapRun implements Call, AsyncGenerator<unknown, void, undefined> {
  readonly #submitter: Submitter;
  readonly #how: SubmitOptions;
  readonly #rules: MapRules;
  readonly #open: () => Iterator<unknown> | AsyncIterator<unknown>;
  #pull: () => unknown = () => undefined;
  #source: Iterator<unknown> | AsyncIterator<unknown> | undefined;
  readonly #waiters: Waiter[] = [];
  /** Outcomes to be yielded: by index, or in the order in which they came. */
  readonly #ready = new InOrder<Step | Failure>();
  readonly #inputs = new Map<number, unknown>();
  #running = 0;
  #taken = 0;
  /** How many results have come: the position of the next one if results are yielded as they come. */
  #come = 0;
  /** The inputs have ended, or no more are wanted. */
  #exhausted = false;
  /** Whether the next input was requested and has not come. Results do not wait for it. */
  #asked = false;
  /** An input for which the queue had no room. */
  #stalled: { readonly input: unknown } | undefined;
  /** Thrown after the results of all inputs that were started before. */
  #failure: { readonly reason: unknown } | undefined;
  #ended = false;
  #isStepping = false;
  /** Whether next() is running: then the inputs' code runs in the consumer's context. */
  #inNext = false;
  #stopListening: (() => void) | undefined;
  readonly root = (): string => `inputs[${this.#taken}]`;
  readonly #goOn = (): void => this.#step();

  constructor(
    submitter: Submitter,
    how: SubmitOptions,
    inputs: Iterable<unknown> | AsyncIterable<unknown>,
    rules: MapRules,
  ) {
    this.#submitter = submitter;
    this.#how = how;
    this.#rules = rules;
    this.#open = () => iterate(inputs);
  }

  next(): Promise<Step> {
    if (this.#ended) return Promise.resolve(DONE);
    if (this.#source === undefined) {
      const { signal } = this.#rules;
      try {
        if (signal?.aborted) throw signal.reason;
        this.#source = this.#open();
        // The inputs' code runs in the consumer's asynchronous context, also when a result triggers it.
        this.#pull = host.bindContext(() => this.#source?.next());
      } catch (reason) {
        this.#ended = true;
        return Promise.reject(reason);
      }
      this.#stopListening = signal && onAbort(signal, () => this.#fail(signal.reason, true));
    }
    const waits = this.#isStepping || this.#waiters.length > 0;
    const next = waits ? undefined : this.#ready.peek();
    const before = this.#inNext;
    this.#inNext = true;
    try {
      if (next === undefined || next instanceof Failure) {
        return new Promise((resolve, reject) => {
          this.#waiters.push({ resolve, reject });
          this.#step();
        });
      }
      this.#ready.take();
      this.#step();
      return Promise.resolve(next);
    } finally {
      this.#inNext = before;
    }
  }

  async return(): Promise<Step> {
    await this.#finish();
    return DONE;
  }

  async throw(reason: unknown): Promise<Step> {
    await this.#finish();
    throw reason;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#finish();
  }

  settle(index: number, fulfilled: boolean, value: unknown): void {
    this.#running--;
    if (this.#ended) {
      freeOwned(value);
      return;
    }
    this.#keep(index, fulfilled, value);
    // It replaces its task in the concurrency limit: unless someone waits for it, nothing can be started either.
    if (this.#waiters.length > 0) this.#step();
  }

  /** Keeps an outcome until it is yielded. */
  #keep(index: number, fulfilled: boolean, value: unknown): void {
    this.#ready.put(this.#rules.ordered ? index : this.#come++, this.#outcome(index, fulfilled, value));
  }

  #outcome(index: number, fulfilled: boolean, value: unknown): Step | Failure {
    if (!this.#rules.settled) return fulfilled ? { value, done: false } : new Failure(value);
    const input = this.#inputs.get(index);
    this.#inputs.delete(index);
    const settled: Settled<unknown> = fulfilled
      ? { index, input, status: 'fulfilled', value }
      : { index, input, status: 'rejected', reason: value };
    return { value: settled, done: false };
  }

  /** Starts inputs and yields results until neither is possible. */
  #step(): void {
    if (this.#isStepping) return;
    this.#isStepping = true;
    // Asking for an input may bring results and new waiters, even if no input comes.
    while (!this.#ended && (this.#yieldOne() || this.#startOne() || this.#yieldOne()));
    this.#isStepping = false;
    if (!this.#ended && this.#exhausted && this.#running + this.#ready.size === 0 && this.#stalled === undefined) {
      if (this.#waiters.length > 0) this.#end();
    }
  }

  #yieldOne(): boolean {
    if (this.#waiters.length === 0) return false;
    const next = this.#ready.peek();
    if (next === undefined) return false;
    if (next instanceof Failure) this.#fail(next.reason, true);
    else {
      this.#ready.take();
      this.#waiters.shift()?.resolve(next);
    }
    return true;
  }

  #startOne(): boolean {
    if (this.#stalled !== undefined) {
      const { input } = this.#stalled;
      if (!this.#submitter.backPressure.hasRoom) return this.#stall(input);
      this.#stalled = undefined;
      return this.#start(input);
    }
    if (this.#exhausted || this.#asked || this.#running + this.#ready.size >= this.#rules.concurrency) return false;
    let step: unknown;
    let isAwaited: boolean;
    try {
      step = this.#inNext ? this.#source?.next() : this.#pull();
      isAwaited = isThenable(step);
    } catch (reason) {
      this.#inputsFailed(reason);
      return true;
    }
    if (!isAwaited) return this.#accept(step);
    this.#asked = true;
    Promise.resolve(step)
      .then(
        (come) => {
          this.#asked = false;
          this.#accept(come);
        },
        (reason) => {
          this.#asked = false;
          this.#inputsFailed(reason);
        },
      )
      .finally(() => this.#step());
    return false;
  }

  /** No further input is requested. Earlier results are yielded first. */
  #inputsFailed(reason: unknown): void {
    this.#exhausted = true;
    this.#failure = { reason };
  }

  /** Takes a step of the inputs' iterator; false: no further input is to be requested now. */
  #accept(step: unknown): boolean {
    if (this.#exhausted) return false; // the iteration was left or aborted meanwhile
    let input: unknown;
    try {
      if (Object(step) !== step)
        throw new TypeError(`the iterator of the inputs gave ${String(step)}, which is no object`);
      if ((step as IteratorResult<unknown>).done) {
        this.#exhausted = true;
        return false;
      }
      input = (step as IteratorResult<unknown>).value;
    } catch (reason) {
      this.#inputsFailed(reason);
      return false;
    }
    return this.#start(input);
  }

  /** Whether the input was started or has failed; false: the queue is full. */
  #start(input: unknown): boolean {
    const index = this.#taken;
    let failed = false;
    let failure: unknown;
    try {
      const ticket = this.#submitter.submit(this, index, input, this.#how);
      if (this.#exhausted) {
        this.#submitter.abort(ticket, this); // a getter in the input has left or aborted the iteration
        return false;
      }
      this.#running++;
    } catch (reason) {
      if (this.#exhausted) return false;
      if ((reason as { code?: unknown } | undefined)?.code === 'ERR_PLAIT_QUEUE_FULL') return this.#stall(input);
      if (this.#submitter.isEnd(reason)) {
        this.#inputsFailed(reason); // as would all that follow, perhaps endlessly many
        void this.#closeSource().catch(() => {});
        return true;
      }
      failed = true;
      failure = reason;
    }
    this.#taken++;
    if (this.#rules.settled) this.#inputs.set(index, input);
    if (failed) this.#keep(index, false, failure);
    return true;
  }

  /** The queue is full; the input is tried again when there is room. */
  #stall(input: unknown): false {
    this.#stalled = { input };
    this.#submitter.backPressure.wait(this.#goOn);
    return false;
  }

  /** Ends the iteration with an error for the first waiter. */
  #fail(reason: unknown, close: boolean): void {
    if (this.#ended) return;
    const waiter = this.#waiters.shift();
    if (waiter === undefined) {
      this.#failure = { reason };
      this.#exhausted = true;
      this.#submitter.abortAll(this);
      this.#running = 0;
      this.#dropReady();
      this.#stalled = undefined;
      this.#submitter.backPressure.cancelWait(this.#goOn);
      if (close) void this.#closeSource().catch(() => {});
      return;
    }
    this.#stop();
    const closed = close ? this.#closeSource() : Promise.resolve();
    closed.then(
      () => waiter.reject(reason),
      () => waiter.reject(reason),
    );
  }

  #end(): void {
    const failure = this.#failure;
    const waiter = this.#waiters.shift();
    this.#stop();
    if (failure === undefined) waiter?.resolve(DONE);
    else waiter?.reject(failure.reason);
  }

  /** From here on nothing is started or yielded; tasks in progress are aborted. */
  #stop(): void {
    this.#ended = true;
    this.#exhausted = true;
    this.#stopListening?.();
    this.#submitter.backPressure.cancelWait(this.#goOn);
    this.#submitter.abortAll(this);
    this.#dropReady();
    this.#inputs.clear();
    for (const waiter of this.#waiters.splice(0)) waiter.resolve(DONE);
  }

  /** Discards the outcomes to be yielded, and frees given bytes in them. */
  #dropReady(): void {
    for (const outcome of this.#ready.empty()) {
      if (outcome instanceof Failure) continue;
      freeOwned(this.#rules.settled ? (outcome.value as { value?: unknown }).value : outcome.value);
    }
  }

  async #finish(): Promise<void> {
    if (this.#ended) return;
    const exhausted = this.#exhausted;
    this.#stop();
    if (!exhausted) await this.#closeSource();
  }

  async #closeSource(): Promise<void> {
    const closed = this.#source?.return?.();
    // An input that is still awaited may never come; leaving early does not wait for it.
    if (this.#asked) Promise.resolve(closed).catch(() => {});
    else await closed;
  }
}

function isThenable(value: unknown): boolean {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

function iterate(inputs: Iterable<unknown> | AsyncIterable<unknown>): Iterator<unknown> | AsyncIterator<unknown> {
  const asynchronous = (inputs as Partial<AsyncIterable<unknown>> | undefined)?.[Symbol.asyncIterator];
  if (typeof asynchronous === 'function') return asynchronous.call(inputs);
  const synchronous = (inputs as Partial<Iterable<unknown>> | undefined)?.[Symbol.iterator];
  if (typeof synchronous === 'function') return synchronous.call(inputs);
  throw new TypeError('map needs an iterable or async iterable of inputs');
}
