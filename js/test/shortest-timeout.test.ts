/** Several threads note timeouts at the same time; the shortest one is kept. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';

import { noteTimeout } from '../../dist/task/shortest-timeout.js';
import { owned } from './owned.ts';

test('a timeout is noted unless a shorter one is', () => {
  const words = new Uint32Array(new SharedArrayBuffer(8));
  assert.equal(noteTimeout(words, 1, 50), true);
  assert.equal(noteTimeout(words, 1, 50), false);
  assert.equal(noteTimeout(words, 1, 80), false);
  assert.equal(noteTimeout(words, 1, 20), true);
  assert.deepEqual([...words], [0, 20]);
});

test('the shortest of the timeouts that threads note concurrently is kept', { timeout: 60000 }, async (t) => {
  const THREADS = 2;
  const ROUNDS = 5000;
  // Of each round: a word for the timeout, and before all: how many threads have come to which round.
  const words = new Uint32Array(new SharedArrayBuffer(4 * (THREADS + ROUNDS)));
  const source = new URL('../../dist/task/shortest-timeout.js', import.meta.url).href;
  const code = `
    import { workerData } from 'node:worker_threads';
    import { noteTimeout } from ${JSON.stringify(source)};
    const { words, self, threads, rounds } = workerData;
    for (let round = 0; round < rounds; round++) {
      Atomics.store(words, self, round + 1);
      for (let other = 0; other < threads; other++) while (Atomics.load(words, other) <= round);
      // One thread notes ever shorter ones, the other the shortest of all somewhere in between.
      if (self === 0) noteTimeout(words, threads + round, 10);
      else for (let timeout = 1000; timeout > 990; timeout--) noteTimeout(words, threads + round, timeout);
    }`;
  const url = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
  await Promise.all(
    Array.from({ length: THREADS }, (_, self) => {
      const worker = owned(t, new Worker(url, { workerData: { words, self, threads: THREADS, rounds: ROUNDS } }));
      return new Promise((resolve, reject) => worker.on('exit', resolve).on('error', reject));
    }),
  );
  const lost = words.subarray(THREADS).filter((least) => least !== 10).length;
  assert.equal(lost, 0, `${lost} of ${ROUNDS} shortest timeouts were lost`);
});
