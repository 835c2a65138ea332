/**
 * Hard cases for a pool: tasks that leave something behind, worker indices without a worker, threads with different
 * wall clocks, stuck locks, a coordinator that has exited.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { connect, heap, openSpace, Pool, type PoolEvents } from 'plait';
import { rejection } from './cases/check.ts';
import { poolsOf, until } from './cases/pool-setup.ts';
import { owned, ownFolder } from './owned.ts';

const tasks = new URL('../../js/test/fixtures/hostile-tasks.js', import.meta.url);
const LIMIT = { timeout: 60000 };
const withPool = poolsOf(tasks, 1);

/** A key whose tasks run on the worker with that index. */
async function keyOf(pool: Pool, index: number): Promise<number> {
  let key = 0;
  while ((await pool.run(0, { name: 'index', affinity: key })) !== index)
    assert.ok(key++ < 1000, `no key of 1000 has index ${index}`);
  return key;
}

test('a thenable of the user is treated as by await', LIMIT, (t) =>
  withPool({}, async (pool) => {
    for (const concurrentTasksPerWorker of [1, 2]) {
      const own = owned(t, new Pool(tasks, { threads: 1, concurrentTasksPerWorker }));
      const beside = own.run(50, { name: 'pause' });
      for (const kind of ['throws', 'late', 'nested', 'plain']) {
        const end = own.run(kind, { name: 'thenable' });
        if (kind === 'throws') assert.equal((await rejection(end)).message, 'boom');
        else assert.equal(await end, kind);
      }
      assert.equal(await beside, 50);
      await own.close();
    }
    assert.equal(await pool.run('late', { name: 'thenable' }), 'late');
  }),
);

test('messages that a task posts to its thread’s starter are ignored', LIMIT, async (t) => {
  const messages = [
    null,
    1,
    'ready',
    {},
    { type: 'failed' },
    { type: 'threw', error: 1 },
    { type: 'leaves' },
    { type: 'ends' },
  ];
  for (const concurrentTasksPerWorker of [1, 2]) {
    const pool = owned(
      t,
      new Pool(tasks, { threads: 2, concurrentTasksPerWorker, space: openSpace({ maximum: 2 ** 26 }) }),
    );
    const events: string[] = [];
    pool.on('start', () => events.push('start'));
    pool.on('end', ({ reason }) => events.push(reason));
    assert.deepEqual(await pool.broadcast(messages, { name: 'post' }), [messages.length, messages.length]);
    assert.deepEqual(await pool.broadcast(5), [5, 5]); // the coordinator has received all of it, and replies
    const exit = await rejection(pool.run(3, { name: 'exit' }));
    assert.match(exit.message, /with code 3 before/);
    await until(() => events.length === 4);
    await pool.close();
    assert.deepEqual(events, ['start', 'start', 'exit', 'start', 'closed', 'closed']);
  }
});

test('tasks of tasks: a worker that is to be replaced still helps its running task', LIMIT, () =>
  withPool({ recycle: { tasks: 1 } }, async (pool) => {
    assert.deepEqual(await pool.run(4, { name: 'chain' }), [4, false]);
    assert.equal(await pool.run(1), 1);
  }),
);

test('tasks of tasks: each has its own context, while it waits for another and afterwards', LIMIT, () =>
  withPool({}, async (pool) => {
    for (let round = 0; round < 2; round++) {
      const received: unknown[] = [];
      const onProgress = (word: unknown): void => void received.push(word);
      assert.deepEqual(await pool.run(2, { name: 'chain', onProgress }), [2, false]);
      assert.deepEqual(await pool.run('outer', { name: 'reportBeside', onProgress }), ['inner']);
      assert.deepEqual(received, [2, 'outer']);
    }
  }),
);

test('tasks of tasks: a connection to the worker’s own pool helps, too, and does not block', LIMIT, () =>
  withPool({}, async (pool) => {
    assert.deepEqual(await pool.run(pool.handle, { name: 'connectToOwn' }), ['ERR_PLAIT_CANNOT_BLOCK', 3]);
  }),
);

