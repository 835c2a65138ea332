/** Heap bytes as inputs and results of tasks, on any host. `module(name)` gives the URL of a fixture. */

import { give, Heap, type HeapBytes, openSpace, Pool, type PoolOptions, transfer } from 'plait';
import { alike, type Case, ok, rejection, same, thrown } from './check.ts';
import { opened } from './pool-setup.ts';

async function withPool(
  module: string,
  use: (heap: Heap, pool: Pool) => Promise<void>,
  options: PoolOptions = {},
): Promise<void> {
  const space = openSpace({ maximum: 2 ** 27 });
  const heap = new Heap(() => space);
  const pool = opened(new Pool(module, { threads: 2, space, ...options }));
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
      name: 'lent bytes() still belong to the caller, in whole or in part',
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
      name: 'given bytes() belong to the task: nothing else frees them',
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
    {
      name: 'bytes() that a task gives belong to the caller: they are not copied, and freed only by the caller',
      run: () =>
        withPool(module('pool-tasks.js'), async (heap, pool) => {
          for (const size of [0, 10, 5000, 1_000_000]) {
            for (const name of ['giveHeapBytes', 'giveLater']) {
              const bytes = await pool.run<HeapBytes>(size, { name });
              alike(bytes, new Uint8Array(size).fill(size), `${size} bytes`);
              ok(heap.offset(bytes) > 0, 'lies in the heap');
              heap.free(await pool.run<HeapBytes>(size, { name, retries: 1 }));
              same(await pool.run(bytes, { give: true }).then(() => 'given on'), 'given on');
              same(thrown(() => heap.free(bytes)).code, 'ERR_PLAIT_INVALID_POINTER', 'freed after it was given on');
            }
          }
          const many = await pool.runMany<HeapBytes>([1, 2, 3], { name: 'giveHeapBytes' });
          alike(
            many.map((bytes) => bytes[0]),
            [1, 2, 3],
          );
          for (const bytes of many) heap.free(bytes);
          for await (const bytes of pool.map<HeapBytes>([4, 5], { name: 'giveHeapBytes' })) heap.free(bytes);
        }),
    },
    {
      name: 'the results of give() and transfer() are refused as a part of a value, and nothing is given away',
      run: () =>
        withPool(
          module('pool-tasks.js'),
          async (heap, pool) => {
            for (const how of ['give', 'transfer']) {
              for (const [where, path] of [
                ['map', 'output.get("a")'],
                ['list', 'output[1].marked'],
                ['progress', 'progress'],
              ]) {
                const error = await rejection(pool.run({ how, where, size: 100 }, { name: 'giveInside' }));
                same(error.code, 'ERR_PLAIT_CANNOT_SEND');
                ok(error.message.startsWith(`${path} is what give() or transfer() returns, `), error.message);
                same(await pool.run(100, { name: 'keptInside' }), true, 'it stays the task’s');
              }
            }
            const bytes = heap.bytes(10);
            const buffer = new ArrayBuffer(8);
            for (const [marked, other] of [
              [give(bytes), transfer(0, [buffer])],
              [[give(bytes)], { x: transfer(0, [buffer]) }],
            ]) {
              for (const input of [marked, other]) {
                const error = await rejection(pool.run(input));
                ok(/^input\S* is what give\(\) or transfer\(\) returns, /.test(error.message), error.message);
              }
            }
            same(buffer.byteLength, 8, 'bytes of the list that is refused');
            heap.free(bytes);
          },
          { threads: 1 },
        ),
    },
    {
      name: 'bytes() that a task gives are freed if no caller takes them',
      run: async () => {
        await withPool(module('pool-tasks.js'), async (_heap, pool) => {
          const stop = new AbortController();
          const aborted = pool.run(1000, { name: 'giveStopped', signal: stop.signal, onProgress: () => stop.abort() });
          same((await rejection(aborted)).name, 'AbortError');
          const late = await rejection(pool.run(1000, { name: 'giveStopped', timeout: 20 }));
          same(late.code, 'ERR_PLAIT_TASK_TIMEOUT');
          ok((await rejection(pool.run(9, { name: 'givePrivate' }))) instanceof TypeError, 'not of the heap');
          same((await rejection(pool.run(9, { name: 'giveFreed' }))).code, 'ERR_PLAIT_CANNOT_SEND');
          same(await pool.run('on'), 'on');
        });
        await withPool(
          module('pool-tasks.js'),
          async (heap, pool) => {
            const name = 'giveOrFail';
            same((await rejection(pool.runMany([100, 200, 300, 0], { name }))).message, 'nothing to give');
            const inputs = [100, 200, 300];
            for await (const bytes of pool.map<HeapBytes>(inputs, { name })) {
              heap.free(bytes);
              await pool.run('behind them all'); // so the other results are here, and wait
              break;
            }
            for await (const settled of pool.mapSettled<number, HeapBytes>(inputs, { name })) {
              if (settled.status === 'fulfilled') heap.free(settled.value);
              await pool.run('behind them all');
              break;
            }
          },
          { threads: 1 },
        );
        await withPool(module('pool-tasks.js'), async (_heap, pool) => {
          const failed = await rejection(pool.broadcast(100, { name: 'giveUnlessFirst' }));
          same(failed.message, 'nothing to give');
        });
        await withPool(
          module('pool-tasks.js'),
          async (_heap, pool) => {
            const given = await rejection(pool.run(1000, { name: 'giveGivenUp', timeout: 20 }));
            same(given.code, 'ERR_PLAIT_TASK_TIMEOUT');
            await pool.run(0, { name: 'letGoOn' });
          },
          { threads: 1, concurrentTasksPerWorker: 2, grace: 20 },
        );
      },
    },
  ];
}
