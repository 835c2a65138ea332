/** How many synchronous file operations a second, on the main thread and on a worker? */

import { Worker } from 'node:worker_threads';
import { measureOperations, OPERATIONS } from './measure/operations.js';
import { PEERS } from './peers/index.js';
import { serve } from './peers/proxied.js';

const BUDGET_MS = 200;

const entrants = [
  { name: 'plait', peer: 'plait' },
  { name: 'plait, from a worker', peer: 'plait', worker: true },
  { name: 'node:fs on tmpfs, main', peer: 'node' },
  { name: 'node:fs on tmpfs, worker', peer: 'node', worker: true },
  { name: 'memfs, main', peer: 'memfs' },
  { name: 'memfs, worker (its own files)', peer: 'memfs', worker: true },
  { name: 'ZenFS, main', peer: 'zenfs' },
  { name: 'memfs on main, from a worker', peer: 'proxied', worker: true },
];

export default {
  title: 'Thousands of operations a second, synchronous, one thread',
  entrants,
  columns: OPERATIONS.map(([key, label]) => ({ key, label, digits: 1, ratio: true })),

  prepare: () => ({}),

  async measure({ peer, worker }) {
    if (!worker) return measureOperations(await PEERS[peer](), BUDGET_MS);
    if (peer === 'plait') await import('plait');
    const shared = new SharedArrayBuffer(2 ** 20);
    const workerData = { peer, shared, budgetMs: BUDGET_MS };
    const thread = new Worker(new URL('./measure/thread.js', import.meta.url), { workerData });
    if (peer === 'proxied') await serve(thread, shared);
    return new Promise((resolve, reject) => {
      thread.on('message', ({ sample }) => sample && resolve(sample));
      thread.on('error', reject);
    });
  },
};