test('affinity: a key whose worker was removed gets another one', LIMIT, () =>
  withPool({ minThreads: 1, maxThreads: 2, idleTimeout: 20 }, async (pool) => {
    const keys = [await keyOf(pool, 0), await keyOf(pool, 1)];
    for (let round = 0; round < 3; round++) {
      for (const [index, affinity] of keys.entries()) {
        await until(() => pool.stats().threads === 1);
        // Long enough for the pool to come to rest: from then on, only a signal makes it poll its worker queues.
        await new Promise((resolve) => setTimeout(resolve, 100));
        assert.equal(await pool.run(0, { name: 'index', affinity }), index);
      }
    }
  }),
);

test('affinity: workers above a new maximum finish their tasks and end', LIMIT, () =>
  withPool({ threads: 2 }, async (pool) => {
    const affinity = await keyOf(pool, 1);
    const runs = [1, 2, 3].map(() => pool.run(20, { name: 'busy', affinity }));
    const exited = rejection(pool.run(1, { name: 'exit', affinity }));
    const rest = [1, 2, 3].map(() => pool.run(0, { name: 'index', affinity }));
    pool.resize({ min: 1, max: 1 });
    assert.deepEqual(await Promise.all(runs), [20, 20, 20]);
    assert.equal((await exited).code, 'ERR_PLAIT_WORKER_DIED');
    assert.deepEqual(await Promise.all(rest), [1, 1, 1]);
    await until(() => pool.stats().threads === 1);
    assert.equal(await pool.run(0, { name: 'index', affinity }), 0);
  }),
);

test('affinity: a pool continues if its only worker is above a new maximum', LIMIT, (t) =>
  withPool({ threads: 2 }, async (other, space) => {
    const affinity = await keyOf(other, 1);
    const pool = owned(t, new Pool(tasks, { minThreads: 0, maxThreads: 2, space }));
    assert.equal(await pool.run(0, { name: 'index', affinity }), 1);
    pool.resize({ min: 1, max: 1 });
    assert.equal(await pool.run(0, { name: 'index', affinity }), 0);
    await pool.close();
  }),
);

test('close: if the last worker exits and no other can load, every task gets the reason', LIMIT, async (t) => {
  const space = openSpace({ maximum: 2 ** 27 });
  const loads = new Int32Array(new SharedArrayBuffer(4));
  const pool = owned(t, new Pool(tasks, { threads: 2, space, workerData: { loads } }));
  const other = owned(t, connect(pool.handle, { space }));
  assert.equal(await pool.run(1), 1);
  // The pool tries again and again: a busy machine may show us a later time.
  await until(() => (loads[0] as number) >= 2 && pool.stats().threads === 1);
  const busy = pool.run(100, { name: 'busy' });
  const ends = [pool.run(1, { name: 'exit' }), pool.run(2), other.run(3, { priority: -1 })].map(rejection);
  await pool.close();
  assert.equal(await busy, 100);
  const codes = ['ERR_PLAIT_WORKER_DIED', 'ERR_PLAIT_MODULE_LOAD', 'ERR_PLAIT_MODULE_LOAD'];
  assert.deepEqual(
    (await Promise.all(ends)).map(({ code }) => code),
    codes,
  );
  other[Symbol.dispose]();
  space.check();
});

test('a listener that is removed and added again during its call is called once', LIMIT, () =>
  withPool({}, async (pool) => {
    let calls = 0;
    const listener = (): void => {
      assert.ok(++calls < 100, 'it is called for ever');
      pool.off('start', listener);
      pool.on('start', listener);
    };
    pool.on('start', listener);
    await pool.run(1);
    await until(() => calls > 0);
    await pool.close();
    assert.equal(calls, 1);
  }),
);

