/** poolifier: its workers run a script of ours that registers the functions. */

import { fileURLToPath } from 'node:url';
import { FixedThreadPool } from 'poolifier';

const SCRIPT = fileURLToPath(new URL('./poolifier-worker.js', import.meta.url));

export function create({ threads, workerData }) {
  const pool = new FixedThreadPool(threads, SCRIPT, { workerOptions: { workerData } });
  return {
    run: (name, payload, transferList) => pool.execute(payload, name, undefined, transferList),
    close: () => pool.destroy(),
  };
}
