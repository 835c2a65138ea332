/** A CommonJS part of a program, with TypeScript's own form of require. */
import plait = require('plait');

export async function count(pool: plait.Pool, limit: number): Promise<number> {
  if (!(pool instanceof plait.Pool)) throw new Error('another Pool');
  return pool.run<number>(limit, { name: 'countPrimes' });
}

export async function close(pool: plait.PoolCalls): Promise<void> {
  if (pool instanceof plait.Pool) await pool.close();
}
