/**
 * A pool under pressure: full queues, many calls on one signal, tasks beside one that does not stop, stuck locks.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { commonSpace, connect, openSpace, Pool } from 'plait';
import { slotOf, threadsOfPool } from '../../dist/core/boot.js';
import { Slot, StopState } from '../../dist/core/layout.generated.js';
import { rejection } from './cases/check.ts';
import { until } from './cases/pool-setup.ts';
import { owned } from './owned.ts';

const tasks = new URL('../../js/test/fixtures/hostile-tasks.js', import.meta.url);
const LIMIT = { timeout: 60000 };

const newFlags = (): Int32Array => new Int32Array(new SharedArrayBuffer(8));

function wake(flags: Int32Array, index: number): void {
  Atomics.store(flags, index, 1);
  Atomics.notify(flags, index);
}

/**
 * A pool whose only worker runs `name` until `release` is called, and whose queue is full of others' tasks meanwhile.
 */
async function fullPool(t: TestContext, name: string, input: unknown) {
  const flags = newFlags();
  const pool = owned(t, new Pool(tasks, { threads: 1, maxQueue: 2, workerData: { flags } }));
  const running = pool.run(input, { name });
  await until(() => Atomics.load(flags, 0) === 1);
  const queued = [pool.run(1), pool.run(2)];
  assert.equal(pool.needsDrain, true);
  return { pool, running, queued, release: () => wake(flags, 1) };
}

test('a task can wait for its own tasks although the queue is full of others', LIMIT, async (t) => {
  for (const [how, count] of [
    ['run', 3],
    ['runMany', 3],
    ['map', 300],
    ['affinity', 3],
  ] as const) {
    const { pool, running, queued, release } = await fullPool(t, 'announceThenAsk', [how, count]);
    release();
    assert.equal(await running, count);
    assert.deepEqual(await Promise.all(queued), [1, 2]);
    await pool.close();
  }
});

test('a task that was submitted before close() may wait for tasks of its own', LIMIT, async (t) => {
  for (const options of [{ threads: 1 }, { threads: 2 }, { threads: 2, concurrentTasksPerWorker: 3 }]) {
    const flags = newFlags();
    const pool = owned(t, new Pool(tasks, { ...options, workerData: { flags } }));
    const running = pool.run(['run', 3], { name: 'announceThenAsk' });
    const queued = [
      pool.run(['runMany', 3], { name: 'announceThenAsk' }),
      pool.run(['affinity', 3], { name: 'announceThenAsk' }),
    ];
    await until(() => Atomics.load(flags, 0) === 1);
    const closed = pool.close();
    assert.equal((await rejection(pool.run(1))).code, 'ERR_PLAIT_POOL_CLOSED');
    wake(flags, 1);
    assert.deepEqual(await Promise.all([running, ...queued]), [3, 3, 3]);
    await closed;
  }
});

test('a worker that is to end still helps its running task', LIMIT, async (t) => {
  const flags = new Int32Array(new SharedArrayBuffer(12));
  const pool = owned(t, new Pool(tasks, { threads: 2, workerData: { flags } }));
  const keys = new Map<unknown, number>();
  for (let key = 0; keys.size < 2; key++) keys.set(await pool.run(0, { name: 'index', affinity: key }), key);
  const blocker = pool.run(2, { name: 'block', affinity: keys.get(0) as number }); // the other worker has no time
  const running = pool.run(['runMany', 3], { name: 'announceThenAsk', affinity: keys.get(1) as number });
  await until(() => Atomics.load(flags, 0) === 1);
  pool.resize({ min: 1, max: 1 });
  const space = commonSpace();
  const isTold = (thread: number): boolean => space.load(slotOf(space, thread) + Slot.stopState) === StopState.DRAINING;
  await until(() => threadsOfPool(space, pool.handle.plaitPool).some(isTold));
  wake(flags, 1);
  assert.equal(await running, 3);
  wake(flags, 2);
  assert.equal(await blocker, 2);
  await until(() => pool.stats().threads === 1);
  await pool.close();
});

