/** A pool whose module takes long to load, or never ends loading. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { type TestContext, test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { openSpace, Pool, type PoolOptions } from 'plait';
import { LateLoads } from '../../dist/task/coordinator/late-loads.js';
import { rejection } from './cases/check.ts';
import { until } from './cases/pool-setup.ts';
import { owned } from './owned.ts';

const tasks = new URL('../../js/test/fixtures/loads-late.js', import.meta.url);
const LIMIT = { timeout: 60000 };

const KINDS: PoolOptions[] = [{ threads: 1 }, { threads: 2 }, { threads: 1, concurrentTasksPerWorker: 2 }];
/** How loading does not end. A module that spins can only be stopped. */
const WAYS = ['spins', 'awaits'];

/** A pool in a space of its own, and how often its module has begun to load. */
function poolThat(t: TestContext, never: string, options: PoolOptions, which: { from?: number; to?: number } = {}) {
  const space = openSpace({ maximum: 2 ** 27 });
  const loads = new Int32Array(new SharedArrayBuffer(8));
  const pool = owned(t, new Pool(tasks, { space, workerData: { loads, never, ...which }, ...options }));
  const release = (): void => {
    Atomics.store(loads, 1, 1);
    Atomics.notify(loads, 1);
  };
  return { pool, space, release, begun: (count: number) => until(() => Atomics.load(loads, 0) >= count) };
}

for (const never of WAYS) {
  test(`close() ends though the module never ends loading (it ${never}): it has no task`, LIMIT, async (t) => {
    for (const options of KINDS) {
      for (const began of [true, false]) {
        const { pool, space, begun } = poolThat(t, never, options);
        const reasons: string[] = [];
        pool.on('end', ({ reason }) => reasons.push(reason));
        if (began) await begun(options.threads as number);
        await pool.close();
        assert.deepEqual(new Set(reasons), new Set(['closed']));
        space.check();
      }
    }
  });

  test(
    `close() finishes what was submitted, and waits for no worker that ${never} while it loads`,
    LIMIT,
    async (t) => {
      const { pool, space, begun, release } = poolThat(t, never, { minThreads: 1, maxThreads: 2 }, { from: 2 });
      const running = pool.run(7, { name: 'wait' });
      const queued = pool.run(8); // for which a second worker is started
      await begun(2);
      const closed = pool.close();
      release();
      assert.deepEqual(await Promise.all([running, queued]), [7, 8]);
      await closed;
      space.check();
    },
  );

  test(`close() with a timeout rejects tasks that wait for a module that ${never}`, LIMIT, async (t) => {
    const { pool, space, begun } = poolThat(t, never, { threads: 1 });
    const waits = rejection(pool.run(1));
    await begun(1);
    await pool.close({ timeout: 100 });
    assert.equal((await waits).code, 'ERR_PLAIT_POOL_CLOSED');
    space.check();
  });

  test(`loadTimeout: a task is rejected if the module ${never}, also while its caller blocks`, LIMIT, async (t) => {
    for (const options of KINDS) {
      for (const blocks of [true, false]) {
        const { pool, space } = poolThat(t, never, { ...options, loadTimeout: 300 });
        const error = await rejection(blocks ? (async () => pool.runSync(1))() : pool.run(1, { timeout: 20000 }));
        assert.equal(error.code, 'ERR_PLAIT_MODULE_LOAD');
        assert.match(error.message, /loads-late\.js.*loadTimeout of 300 ms/);
        await pool.close();
        assert.equal((await rejection(pool.run(1))).code, 'ERR_PLAIT_POOL_CLOSED');
        space.check();
      }
    }
  });

  test(`loadTimeout: beside others, a worker that ${never} while it loads is tried again later`, LIMIT, async (t) => {
    const { pool, space, begun } = poolThat(t, never, { threads: 2, loadTimeout: 1000 }, { from: 2, to: 2 });
    assert.equal(await pool.run(1), 1);
    await begun(3);
    await until(() => pool.stats().threads === 2 && pool.stats().ended.stopped >= 1);
    assert.deepEqual(await pool.broadcast(5), [5, 5]);
    await pool.close();
    space.check();
  });
}

