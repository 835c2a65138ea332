/**
 * Threads that the coordinator has stopped and that have not exited.
 *
 * A thread may be stopped while it holds a lock. It keeps the lock until its exit is noted, and only this thread notes
 * it. If this thread waited for the lock meanwhile, it would wait for itself, one second each time. So a thread is
 * stopped at the end of a turn, after all that needs locks. What comes later waits until no stopped thread holds a
 * lock.
 *
 * Invariant: a thread is in the map from stop() until its exit is noted, for PATIENCE_MS at most.
 */

import { slotOf, threadsOfHost } from '../../core/boot.ts';
import { clearTimeout, setTimeout } from '../../core/host-timers.ts';
import type { HostThread } from '../../core/host-types.ts';
import { Slot } from '../../core/layout.generated.ts';
import type { Space } from '../../core/space.ts';

/** How long to wait for a stopped thread: as long as for any lock. */
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

  /** The thread has exited, and its exit is noted; or nothing waits for it any more. */
  ended(thread: HostThread): void {
    clearTimeout(this.#threads.get(thread));
    this.#threads.delete(thread);
    this.#callBack();
  }

  /** Calls back when no stopped thread holds a lock, at once if none does; in the order of the calls. */
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
