/** Arithmetic alone: how much faster are several threads? */

import { HEAPS, threadedQuestion } from './questions/emscripten.js';

export default threadedQuestion({
  title: 'Steps of the Mandelbrot set, whose rows are divided among the threads',
  source: 'math',
  entrants: HEAPS.filter(({ name }) => name === 'plait' || name === 'dlmalloc'),
  digits: 3,
});
