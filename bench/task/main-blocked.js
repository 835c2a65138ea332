/**
 * How much work gets done while main is blocked?
 *
 * Main submits tasks to a warm pool and at once sits in a synchronous wait. The tasks count themselves in shared
 * memory, so main can look at the count the moment it wakes, before its event loop turns.
 */

import { entrants } from './peers/index.js';
import { openPool } from './peers/open.js';
import { DONE } from './peers/work.js';

const TASKS = 64;
const TASK_MS = 5;
const BLOCKED_MS = 200;

export default {
  title: `${TASKS} tasks of ${TASK_MS} ms; done when main unblocks after ${BLOCKED_MS} ms`,
  entrants,
  columns: [
    { key: 'sleep', label: 'done, sleeping tasks', digits: 0, ratio: true },
    { key: 'sleepTotal', label: 'all done after, ms', digits: 0 },
    { key: 'spin', label: 'done, computing tasks', digits: 0, ratio: true },
    { key: 'spinTotal', label: 'all done after, ms', digits: 0 },
  ],

  prepare: ({ threads }) => ({ threads }),

  async measure({ peer }, { threads }) {
    const { pool, counters } = await openPool(peer, threads);
    const sleep = await submitAndBlock(pool, counters, 'sleep');
    const spin = await submitAndBlock(pool, counters, 'spin');
    return { sleep: sleep.done, sleepTotal: sleep.total, spin: spin.done, spinTotal: spin.total };
  },
};

async function submitAndBlock(pool, counters, name) {
  counters.fill(0);
  const start = performance.now();
  const pending = Array.from({ length: TASKS }, () => pool.run(name, TASK_MS));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCKED_MS);
  const done = Atomics.load(counters, DONE);
  await Promise.all(pending);
  const total = performance.now() - start;
  if (Atomics.load(counters, DONE) !== TASKS) throw new Error('tasks got lost, or ran twice');
  return { done, total };
}
