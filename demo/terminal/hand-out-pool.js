/**
 * A plain pool that hands out the work, like piscina, tinypool and workerpool: a free worker gets one task. It gets the
 * next one after its result has been received, in a turn of the main thread's event loop.
 *
 * Invariant: a worker is either in `#free` or has exactly one task, the one in `#running`.
 */

import { Worker } from 'node:worker_threads';

export class HandOutPool {
  #workers = [];
  #free = [];
  #running = new Map();
  #queue = [];
  #head = 0;

  /** @param {URL} module its default export is the task; it must not be asynchronous */
  constructor(module, { threads, workerData }) {
    for (let i = 0; i < threads; i++) {
      const options = { workerData, argv: [module.href] };
      const worker = new Worker(new URL('./hand-out-worker.js', import.meta.url), options);
      worker.on('message', ({ error, value }) => {
        const { resolve, reject } = this.#running.get(worker);
        this.#running.delete(worker);
        this.#free.push(worker);
        this.#handOut();
        if (error) reject(error);
        else resolve(value);
      });
      this.#workers.push(worker);
      this.#free.push(worker);
    }
  }

  /** @param {Uint8Array} bytes moved to the worker, not copied, where they have a buffer of their own */
  run(bytes) {
    return new Promise((resolve, reject) => {
      this.#queue.push({ bytes, resolve, reject });
      this.#handOut();
    });
  }

  #handOut() {
    while (this.#head < this.#queue.length && this.#free.length > 0) {
      const task = this.#queue[this.#head];
      this.#queue[this.#head++] = undefined;
      const worker = this.#free.pop();
      this.#running.set(worker, task);
      const own = task.bytes.byteLength === task.bytes.buffer.byteLength;
      worker.postMessage(task.bytes, own ? [task.bytes.buffer] : []);
    }
  }

  async close() {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }
}
