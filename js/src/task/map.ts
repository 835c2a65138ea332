/**
 * Running a function over many inputs with a bounded number under way.
 *
 * Invariant: `running` + `ready` (results that wait to be yielded) never exceeds `concurrency`, so neither endless inputs
 * nor a slow consumer fills the memory.
 */

/** Options of `pool.map` and `pool.mapSettled`. */
export interface MapOptions {
  /** Which of the module's exports to call; 'default', if not given. */
  readonly name?: string;
  /** Lends each `Uint8Array` to the function instead of giving it a copy; see `run`. */
  readonly lend?: boolean;
  /** Whether results come in the order of the inputs (the default) or as they are ready. */
  readonly ordered?: boolean;
  /** The most inputs under way at once; eight for each worker and at least 256, if not given. */
  readonly concurrency?: number;
}

/** What became of one input. */
export type Settled<Input> =
  | { readonly index: number; readonly input: Input; readonly status: 'fulfilled'; readonly value: unknown }
  | { readonly index: number; readonly input: Input; readonly status: 'rejected'; readonly reason: unknown };

/** Calls `run` for each input and yields what became of it. */
export async function* mapSettled<Input>(
  run: (input: Input) => Promise<unknown>,
  inputs: Iterable<Input> | AsyncIterable<Input>,
  ordered: boolean,
  concurrency: number,
): AsyncGenerator<Settled<Input>> {
  const source = iterate(inputs);
  /** Results that wait to be yielded, by index. */
  const ready = new Map<number, Settled<Input>>();
  let wake = (): void => {};
  let running = 0;
  let taken = 0;
  let yielded = 0;
  let done = false;
  /** Whether the next input has been asked for and has not come: results do not wait for it. */
  let asked = false;
  /** The inputs failed: thrown when what was started before has been yielded. */
  let failure: { readonly reason: unknown } | undefined;

  const start = (input: Input): void => {
    const index = taken++;
    running++;
    const settle = (result: Settled<Input>): void => {
      running--;
      ready.set(index, result);
      wake();
    };
    run(input).then(
      (value) => settle({ index, input, status: 'fulfilled', value }),
      (reason) => settle({ index, input, status: 'rejected', reason }),
    );
  };
  const accept = (step: IteratorResult<Input>): void => {
    if (step.done) done = true;
    else start(step.value);
  };
  const ask = (): void => {
    const step = source.next();
    if (!isThenable(step)) {
      accept(step);
      return;
    }
    asked = true;
    Promise.resolve(step)
      .then(accept)
      .catch((reason) => {
        done = true;
        failure = { reason };
      })
      .finally(() => {
        asked = false;
        wake();
      });
  };
  const next = (): Settled<Input> | undefined => {
    if (ordered) return ready.get(yielded);
    for (const result of ready.values()) return result;
    return undefined;
  };

  try {
    while (!done || running + ready.size > 0) {
      while (!done && !asked && running + ready.size < concurrency) ask();
      for (let result = next(); result !== undefined; result = next()) {
        ready.delete(result.index);
        yielded++;
        yield result;
      }
      const full = done || asked || running + ready.size >= concurrency;
      if (full && (running > 0 || asked) && next() === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
    if (failure !== undefined) throw failure.reason;
  } finally {
    if (!done) {
      const closed = source.return?.();
      // An input that is still awaited may never come; then whoever leaves early does not wait for it.
      if (asked) Promise.resolve(closed).catch(() => {});
      else await closed;
    }
  }
}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as Partial<PromiseLike<T>>).then === 'function';
}

function iterate<Input>(inputs: Iterable<Input> | AsyncIterable<Input>): Iterator<Input> | AsyncIterator<Input> {
  const asynchronous = (inputs as Partial<AsyncIterable<Input>> | undefined)?.[Symbol.asyncIterator];
  if (typeof asynchronous === 'function') return asynchronous.call(inputs);
  const synchronous = (inputs as Partial<Iterable<Input>> | undefined)?.[Symbol.iterator];
  if (typeof synchronous === 'function') return synchronous.call(inputs);
  throw new TypeError('map needs an iterable or async iterable of inputs');
}
