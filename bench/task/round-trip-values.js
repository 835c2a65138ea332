/** How long does a value take to a worker and back, copied, when nothing else is going on? */

import { percentile } from '../harness/statistics.js';
import { entrants } from './peers/index.js';
import { openPool } from './peers/open.js';

const TASKS = 1000;
/** By then code is compiled, everywhere: what is asked is how long it takes a program that does it all day. */
const WARM_UP = 2000;
const MIB = 2 ** 20;

/** About 2 KB of JSON, as a service's record would be. */
const RECORD = {
  id: 123456,
  name: 'Alice Example',
  active: true,
  scores: Array.from({ length: 40 }, (_, i) => i * 1.5),
  tags: ['alpha', 'beta', 'gamma', 'delta'],
  orders: Array.from({ length: 15 }, (_, i) => ({ sku: `item-${i}`, count: i, price: i * 9.99, note: 'as before' })),
};

export default {
  title: `${TASKS} values there and back, copied, one after the other`,
  entrants,
  columns: [
    { key: 'bytes', label: '1 MiB of bytes, µs', digits: 0, ratio: true },
    { key: 'record', label: 'object of 2 KB, µs', digits: 0, ratio: true },
  ],

  prepare: ({ threads }) => ({ threads }),

  async measure({ peer }, { threads }) {
    const { pool } = await openPool(peer, threads);
    const bytes = new Uint8Array(MIB).fill(7);
    const text = JSON.stringify(RECORD);
    return {
      bytes: await median(pool, bytes, (answer) => answer.length === MIB && answer[MIB - 1] === 7),
      record: await median(pool, RECORD, (answer) => JSON.stringify(answer) === text),
    };
  },
};

async function median(pool, value, isRight) {
  const copy = pool.copy ?? pool.run;
  const times = new Float64Array(TASKS);
  for (let i = -WARM_UP; i < TASKS; i++) {
    const start = performance.now();
    const answer = await copy('echoBytes', value);
    if (i >= 0) times[i] = (performance.now() - start) * 1000;
    if (!isRight(answer)) throw new Error('a wrong answer');
  }
  return percentile(times, 0.5);
}
