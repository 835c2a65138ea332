/** Opens a peer's pool for a measurement: every worker up and warm, every kind of answer checked. */

import { createHash } from 'node:crypto';
import { loadPeer, WORK } from './index.js';
import { makeCounters } from './work.js';

/** As large as one file of the demo. */
const SAMPLE_BYTES = 65536;
const ECHOES = 100;

/** @returns the pool, and the counters that its tasks see, all zero */
export async function openPool(peer, threads) {
  const { create } = await loadPeer(peer);
  const counters = makeCounters();
  const pool = create({ threads, file: WORK, workerData: counters });
  await Promise.all(Array.from({ length: threads }, () => pool.run('meet', threads)));
  await checkAnswers(peer, pool);
  counters.fill(0);
  return { pool, counters };
}

async function checkAnswers(peer, pool) {
  for (let i = 0; i < ECHOES; i++) {
    if ((await pool.run('echo', i)) !== i) throw new Error(`${peer} answers echo(${i}) wrongly`);
    const bytes = Buffer.alloc(SAMPLE_BYTES, i);
    const expected = createHash('sha256').update(bytes).digest('hex');
    if ((await pool.run('hash', bytes, transferable(bytes))) !== expected) throw new Error(`${peer} hashes wrongly`);
  }
}

/** The transfer list for bytes that have a buffer of their own: moving is cheaper than copying, where a peer can. */
export function transferable(bytes) {
  return bytes.byteLength === bytes.buffer.byteLength ? [bytes.buffer] : undefined;
}
