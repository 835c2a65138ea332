/**
 * The progress of one task as an async iteration that ends with the task's result.
 *
 * Invariant: while a reader waits for the next part, no part is kept. Parts come in order, and all before the end. Only
 * an abort comes at once.
 */

import { freeOwned } from '../heap/owned.ts';
import { onAbort } from './signals.ts';
import type { Call } from './submitter.ts';

interface Waiter<Part, Output> {
  readonly resolve: (step: IteratorResult<Part, Output>) => void;
  readonly reject: (reason: unknown) => void;
}

interface Outcome {
  readonly fulfilled: boolean;
  readonly value: unknown;
}

/** How many parts that were read the list may still hold. */
const SLACK = 1024;

/** The parts that a task passes to `task.progress(part)`, for `for await`. Returned by `pool.parts()`. */
export class ProgressStream<Part = unknown, Output = unknown> implements Call, AsyncGenerator<Part, Output, undefined> {
  #parts: Part[] = [];
  /** How many of `#parts` have been read. */
  #taken = 0;
  readonly #waiters: Waiter<Part, Output>[] = [];
  #outcome: Outcome | undefined;
  #ended = false;
  #takeBack: (() => void) | undefined;
  #stopListening: (() => void) | undefined;
  #result: PromiseWithResolvers<Output> | undefined;

  /**
   * `submit` submits the task and returns a function that aborts it. If it throws, the iteration ends with that error.
   */
  constructor(submit: (call: Call) => () => void, signal: AbortSignal | undefined) {
    try {
      if (signal?.aborted) throw signal.reason;
      this.#takeBack = submit(this);
      if (signal?.aborted)
        this.#stop(signal.reason); // by a getter in the input
      else this.#stopListening = signal && onAbort(signal, () => this.#stop(signal.reason));
    } catch (reason) {
      this.settle(0, false, reason);
    }
  }

  readonly progress = (_index: number, value: unknown): void => {
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) waiter.resolve({ value: value as Part, done: false });
    else if (this.#outcome === undefined) this.#parts.push(value as Part);
  };

  settle(_index: number, fulfilled: boolean, value: unknown): void {
    if (this.#outcome !== undefined) {
      freeOwned(value);
      return;
    }
    this.#outcome = { fulfilled, value };
    this.#stopListening?.();
    if (this.#result !== undefined) settleWith(this.#result, this.#outcome);
    for (const waiter of this.#waiters.splice(0)) this.#end(waiter);
  }

  /**
   * The task's result. Rejects with its error, or with an AbortError if the iteration was left before the task ended.
   */
  get result(): Promise<Output> {
    if (this.#result === undefined) {
      this.#result = withResolvers<Output>();
      if (this.#outcome !== undefined) settleWith(this.#result, this.#outcome);
    }
    return this.#result.promise;
  }

  /** The next part, or the end with the task's result. */
  next(): Promise<IteratorResult<Part, Output>> {
    if (this.#taken < this.#parts.length) {
      const value = this.#parts[this.#taken++] as Part;
      if (this.#taken > SLACK && this.#taken * 2 > this.#parts.length) {
        this.#parts = this.#parts.slice(this.#taken);
        this.#taken = 0;
      }
      return Promise.resolve({ value, done: false });
    }
    return new Promise((resolve, reject) => {
      if (this.#outcome === undefined) this.#waiters.push({ resolve, reject });
      else this.#end({ resolve, reject });
    });
  }

  /** Leaves the iteration and stops the task if it still runs. */
  async return(): Promise<IteratorResult<Part, Output>> {
    this.#leave();
    return { value: undefined as Output, done: true };
  }

  async throw(reason: unknown): Promise<IteratorResult<Part, Output>> {
    this.#leave();
    throw reason;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#leave();
  }

  #leave(): void {
    this.#stop(new DOMException('the iteration was left before the task ended', 'AbortError'));
    this.#parts = [];
    this.#taken = 0;
    this.#ended = true;
  }

  #stop(reason: unknown): void {
    if (this.#outcome !== undefined) return;
    this.#takeBack?.();
    this.#parts = [];
    this.#taken = 0;
    this.settle(0, false, reason);
  }

  /** The outcome is delivered once; afterwards the iteration is done. */
  #end({ resolve, reject }: Waiter<Part, Output>): void {
    const { fulfilled, value } = this.#outcome as Outcome;
    if (this.#ended) resolve({ value: undefined as Output, done: true });
    else if (fulfilled) resolve({ value: value as Output, done: true });
    else reject(value);
    this.#ended = true;
  }
}

interface PromiseWithResolvers<Value> {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
  readonly reject: (reason: unknown) => void;
}

function withResolvers<Value>(): PromiseWithResolvers<Value> {
  let resolve: (value: Value) => void = () => {};
  let reject: (reason: unknown) => void = () => {};
  const promise = new Promise<Value>((onValue, onReason) => {
    resolve = onValue;
    reject = onReason;
  });
  return { promise, resolve, reject };
}

function settleWith<Output>(result: PromiseWithResolvers<Output>, { fulfilled, value }: Outcome): void {
  if (fulfilled) result.resolve(value as Output);
  else result.reject(value);
}
