/** A program that the compiler makes CommonJS. */
import { PlaitError, Pool } from 'plait';
import fs, { readFileSync } from 'plait/fs';
import { heap } from 'plait/heap';
import { task } from 'plait/task';

interface Work {
  countPrimes(limit: number): number;
  readBack(path: string): string;
}

async function main(): Promise<void> {
  const pool: Pool = new Pool('work.cjs', { threads: 1 });
  const work = pool.proxy<Work>();
  heap.free(heap.alloc(8));
  await fs.promises.writeFile('/a', 'b');
  const { size } = await fs.promises.stat('/a');
  const names: string[] = await fs.promises.readdir('/');
  const text: string = readFileSync(`/${names[0]}`, 'utf8');
  const error: unknown = await pool.run(0, { name: 'failOwn' }).catch((reason: unknown) => reason);
  const code: string = error instanceof PlaitError ? error.code : 'none';
  console.log(await work.countPrimes(100), text, size, names.join(), code, typeof task);
  await pool.close();
}

void main();