test('runMany and map wait for room in a full queue without other work', LIMIT, async (t) => {
  const { pool, running, queued, release } = await fullPool(t, 'announce', 7);
  let looks = 0;
  const input = {
    get part() {
      return ++looks;
    },
  };
  const many = pool.runMany([input, input]);
  const mapped = pool.map([input, input]);
  const first = mapped.next();
  const controller = new AbortController();
  const left = rejection(pool.runMany([input], { signal: controller.signal }));
  await new Promise((resolve) => setTimeout(resolve, 100)); // nothing may happen
  assert.ok(looks <= 3, `an input that has no place was encoded ${looks} times`);
  controller.abort();
  assert.equal((await left).name, 'AbortError');
  release();
  assert.equal((await many).length, 2);
  assert.equal((await first).done, false);
  assert.equal((await mapped.next()).done, false);
  assert.equal((await mapped.next()).done, true);
  assert.deepEqual(await Promise.all([running, ...queued]), [7, 1, 2]);
  await pool.close();
});

test('a program runs until the calls that wait for room have ended', LIMIT, () => {
  const program = `
    import { connect, Pool } from ${JSON.stringify(new URL('../../dist/node/index.js', import.meta.url).href)};
    const pool = new Pool(new URL(${JSON.stringify(tasks.href)}), { threads: 1, maxQueue: 1 });
    const other = connect(pool.handle);
    other.run(300, { name: 'pause' }).catch(() => {});
    while (pool.stats().queued > 0);
    other.run(1).catch(() => {});
    pool.runMany([1, 2, 3]).then((outputs) => console.log(...outputs));
    other[Symbol.dispose](); // its tasks run all the same, and keep nothing alive`;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  assert.equal(output, '1 2 3\n');
});

test('drain is emitted if others have emptied the queue, too', LIMIT, async (t) => {
  const flags = newFlags();
  const pool = owned(t, new Pool(tasks, { threads: 2, maxQueue: 4, workerData: { flags } }));
  const other = owned(t, connect(pool.handle));
  const running = pool.run(7, { name: 'announce' }); // the only task of this end
  await until(() => Atomics.load(flags, 0) === 1);
  const others = [1, 2, 3, 4, 5].map(() => other.run(20, { name: 'busy' }).catch(() => {}));
  const drained = new Promise((resolve) => pool.on('drain', resolve as () => void));
  assert.equal((await rejection(Promise.all([1, 2, 3, 4, 5].map(() => pool.run(0))))).code, 'ERR_PLAIT_QUEUE_FULL');
  await Promise.all(others);
  await drained;
  wake(flags, 1);
  assert.equal(await running, 7);
  other[Symbol.dispose]();
  await pool.close();
});

test('drain is emitted in another thread that found the queue full', LIMIT, async (t) => {
  const { pool, running, queued, release } = await fullPool(t, 'announce', 7);
  const script = `const { parentPort, workerData } = require('node:worker_threads');
    import(workerData.plait).then(async ({ connect }) => {
      const pool = connect(workerData.handle);
      let unheard = true;
      const not = () => { unheard = false; };
      pool.on('drain', not).off('drain', not);
      pool.on('drain', () => parentPort.postMessage(unheard && !pool.needsDrain));
      parentPort.postMessage(pool.needsDrain);
      parentPort.once('message', () => pool[Symbol.dispose]());
    });`;
  const workerData = { plait: import.meta.resolve('plait'), handle: pool.handle };
  const worker = owned(t, new Worker(script, { eval: true, workerData }));
  const [isFull] = await once(worker, 'message');
  assert.equal(isFull, true);
  const drained = once(worker, 'message');
  release();
  assert.deepEqual(await drained, [true]);
  assert.deepEqual(await Promise.all([running, ...queued]), [7, 1, 2]);
  const ended = once(worker, 'exit');
  worker.postMessage('end');
  assert.deepEqual(await ended, [0]);
  await pool.close();
});

