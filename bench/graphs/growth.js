/** One block that grows by half and half again: how large does the memory become? */

import { reasonOf } from '../harness/failure.js';
import { buildAll, HEAPS, sampleOf } from './questions/emscripten.js';

export default {
  title: 'realloc() of one block from 64 to 1640 MiB by half and half again; the memory at the end',
  entrants: [],
  columns: [{ key: 'mib', label: 'memory, MiB', digits: 0, ratio: true }],

  prepare() {
    const { entrants, versions } = buildAll('growth', HEAPS, ['-O2', '-sALLOW_MEMORY_GROWTH', '-sMAXIMUM_MEMORY=4GB']);
    this.entrants.push(...entrants);
    return { versions };
  },

  /** To have no memory for such a block is an answer, Plait's too. */
  measure: (entrant) => sampleOf(entrant.file).catch((error) => ({ mib: reasonOf(error) })),

  conclude: (rows, { versions }) => ({ rows, notes: [], versions, threads: 'one thread' }),
};
