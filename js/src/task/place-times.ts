/**
 * The times of tasks at one worker place, in shared memory: how long they waited, and how long they ran.
 *
 * Invariant: only the worker of the place writes them. A reset increases pool.times_epoch, and so needs no write to
 * them: times of another epoch count for nothing, and the worker clears them before it counts its next task.
 */

import { BUCKET_COUNT, Pool as P, WorkerPlace } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';
import { bucketOf, TimesSum } from './histogram.ts';

/** The offsets of one kind of times in a worker place. */
interface Words {
  readonly buckets: number;
  readonly min: number;
  readonly max: number;
  readonly sum: number;
  readonly squares: number;
}

const WAITS: Words = {
  buckets: WorkerPlace.waits,
  min: WorkerPlace.waitMin,
  max: WorkerPlace.waitMax,
  sum: WorkerPlace.waitSum,
  squares: WorkerPlace.waitSquares,
};
const RUNS: Words = {
  buckets: WorkerPlace.runs,
  min: WorkerPlace.runMin,
  max: WorkerPlace.runMax,
  sum: WorkerPlace.runSum,
  squares: WorkerPlace.runSquares,
};

/** Starts all times of a pool anew. Any thread. */
export function resetTimes(space: Space, pool: number): void {
  Atomics.add(space.u32, (pool + P.timesEpoch) >>> 2, 1);
}

/** Counts a task; for the worker of the place. In milliseconds. */
export function noteTimes(space: Space, pool: number, place: number, wait: number, run: number): void {
  const { u32 } = space;
  const epoch = u32[(pool + P.timesEpoch) >>> 2]!;
  const own = (place + WorkerPlace.timesEpoch) >>> 2;
  if (u32[own] !== epoch) {
    clear(space, place, WAITS);
    clear(space, place, RUNS);
    u32[own] = epoch;
  }
  note(space, place, WAITS, wait);
  note(space, place, RUNS, run);
}

function clear({ u32, f64 }: Space, place: number, words: Words): void {
  u32.fill(0, (place + words.buckets) >>> 2, ((place + words.buckets) >>> 2) + BUCKET_COUNT);
  u32[(place + words.min) >>> 2] = 0;
  u32[(place + words.max) >>> 2] = 0;
  f64[(place + words.sum) / 8] = 0;
  f64[(place + words.squares) / 8] = 0;
}

function note({ u32, f64 }: Space, place: number, words: Words, time: number): void {
  const microseconds = time > 0 ? Math.min(time * 1000, 0xfffffffe) : 0;
  u32[((place + words.buckets) >>> 2) + bucketOf(microseconds)]!++;
  f64[(place + words.sum) / 8]! += time;
  f64[(place + words.squares) / 8]! += time * time;
  const max = (place + words.max) >>> 2;
  if (microseconds > u32[max]!) u32[max] = microseconds;
  const min = (place + words.min) >>> 2;
  const least = u32[min]!;
  if (least === 0 || microseconds < least - 1) u32[min] = microseconds + 1;
}

/** The times of a worker place. pre: the pool is not freed meanwhile. */
export function readTimes(space: Space, pool: number, place: number): { wait: TimesSum; run: TimesSum } {
  const isOld = space.load(place + WorkerPlace.timesEpoch) !== space.load(pool + P.timesEpoch);
  return { wait: read(space, place, isOld ? undefined : WAITS), run: read(space, place, isOld ? undefined : RUNS) };
}

function read(space: Space, place: number, words: Words | undefined): TimesSum {
  const times = new TimesSum();
  if (words === undefined) return times;
  for (let bucket = 0; bucket < BUCKET_COUNT; bucket++)
    times.buckets[bucket] = space.load(place + words.buckets + bucket * 4);
  const min = space.load(place + words.min);
  if (min !== 0) times.min = min - 1;
  times.max = space.load(place + words.max);
  times.sum = space.f64[(place + words.sum) / 8]!;
  times.squares = space.f64[(place + words.squares) / 8]!;
  return times;
}
