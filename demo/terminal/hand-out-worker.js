/** The worker of hand-out-pool.js: replies to each message with the task's result. */

import { parentPort } from 'node:worker_threads';

const { default: task } = await import(process.argv[2]);

parentPort.on('message', (input) => {
  try {
    parentPort.postMessage({ value: task(input) });
  } catch (error) {
    parentPort.postMessage({ error });
  }
});
