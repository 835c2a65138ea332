/** One block that grows by half and half again: how large does the memory become? */

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

  measure: (entrant) => sampleOf(entrant.file),

  conclude: (rows, { versions }) => ({ rows, notes: [], versions, threads: 'one thread' }),
};
