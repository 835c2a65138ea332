/** The contract of a pool's queue: the order of tasks, keys, its limit. On any host. */

import { Heap, Pool } from 'plait';
import { alike, type Case, ok, rejection, same } from './check.ts';
import { begun, opened, poolsOf, until } from './pool-setup.ts';

export function poolOrderCases(module: (name: string) => string): Case[] {
  const tasks = module('pool-tasks.js');
  const withPool = poolsOf(tasks);

  return [
    // ---- order ----
    {
      name: 'order: the urgent first, first in first out within a priority',
      run: () =>
        withPool({ threads: 1 }, async (pool) => {
          const blocker = await begun(pool, 'untilSignal', { signal: undefined, timeout: 300 });
          const order: number[] = [];
          const note = (value: unknown): void => void order.push(value as number);
          const runs = [
            ...[10, 11].map((i) => pool.run(i, { priority: -3 })),
            ...[20, 21, 22].map((i) => pool.run(i)),
            ...[30, 31].map((i) => pool.run(i, { priority: 3 })),
          ].map((run) => run.then(note));
          await Promise.all(runs);
          alike(order, [30, 31, 20, 21, 22, 10, 11]);
          await rejection(blocker.end);
          for (const priority of [4, -4, 0.5, '1']) {
            ok((await rejection(pool.run(1, { priority } as never))) instanceof RangeError, `priority ${priority}`);
          }
        }),
    },
    {
      name: 'order: tasks with one key run on one worker, in the order of submission, beside any other tasks',
      run: () =>
        withPool({ threads: 3 }, async (pool) => {
          const others = pool.runMany(Array.from({ length: 300 }, (_, i) => i));
          const indices = new Map<string, Set<unknown>>();
          const runs = [];
          for (let i = 0; i < 90; i++) {
            const key = `key ${i % 9}`;
            runs.push(
              pool.run(0, { name: 'worker', affinity: key }).then((index) => {
                indices.set(key, (indices.get(key) ?? new Set()).add(index));
              }),
            );
          }
          await Promise.all(runs);
          for (const [key, used] of indices) same(used.size, 1, `workers of ${key}`);
          ok(new Set([...indices.values()].flatMap((used) => [...used])).size > 1, 'the keys are spread');
          await others;
          ok((await rejection(pool.run(1, { affinity: {} } as never))) instanceof TypeError, 'a wrong key');
        }),
    },
    {
      name: 'order: a key remains valid after its worker has ended',
      run: () =>
        withPool({ threads: 2 }, async (pool) => {
          const index = await pool.run(0, { name: 'worker', affinity: 'k' });
          same((await rejection(pool.run(1, { name: 'exit', affinity: 'k' }))).code, 'ERR_PLAIT_WORKER_DIED');
          same(await pool.run(0, { name: 'worker', affinity: 'k' }), index);
        }),
    },
    {
      name: 'order: single tasks, fast and slow ones in turn; timers still run',
      run: () =>
        withPool({ threads: 1 }, async (pool) => {
          let ticks = 0;
          const timer = setInterval(() => ticks++, 1);
          try {
            // Results that come in an instant are looked for, later ones slept for; those make the thread turn to sleep
            // again.
            for (let i = 0; ticks < 20 || i < 300; i++) {
              if (i % 100 === 99) same(await pool.run(2, { name: 'pause' }), 2);
              else same(await pool.run(i), i);
            }
          } finally {
            clearInterval(timer);
          }
        }),
    },
    {
      name: 'maxQueue: a further task is refused; drain reports room; map and runMany wait by themselves',
      run: () =>
        withPool({ threads: 1, maxQueue: 4 }, async (pool) => {
          const stop = new AbortController();
          const blocker = await begun(pool, 'untilSignal', { signal: stop.signal });
          const accepted = [1, 2, 3, 4].map((i) => pool.run(i));
          ok(pool.needsDrain, 'the queue is full');
          const error = await rejection(pool.run(5));
          same(error.code, 'ERR_PLAIT_QUEUE_FULL');
          ok(error.message.includes('4'), error.message);
          const drained = new Promise<void>((resolve) => pool.on('drain', resolve));
          const many = pool.runMany(Array.from({ length: 100 }, (_, i) => i));
          stop.abort();
          await rejection(blocker.end);
          await drained;
          alike(await Promise.all(accepted), [1, 2, 3, 4]);
          same((await many).length, 100);
          const mapped = [];
          for await (const output of pool.map(Array.from({ length: 50 }, (_, i) => i))) mapped.push(output);
          same(mapped.length, 50);
          ok(!pool.needsDrain, 'there is room');
          const automatic = opened(new Pool(tasks, { threads: 3, maxQueue: 'auto' }));
          await automatic.close();
        }),
    },
    {
      name: 'maxQueue: aborted tasks make room at once, although every worker is busy; later tasks keep their order',
      run: () =>
        withPool({ threads: 1, maxQueue: 6 }, async (pool, space) => {
          const release = new AbortController();
          const blocker = await begun(pool, 'untilSignal', { signal: release.signal });
          const heap = new Heap(() => space);
          const before = heap.stats().liveBlocks;
          const stops = Array.from({ length: 6 }, () => new AbortController());
          const order: number[] = [];
          const input = new Uint8Array(50_000);
          const queued = stops.map(({ signal }, i) => {
            const run = pool.run([i, input], { signal, priority: i === 5 ? 1 : 0 }).then(() => order.push(i));
            run.catch(() => {}); // handled below
            return run;
          });
          ok(pool.needsDrain, 'the queue is full');
          same((await rejection(pool.run(9))).code, 'ERR_PLAIT_QUEUE_FULL');
          const drained = new Promise<void>((resolve) => pool.on('drain', resolve));
          for (const i of [1, 4, 0, 5]) stops[i]!.abort(new Error(`no ${i}`));
          same(pool.stats().queued, 2);
          ok(!pool.needsDrain, 'there is room');
          await drained;
          const later = [6, 7, 8, 9].map((i) => pool.run([i, input]).then(() => order.push(i)));
          same((await rejection(pool.run(10))).code, 'ERR_PLAIT_QUEUE_FULL');
          for (const i of [1, 4, 0, 5]) same((await rejection(queued[i]!)).message, `no ${i}`);
          // Repeated calls must not accumulate entries that no thread removes.
          stops[3]!.abort();
          await rejection(queued[3]!);
          for (let i = 0; i < 1000; i++) {
            const stop = new AbortController();
            const run = pool.run([i, input], { signal: stop.signal });
            stop.abort();
            await rejection(run);
          }
          await until(() => heap.stats().liveBlocks - before < 40, 'what they had is freed');
          release.abort();
          await rejection(blocker.end);
          await Promise.all([queued[2], ...later]);
          alike(order, [2, 6, 7, 8, 9]);
        }),
    },
    {
      name: 'maxQueue: leaving map early, or aborting runMany, frees their places in a blocked pool',
      run: () =>
        withPool({ threads: 1, maxQueue: 8 }, async (pool) => {
          const release = new AbortController();
          const blocker = await begun(pool, 'untilSignal', { signal: release.signal });
          const mapped = pool.map(Array.from({ length: 100 }, (_, i) => i));
          void mapped.next();
          ok(pool.needsDrain, 'map fills the queue');
          await mapped.return();
          same(pool.stats().queued, 0);
          const stop = new AbortController();
          const many = pool.runMany(Array(100).fill(1), { signal: stop.signal });
          ok(pool.needsDrain, 'runMany fills the queue');
          stop.abort();
          await rejection(many);
          same(pool.stats().queued, 0);
          release.abort();
          await rejection(blocker.end);
        }),
    },
  ];
}
