/** The program: counts the words of many texts on a pool, with a total in shared memory that all workers add to. */

import { heap } from 'plait';
import { makeTexts } from './texts.js';

export async function countWords(pool) {
  const total = heap.bytes(4, { zeroed: true });
  const inputs = makeTexts(50, 2000).map((text) => ({ text, total: heap.offset(total) }));
  const counts = new Map();
  for await (const some of pool.map(inputs, { name: 'count' })) {
    for (const [word, count] of Object.entries(some)) counts.set(word, (counts.get(word) ?? 0) + count);
  }
  await pool.close();
  const words = new Uint32Array(total.buffer, total.byteOffset, 1)[0];
  heap.free(total);
  const top = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)).slice(0, 5);
  return { words, top };
}
