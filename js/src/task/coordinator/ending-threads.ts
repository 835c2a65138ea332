/**
 * Threads that the coordinator has stopped, until it hears of their end.
 *
 * A thread may be stopped within a lock. It keeps the lock until its death is noted, and that does this thread alone: if
 * it waited for the lock meanwhile, it would wait for itself, a second each time. So a thread is stopped when this turn
 * has done what needs locks, and what comes next waits for the end of those that hold one.
 */

import { slotOf, threadsOfHost } from '../../core/boot.ts';
import { clearTimeout, setTimeout } from '../../core/host-timers.ts';
import type { HostThread } from '../../core/host-types.ts';
import { Slot } from '../../core/layout.generated.ts';
import type { Space } from '../../core/space.ts';

/** So long a thread is waited for that goes on after it was stopped; any lock is waited for as long. */
const PATIENCE_MS = 1000;

export class EndingThreads {
  readonly #space: Space;
  readonly #threads = new Map<HostThread, ReturnType<typeof setTimeout>>();
  readonly #waiting: (() => void)[] = [];

  constructor(space: Space) {
    this.#space = space;
  }

  /** Stops a thread at the end of this turn. */
  stop(thread: HostThread): void {
    clearTimeout(this.#threads.get(thread));
    const timer = setTimeout(() => this.ended(thread), PATIENCE_MS);
    this.#threads.set(thread, timer);
    queueMicrotask(() => thread.terminate());
  }

  /** The thread has ended, and its death is noted; or it is not waited for any more. */
  ended(thread: HostThread): void {
    clearTimeout(this.#threads.get(thread));
    this.#threads.delete(thread);
    this.#callBack();
  }

  /** Calls back, in the order of the calls, when no such thread has a lock: now, if that is so. */
  whenNoLock(then: () => void): void {
    this.#waiting.push(then);
    this.#callBack();
  }

  #callBack(): void {
    while (this.#waiting.length > 0 && ![...this.#threads.keys()].some((thread) => this.#hasLock(thread))) {
      this.#waiting.shift()?.();
    }
  }

  #hasLock({ hostId }: HostThread): boolean {
    const slots = threadsOfHost(this.#space, hostId).map((thread) => slotOf(this.#space, thread));
    return slots.some((slot) => this.#space.load(slot + Slot.heldCount) !== 0);
  }
}
