/** One-byte reads of one file, through a descriptor per thread: how long? */

import { FILES, threadedQuestion } from './questions/emscripten.js';

export default threadedQuestion({
  title: 'read() of one byte of a file that all threads read; time of one read on each thread',
  source: 'reads',
  entrants: FILES,
  digits: 0,
  threads: [1, 2, 4],
});
