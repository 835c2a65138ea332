/** How long from nothing to the first result, in a fresh process? */

import { entrants, loadPeer, WORK } from './peers/index.js';
import { makeCounters } from './peers/work.js';

export default {
  title: 'From a new pool to its first result, in a fresh process',
  entrants,
  columns: [
    { key: 'load', label: 'import of the library, ms', digits: 0 },
    { key: 'first', label: 'new pool to first result, ms', digits: 0, ratio: true },
    { key: 'both', label: 'both, ms', digits: 0, ratio: true },
  ],

  prepare: ({ threads }) => ({ threads }),

  async measure({ peer }, { threads }) {
    const workerData = makeCounters();
    const begin = performance.now();
    const { create } = await loadPeer(peer);
    const loaded = performance.now();
    const pool = create({ threads, file: WORK, workerData });
    const answer = await pool.run('echo', 7);
    const end = performance.now();
    if (answer !== 7) throw new Error(`${peer} answers wrongly`);
    return { load: loaded - begin, first: end - loaded, both: end - begin };
  },
};
