/**
 * The worker places of a pool, as its coordinator sees them. A place belongs to a worker index. It has at most one
 * worker at a time, and a worker queue of the tasks with affinity to it.
 *
 * Invariant: once the coordinator has received a worker's exit, `thread` of its place is 0 until the next worker takes
 * the place. A thread that submits a task for a place without a worker signals the coordinator. Tasks from before that
 * are found by the next poll.
 */

import { Pool as P, PLACE_LIMIT, WorkerPlace } from '../../core/layout.generated.ts';
import type { Space } from '../../core/space.ts';

export class WorkerPlaces {
  readonly #space: Space;
  readonly #pool: number;

  constructor(space: Space, pool: number) {
    this.#space = space;
    this.#pool = pool;
  }

  /** The place of an index; 0: it has not been needed yet. */
  #at(index: number): number {
    return this.#space.load(this.#space.load(this.#pool + P.places) + index * 4);
  }

  /** Whether its worker queue has tasks. */
  hasTasks(index: number): boolean {
    const place = this.#at(index);
    return (
      place !== 0 && this.#space.load(place + WorkerPlace.queue + 4) !== this.#space.load(place + WorkerPlace.queue + 8)
    );
  }

  /** The indices whose worker queues have tasks, highest first. */
  withTasks(): number[] {
    const found: number[] = [];
    for (let index = PLACE_LIMIT - 1; index >= 0; index--) if (this.hasTasks(index)) found.push(index);
    return found;
  }

  /** The place has no worker any more. */
  vacate(index: number): void {
    const place = this.#at(index);
    if (place === 0) return;
    this.#space.cover(place + WorkerPlace.BYTES);
    Atomics.store(this.#space.u32, (place + WorkerPlace.thread) >>> 2, 0);
  }
}
