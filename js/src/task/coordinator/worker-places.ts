/**
 * The seats of a pool, as its coordinator sees them: a seat is where a worker sits, one at a time, and has tasks of its
 * own, those that were given to it by a key.
 *
 * Invariant: once the coordinator has heard of a worker's end, `thread` of its seat is 0 until the next one sits down
 * there. So who submits a task for a seat without a worker tells the coordinator, and what came before that it finds
 * when it looks next.
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

  /** The seat of that index; 0: nobody has needed it yet. */
  #at(index: number): number {
    return this.#space.load(this.#space.load(this.#pool + P.places) + index * 4);
  }

  /** Whether tasks wait for whoever sits there. */
  hasTasks(index: number): boolean {
    const place = this.#at(index);
    return (
      place !== 0 && this.#space.load(place + WorkerPlace.queue + 4) !== this.#space.load(place + WorkerPlace.queue + 8)
    );
  }

  /** The seats with tasks of their own, the highest first. */
  withTasks(): number[] {
    const found: number[] = [];
    for (let index = PLACE_LIMIT - 1; index >= 0; index--) if (this.hasTasks(index)) found.push(index);
    return found;
  }

  /** Nobody sits there any more. */
  vacate(index: number): void {
    const place = this.#at(index);
    if (place === 0) return;
    this.#space.cover(place + WorkerPlace.BYTES);
    Atomics.store(this.#space.u32, (place + WorkerPlace.thread) >>> 2, 0);
  }
}
