/** Plait: the workers pull their tasks from shared memory. Bytes are lent, as the peers transfer them. */

import { Pool } from 'plait';

export function create({ threads, file, workerData }) {
  const pool = new Pool(file, { threads, workerData });
  return {
    run: (name, payload) => pool.run(payload, { name, lend: true }),
    map: (name, inputs) => pool.map(inputs, { name }),
    close: () => pool.close(),
  };
}
