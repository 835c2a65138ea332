import { expose, heap } from 'plait';
import { tally, wordsOf } from '../words.js';

export function count({ text, total }) {
  const words = wordsOf(text);
  const { buffer } = heap.view(total, 4);
  Atomics.add(new Uint32Array(buffer, total, 1), 0, words.length);
  return tally(words);
}

expose({ count }); // webpack drops the exports of what it bundles for workers
