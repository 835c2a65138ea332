/**
 * One listener on an AbortSignal for many calls. A program often has one signal for all calls. Each listener on it
 * makes adding the next one slower, and above ten Node 20 warns about a leak. So this thread adds one listener to a
 * signal, which notifies all calls.
 *
 * Invariant: a signal has that listener exactly while it has not been aborted and a call waits.
 */

class AbortFanOut {
  readonly #signal: AbortSignal;
  readonly #waiting = new Set<() => void>();
  readonly #onAbort = (): void => {
    fanOuts.delete(this.#signal);
    for (const listener of this.#waiting) listener();
  };

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  add(listener: () => void): void {
    this.#waiting.add(listener);
  }

  remove(listener: () => void): void {
    this.#waiting.delete(listener);
    if (this.#waiting.size > 0 || fanOuts.get(this.#signal) !== this) return;
    this.#signal.removeEventListener('abort', this.#onAbort);
    fanOuts.delete(this.#signal);
  }
}

const fanOuts = new WeakMap<AbortSignal, AbortFanOut>();

/**
 * Calls `listener` once when the signal is aborted, unless the returned function was called before. Does nothing for a
 * signal that is aborted already. `listener` must not throw.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) return () => {};
  let own = fanOuts.get(signal);
  if (own === undefined) {
    own = new AbortFanOut(signal);
    fanOuts.set(signal, own);
  }
  own.add(listener);
  return () => own.remove(listener);
}

/** Throws unless the value is an AbortSignal. */
export function mustBeSignal(signal: unknown): void {
  if (signal === undefined) return;
  const { aborted, addEventListener } = Object(signal) as Partial<AbortSignal>;
  if (typeof aborted === 'boolean' && typeof addEventListener === 'function') return;
  throw new TypeError(`options.signal must be an AbortSignal, not ${signal === null ? 'null' : typeof signal}`);
}
