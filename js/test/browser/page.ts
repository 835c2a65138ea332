/**
 * The page that runs the shared cases in a browser. The driver (browser.test.ts) asks for the names, then for each case
 * by its number; the result of a case is nothing, or its failure.
 */

import { attach, commonSpace, heap, PlaitError, Pool } from 'plait';
import { fs } from 'plait/fs';
import { type Case, ok, same } from '../cases/check.ts';
import { fsCases } from '../cases/fs-cases.ts';
import { heapCases } from '../cases/heap-cases.ts';
import { poolCallCases } from '../cases/pool-call-cases.ts';
import { poolCases } from '../cases/pool-cases.ts';
import { poolEndingCases } from '../cases/pool-ending-cases.ts';
import { poolEventCases } from '../cases/pool-event-cases.ts';
import { poolModuleCases } from '../cases/pool-module-cases.ts';
import { poolOptionCases } from '../cases/pool-option-cases.ts';
import { poolOrderCases } from '../cases/pool-order-cases.ts';
import { runCase } from '../cases/pool-setup.ts';
import { taskCases } from '../cases/task-cases.ts';

const fixture = (name: string): string => new URL(`/js/test/fixtures/${name}`, location.href).href;
const seed = Number(new URLSearchParams(location.search).get('seed'));
const DEADLINE_MS = 20000;

/** Spins until a word of the heap has reached a value: a page's main thread may not sleep. */
function spinUntil(block: number, value: number): void {
  const words = new Int32Array(heap.view(block, 4).buffer, block, 1);
  const end = performance.now() + DEADLINE_MS;
  while (Atomics.load(words, 0) < value) {
    ok(performance.now() < end, `the count stands at ${Atomics.load(words, 0)} of ${value}, with main busy`);
  }
}

function newCounter(): number {
  const block = heap.alloc(4);
  heap.view(block, 4).fill(0);
  return block;
}

const browserCases: Case[] = [
  {
    name: 'tasks continue while main is busy',
    async run() {
      const pool = new Pool(fixture('web-tasks.js'), { threads: 2 });
      const counter = newCounter();
      await pool.run(counter, { name: 'count' });
      const tasks = Array.from({ length: 100 }, () => pool.run(counter, { name: 'count' }));
      spinUntil(counter, 101);
      await Promise.all(tasks);
      await pool.close();
      heap.free(counter);
    },
  },
  {
    name: 'a worker that ends is replaced while main is busy',
    async run() {
      const pool = new Pool(fixture('web-tasks.js'), { threads: 1 });
      const counter = newCounter();
      await pool.run(counter, { name: 'count' });
      const exit = pool.run(0, { name: 'end' }).then(
        () => undefined,
        (error) => error,
      );
      const behind = Array.from({ length: 5 }, () => pool.run(counter, { name: 'count' }));
      spinUntil(counter, 6);
      same((await exit).code, 'ERR_PLAIT_WORKER_DIED');
      await Promise.all(behind);
      await pool.close();
      heap.free(counter);
    },
  },
  {
    // In Chromium a Worker that was terminated goes on in what it runs, for two seconds at most.
    name: 'a stopped worker that runs on for a while keeps its own memory',
    async run() {
      const pool = new Pool(fixture('web-tasks.js'), { threads: 1, grace: 20 });
      const before = await pool.run(1, { name: 'churn' }).then(() => heap.stats().liveBlocks);
      const late = pool.run(1000, { name: 'churnOn', timeout: 50 });
      same(await late.catch((error) => error.code), 'ERR_PLAIT_TASK_TIMEOUT');
      await pool.run(1200, { name: 'churnOn' });
      await pool.close();
      ok(heap.stats().liveBlocks <= before, 'no block is left');
      heap.check();
    },
  },
  {
    name: 'many threads and main use the heap at once',
    async run() {
      const pool = new Pool(fixture('web-tasks.js'), { threads: 3 });
      const before = await pool.run(1, { name: 'churn' }).then(() => heap.stats().liveBlocks);
      const tasks = Array.from({ length: 30 }, (_, i) => pool.run(seed + i, { name: 'churn' }));
      for (let i = 0; i < 3000; i++) heap.free(heap.alloc(i * 7));
      await Promise.all(tasks);
      await pool.close();
      ok(heap.stats().liveBlocks <= before, 'no block is left');
      heap.check();
    },
  },
  {
    name: 'a Worker of the user attaches by the handle',
    async run() {
      const worker = new Worker(fixture('web-attach.js'), { type: 'module' });
      const block = heap.alloc(3);
      heap.view(block, 3).set([1, 2, 3]);
      const view = heap.bytes(3);
      worker.postMessage({ handle: commonSpace().handle, block, view });
      const { data } = await new Promise<MessageEvent>((resolve) => {
        worker.onmessage = resolve;
      });
      same(data.sum, 6, 'the sum that the Worker found');
      same(data.offset, heap.offset(view), 'where the bytes lie that were sent');
      same(view[2], 9, 'a byte that it wrote there');
      heap.free(view);
      heap.free(data.answer);
      heap.free(block);
      worker.terminate();
    },
  },
  {
    name: 'a thread that cannot attach ends, and its starter gets the error',
    async run() {
      const { host } = await import(new URL('/dist/core/host.js', location.href).href);
      const { THREAD_SCRIPT } = await import(new URL('/dist/task/thread.generated.js', location.href).href);
      const thread = host.startThread({ name: 'test' }, THREAD_SCRIPT);
      let why: unknown;
      thread.onError = (error: unknown) => {
        why = error;
      };
      const space = { ...commonSpace().handle, layoutVersion: 999 };
      thread.post({ role: 'worker', space, module: fixture('web-tasks.js') });
      same(await new Promise((resolve) => Object.assign(thread, { onExit: resolve })), 1, 'the exit code');
      ok(/layout 999/.test(String((why as Error)?.message)), `the reason, not ${why}`);
    },
  },
  {
    name: 'a handle of another layout is refused',
    run() {
      try {
        attach({ ...commonSpace().handle, layoutVersion: 999 });
      } catch (error) {
        ok(error instanceof PlaitError && error.code === 'ERR_PLAIT_VERSION_MISMATCH', 'the code');
        return;
      }
      throw new Error('it was attached to');
    },
  },
];

const cases: Case[] = [
  ...heapCases(heap, seed, fixture),
  ...taskCases(fixture),
  ...fsCases(fs, fixture),
  ...poolOrderCases(fixture),
  ...poolCallCases(fixture),
  ...poolModuleCases(fixture),
  ...poolEventCases(fixture),
  ...poolEndingCases(fixture),
  ...poolOptionCases(fixture),
  ...poolCases(fixture),
  ...browserCases,
];

/** What the driver calls. */
export interface Driven {
  names: string[];
  run(index: number): Promise<string | undefined>;
}

const driven: Driven = {
  names: cases.map(({ name }) => name),
  async run(index) {
    try {
      await runCase((cases[index] as Case).run);
      return undefined;
    } catch (error) {
      return (error as Error)?.stack ?? String(error);
    }
  },
};
(globalThis as { driven?: Driven }).driven = driven;
