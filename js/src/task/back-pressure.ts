/**
 * What one thread does about a pool's full queue: it tells who waits, when there is room again. Others may have filled
 * it, and others empty it, so the thread's own results are not enough to go by: while somebody waits, it looks every
 * few milliseconds.
 *
 * Invariant: while `onDrain` is to be called or some `waiting` is to be, and the thread uses the pool, the timer runs.
 */

import { setTimeout } from '../core/host-timers.ts';
import { Pool as P } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';

const POLL_MS = 5;

export class BackPressure {
  /** Called when a queue that was full is down to half of its limit. */
  onDrain: (() => void) | undefined;

  readonly #space: Space;
  readonly #pool: number;
  readonly #waiting = new Set<() => void>();
  #wasFull = false;
  #timer: { ref?(): void; unref?(): void } | undefined;
  #ended = false;

  constructor(space: Space, pool: number) {
    this.#space = space;
    this.#pool = pool;
  }

  get limit(): number {
    return this.#space.load(this.#pool + P.queueLimit);
  }

  get #queued(): number {
    return this.#space.load(this.#pool + P.queued);
  }

  /** Whether a task has room; always, once the thread uses the pool no more. */
  get hasRoom(): boolean {
    return this.#ended || this.#queued < this.limit;
  }

  /** Whether the queue is at its limit; from then on, `onDrain` is to be called. */
  get needsDrain(): boolean {
    if (this.hasRoom) return false;
    this.noteFull();
    return true;
  }

  /** A task was refused. */
  noteFull(): void {
    this.#wasFull = true;
    this.#watch();
  }

  /**
   * Calls `listener` once, when there may be room or the thread uses the pool no more. Keeps the process alive until
   * then.
   */
  wait(listener: () => void): void {
    this.#waiting.add(listener);
    this.#watch();
  }

  /** Does not, after all. */
  cancelWait(listener: () => void): void {
    if (this.#waiting.delete(listener) && this.#waiting.size === 0) this.#timer?.unref?.();
  }

  /** Tells those that there is room for. */
  poll(): void {
    if (this.#wasFull && !this.#ended && this.#queued * 2 <= this.limit) {
      this.#wasFull = false;
      this.onDrain?.();
    }
    if (this.#waiting.size === 0 || !this.hasRoom) return;
    const waiting = [...this.#waiting];
    this.#waiting.clear(); // who is refused again comes back
    for (const listener of waiting) listener();
  }

  /** From here on nobody is told of room, and whoever waited finds out why. */
  end(): void {
    this.#ended = true;
    this.poll();
  }

  #watch(): void {
    if (this.#ended) return;
    this.#timer ??= setTimeout((): void => {
      this.#timer = undefined;
      this.poll();
      if (this.#wasFull || this.#waiting.size > 0) this.#watch();
    }, POLL_MS) as { ref?(): void; unref?(): void };
    if (this.#waiting.size > 0) this.#timer.ref?.();
    else this.#timer.unref?.();
  }
}
