/** workerpool: its workers run a script of ours that registers the functions. */

import { fileURLToPath } from 'node:url';
import workerpool from 'workerpool';

const SCRIPT = fileURLToPath(new URL('./workerpool-worker.js', import.meta.url));

export function create({ threads, workerData }) {
  const pool = workerpool.pool(SCRIPT, {
    workerType: 'thread',
    minWorkers: threads,
    maxWorkers: threads,
    workerThreadOpts: { workerData },
  });
  return {
    run: (name, payload, transfer) => pool.exec(name, [payload], transfer && { transfer }),
    close: () => pool.terminate(),
  };
}