test('loadTimeout: a worker that was ready in time is not late because its coordinator is late', LIMIT, async () => {
  const space = openSpace({ maximum: 2 ** 27 });
  let stopped = 0;
  const worker = { state: 'loading', stopping: undefined, thread: { hostId: 2 ** 30, terminate: () => stopped++ } };
  const late = new LateLoads(space, 1, () => stopped++);
  const { port1, port2 } = new MessageChannel();
  const received = new Promise<void>((resolve) => {
    port2.on('message', () => {
      worker.state = 'ready';
      late.end(worker as never);
      resolve();
    });
  });
  await new Promise(setImmediate); // the port listens
  late.begin(worker as never);
  port1.postMessage('ready');
  for (const end = performance.now() + 20; performance.now() < end; ); // both are due when this thread comes round
  await received;
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
  port1.close();
  assert.equal(stopped, 0);
});

test('a program whose pool never ends loading its module ends, with and without close()', LIMIT, () => {
  for (const close of ['await pool.close()', '']) {
    const program = `import { Pool } from 'plait';
      const loads = new Int32Array(new SharedArrayBuffer(8));
      const pool = new Pool(${JSON.stringify(tasks.href)}, { threads: 1, workerData: { loads, never: 'spins' } });
      while (loads[0] === 0) await new Promise((resolve) => setTimeout(resolve, 2));
      ${close};
      console.log('closed');`;
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
    assert.equal(output, 'closed\n');
  }
});

const readyLate = new URL('../../js/test/fixtures/ready-late.js', import.meta.url);

/** A pool whose workers take tasks while their `ready` messages are kept back; and how often they were torn down. */
function poolReadyLate(t: TestContext, options: PoolOptions = {}) {
  const ends = new Int32Array(new SharedArrayBuffer(4));
  const space = openSpace({ maximum: 2 ** 27 });
  const pool = owned(
    t,
    new Pool(readyLate, { threads: 1, space, teardown: 'tearDown', workerData: { ends }, ...options }),
  );
  const events: string[] = [];
  pool.on('start', ({ index }) => void events.push(`start ${index}`));
  pool.on('end', ({ index, reason }) => void events.push(`end ${index} ${reason}`));
  return { pool, space, events, tornDown: () => Atomics.load(ends, 0) };
}

test('a worker that exits in a task has loaded, although its message never comes', LIMIT, async (t) => {
  const { pool, space, events } = poolReadyLate(t);
  const error = await rejection(pool.run(3, { name: 'exit' }));
  assert.equal(error.code, 'ERR_PLAIT_WORKER_DIED');
  assert.equal(await pool.run('replaced'), 'replaced');
  await pool.close();
  assert.deepEqual(events, ['start 0', 'end 0 exit', 'start 0', 'end 0 closed']);
  space.check();
});

test('a worker that has had a task is replaced and torn down, although its message is late', LIMIT, async (t) => {
  const { pool, space, events, tornDown } = poolReadyLate(t);
  assert.equal(await pool.run(1), 1);
  await pool.recycleWorkers();
  assert.equal(tornDown(), 1);
  assert.equal(await pool.run(2), 2);
  assert.equal(await pool.run(0, { name: 'release' }), true);
  await pool.close();
  assert.equal(tornDown(), 2);
  assert.deepEqual(events, ['start 0', 'end 0 recycled', 'start 0', 'end 0 closed']);
  space.check();
});

test('a timeout holds for a worker whose message is late, and it is replaced', LIMIT, async (t) => {
  const { pool, space, events } = poolReadyLate(t, { grace: 20 });
  const error = await rejection(pool.run(0, { name: 'spin', timeout: 20 }));
  assert.equal(error.code, 'ERR_PLAIT_TASK_TIMEOUT');
  assert.equal(await pool.run(1), 1);
  await pool.close();
  assert.deepEqual(events, ['start 0', 'end 0 stopped', 'start 0', 'end 0 closed']);
  space.check();
});