test('timeouts and waiting times do not depend on a thread’s wall clock at its start', LIMIT, async (t) => {
  for (const shift of [-3_600_000, 3_600_000]) {
    const code = `Object.defineProperty(performance,'timeOrigin',{value:performance.timeOrigin+(${shift})})`;
    const pool = owned(t, new Pool(tasks, { threads: 1, execArgv: ['--import', `data:text/javascript,${code}`] }));
    assert.equal(await pool.run(200, { name: 'pause', timeout: 30000 }), 200);
    assert.equal((await rejection(pool.run(60000, { name: 'pause', timeout: 20 }))).code, 'ERR_PLAIT_TASK_TIMEOUT');
    assert.ok(pool.stats().wait.max < 60000, `waited ${pool.stats().wait.max} ms`);
    await pool.close();
  }
});

test('a pool whose coordinator has exited refuses to broadcast', LIMIT, async (t) => {
  const threads: Worker[] = [];
  const onWorker = (worker: Worker): void => void threads.push(worker);
  process.on('worker', onWorker);
  const space = openSpace({ maximum: 2 ** 27 });
  const pool = owned(t, new Pool(tasks, { minThreads: 0, maxThreads: 1, space }));
  assert.equal(await pool.run(1), 1);
  process.off('worker', onWorker);
  assert.equal(threads.length, 1, 'the coordinator alone is started from here');
  const outstanding = rejection(pool.run(60000, { name: 'pause' }));
  await threads[0]?.terminate();
  assert.equal((await outstanding).code, 'ERR_PLAIT_COORDINATOR_DIED');
  assert.equal((await rejection(pool.broadcast(1))).code, 'ERR_PLAIT_COORDINATOR_DIED');
  await pool.close();
});

