/**
 * Hearing of an AbortSignal's abort for many calls at once. A signal is often made for a whole program, and each
 * listener that it has makes adding the next one slower; of more than ten Node 20 warns as of a leak. So a signal has
 * one listener of this thread's, which tells all that wait.
 *
 * Invariant: a signal has that listener exactly while it has not been aborted and somebody waits.
 */

class Ears {
  readonly #signal: AbortSignal;
  readonly #waiting = new Set<() => void>();
  readonly #onAbort = (): void => {
    ears.delete(this.#signal);
    for (const hear of this.#waiting) hear();
  };

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  add(hear: () => void): void {
    this.#waiting.add(hear);
  }

  remove(hear: () => void): void {
    this.#waiting.delete(hear);
    if (this.#waiting.size > 0 || ears.get(this.#signal) !== this) return;
    this.#signal.removeEventListener('abort', this.#onAbort);
    ears.delete(this.#signal);
  }
}

const ears = new WeakMap<AbortSignal, Ears>();

/**
 * Calls `hear` once when the signal is aborted, unless the returned function is called before. Nothing is heard of a
 * signal that is aborted already. `hear` must not throw.
 */
export function onAbort(signal: AbortSignal, hear: () => void): () => void {
  if (signal.aborted) return () => {};
  let own = ears.get(signal);
  if (own === undefined) {
    own = new Ears(signal);
    ears.set(signal, own);
  }
  own.add(hear);
  return () => own.remove(hear);
}

/** Throws for what is no AbortSignal. */
export function mustBeSignal(signal: unknown): void {
  if (signal === undefined) return;
  const { aborted, addEventListener } = Object(signal) as Partial<AbortSignal>;
  if (typeof aborted === 'boolean' && typeof addEventListener === 'function') return;
  throw new TypeError(`options.signal must be an AbortSignal, not ${signal === null ? 'null' : typeof signal}`);
}
