/** Files of 4 KiB on the main thread and on a worker thread: how long does an operation take? */

import { buildAll, FILES, sampleOf, THREADED } from './questions/emscripten.js';

export default {
  title: 'Writing, reading, listing, renaming and removing files of 4 KiB',
  entrants: [],
  columns: [
    { key: 'main', label: 'main thread, ns', digits: 0, ratio: true },
    { key: 'worker', label: 'worker thread, ns', digits: 0, ratio: true },
  ],

  prepare() {
    const { entrants, versions } = buildAll('files', FILES, THREADED);
    this.entrants.push(...entrants);
    return { versions };
  },

  measure: (entrant) => sampleOf(entrant.file),

  conclude: (rows, { versions }) => ({ rows, notes: [], versions, threads: 'one thread' }),
};
