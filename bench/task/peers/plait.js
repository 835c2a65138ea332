/** Plait: the workers pull their tasks from shared memory. Bytes are lent, as the peers transfer them. */

import { heap, Pool } from 'plait';

export function create({ threads, file, workerData }) {
  const pool = new Pool(file, { threads, workerData });
  return {
    run: (name, payload) => pool.run(payload, { name, lend: true }),
    copy: (name, payload) => pool.run(payload, { name }),
    many: (name, inputs) => pool.runMany(inputs, { name }),
    give: (name, bytes) => pool.run(bytes, { name, give: true }),
    map: (name, inputs) => pool.map(inputs, { name }),
    close: () => pool.close(),
  };
}

/** What Plait can do besides: a file is read into shared memory, and its bytes are given away without a copy. */
export const readIntoHeap = (path) => heap.readFileSync(path);
