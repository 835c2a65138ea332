/** The contract of a pool beyond its calls: stopping, closing, progress, sizes, counters, other threads. On any host. */

import { connect, Heap, PlaitError, Pool } from 'plait';
import { alike, type Case, ok, rejection, same, thrown } from './check.ts';
import { begun, isNode, opened, poolsOf, until } from './pool-setup.ts';

export function poolCases(module: (name: string) => string): Case[] {
  const tasks = module('pool-tasks.js');
  const withPool = poolsOf(tasks);

  return [
    // ---- stopping ----
    {
      name: 'abort: the promise rejects with the reason; a loop sees the flag; a signal listener is called',
      run: () =>
        withPool({ threads: 1, grace: 10000 }, async (pool) => {
          for (const name of ['beginUntilAborted', 'untilSignal']) {
            const stop = new AbortController();
            const { end } = await begun(pool, name, { signal: stop.signal });
            stop.abort(new SyntaxError('no more'));
            ok((await rejection(end)) instanceof SyntaxError, 'the reason');
          }
          same(await pool.run(0, { name: 'lastReason' }), 'AbortError');
          same(pool.stats().started, 1, 'no worker was stopped');
          const before = AbortSignal.abort(new URIError('before'));
          ok((await rejection(pool.run(1, { signal: before }))) instanceof URIError, 'aborted before');
          const stop = new AbortController();
          const blocker = await begun(pool, 'untilSignal', { signal: stop.signal });
          const queued = new AbortController();
          const never = rejection(pool.run('never', { name: 'receive', signal: queued.signal }));
          queued.abort();
          same((await never).name, 'AbortError', 'while queued');
          same(pool.stats().aborted, 1, 'counted');
          same(pool.stats().failed, 0, 'but not as failed');
          stop.abort();
          await rejection(blocker.end);
          alike(await pool.run(0, { name: 'receivedValues' }), [], 'what was aborted in the queue was not run');
        }),
    },
    {
      name: 'abort: a task that does not stop is stopped with its worker, and nothing else is lost',
      run: () =>
        withPool({ threads: 2, grace: 20 }, async (pool) => {
          for (const name of ['beginAndSpin', 'beginAndHang']) {
            const stop = new AbortController();
            const { end } = await begun(pool, name, { signal: stop.signal });
            const others = pool.runMany(Array.from({ length: 500 }, (_, i) => i));
            stop.abort();
            same((await rejection(end)).name, 'AbortError');
            same((await others).length, 500);
            await until(() => pool.stats().ended.stopped > 0, 'the worker is stopped');
          }
          await until(() => pool.stats().ended.stopped === 2 && pool.stats().workers.length === 2, 'both are replaced');
        }),
    },
    {
      name: 'timeout: counted from the start of the run; a flag first, then the worker is stopped',
      run: () =>
        withPool({ threads: 1, grace: 5000 }, async (pool) => {
          const first = pool.run(100, { name: 'pause' });
          const behind = pool.run(1, { name: 'pause', timeout: 60000 });
          const short = pool.run('quick', { timeout: 50 }); // waits for longer than it may run
          await Promise.all([first, behind]);
          same(await short, 'quick');
          same((await rejection(pool.run(0, { name: 'untilAborted', timeout: 20 }))).code, 'ERR_PLAIT_TASK_TIMEOUT');
          same((await rejection(pool.run(0, { name: 'untilSignal', timeout: 20 }))).code, 'ERR_PLAIT_TASK_TIMEOUT');
          same(await pool.run(0, { name: 'lastReason' }), 'ERR_PLAIT_TASK_TIMEOUT');
          same(pool.stats().started, 1, 'no worker was stopped');
        }),
    },
    {
      name: 'retries: a task whose worker has exited is run again, with its input, as often as allowed',
      run: () =>
        withPool({ threads: 1 }, async (pool, space) => {
          const heap = new Heap(() => space);
          const block = heap.alloc(4);
          for (const text of ['short', 'long '.repeat(2000)]) {
            heap.view(block, 4).fill(0);
            const input = { block, times: 3, text };
            same(await pool.run(input, { name: 'exitAtFirst', retries: 3 }), text, 'the fourth run');
            heap.view(block, 4).fill(0);
            const error = await rejection(pool.run(input, { name: 'exitAtFirst', retries: 2 }));
            same(error.code, 'ERR_PLAIT_WORKER_DIED');
          }
          heap.free(block);
          for (const input of ['x'.repeat(10), 'y'.repeat(5000)]) {
            const counter = await pool.run(0, { name: 'worker' });
            same(counter, 0);
            const { started } = pool.stats();
            same((await rejection(pool.run(input, { name: 'exit', retries: 2 }))).code, 'ERR_PLAIT_WORKER_DIED');
            await until(() => pool.stats().started === started + 3, 'run three times');
          }
          ok(
            (await rejection(pool.run('m', { name: 'fail', retries: 5 }))) instanceof RangeError,
            'a failure is no exit',
          );
        }),
    },
    {
      name: 'close: after its timeout, the remaining tasks are stopped',
      run: async () => {
        const pool = opened(new Pool(tasks, { threads: 2 }));
        const { end } = await begun(pool, 'beginAndSpin');
        const hang = rejection(pool.run(0, { name: 'beginAndHang' }));
        const quick = pool.run('quick', { priority: 3 }).catch(() => 'too late'); /* either is right */
        const closed = pool.close({ timeout: 100 });
        same((await rejection(end)).code, 'ERR_PLAIT_POOL_CLOSED');
        same((await hang).code, 'ERR_PLAIT_POOL_CLOSED');
        await quick;
        await closed;
        same(thrown(() => pool.stats()).code, 'ERR_PLAIT_POOL_CLOSED');
        same((await rejection(pool.run(1))).code, 'ERR_PLAIT_POOL_CLOSED');
        same((await rejection(pool.runMany([1]))).code, 'ERR_PLAIT_POOL_CLOSED');
        ok(thrown(() => pool.resize({ max: 3 })) instanceof PlaitError, 'resize');
      },
    },
    {
      name: 'close: submitted tasks are run, also by workers that are still to be started, with their indices',
      run: async () => {
        for (const options of [
          { minThreads: 0, maxThreads: 3 },
          { threads: 2, recycle: { tasks: 1 } },
        ]) {
          const pool = opened(new Pool(tasks, options));
          const runs = Array.from({ length: 12 }, (_, i) => pool.run(i, i % 3 === 0 ? {} : { affinity: i % 5 }));
          const closed = pool.close();
          alike(
            await Promise.all(runs),
            Array.from({ length: 12 }, (_, i) => i),
          );
          await closed;
        }
      },
    },
    // ---- several at a time, progress ----
    {
      name: 'concurrentTasksPerWorker: asynchronous tasks run concurrently, each with its own context',
      run: () =>
        withPool({ threads: 1, concurrentTasksPerWorker: 8 }, async (pool) => {
          alike(await Promise.all(Array.from({ length: 8 }, () => pool.run(8, { name: 'meet' }))), Array(8).fill(true));
          const reported: unknown[] = [];
          const runs = [1, 2, 3, 4, 5, 6].map((value) =>
            pool.run(value, {
              name: 'remember',
              onProgress: (word: number) => {
                if (isNode) same(word, value, 'whose progress');
                reported.push(word);
              },
            }),
          );
          alike(await Promise.all(runs), [1, 2, 3, 4, 5, 6]);
          same(reported.length, 12);
          same((await pool.runMany(Array(500).fill(1), { name: 'pause' })).length, 500);
          const hang = rejection(pool.run(0, { name: 'beginAndHang', timeout: 30 }));
          const beside = pool.run(300, { name: 'pause' });
          same((await hang).code, 'ERR_PLAIT_TASK_TIMEOUT');
          same(await beside, 300, 'its neighbour');
          same(pool.stats().started, 1, 'no worker was stopped');
          same(await pool.run(4, { name: 'tree' }), 16);
        }),
    },
    {
      name: 'progress: in order, before the end, from asynchronous and synchronous tasks',
      run: () =>
        withPool({}, async (pool) => {
          const reported: unknown[] = [];
          let ended = false;
          const run = pool.run(20, {
            name: 'report',
            onProgress: (value: unknown) => {
              ok(!ended, 'before the end');
              reported.push(value);
            },
          });
          same(await run, 20);
          ended = true;
          alike(
            reported,
            Array.from({ length: 20 }, (_, step) => ({ step })),
          );
          same(await pool.run(1000, { name: 'reportSync' }), 1000, 'without a listener');
        }),
    },
    // ---- sizes ----
    {
      name: 'minThreads to maxThreads: grows while tasks wait, shrinks when workers are idle, down to none',
      run: () =>
        withPool({ threads: undefined, minThreads: 0, maxThreads: 3, idleTimeout: 50 }, async (pool) => {
          same(pool.stats().threads, 0);
          await Promise.all(Array.from({ length: 6 }, () => pool.run(100, { name: 'busy' })));
          const { started, threads } = pool.stats();
          ok(started >= 2, `${started} workers were started`); // one may have been idle for long, and another started
          ok(threads <= 3, `${threads} workers at once`);
          await until(() => pool.stats().threads === 0, 'all idle workers end');
          const { ended, started: inAll } = pool.stats();
          same(ended.idle, inAll);
          same(((await pool.run(0, { name: 'worker', affinity: 'some key' })) as number) >= 0, true);
          pool.resize({ min: 2, max: 2 });
          await until(() => pool.stats().workers.length === 2, 'resized to two');
          pool.resize({ min: 1, max: 1 });
          await until(() => pool.stats().threads === 1, 'resized to one');
          same(await pool.run('on'), 'on');
        }),
    },
    {
      name: 'recycle: a worker is replaced after a number of tasks; no task is lost',
      run: () =>
        withPool({ threads: 2, recycle: { tasks: 20 } }, async (pool) => {
          const inputs = Array.from({ length: 300 }, (_, i) => i);
          alike(await pool.runMany(inputs), inputs);
          await until(() => pool.stats().ended.recycled >= 10, 'workers are recycled');
          if (!isNode) return;
          const fat = opened(new Pool(tasks, { threads: 1, recycle: { bytes: 60e6 } }));
          await fat.run(0, { name: 'hoard' });
          await until(() => fat.stats().ended.recycled === 1, 'by memory');
          await fat.close();
        }),
    },
    // ---- insight ----
    {
      name: 'stats count every task once; events report workers',
      run: () =>
        withPool({}, async (pool) => {
          const events: string[] = [];
          pool.on('start', ({ index }) => events.push(`start ${index}`));
          pool.on('end', ({ reason }) => events.push(`end ${reason}`));
          await pool.runMany(Array.from({ length: 1000 }, (_, i) => i));
          for (let i = 0; i < 5; i++) await rejection(pool.run('m', { name: 'fail' }));
          await rejection(pool.run(1, { name: 'exit' }));
          await pool.run(30, { name: 'busy' });
          await until(() => pool.stats().completed === 1001, 'completed');
          const stats = pool.stats();
          same(stats.failed, 6);
          same(stats.wait.count, 1006);
          ok(stats.run.max >= 30 && stats.run.p50 < 5 && stats.run.p50 <= stats.run.p90, JSON.stringify(stats.run));
          same(stats.queued + stats.running, 0);
          await until(() => events.filter((name) => name.startsWith('start')).length >= 3, 'the replacement');
          same(stats.ended.exit, 1);
          ok(events.includes('end exit'), events.join());
          ok(
            pool.stats().workers.every((worker) => worker.utilization <= 1 && worker.age >= 0),
            'workers',
          );
        }),
    },
    {
      name: 'another thread connects to a pool by its handle, and closes the connection',
      run: () =>
        withPool({ threads: 1 }, async (pool, space) => {
          const other = connect(structuredClone(pool.handle), { space });
          same(await other.run(1), 1);
          alike(await other.runMany([1, 2]), [1, 2]);
          ok(other.stats().completed >= 3, 'its stats');
          other[Symbol.dispose]();
          same((await rejection(other.run(1))).code, 'ERR_PLAIT_POOL_CLOSED');
          ok(thrown(() => connect({} as never)) instanceof TypeError, 'no handle');
          const closed = opened(new Pool(tasks, { threads: 1, space }));
          const { handle } = closed;
          await closed.close();
          same(thrown(() => connect(handle, { space })).code, 'ERR_PLAIT_POOL_CLOSED');
        }),
    },
    {
      name: 'timeout: a call with 0 has none, whatever the pool’s option',
      run: () =>
        withPool({ threads: 1, timeout: 30 }, async (pool) => {
          same((await rejection(pool.run(200, { name: 'pause' }))).code, 'ERR_PLAIT_TASK_TIMEOUT');
          same(await pool.run(200, { name: 'pause', timeout: 0 }), 200);
          ok(thrown(() => pool.on('drain', 5 as never)) instanceof TypeError, 'no listener');
        }),
    },
    {
      name: 'a connection in the thread of the owner outlives the pool',
      run: () =>
        withPool({ threads: 1 }, async (pool, space) => {
          const others = [connect(pool.handle, { space }), connect(pool.handle, { space })];
          alike(await Promise.all(others.map((other) => other.run(1))), [1, 1]);
          await pool.close();
          for (const other of others) {
            same((await rejection(other.run(1))).code, 'ERR_PLAIT_POOL_CLOSED');
            same(other.needsDrain, false);
            other[Symbol.dispose]();
          }
        }),
    },
    {
      name: 'options outside their range are refused at once',
      run: () => {
        const wrong: object[] = [
          { minThreads: 3, maxThreads: 2 },
          { maxThreads: 0 },
          { threads: 2, maxThreads: 3 },
          { maxQueue: 0 },
          { maxQueue: 'much' },
          { concurrentTasksPerWorker: 0 },
          { grace: -1 },
          { idleTimeout: 1.5 },
          { recycle: { tasks: 0 } },
        ];
        for (const options of wrong) {
          ok(thrown(() => new Pool(tasks, options)) instanceof RangeError, JSON.stringify(options));
        }
      },
    },
  ];
}
