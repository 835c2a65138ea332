/** A Node program whose worker threads start and end: workers.js ROUNDS. Its output depends only on ROUNDS. */

import { createHash } from 'node:crypto';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { gunzipSync, gzipSync } from 'node:zlib';

const WORKERS = 4;

function work(seed) {
  const hash = createHash('sha256');
  for (let i = 0; i < 60; i++) {
    const bytes = Buffer.alloc(1000 + ((seed * 7919 + i * 104729) % 300000), `text ${seed} ${i} `);
    hash.update(gunzipSync(gzipSync(bytes)));
    hash.update(
      JSON.stringify(Array.from({ length: 200 }, (_, j) => ({ [`key ${j}`]: bytes.toString('base64', j, j + 90) }))),
    );
  }
  return hash.digest('hex');
}

function start(seed) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: seed });
    worker.on('message', resolve);
    worker.on('error', reject);
  });
}

if (isMainThread) {
  for (let round = 0; round < Number(process.argv[2]); round++) {
    const seeds = Array.from({ length: WORKERS }, (_, i) => round * WORKERS + i);
    console.log((await Promise.all(seeds.map(start))).join('\n'));
  }
} else {
  parentPort.postMessage(work(workerData));
}
