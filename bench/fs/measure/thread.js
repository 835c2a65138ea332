/** A worker that measures all operations on a peer's files and sends the sample. */

import { parentPort, workerData } from 'node:worker_threads';
import { PEERS } from '../peers/index.js';
import { measureOperations } from './operations.js';

const files = await PEERS[workerData.peer]();
parentPort.postMessage({ sample: measureOperations(files, workerData.budgetMs) });
