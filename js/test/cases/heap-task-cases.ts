/** What becomes of the heap's bytes on their way to tasks, on any host. `module(name)` gives the URL of a fixture. */

import { Heap, openSpace, Pool } from 'plait';
import { alike, type Case, ok, same, thrown } from './check.ts';

async function withPool(module: string, use: (heap: Heap, pool: Pool) => Promise<void>): Promise<void> {
  const space = openSpace({ maximum: 2 ** 27 });
  const heap = new Heap(() => space);
  const pool = new Pool(module, { threads: 2, space });
  try {
    await pool.run(1);
    await use(heap, pool);
  } finally {
    await pool.close();
  }
  ok(heap.stats().liveBlocks <= 2, 'nothing is left but the stacks of this thread and of the coordinator');
  heap.check();
}

export function heapTaskCases(module: (name: string) => string): Case[] {
  const tasks = module('tasks.js');
  return [
    {
      name: 'bytes() that are lent stay the lender’s, whole or in part',
      run: () =>
        withPool(tasks, async (heap, pool) => {
          const bytes = heap.bytes(1000).fill(3);
          same(await pool.run(bytes, { name: 'sum', lend: true }), 3000, 'sum');
          same(await pool.run(bytes.subarray(100, 110), { name: 'sum', lend: true }), 30, 'sum of a part');
          same(await pool.run(bytes, { name: 'isShared', lend: true }), true, 'lent');
          same(await pool.run(bytes, { name: 'isShared' }), false, 'sent');
          alike(await pool.run({ deep: [bytes] }), { deep: [new Uint8Array(1000).fill(3)] });
          heap.free(bytes);
        }),
    },
    {
      name: 'bytes() that were given are the task’s: nothing else frees them',
      run: () =>
        withPool(tasks, async (heap, pool) => {
          for (const size of [0, 10, 5000, 100000]) {
            const aligned = heap.bytes(size, { alignment: 256 });
            const bytes = heap.realloc(aligned, size + 10).fill(2);
            const result = pool.run(bytes, { name: 'sum', give: true });
            if (Symbol.dispose !== undefined) bytes[Symbol.dispose]();
            same(thrown(() => heap.free(bytes)).code, 'ERR_PLAIT_INVALID_POINTER', 'code of free()');
            same(thrown(() => heap.realloc(bytes, 5)).code, 'ERR_PLAIT_INVALID_POINTER', 'code of realloc()');
            same(await result, (size + 10) * 2, 'sum');
          }
        }),
    },
  ];
}
