/** The worker of bare.js: [id, name, payload] in, [id, ok, value or error] out. */

import { parentPort } from 'node:worker_threads';

const functions = await import(process.argv[2]);

parentPort.on('message', ([id, name, payload]) => {
  try {
    parentPort.postMessage([id, true, functions[name](payload)]);
  } catch (error) {
    parentPort.postMessage([id, false, error]);
  }
});
