/**
 * A bare pool: tasks go round robin to the workers' ports at once, so they wait there and not in main.
 *
 * It is the least that worker_threads allow: no balancing, no abort, no recovery, no limit on what waits.
 * Invariant: `waiting[id]` is set exactly while task `id` is out, and ids in `free` are not.
 */

import { Worker } from 'node:worker_threads';

export function create({ threads, file, workerData }) {
  const waiting = [];
  const free = [];
  let turn = 0;

  const settle = ([id, ok, value]) => {
    const task = waiting[id];
    waiting[id] = undefined;
    free.push(id);
    if (ok) task.resolve(value);
    else task.reject(value);
  };
  const workers = Array.from({ length: threads }, () => {
    const worker = new Worker(new URL('./bare-worker.js', import.meta.url), { workerData, argv: [file.href] });
    worker.on('message', settle);
    return worker;
  });

  return {
    run: (name, payload, transfer) =>
      new Promise((resolve, reject) => {
        const id = free.pop() ?? waiting.length;
        waiting[id] = { resolve, reject };
        workers[turn].postMessage([id, name, payload], transfer);
        turn = (turn + 1) % threads;
      }),
    close: () => Promise.all(workers.map((worker) => worker.terminate())),
  };
}
