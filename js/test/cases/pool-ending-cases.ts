/**
 * The ends of work and of workers: waiting until a pool is idle, dropping its queue, replacing its workers, and the
 * call that a worker makes before it ends. On any host.
 */

import { connect, Pool } from 'plait';
import { alike, type Case, ok, rejection, same } from './check.ts';
import { begun, opened, poolsOf, until } from './pool-setup.ts';

export function poolEndingCases(module: (name: string) => string): Case[] {
  const tasks = module('pool-tasks.js');
  const withPool = poolsOf(tasks);

  return [
    {
      name: 'idle: when no task of any thread is queued or running, also those that tasks submit; the pool stays open',
      run: () =>
        withPool({ threads: 2 }, async (pool, space) => {
          await pool.idle(); // nothing was submitted
          using other = connect(pool.handle, { space });
          const settled: string[] = [];
          const note = (what: string) => () => void settled.push(what);
          void pool.runMany(Array(20).fill(2), { name: 'pause' }).then(note('many'));
          void other.run(60, { name: 'pause' }).then(note('other'));
          void pool.run(3, { name: 'tree' }).then(note('tree'));
          const failed = rejection(pool.run('m', { name: 'fail' })).then(note('failed'));
          await pool.idle();
          const { queued, running } = pool.stats();
          alike([queued, running], [0, 0]);
          await until(() => settled.length === 4);
          await failed;
          await Promise.all([pool.idle(), pool.run(1).then(() => pool.idle()), pool.idle()]);
          same(await pool.run('open'), 'open');
          // A task that its caller has given up still runs.
          const stop = new AbortController();
          const { end } = await begun(pool, 'beginUntilAborted', { signal: stop.signal });
          stop.abort();
          await rejection(end);
          await pool.idle();
          same(pool.stats().running, 0);
        }),
    },
    {
      name: 'idle: ends with the pool',
      run: async () => {
        const pool = opened(new Pool(tasks, { threads: 1 }));
        const { end } = await begun(pool, 'beginAndSpin');
        const idle = pool.idle();
        await pool.close({ force: true });
        await idle;
        await pool.idle();
        same((await rejection(end)).code, 'ERR_PLAIT_POOL_CLOSED');
      },
    },
    {
      name: 'close with drop: queued tasks are rejected, running ones end, with the tasks that they submit',
      run: async () => {
        for (const again of [false, true]) {
          const pool = opened(new Pool(tasks, { threads: 1 }));
          let isBegun = false;
          const tree = pool.run(5, {
            name: 'slowTree',
            onProgress: () => {
              isBegun = true;
            },
          });
          await until(() => isBegun);
          const queued = [1, 2, 3].map((n) => rejection(pool.run(n, { affinity: n === 3 ? 'key' : undefined })));
          const closed = pool.close({ drop: !again });
          if (again) same(pool.close({ drop: true }), closed);
          for (const { code } of await Promise.all(queued)) same(code, 'ERR_PLAIT_POOL_CLOSED');
          same(await tree, 5);
          await closed;
        }
      },
    },
    {
      name: 'cancelQueued: queued tasks are rejected with an AbortError, running ones go on, and so does the pool',
      run: () =>
        withPool({ threads: 1 }, async (pool, space) => {
          using other = connect(pool.handle, { space });
          const stop = new AbortController();
          const { end } = await begun(pool, 'beginUntilAborted', { signal: stop.signal });
          const queued = [pool.run(1), pool.run(2, { priority: 2 }), other.run(3)].map((run) => rejection(run));
          same(pool.cancelQueued(), 3);
          for (const { name, message } of await Promise.all(queued)) {
            alike([name, message], ['AbortError', 'the task was cancelled while it was queued']);
          }
          same(pool.cancelQueued(), 0);
          same(pool.stats().aborted, 3);
          stop.abort();
          await rejection(end);
          same(await pool.run('works'), 'works');
        }),
    },
    {
      name: 'recycleWorkers: each worker ends after its tasks and is replaced; no task is lost',
      run: () =>
        withPool({ threads: 2 }, async (pool) => {
          await pool.broadcast(0);
          const many = pool.runMany(Array(100).fill(2), { name: 'pause' });
          await pool.recycleWorkers();
          same((await many).length, 100);
          same(pool.stats().ended.recycled, 2);
          await until(() => pool.stats().workers.length === 2, 'both are replaced');
          await pool.recycleWorkers();
          same(pool.stats().ended.recycled, 4);
        }),
    },
    {
      name: 'teardown: a worker calls it, and awaits it, before it ends by itself',
      run: async () => {
        let starts = 0;
        const ends: string[] = [];
        const reports: unknown[] = [];
        const made = (options: object): Pool => {
          const pool = opened(new Pool(tasks, { threads: 1, teardown: 'tearDown', ...options }));
          pool.on('start', () => void starts++);
          pool.on('end', ({ reason }) => void ends.push(reason));
          pool.on('message', (message) => void reports.push(message));
          return pool;
        };
        const recycled = made({ recycle: { tasks: 1 } });
        await recycled.run(1);
        await until(() => ends.length === 1);
        alike([ends, reports], [['recycled'], ['torn down']]);
        await until(() => starts === 2, 'the replacement has loaded');
        await recycled.close();
        alike([ends, reports], [['recycled', 'closed'], Array(2).fill('torn down')]);
        const forced = made({});
        await forced.run(1);
        await forced.close({ force: true });
        same(reports.length, 2, 'not of one that is stopped');
        // One that does not end ends the worker all the same.
        const late = made({ teardownTimeout: 1 });
        await late.run('never', { name: 'setTearDown' });
        await late.close();
        const none = made({ teardown: 'absent' });
        const missing = await rejection(none.run(1));
        same(missing.code, 'ERR_PLAIT_MODULE_LOAD');
        ok(missing.message.includes('has no export "absent"'), missing.message);
      },
    },
    {
      name: 'teardown: a worker whose teardown fails has crashed, whatever it ends for, and the error arrives whole',
      run: async () => {
        for (const recycle of [undefined, { tasks: 1 }]) {
          const pool = opened(new Pool(tasks, { threads: 1, teardown: 'tearDown', recycle }));
          const ends: string[] = [];
          const errors: unknown[] = [];
          pool.on('error', (error) => void errors.push(error));
          pool.on('end', ({ reason, error }) => {
            ends.push(reason);
            errors.push(error);
          });
          await pool.run('fails', { name: 'setTearDown' });
          if (recycle !== undefined) await until(() => ends.length === 1);
          await pool.close();
          same(ends[0], 'crashed');
          for (const error of errors.slice(0, 2)) {
            ok(error instanceof RangeError, String(error));
            alike([error.message, Reflect.get(error, 'code')], ['while it is torn down', 'ERR_TORN']);
          }
        }
      },
    },
  ];
}