test('many calls on one signal add one listener, and leave none', LIMIT, async (t) => {
  const pool = owned(t, new Pool(tasks, { threads: 1 }));
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  let most = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...all: Parameters<typeof add>) => {
    most = Math.max(most, ++listeners);
    add(...all);
  };
  signal.removeEventListener = (...all: Parameters<typeof remove>) => {
    listeners--;
    remove(...all);
  };
  const all = [1, 2, 3, 4].flatMap((value) => [
    pool.run(value, { signal }),
    pool.runMany([value], { signal }),
    pool.map([value], { signal }).next(),
    pool.parts(value, { signal }).result,
    pool.broadcast(value, { signal }),
  ]);
  assert.equal((await Promise.all(all)).length, 20);
  for await (const value of pool.map([1, 2, 3], { signal })) if (value === 2) break;
  assert.equal((await rejection(pool.run(() => {}, { signal }))).code, 'ERR_PLAIT_CANNOT_SEND');
  // What next() began is still under way: its end is asked for.
  const left = pool.map([1], { signal });
  await left.next();
  await left.return();
  assert.equal(most, 1);
  const late = [1, 2, 3].map((value) => rejection(pool.run(60000 * value, { name: 'pause', signal })));
  controller.abort(new RangeError('enough'));
  for (const error of await Promise.all(late)) assert.equal(error.message, 'enough');
  assert.equal((await rejection(pool.run(1, { signal }))).message, 'enough');
  await pool.close({ force: true });
});

test('a value that is no signal is refused by name, and nothing runs', LIMIT, async (t) => {
  const pool = owned(t, new Pool(tasks, { threads: 1 }));
  const before = await pool.run(0, { name: 'count' });
  for (const odd of ['now', {}, { aborted: false }, null, 5]) {
    const options = { name: 'count', signal: odd as unknown as AbortSignal };
    for (const error of [
      await rejection(pool.run(0, options)),
      await rejection(pool.runMany([0], options)),
      await rejection((async () => await pool.map([0], options).next())()),
      await rejection(pool.parts(0, options).result),
      await rejection(pool.broadcast(0, options)),
    ]) {
      assert.ok(error instanceof TypeError);
      assert.match(error.message, /^options\.signal must be an AbortSignal, not /);
    }
  }
  assert.equal(await pool.run(0, { name: 'count' }), (before as number) + 1);
  await pool.close();
});

test('a task with retries is run again if a task beside it did not stop', LIMIT, async (t) => {
  for (const retries of [0, 1]) {
    const workerData = { flags: newFlags() };
    const pool = owned(t, new Pool(tasks, { threads: 1, concurrentTasksPerWorker: 2, grace: 20, workerData }));
    const beside = pool.run(500, { name: 'pause', retries });
    const stuck = pool.run(1, { name: 'announce', timeout: 50 });
    if (retries === 0) beside.catch(() => {});
    assert.equal((await rejection(stuck)).code, 'ERR_PLAIT_TASK_TIMEOUT');
    if (retries === 0) assert.equal((await rejection(beside)).code, 'ERR_PLAIT_WORKER_DIED');
    else assert.equal(await beside, 500);
    await pool.close();
  }
});

test('a task with retries is run again although the pool is closing', LIMIT, async (t) => {
  const flags = newFlags();
  const options = { threads: 1, concurrentTasksPerWorker: 2, grace: 20, workerData: { flags } };
  const pool = owned(t, new Pool(tasks, options));
  const beside = pool.run(200, { name: 'pause', retries: 1 });
  const stuck = rejection(pool.run(1, { name: 'announce', timeout: 50 }));
  await until(() => Atomics.load(flags, 0) === 1);
  const closed = pool.close();
  assert.equal((await stuck).code, 'ERR_PLAIT_TASK_TIMEOUT');
  assert.equal(await beside, 200);
  await closed;
});