test('a timer that a task has left blocks its worker, but no task of others', LIMIT, async (t) => {
  const flags = new Int32Array(new SharedArrayBuffer(8));
  const space = openSpace({ maximum: 2 ** 27 });
  const pool = owned(t, new Pool(tasks, { threads: 3, space, workerData: { flags } }));
  await pool.broadcast(0); // all are there
  const left = await pool.run(0, { name: 'leaveTimer' });
  await until(() => Atomics.load(flags, 0) === 1);
  for (let i = 0; i < 10; i++) {
    assert.notEqual(await pool.run(0, { name: 'index', timeout: 20000 }), left);
    // All idle workers park: the next wake-up may go to any of them.
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  Atomics.store(flags, 1, 1);
  Atomics.notify(flags, 1);
  await pool.close();
  space.check();
});

test('asynchronous code that a task has left blocks no task of others', LIMIT, async (t) => {
  const flags = new Int32Array(new SharedArrayBuffer(8));
  const space = openSpace({ maximum: 2 ** 27 });
  const pool = owned(t, new Pool(tasks, { threads: 2, space, workerData: { flags } }));
  await pool.broadcast(0); // both are there
  for (let round = 0; round < 20; round++) {
    flags.fill(0);
    // The next task comes while the worker still waits for one, and before that step has had its turn.
    // Where the worker owes its event loop a turn, because it was busy, the result comes before that.
    await pool.run(round % 2 === 0 ? 0 : 20, { name: 'leaveStep' });
    await pool.run(0, { name: 'index' });
    await until(() => Atomics.load(flags, 0) === 1);
    Atomics.store(flags, 1, 1);
    Atomics.notify(flags, 1);
    await until(() => Atomics.load(flags, 0) === 2);
  }
  await pool.close();
  space.check();
});

test('a pool grows for a task if a timer blocks its only worker', LIMIT, async (t) => {
  const flags = new Int32Array(new SharedArrayBuffer(8));
  const pool = owned(t, new Pool(tasks, { minThreads: 1, maxThreads: 2, workerData: { flags } }));
  assert.equal(await pool.run(0, { name: 'leaveTimer' }), 0);
  await until(() => Atomics.load(flags, 0) === 1);
  assert.equal(await pool.run(0, { name: 'index' }), 1);
  Atomics.store(flags, 1, 1);
  Atomics.notify(flags, 1);
  await pool.close();
});

test('a pool grows for two tasks that arrive while its only worker sleeps', LIMIT, async (t) => {
  await withPool({}, async (pool) => {
    for (let i = 0; i < 2000; i++) await pool.run(i); // so that the second comes before the first has woken anybody
  });
  for (const pause of [0, 10, 50, 100, 200]) {
    const inside = new Int32Array(new SharedArrayBuffer(4));
    const pool = owned(t, new Pool(tasks, { minThreads: 1, maxThreads: 2, idleTimeout: 20, workerData: { inside } }));
    await pool.run(1);
    await until(() => pool.stats().threads === 1);
    await new Promise((resolve) => setTimeout(resolve, pause)); // awake, asleep, or parked: it does not matter
    const met = [pool.run(2, { name: 'meet' }), pool.run(2, { name: 'meet' })];
    assert.deepEqual((await Promise.all(met)).sort(), [0, 1]);
    await pool.close();
  }
});

test('close: tasks of other threads on a worker that cannot be stopped are rejected, too', LIMIT, async (t) => {
  const folder = ownFolder(t);
  const path = join(folder, 'native');
  const space = openSpace({ maximum: 2 ** 27 });
  const pool = owned(t, new Pool(tasks, { threads: 1, concurrentTasksPerWorker: 3, space }));
  const other = owned(t, connect(pool.handle, { space }));
  const rejected = [
    rejection(other.run(60000, { name: 'pause' })),
    rejection(other.run(60000, { name: 'pause', retries: 1 })),
    rejection(other.run(path, { name: 'beNative' })),
  ];
  await until(() => existsSync(`${path}.begun`));
  const closed = rejection(pool.close({ force: true }));
  for (const error of await Promise.all(rejected)) assert.equal(error.code, 'ERR_PLAIT_POOL_CLOSED');
  assert.equal(existsSync(`${path}.ended`), false, 'it is still there');
  assert.equal((await closed).code, 'ERR_PLAIT_CLOSE_TIMEOUT');
  writeFileSync(`${path}.release`, '');
  await until(() => existsSync(`${path}.ended`));
  other[Symbol.dispose]();
});

for (const ends of [false, true]) {
  const what = ends ? 'is run again when that has ended, and waited for' : 'is rejected when close() gives that up';
  test(`close: a task with retries beside one that cannot be stopped ${what}`, LIMIT, async (t) => {
    const path = join(ownFolder(t), 'native');
    const space = openSpace({ maximum: 2 ** 27 });
    const pool = owned(t, new Pool(tasks, { threads: 1, concurrentTasksPerWorker: 2, grace: 20, space }));
    const other = owned(t, connect(pool.handle, { space }));
    const beside = other.run(ends ? 3000 : 60000, { name: 'pause', retries: 1 });
    const outcome = ends ? beside : rejection(beside);
    const late = rejection(other.run(path, { name: 'beNative', timeout: 100 }));
    await until(() => existsSync(`${path}.begun`));
    const closed = ends ? pool.close() : rejection(pool.close());
    assert.equal((await late).code, 'ERR_PLAIT_TASK_TIMEOUT');
    // less than what close() waits for, and then more than that, with the task
    if (ends) setTimeout(() => writeFileSync(`${path}.release`, ''), 3000);
    else assert.equal(((await outcome) as { code?: string }).code, 'ERR_PLAIT_WORKER_DIED');
    if (ends) assert.equal(await outcome, 3000);
    assert.equal(((await closed) as { code?: string } | undefined)?.code, ends ? undefined : 'ERR_PLAIT_CLOSE_TIMEOUT');
    writeFileSync(`${path}.release`, '');
    await until(() => existsSync(`${path}.ended`));
    other[Symbol.dispose]();
  });
}

test('a task with retries beside one that cannot be stopped is rejected after 5 s', LIMIT, async (t) => {
  const path = join(ownFolder(t), 'native');
  const pool = owned(t, new Pool(tasks, { threads: 1, concurrentTasksPerWorker: 2, grace: 20 }));
  const beside = rejection(pool.run(60000, { name: 'pause', retries: 1 }));
  const late = rejection(pool.run(path, { name: 'beNative', timeout: 100 }));
  assert.equal((await late).code, 'ERR_PLAIT_TASK_TIMEOUT');
  assert.equal((await beside).code, 'ERR_PLAIT_WORKER_DIED');
  assert.equal(existsSync(`${path}.ended`), false, 'it is still there');
  assert.equal(await pool.run(7), 7);
  writeFileSync(`${path}.release`, '');
  await until(() => existsSync(`${path}.ended`));
});

test(
  'a worker that sits in native code, where nothing stops it, is detached at once: late tasks, late modules',
  LIMIT,
  async (t) => {
    const folder = ownFolder(t);
    const held = join(folder, 'held');
    const closing = owned(t, new Pool(tasks, { threads: 1 }));
    closing.run(held, { name: 'beNative' }).catch(() => {});
    const cases = [{}, { concurrentTasksPerWorker: 2 }].flatMap((options) =>
      ['task', 'module'].map((where) => {
        const isTask = where === 'task';
        const path = join(folder, `${Object.keys(options).length}-${where}`);
        const space = openSpace({ maximum: 2 ** 27 });
        const more = isTask ? {} : { workerData: { native: path }, loadTimeout: 1000 };
        const pool = owned(t, new Pool(tasks, { threads: 1, space, ...more, ...options }));
        const error = rejection(pool.run(path, { name: 'beNative', timeout: isTask ? 100 : 0 }));
        return { isTask, path, space, pool, error };
      }),
    );
    for (const path of [held, ...cases.map(({ path }) => path)]) await until(() => existsSync(`${path}.begun`));
    // close() waits 5 s for such a thread; the callers of what it ran wait for nothing.
    const closed = closing.close({ force: true }).then(
      () => 'closed',
      () => 'closed',
    );
    const settled = Promise.all(cases.map(({ error }) => error)).then(() => 'settled');
    assert.equal(await Promise.race([settled, closed]), 'settled');
    for (const { isTask, path, space, pool, error } of cases) {
      assert.equal(existsSync(`${path}.ended`), false, 'it is still there');
      assert.equal((await error).code, isTask ? 'ERR_PLAIT_TASK_TIMEOUT' : 'ERR_PLAIT_MODULE_LOAD');
      assert.equal(pool.stats().ended.stopped, 1);
      if (isTask) assert.equal(await pool.run(2), 2, 'another worker has its index');
      writeFileSync(`${path}.release`, '');
      await pool.close();
      space.check();
    }
    writeFileSync(`${held}.release`, '');
    await closed;
  },
);

/**
 * The pool's lock, its first word, is a thread's that is alive and does not move, while the worker that waits for
 * `flags` goes on.
 */
async function whileLockIsStuck(
  space: ReturnType<typeof openSpace>,
  pool: Pool,
  flags: Int32Array,
  milliseconds: number,
): Promise<void> {
  const word = pool.handle.plaitPool / 4;
  while (Atomics.compareExchange(space.u32, word, 0, space.thread) !== 0);
  Atomics.store(flags, 1, 1);
  Atomics.notify(flags, 1);
  // there is no state to wait for: nothing may happen
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  Atomics.store(space.u32, word, 0);
  Atomics.notify(space.i32, word);
}

test('a result that cannot be delivered because a lock is stuck is delivered later', LIMIT, async (t) => {
  for (const [name, input, options] of [
    ['announce', 7, { recycle: { tasks: 1 } }], // the worker is to end after it
    ['announceAll', [1, 2, 3], {}], // it helps, and goes on with the next
    ['announceAll', [1, 2, 3], { concurrentTasksPerWorker: 2 }],
  ] as const) {
    const flags = new Int32Array(new SharedArrayBuffer(8));
    const space = openSpace({ maximum: 2 ** 27 });
    const pool = owned(t, new Pool(tasks, { threads: 1, space, workerData: { flags }, ...options }));
    const output = pool.run(input, { name });
    output.catch(() => {});
    await until(() => Atomics.load(flags, 0) === 1);
    await whileLockIsStuck(space, pool, flags, 1500); // longer than anybody waits for a lock
    assert.deepEqual(await output, input);
    await pool.close();
    space.check();
  }
});

test('output that a task writes while a lock is stuck is written before its result, too', LIMIT, async (t) => {
  const flags = new Int32Array(new SharedArrayBuffer(8));
  const space = openSpace({ maximum: 2 ** 27 });
  const pool = owned(t, new Pool(tasks, { threads: 1, space, workerData: { flags } }));
  const written: string[] = [];
  const { write } = process.stdout;
  t.mock.method(process.stdout, 'write', (...args: Parameters<typeof write>) => {
    const text = String(args[0]);
    return /^while stuck/.test(text) ? written.push(text) > 0 : write.apply(process.stdout, args);
  });
  const output = pool.run('while stuck', { name: 'speak' });
  await until(() => Atomics.load(flags, 0) === 1);
  await whileLockIsStuck(space, pool, flags, 2200); // longer than two waits for a lock
  await output;
  assert.deepEqual(
    written,
    [0, 1, 2].map((i) => `while stuck ${i}\n`),
  );
  await pool.close();
  space.check();
});

test('the memory of many different function names is freed', LIMIT, async (t) => {
  const pool = owned(t, new Pool(tasks, { threads: 1, inline: true }));
  const padding = `/* ${'-'.repeat(2000)} */`;
  const used: number[] = [];
  let number = 0;
  for (let round = 0; round < 4; round++) {
    for (let i = 0; i < 400; i++) {
      const own = new Function(`return ${++number} ${padding}`) as () => number;
      assert.equal(await pool.runInline(own, 0, { retries: number % 2 }), number);
      assert.equal((await rejection(pool.run(0, { name: `none${number}` }))).code, 'ERR_PLAIT_NO_SUCH_EXPORT');
    }
    for (let i = 0; i < 20; i++) {
      const own = owned(t, connect(pool.handle)); // each asks for the same names
      assert.equal(await own.run(i), i);
      own[Symbol.dispose]();
    }
    used.push(heap.stats().liveBlocks);
  }
  assert.ok((used[3] as number) - (used[1] as number) < 10, `live blocks: ${used}`);
  // A worker exits while it has such a task: the next one reads the name again.
  assert.equal((await rejection(pool.run(1, { name: 'exit', retries: 1 }))).code, 'ERR_PLAIT_WORKER_DIED');
  await pool.close();
  heap.check();
});

test('a source too long for the cache does not remove shorter ones from it', LIMIT, async (t) => {
  const pool = owned(t, new Pool(tasks, { threads: 1, inline: true }));
  const long = new Function(`return 'long' /* ${'-'.repeat(2 ** 20)} */`) as () => string;
  assert.equal(await pool.runInline(long, 0), 'long');
  // A function that the worker keeps is the same one at each call: its source is not evaluated anew.
  const short = new Function('return (anonymous.calls = (anonymous.calls ?? 0) + 1)') as () => number;
  for (let calls = 1; calls < 4; calls++) assert.equal(await pool.runInline(short, 0), calls);
  await pool.close();
});

test('waiting for a stuck lock does not count as run time of the next task', LIMIT, async (t) => {
  const flags = new Int32Array(new SharedArrayBuffer(8));
  const space = openSpace({ maximum: 2 ** 27 });
  const pool = owned(t, new Pool(tasks, { threads: 1, space, workerData: { flags } }));
  const output = pool.run(7, { name: 'announce' });
  const next = pool.run(300, { name: 'busy', timeout: 1000 });
  await until(() => Atomics.load(flags, 0) === 1);
  // Longer than the next task may run; and most of what the worker waits for the lock the second time, for a second at
  // most.
  await whileLockIsStuck(space, pool, flags, 1900);
  assert.deepEqual(await Promise.all([output, next]), [7, 300]);
  assert.equal(pool.stats().run.max < 1000, true);
  await pool.close();
  space.check();
});

test('a worker that has run nothing is not replaced because of its memory', LIMIT, () =>
  withPool({ recycle: { bytes: 1 } }, async (pool) => {
    const ran = new Set<number>();
    const ended: number[] = [];
    pool.on('end', ({ worker }) => ended.push(worker));
    const isFresh = (): boolean =>
      pool.stats().workers.some(({ worker, heapUsed }) => !ran.has(worker) && heapUsed > 0) ||
      ended.some((worker) => !ran.has(worker));
    for (let round = 1; round < 4; round++) {
      await until(isFresh); // it has looked at its memory
      const end = performance.now() + 20000;
      while (ended.length < round) {
        assert.ok(performance.now() < end, 'it is replaced because of its memory');
        ran.add(await pool.run(0, { name: 'worker' }));
      }
    }
    for (const worker of ended) assert.ok(ran.has(worker), 'it ended without having run a task');
  }),
);

/** The next end of a worker that the pool reports. */
async function nextEnd(pool: Pool): Promise<PoolEvents['end']> {
  const ends: PoolEvents['end'][] = [];
  const listener = (end: PoolEvents['end']): void => void ends.push(end);
  pool.on('end', listener);
  await until(() => ends.length > 0);
  pool.off('end', listener);
  return ends[0] as PoolEvents['end'];
}

test('listeners of end receive a worker’s error, although it had no task', LIMIT, async (t) => {
  for (const concurrentTasksPerWorker of [1, 2]) {
    await withPool({ concurrentTasksPerWorker }, async (pool) => {
      for (const kind of ['throws', 'rejects']) {
        const end = nextEnd(pool);
        await pool.run(kind, { name: 'stray' });
        const { reason, error } = await end;
        assert.equal(reason, 'crashed');
        assert.ok(error instanceof RangeError, `${error}`);
        assert.match(error.stack ?? '', /boom\n.*hostile-tasks\.js/);
      }
      const end = nextEnd(pool);
      assert.equal((await rejection(pool.run(3, { name: 'exit' }))).code, 'ERR_PLAIT_WORKER_DIED');
      const ended = await end;
      assert.equal(ended.reason, 'exit');
      assert.equal('error' in ended, false);
    });
  }
  const broken = owned(
    t,
    new Pool(new URL('../../js/test/fixtures/throws-on-load.js', import.meta.url), { threads: 1 }),
  );
  const { error } = await nextEnd(broken);
  assert.equal(((error as Error).cause as Error).name, 'URIError');
  await broken.close();
});

test('a worker’s error is a warning if there is no listener, unless a task reports it', LIMIT, () => {
  const run = (body: string): string => {
    const program = `import { Pool } from 'plait';
      const pool = new Pool(${JSON.stringify(tasks.href)}, { threads: 1 });
      ${body}
      await pool.close();`;
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    return stderr;
  };
  const untilReplaced = 'while (pool.stats().started < 2) await new Promise((resolve) => setTimeout(resolve, 2));';
  const alone = run(`await pool.run('throws', { name: 'stray' }); ${untilReplaced}`);
  assert.match(
    alone,
    /^\(node:\d+\) \[PLAIT_WORKER_DIED\] PlaitWarning: [^\n]*\nRangeError: boom\n {4}at .*hostile-tasks\.js/,
  );
  const again = run(`await pool.broadcast(0);
    const task = pool.run(0, { name: 'strayAndStay', retries: 1 }).catch(() => {});
    ${untilReplaced}
    await task;`);
  assert.match(again, /PlaitWarning: a worker of a pool ended .* and no task reports/, 'it was not idle');
  assert.equal(alone.match(/PLAIT_WORKER_DIED/g)?.length, 1, alone);
  assert.equal(run(`pool.on('end', () => {}); await pool.run('throws', { name: 'stray' }); ${untilReplaced}`), '');
  assert.equal(run(`await pool.run(0, { name: 'strayAndStay' }).catch(() => {}); ${untilReplaced}`), '');
});
