/** A program of ES modules. What a CommonJS part of it makes is of the same types. */
import { PlaitError, Pool } from 'plait';
import fs from 'plait/fs';
import { type HeapBytes, heap } from 'plait/heap';
import { expose, task } from 'plait/task';
import { close, count } from './required.cjs';

interface Work {
  countPrimes(limit: number): number;
  readBack(path: string): string;
}

const pool: Pool = new Pool('work.cjs', { threads: 1 });
const view: HeapBytes = heap.bytes(8);
heap.free(view);
expose({ twice: (value: number): number => value * 2 });

await fs.promises.writeFile('/a', 'b');
const { size } = await fs.promises.stat('/a');
const names: string[] = await fs.promises.readdir('/');
const text: string = await pool.proxy<Work>().readBack('/a');
const error: unknown = await pool.run(0, { name: 'failOwn' }).catch((reason: unknown) => reason);
const code: string = error instanceof PlaitError ? error.code : 'none';

console.log(await count(pool, 100), text, size, names.join(), code, typeof task);
await close(pool);
