/**
 * What do two workers do in the time of one: on different files, reading one file, through one descriptor, in one
 * directory?
 */

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { PEERS } from './peers/index.js';

const BUDGET_MS = 400;
const JOBS = [
  ['writes', 'write 4 KiB files of their own'],
  ['reads', 'read 4 KiB of one file'],
  ['descriptor', 'read 4 KiB of one descriptor'],
  ['names', 'create + unlink in one directory'],
];

async function run(peer, root, fd, job, count) {
  const gate = new Int32Array(new SharedArrayBuffer(8));
  const workers = Array.from({ length: count }, (_, index) => {
    const workerData = { peer, job, index, gate, root, descriptor: fd, budgetMs: BUDGET_MS };
    return new Worker(new URL('./measure/pair.js', import.meta.url), { workerData });
  });
  const counts = Promise.all(workers.map(async (worker) => (await once(worker, 'message'))[0]));
  while (Atomics.load(gate, 0) < count) await new Promise((resolve) => setTimeout(resolve, 1));
  Atomics.store(gate, 1, 1);
  Atomics.notify(gate, 1);
  const total = (await counts).reduce((sum, each) => sum + each, 0);
  await Promise.all(workers.map((worker) => worker.terminate()));
  return total / BUDGET_MS;
}

export default {
  title: 'Thousands of operations a second by one and by two workers, and how many times as many',
  entrants: [
    { name: 'plait', peer: 'plait' },
    { name: 'node:fs on tmpfs', peer: 'node' },
  ],
  columns: JOBS.flatMap(([key, label]) => [
    { key: `${key}1`, label: `1: ${label}`, digits: 0 },
    { key: `${key}2`, label: '2', digits: 0 },
    { key: `${key}Times`, label: '× one', digits: 2 },
  ]),

  prepare: () => ({}),

  async measure({ peer }) {
    const { fs, root } = await PEERS[peer]();
    fs.writeFileSync(`${root}/shared`, Buffer.alloc(4096, 5));
    const fd = fs.openSync(`${root}/shared`, 'r');
    const sample = {};
    for (const [key] of JOBS) {
      sample[`${key}1`] = await run(peer, root, fd, key, 1);
      sample[`${key}2`] = await run(peer, root, fd, key, 2);
      sample[`${key}Times`] = sample[`${key}2`] / sample[`${key}1`];
    }
    return sample;
  },
};
