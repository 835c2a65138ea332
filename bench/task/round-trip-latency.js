/** How long does one task that does nothing take, from run() to its result, when nothing else is going on? */

import { percentile } from '../harness/statistics.js';
import { entrants } from './peers/index.js';
import { openPool } from './peers/open.js';

const TASKS = 10000;
/** By then code is compiled, everywhere. */
const WARM_UP = 3000;

export default {
  title: `${TASKS} no-ops, one after the other`,
  entrants,
  columns: [
    { key: 'p50', label: 'p50, µs', digits: 0, ratio: true },
    { key: 'p99', label: 'p99, µs', digits: 0, ratio: true },
  ],

  prepare: ({ threads }) => ({ threads }),

  async measure({ peer }, { threads }) {
    const { pool } = await openPool(peer, threads);
    for (let i = 0; i < WARM_UP; i++) await pool.run('echo', i);
    const times = new Float64Array(TASKS);
    for (let i = 0; i < TASKS; i++) {
      const start = performance.now();
      await pool.run('echo', i);
      times[i] = (performance.now() - start) * 1000;
    }
    return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
  },
};
