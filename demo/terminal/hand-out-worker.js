/** The worker of hand-out-pool.js: answers each message with what the task returned. */

import { parentPort } from 'node:worker_threads';

const { default: task } = await import(process.argv[2]);

parentPort.on('message', (input) => {
  try {
    parentPort.postMessage({ value: task(input) });
  } catch (error) {
    parentPort.postMessage({ error });
  }
});