test('tasks that are rejected because the pool was closed by force share the error', LIMIT, async (t) => {
  const pool = owned(t, new Pool(tasks, { threads: 1 }));
  const running = rejection(pool.run(60000, { name: 'pause' }));
  const queued = Array.from({ length: 100 }, (_, input) => rejection(pool.run(input)));
  await until(() => pool.stats().running === 1);
  await pool.close({ force: true });
  const errors = new Set(await Promise.all(queued));
  assert.deepEqual(
    [...errors].map(({ code }) => code),
    ['ERR_PLAIT_POOL_CLOSED'],
  );
  assert.ok(!errors.has(await running), 'of the one that ran, more can be said');
});

test('the error for one pool too many names the limit, and what to do', LIMIT, async (t) => {
  const space = openSpace({ maximum: 2 ** 27 });
  const newPool = (): Pool => owned(t, new Pool(tasks, { minThreads: 0, maxThreads: 1, space }));
  const pools = Array.from({ length: 128 }, newPool);
  assert.throws(newPool, { code: 'ERR_PLAIT_OUT_OF_MEMORY', message: /128 pools.*openSpace\(\)/ });
  await pools.pop()?.close();
  pools.push(newPool());
  await Promise.all(pools.map((pool) => pool.close()));
  const full = openSpace({ maximum: 2 ** 20 });
  for (let size = 2 ** 18; size >= 8; size /= 2) while (full.core.plait_heap_alloc(size) >>> 0 !== 0);
  // Blocks leave room for some pools.
  const open = (): Pool => owned(t, new Pool(tasks, { minThreads: 0, maxThreads: 1, space: full }));
  const openAll = (): void => {
    for (let i = 0; i < 128; i++) open();
  };
  assert.throws(openAll, { code: 'ERR_PLAIT_OUT_OF_MEMORY', message: /cannot give/ });
});

test('a closed connection and a closed pool have different errors', LIMIT, async (t) => {
  const pool = owned(t, new Pool(tasks, { threads: 1 }));
  const connected = owned(t, connect(pool.handle));
  connected[Symbol.dispose]();
  assert.throws(() => connected.stats(), { code: 'ERR_PLAIT_POOL_CLOSED', message: /let go/ });
  assert.throws(() => connected.runSync(1), { code: 'ERR_PLAIT_POOL_CLOSED', message: /let go/ });
  await pool.close();
  assert.throws(() => pool.stats(), { code: 'ERR_PLAIT_POOL_CLOSED', message: /the pool is closed/ });
});

test('a pool that has failed rejects broadcasts', LIMIT, async (t) => {
  const pool = owned(t, new Pool(new URL('none-such.js', tasks), { threads: 1 }));
  assert.equal((await rejection(pool.run(1))).code, 'ERR_PLAIT_MODULE_LOAD');
  assert.equal((await rejection(pool.broadcast(1))).code, 'ERR_PLAIT_MODULE_LOAD');
  await pool.close();
});

test('close: a temporarily stuck lock delays it, and causes no uncaught error', LIMIT, async (t) => {
  for (const options of [{}, { force: true }, { timeout: 1 }]) {
    const space = openSpace({ maximum: 2 ** 27 });
    const pool = owned(t, new Pool(tasks, { threads: 1, space }));
    assert.equal(await pool.run(1), 1);
    const word = pool.handle.plaitPool / 4;
    await until(() => Atomics.compareExchange(space.u32, word, 0, space.thread) === 0);
    let isReleased = false;
    setTimeout(() => {
      isReleased = true;
      Atomics.store(space.u32, word, 0);
      Atomics.notify(space.i32, word);
    }, 50); // comes when the first look at the lock, which blocks, has ended in vain
    await pool.close(options);
    assert.equal(isReleased, true);
    space.check();
  }
});
