/** A worker that repeats one of the jobs of several-workers.js for a while and sends how often it did. */

import { parentPort, workerData } from 'node:worker_threads';
import { PEERS } from '../peers/index.js';

const { peer, job, index, gate, root: given } = workerData;
const { fs, root: own } = await PEERS[peer]();
const root = given ?? own;
const bytes = Buffer.alloc(4096, index + 1);
const into = Buffer.alloc(4096);

const jobs = {
  writes() {
    fs.writeFileSync(`${root}/file-${index}`, bytes);
  },
  reads() {
    fs.readSync(fd, into, 0, 4096, 0);
  },
  descriptor() {
    fs.readSync(workerData.descriptor, into, 0, 4096, 0);
  },
  names() {
    fs.closeSync(fs.openSync(`${root}/name-${index}`, 'w'));
    fs.unlinkSync(`${root}/name-${index}`);
  },
};
const fd = fs.openSync(`${root}/shared`, 'r');
const action = jobs[job];
for (let i = 0; i < 20000; i++) action();
Atomics.add(gate, 0, 1);
Atomics.notify(gate, 0);
Atomics.wait(gate, 1, 0);
const end = performance.now() + workerData.budgetMs;
let count = 0;
while (performance.now() < end) {
  for (let i = 0; i < 50; i++) action();
  count += 50;
}
if (job === 'writes' && !Buffer.from(fs.readFileSync(`${root}/file-${index}`)).equals(bytes))
  throw new Error('wrong bytes');
if (/^(reads|descriptor)$/.test(job) && !into.every((byte) => byte === 5)) throw new Error('wrong bytes');
parentPort.postMessage(count);
