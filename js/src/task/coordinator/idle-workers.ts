/**
 * Draining surplus workers. The coordinator drains workers that have been idle for too long, down to the minimum. It
 * drains workers above the maximum once their worker queues are empty.
 *
 * Invariant: while a worker may have to be drained, another poll is scheduled.
 */

import { slotOf, threadsOfHost } from '../../core/boot.ts';
import { Pool as P, Slot } from '../../core/layout.generated.ts';
import type { Space } from '../../core/space.ts';
import type { OpenPool } from '../protocol.ts';
import type { WorkerPlaces } from './worker-places.ts';
import type { WorkerRecord } from './worker-record.ts';

/** Longest and shortest time between two polls for idle workers. */
const TICK_MS = 250;
const SHORTEST_TICK_MS = 5;

function isStaying({ leaving, stopping }: WorkerRecord): boolean {
  return leaving === undefined && stopping === undefined;
}

export class IdleWorkers {
  readonly #space: Space;
  readonly #options: OpenPool;
  readonly #workers: ReadonlySet<WorkerRecord>;
  readonly #places: WorkerPlaces;
  readonly #pollIn: (milliseconds: number) => void;

  constructor(
    space: Space,
    options: OpenPool,
    workers: ReadonlySet<WorkerRecord>,
    places: WorkerPlaces,
    pollIn: (milliseconds: number) => void,
  ) {
    this.#space = space;
    this.#options = options;
    this.#workers = workers;
    this.#places = places;
    this.#pollIn = pollIn;
  }

  poll(): void {
    const min = this.#space.load(this.#options.pool + P.minThreads);
    const max = this.#space.load(this.#options.pool + P.maxThreads);
    const workers = [...this.#workers];
    const isAbove = workers.some(({ index }) => index >= max);
    let live = workers.filter(isStaying).length;
    if (live <= min && !isAbove) return;
    const now = performance.now();
    // Tasks with affinity go to the low indices, so workers with high ones end first.
    for (const worker of workers.sort((a, b) => b.index - a.index)) {
      const isSurplus = worker.index >= max;
      if (live <= min && !isSurplus) break;
      if (worker.state !== 'ready' || !isStaying(worker)) continue;
      const [thread] = threadsOfHost(this.#space, worker.thread.hostId);
      if (thread === undefined) continue;
      const mayGo = isSurplus ? !this.#places.hasTasks(worker.index) : this.#isIdle(worker, thread, now);
      if (!mayGo || this.#space.core.plait_worker_drain(thread) !== 1) continue;
      worker.leaving = 'idle';
      live--;
    }
    const { idleTimeout } = this.#options;
    if (live > min || isAbove) this.#pollIn(Math.min(Math.max(idleTimeout / 4, SHORTEST_TICK_MS), TICK_MS));
  }

  /** Whether it has taken no task for the idle timeout. */
  #isIdle(worker: WorkerRecord, thread: number, now: number): boolean {
    const slot = slotOf(this.#space, thread);
    const tasksTaken = this.#space.load(slot + Slot.tasksTaken);
    const runs = this.#space.load(slot + Slot.running) !== 0 || this.#space.load(slot + Slot.holding) !== 0;
    if (runs || tasksTaken !== worker.tasksTaken) {
      worker.tasksTaken = tasksTaken;
      worker.since = now;
      return false;
    }
    return now - worker.since >= this.#options.idleTimeout;
  }
}
