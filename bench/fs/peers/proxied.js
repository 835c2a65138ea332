/**
 * What a worker does where the files live on the main thread: it sends a call there and sleeps until the answer is
 * written. The files are memfs's. Lean on purpose: bytes go through shared memory, all else as JSON.
 */

import { parentPort, workerData } from 'node:worker_threads';

const HEAD = 8;
const CALLS = [
  'readFileSync',
  'writeFileSync',
  'openSync',
  'closeSync',
  'readSync',
  'statSync',
  'readdirSync',
  'mkdirSync',
  'renameSync',
  'rmdirSync',
  'unlinkSync',
];

/** In the worker: the files behind the port. */
export async function proxied() {
  const { shared } = workerData;
  const words = new Int32Array(shared, 0, 2);
  const bytes = new Uint8Array(shared, HEAD);
  const call = (name, args) => {
    Atomics.store(words, 0, 0);
    parentPort.postMessage({ name, args });
    Atomics.wait(words, 0, 0);
    const answer = Buffer.from(bytes.slice(0, words[1]));
    if (words[0] === 1) return answer;
    const { value, error } = JSON.parse(answer.toString());
    if (error) throw Object.assign(new Error(error), { code: error });
    return value;
  };
  const fs = Object.fromEntries(CALLS.map((name) => [name, (...args) => call(name, args)]));
  fs.readSync = (fd, buffer, offset, length, position) => {
    const answer = call('readSync', [fd, length, position]);
    buffer.set(answer, offset);
    return answer.length;
  };
  call('mkdirSync', ['/bench']);
  return { fs, root: '/bench' };
}

/** On the main thread: answers a worker's calls. */
export async function serve(worker, shared) {
  const { fs } = await import('memfs');
  const words = new Int32Array(shared, 0, 2);
  const bytes = new Uint8Array(shared, HEAD);
  worker.on('message', (message) => {
    if (message.name === undefined) return;
    const { name, args } = message;
    let kind = 2;
    let answer;
    try {
      let value;
      if (name === 'readSync') {
        const buffer = Buffer.alloc(args[1]);
        value = buffer.subarray(0, fs.readSync(args[0], buffer, 0, args[1], args[2]));
      } else {
        value = fs[name](...args);
      }
      if (value instanceof Uint8Array) {
        kind = 1;
        answer = value;
      } else {
        answer = Buffer.from(JSON.stringify({ value }));
      }
    } catch (error) {
      answer = Buffer.from(JSON.stringify({ error: error.code ?? error.message }));
    }
    bytes.set(answer);
    words[1] = answer.length;
    Atomics.store(words, 0, kind);
    Atomics.notify(words, 0);
  });
}
