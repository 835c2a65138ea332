/**
 * Measures one pool on the job: main reads every file in a loop without a pause, and submits the bytes to the pool,
 * whose workers hash them.
 */

import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { heap } from 'plait';

const MODULE = new URL('./hash-bytes.js', import.meta.url);
/**
 * Reads with readFileSync. The hand-out pool moves the bytes to the worker; Plait lends them, which spares it a copy.
 */
export const readFiles = {
  read: (path) => readFileSync(path),
  run: (pool, bytes) => pool.run(bytes, { lend: true }),
};

/** Reads into shared memory and gives the bytes away: no copy at all. For Plait alone. */
export const readIntoHeap = {
  read: (path) => heap.readFileSync(path),
  run: (pool, bytes) => pool.run(bytes, { give: true }),
};

/** A worker that has not started by then will not start. */
const START_LIMIT_MS = 20_000;

/**
 * Does the job several times with one pool. The first runs warm it up, like those of the reference: they compile code
 * and touch memory.
 *
 * @param {new (module: URL, options: { threads: number, workerData: Int32Array }) => any} Pool
 * @param {(digests: string[]) => void} check receives the digests of every run
 * @returns of the best run: milliseconds spent reading and in all, and each worker's share of busy time
 */
export async function measure(Pool, way, paths, { threads, runs, check }) {
  const shared = new Int32Array(new SharedArrayBuffer(4 * (1 + threads)));
  const pool = new Pool(MODULE, { threads, workerData: shared });
  try {
    await allReady(shared, threads);
    let best;
    for (let i = 0; i < runs; i++) {
      shared.fill(0, 1);
      const { digests, ...run } = await timed(pool, way, paths, shared);
      check(digests);
      if (best === undefined || run.total < best.total) best = run;
    }
    return best;
  } finally {
    await pool.close();
  }
}

async function timed(pool, way, paths, shared) {
  let read = 0;
  const pending = [];
  const start = performance.now();
  for (const path of paths) {
    const before = performance.now();
    const bytes = way.read(path);
    read += performance.now() - before;
    pending.push(way.run(pool, bytes));
  }
  const digests = await Promise.all(pending);
  const total = performance.now() - start;
  const busy = Array.from(shared.subarray(1), (microseconds) => microseconds / 1000 / total);
  return { read, total, busy, digests };
}

/** Starting the workers is no part of the job: it waits until all have loaded the module. */
async function allReady(shared, threads) {
  const start = performance.now();
  while (Atomics.load(shared, 0) < threads) {
    if (performance.now() - start > START_LIMIT_MS) throw new Error('the workers did not start');
    await setTimeout(1);
  }
}
