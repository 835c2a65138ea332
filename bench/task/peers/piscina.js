/** piscina. */

import { Piscina } from 'piscina';

export function create({ threads, file, workerData }) {
  const pool = new Piscina({ filename: file.href, minThreads: threads, maxThreads: threads, workerData });
  return {
    run: (name, payload, transferList) => pool.run(payload, transferList ? { name, transferList } : { name }),
    close: () => pool.destroy(),
  };
}
