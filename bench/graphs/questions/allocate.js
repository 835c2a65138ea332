/** The question of each workload of bench/heap, as a program of Emscripten's. */

import { NAMES, WORKLOADS } from '../../heap/questions/workload.js';
import { HEAPS, threadedQuestion } from './emscripten.js';

export function allocate(name) {
  const mode = NAMES.indexOf(name);
  return threadedQuestion({
    title: WORKLOADS[mode][1],
    source: 'allocate',
    sources: ['bench/heap/workload.c'],
    entrants: HEAPS,
    digits: 1,
    parameters: [mode],
  });
}
