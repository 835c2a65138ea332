/**
 * One of several threads without a pool: reads and hashes every n-th file when it is told to, and answers with the
 * digests.
 */

import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';

const { paths, place, threads } = workerData;

parentPort.on('message', () => {
  const digests = [];
  for (let i = place; i < paths.length; i += threads) digests.push(hash('sha256', readFileSync(paths[i])));
  parentPort.postMessage(digests);
});
