/**
 * Back-pressure of a full queue in one thread: notifies waiters when there is room again. Other threads may fill and
 * empty the queue, so this thread's own results do not suffice. While someone waits, it polls every few milliseconds.
 *
 * Invariant: the timer runs while `onDrain` or some `waiting` listener has to be called and the thread uses the pool.
 */

import { setTimeout } from '../core/host-timers.ts';
import { Pool as P } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';

const POLL_MS = 5;

export class BackPressure {
  /** Called when a queue that was full has shrunk to half of its limit. */
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

  /** Whether the queue has room for a task; always true after the thread has stopped using the pool. */
  get hasRoom(): boolean {
    return this.#ended || this.#queued < this.limit;
  }

  /** Whether the queue is at its limit; if so, `onDrain` will be called. */
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
   * Calls `listener` once, when there may be room or the thread stops using the pool. Keeps the process alive until
   * then.
   */
  wait(listener: () => void): void {
    this.#waiting.add(listener);
    this.#watch();
  }

  /** Undoes wait(). */
  cancelWait(listener: () => void): void {
    if (this.#waiting.delete(listener) && this.#waiting.size === 0) this.#timer?.unref?.();
  }

  /** Notifies the waiting listeners if there is room. */
  poll(): void {
    if (this.#wasFull && !this.#ended && this.#queued * 2 <= this.limit) {
      this.#wasFull = false;
      this.onDrain?.();
    }
    if (this.#waiting.size === 0 || !this.hasRoom) return;
    const waiting = [...this.#waiting];
    this.#waiting.clear(); // a listener that is refused again waits again
    for (const listener of waiting) listener();
  }

  /** From here on there is always room, so that waiting calls are retried and get the pool's error. */
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
