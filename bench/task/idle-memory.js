/** How much memory does an idle worker hold? What a second pool adds to the process's resident memory. */

import { setTimeout as wait } from 'node:timers/promises';
import { entrants } from './peers/index.js';
import { openPool } from './peers/open.js';

const FEW = 2;
const MANY = 6;
const MIB = 2 ** 20;

export default {
  title: `Resident memory of an idle worker, from pools of ${FEW} and ${MANY} in one process`,
  entrants,
  columns: [
    { key: 'worker', label: 'a worker, MiB', digits: 1, ratio: true },
    { key: 'all', label: `the process with ${FEW + MANY}, MiB`, digits: 0, ratio: true },
  ],

  prepare: ({ threads }) => ({ threads }),

  async measure({ peer }) {
    const rss = async () => {
      await wait(500);
      return process.memoryUsage().rss / MIB;
    };
    // Whatever the first pool of a process brings along is there before the first look.
    await openPool(peer, FEW);
    const before = await rss();
    await openPool(peer, MANY);
    const after = await rss();
    return { worker: (after - before) / MANY, all: after };
  },
};
