/**
 * How does a pool compare with the reference while main reads every file with readFileSync, in a loop without a pause?
 *
 * The demo's job. Main is blocked until the last file is read. Until then, a pool that needs main to hand out work
 * hashes little. The reference is measured in the same run, by one thread without a pool: the best of its runs of
 * reading and the best of hashing, with compiled code and warm memory. The pools get the same: warm-up runs, then as
 * many timed runs, of which the best counts. A single run compared with the best of several would measure other load
 * of the machine. 'plait, no copy' reads with heap.readFileSync into shared memory, which only Plait can pass on.
 * 'no pool' are threads that read and hash a share of the files each: their excess over the reference is the host's,
 * not a pool's.
 */

import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { makeFiles, measureAlone, pathsIn, reference } from '../../../demo/terminal/job.js';
import { median } from '../../harness/statistics.js';
import { entrants } from '../peers/index.js';
import { openPool, transferable } from '../peers/open.js';
import { readIntoHeap } from '../peers/plait.js';

const FILES = 4096;
const SIZE = 65536;
const ALONE = 'one thread, no pool';
/** Of the lone thread, of every pool, and of the threads without one: the best counts. */
const TIMED_RUNS = 3;
/**
 * Before the timed ones, of all of them. With six, the next three of 'plait, no copy' still had a median of 2,400 page
 * faults (5 ms of main's time, on memory that main had never been so far ahead to need); with twelve fewer than twenty.
 */
const WARM_RUNS = 12;
const SHARES = { name: 'no pool, a share each', shares: true };
const SHARE_WORKER = new URL('../peers/share-worker.js', import.meta.url);
const DIRECT = { name: 'plait, no copy', peer: 'plait', direct: true };
/** The digests of a sequential run; too long for a command line. */
const DIGESTS = 'digests.json';

async function doJob(pool, paths, direct) {
  let read = 0;
  const pending = [];
  const start = performance.now();
  for (const path of paths) {
    const before = performance.now();
    const bytes = direct ? readIntoHeap(path) : readFileSync(path);
    read += performance.now() - before;
    pending.push(direct ? pool.give('hash', bytes) : pool.run('hash', bytes, transferable(bytes)));
  }
  const found = await Promise.all(pending);
  return { total: performance.now() - start, read, found };
}

async function doPooled(peer, threads, paths, direct) {
  const { pool } = await openPool(peer, threads);
  for (let i = 0; i < WARM_RUNS; i++) await doJob(pool, paths, direct);
  let best = await doJob(pool, paths, direct);
  for (let i = 1; i < TIMED_RUNS; i++) {
    const next = await doJob(pool, paths, direct);
    if (next.total < best.total) best = next;
  }
  return best;
}

/** The job by threads that read and hash a share each: how long the best of the timed runs takes. */
async function doShares(paths, threads) {
  const workers = Array.from(
    { length: threads },
    (_, place) => new Worker(SHARE_WORKER, { workerData: { paths, place, threads } }),
  );
  const digests = [];
  let total = Infinity;
  for (let run = 0; run < WARM_RUNS + TIMED_RUNS; run++) {
    const start = performance.now();
    for (const worker of workers) worker.postMessage(undefined);
    const shares = await Promise.all(workers.map((worker) => once(worker, 'message')));
    if (run >= WARM_RUNS) total = Math.min(total, performance.now() - start);
    for (const [place, [share]] of shares.entries())
      for (const [i, digest] of share.entries()) digests[place + i * threads] = digest;
  }
  for (const worker of workers) await worker.terminate();
  return { total, found: digests };
}

/** The question, for processes with the environment `env` besides their own. */
export const filesAndHashes = ({ about, env }) => ({
  env,
  title: `Main reads ${FILES} files of ${SIZE / 1024} KiB in a blocking loop, workers hash them${about}`,
  entrants: [{ name: ALONE }, DIRECT, ...entrants, SHARES],
  needs: [ALONE],
  columns: [
    { key: 'total', label: 'total, ms', digits: 0, ratio: true },
    { key: 'read', label: 'of which main reads, ms', digits: 0 },
    { key: 'overLimit', label: 'total / reference', digits: 2 },
  ],

  prepare({ threads }) {
    const { folder, paths } = makeFiles({ files: FILES, size: SIZE });
    const { digests } = measureAlone(paths, 1);
    writeFileSync(join(folder, DIGESTS), JSON.stringify(digests));
    return { threads, folder };
  },

  cleanup({ folder }) {
    rmSync(folder, { recursive: true, force: true });
  },

  async measure({ name, peer, direct = false, shares = false }, { threads, folder }) {
    const paths = pathsIn(folder, FILES);
    if (peer === undefined && !shares) {
      measureAlone(paths, WARM_RUNS);
      const { read, hash } = measureAlone(paths, TIMED_RUNS);
      return { read, hash };
    }
    const digests = JSON.parse(readFileSync(join(folder, DIGESTS), 'utf8'));
    const { total, read, found } = shares
      ? await doShares(paths, threads)
      : await doPooled(peer, threads, paths, direct);
    if (digests.some((digest, i) => digest !== found[i])) throw new Error(`${name} gave a wrong digest`);
    return { total, read };
  },

  /**
   * Replaces the samples of the single thread by references, one for each round, and divides each sample by the
   * reference of its round: if the machine's clock changes over time, it affects both.
   */
  conclude(rows, { threads }) {
    const alone = rows.find((row) => row.name === ALONE);
    const cores = availableParallelism();
    const references = alone.samples.map(({ read, hash }) => reference({ read, hash, workers: threads, cores }));
    const peers = rows.filter((row) => row !== alone);
    for (const row of peers)
      for (const [i, sample] of row.samples.entries())
        if (typeof sample.total === 'number') sample.overLimit = sample.total / references[i];
    const middle = (key) => median(alone.samples.map((sample) => sample[key])).toFixed(0);
    const note =
      `Reference: ${median(references).toFixed(0)} ms (${Math.min(...references).toFixed(0)}\u2013${Math.max(...references).toFixed(0)}) with ` +
      `${threads} workers on ${cores} cores; reading alone takes ${middle('read')} ms, hashing alone on one thread ` +
      `${middle('hash')} ms (each round the best of ${TIMED_RUNS}, as with the pools, and its own reference).`;
    return { rows: peers, notes: [note] };
  },
});
