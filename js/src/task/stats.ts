/**
 * A pool's counters, read from the space. Each worker writes those of its worker place, without a lock; readers add
 * them up. So each number is exact for the moment at which it was read, and no two are read at the same moment.
 */

import { slotOf } from '../core/boot.ts';
import { clock } from '../core/clock.ts';
import { Pool as P, PLACE_LIMIT, Slot, SlotState, WorkerPlace } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';
import { type Times, TimesSum } from './histogram.ts';
import { readTimes } from './place-times.ts';
import type { EndReason } from './protocol.ts';

/** One present worker. */
export interface WorkerStats {
  /** The host's number for the thread (Node: its threadId). */
  readonly worker: number;
  /** Its place in the pool, from 0; the one that replaces it has the same. */
  readonly index: number;
  /** Tasks that it has finished. */
  readonly tasks: number;
  /** Tasks that it runs. */
  readonly running: number;
  /** Milliseconds since it was ready. */
  readonly age: number;
  /** Share of that time that it spent in tasks, from 0 to 1. */
  readonly utilization: number;
  /** Share of that time that its event loop was active, from 0 to 1; some milliseconds old. */
  readonly eventLoopUtilization: number;
  /** Bytes of its JavaScript heap; some milliseconds old. */
  readonly heapUsed: number;
  /** How long the tasks of this index waited, and how long they ran: also those of workers that it replaced. */
  readonly wait: Times;
  readonly run: Times;
}

/** The result of `pool.stats()`. */
export interface PoolStats {
  /** Tasks that wait for a worker. */
  readonly queued: number;
  /** Tasks that workers run. */
  readonly running: number;
  /** Tasks whose function returned, since the pool was created; `failed`: those that ended otherwise. */
  readonly completed: number;
  /** Tasks that ended otherwise. */
  readonly failed: number;
  /** Tasks that left the queue without a run, because they were aborted or the pool was closed. */
  readonly aborted: number;
  /** How long tasks waited in the queue. */
  readonly wait: Times;
  /** How long tasks ran. */
  readonly run: Times;
  /** Workers that are starting or ready, and the limits of their number. */
  readonly threads: number;
  /** The fewest workers that there may be. */
  readonly minThreads: number;
  /** The most workers that there may be. */
  readonly maxThreads: number;
  /** Workers ever started. */
  readonly started: number;
  /** Workers that have ended, by reason. */
  readonly ended: Readonly<Record<EndReason, number>>;
  /** The workers that are at work. */
  readonly workers: readonly WorkerStats[];
}

export const END_REASONS: readonly EndReason[] = ['idle', 'recycled', 'stopped', 'crashed', 'memory', 'exit', 'closed'];

/** The worker places that exist, with their indices. */
function placesOf(space: Space, pool: number): { index: number; place: number }[] {
  const table = space.load(pool + P.places);
  const found: { index: number; place: number }[] = [];
  for (let index = 0; index < PLACE_LIMIT; index++) {
    const place = space.load(table + index * 4);
    if (place !== 0) found.push({ index, place });
  }
  return found;
}

/** Reads all counters of a pool. pre: the pool is not freed meanwhile. */
export function readStats(space: Space, pool: number): PoolStats {
  const waits = new TimesSum();
  const runs = new TimesSum();
  let completed = 0;
  let failed = space.load(pool + P.lost);
  let running = 0;
  const workers: WorkerStats[] = [];
  const now = clock();
  for (const { index, place } of placesOf(space, pool)) {
    space.cover(place + WorkerPlace.BYTES);
    completed += space.load(place + WorkerPlace.completed);
    failed += space.load(place + WorkerPlace.failed);
    const { wait, run } = readTimes(space, pool, place);
    waits.add(wait);
    runs.add(run);
    const worker = workerOf(space, pool, index, place, now, { wait: wait.times(), run: run.times() });
    if (worker === undefined) continue;
    running += worker.running;
    workers.push(worker);
  }
  const ended = Object.fromEntries(
    END_REASONS.map((reason, index) => [reason, space.load(pool + P.ended + index * 4)]),
  ) as Record<EndReason, number>;
  return {
    queued: space.load(pool + P.queued),
    running,
    completed,
    failed,
    aborted: space.load(pool + P.aborted),
    wait: waits.times(),
    run: runs.times(),
    threads: space.load(pool + P.threads),
    minThreads: space.load(pool + P.minThreads),
    maxThreads: space.load(pool + P.maxThreads),
    started: space.load(pool + P.started),
    ended,
    workers,
  };
}

function workerOf(
  space: Space,
  pool: number,
  index: number,
  place: number,
  now: number,
  times: Pick<WorkerStats, 'wait' | 'run'>,
): WorkerStats | undefined {
  const thread = space.load(place + WorkerPlace.thread);
  const slot = slotOf(space, thread);
  const isHere = space.load(slot + Slot.generationState) === ((thread & ~255) | SlotState.LIVE) >>> 0;
  if (thread < 256 || !isHere || space.load(slot + Slot.pool) !== pool) return undefined;
  const age = Math.max(now - space.f64[(place + WorkerPlace.readyAt) / 8]!, 0.001);
  const busy = space.f64[(place + WorkerPlace.busy) / 8]!;
  const span = Math.max(
    space.f64[(place + WorkerPlace.sampledAt) / 8]! - space.f64[(place + WorkerPlace.readyAt) / 8]!,
    0.001,
  );
  return {
    worker: space.load(slot + Slot.hostId),
    index,
    tasks: space.load(slot + Slot.tasksDone),
    running: (space.load(slot + Slot.running) !== 0 ? 1 : 0) + space.load(place + WorkerPlace.holding),
    age,
    utilization: Math.min(busy / age, 1),
    eventLoopUtilization: Math.min(Math.max(space.f64[(place + WorkerPlace.active) / 8]! / span, 0), 1),
    heapUsed: space.load(place + WorkerPlace.memoryKib) * 1024,
    ...times,
  };
}
