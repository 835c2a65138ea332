/**
 * Threads in Node: attaching by importing, exits of the user's Workers, and pools that continue while the main thread
 * is blocked. A blocked main thread waits here for counters in shared memory, never for a time.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { attach, commonSpace, connect, Heap, heap, openSpace, Pool, workerOptions } from 'plait';
import { recoverThread, slotOf, threadsOfHost, threadsOfPool } from '../../dist/core/boot.js';
import type { HostThread } from '../../dist/core/host-types.js';
import { Alert, Pool as Layout, Space as S, SLOT_LIMIT, Slot, SlotState } from '../../dist/core/layout.generated.js';
import { EndingThreads } from '../../dist/task/coordinator/ending-threads.js';
import { PoolSupervisor } from '../../dist/task/coordinator/pool-supervisor.js';
import { until } from './cases/pool-setup.ts';
import { owned } from './owned.ts';
import { rounds, seed } from './seed.ts';
import './terminates.ts';

const fixture = (name: string): URL => new URL(`../../js/test/fixtures/${name}`, import.meta.url);
const LIMIT = { timeout: 60000 };
const DEADLINE_MS = 30000;

/** Blocks this thread until the counter has reached a value. */
function blockUntil(counters: Int32Array<SharedArrayBuffer>, index: number, value: number): void {
  const end = performance.now() + DEADLINE_MS;
  for (let now = Atomics.load(counters, index); now < value; now = Atomics.load(counters, index)) {
    assert.ok(performance.now() < end, `counter ${index} stands at ${now} of ${value}, with main blocked`);
    Atomics.wait(counters, index, now, 1000);
  }
}

function newCounters(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(16));
}

test('threads attach by importing, nested ones too, and share the heap', LIMIT, async (t) => {
  const text = new TextEncoder().encode('written by main');
  const block = heap.alloc(text.length);
  heap.view(block, text.length).set(text);
  const worker = owned(
    t,
    new Worker(fixture('attach-nested.js'), { workerData: { depth: 2, block, length: text.length } }),
  );
  const [message] = await once(worker, 'message');
  assert.equal(message.text, 'written by main');
  heap.free(message.answer); // allocated three threads away
  assert.throws(() => heap.free(block), { code: 'ERR_PLAIT_INVALID_POINTER' }, 'freed there already');
  await once(worker, 'exit');
});

test('a private space is attached to by its handle; another layout is refused', () => {
  const space = openSpace({ maximum: 2 ** 20 * 4 });
  const again = attach(space.handle);
  assert.notEqual(again.thread, space.thread);
  assert.throws(() => attach({ ...space.handle, layoutVersion: 999 }), { code: 'ERR_PLAIT_VERSION_MISMATCH' });
});

test('256 threads fill a space; the next one gets an error', () => {
  const space = openSpace({ maximum: 2 ** 20 * 64 });
  for (let i = 1; i < 256; i++) attach(space.handle);
  assert.throws(() => attach(space.handle), { code: 'ERR_PLAIT_TOO_MANY_THREADS' });
});

test('tasks continue while main is blocked', LIMIT, async (t) => {
  const counters = newCounters();
  const pool = owned(t, new Pool(fixture('node-tasks.js'), { threads: 2, workerData: { counters } }));
  await pool.run(0);
  const tasks = Array.from({ length: 64 }, () => pool.run(1));
  blockUntil(counters, 0, 65);
  await Promise.all(tasks);
  await pool.close();
});

test('workers start while main is blocked, from the first one on', LIMIT, async (t) => {
  const counters = newCounters();
  const pool = owned(t, new Pool(fixture('node-tasks.js'), { threads: 2, workerData: { counters } }));
  const tasks = Array.from({ length: 8 }, () => pool.run(1));
  blockUntil(counters, 0, 8);
  await Promise.all(tasks);
  await pool.close();
});

test('a worker that ends is replaced while main is blocked', LIMIT, async (t) => {
  const counters = newCounters();
  const pool = owned(t, new Pool(fixture('node-tasks.js'), { threads: 1, workerData: { counters } }));
  await pool.run(0);
  const exits = [pool.run(3, { name: 'exit' }), pool.run(4, { name: 'exit' })].map((exit) =>
    assert.rejects(exit, { code: 'ERR_PLAIT_WORKER_DIED' }),
  );
  const behind = Array.from({ length: 5 }, () => pool.run(1));
  blockUntil(counters, 0, 6);
  await Promise.all([...exits, ...behind]);
  await pool.close();
});

test('a stuck task times out and its worker is replaced while main is blocked', LIMIT, async (t) => {
  const counters = newCounters();
  const pool = owned(t, new Pool(fixture('node-tasks.js'), { threads: 1, timeout: 100, workerData: { counters } }));
  await pool.run(0);
  const stuck = assert.rejects(pool.run(0, { name: 'begin' }), { code: 'ERR_PLAIT_TASK_TIMEOUT' });
  const behind = pool.run(1);
  blockUntil(counters, 0, 2);
  await stuck;
  await behind;
  await pool.close();
});

test('a stopped owner ends its pool: connected threads get an error, and all slots are freed', LIMIT, async (t) => {
  const space = commonSpace();
  const slots = (space.core.plait_abi_space() >>> 0) + S.slots;
  const taken = (): number => {
    let count = 0;
    for (let i = 0; i < SLOT_LIMIT; i++) if (space.load(slots + i * Slot.BYTES + Slot.generationState) & 255) count++;
    return count;
  };
  const before = taken();
  for (let round = 0; round < 3; round++) {
    const owner = owned(t, new Worker(fixture('owner.js')));
    const [handle] = await once(owner, 'message');
    const connected = owned(t, connect(handle));
    const ends: Promise<void>[] = [];
    for (let i = 0; i < 3; i++) {
      await new Promise<void>((begun) => {
        const onProgress = i < 2 ? () => begun() : undefined;
        ends.push(assert.rejects(connected.run(0, { name: 'beginAndHang', ...(onProgress && { onProgress }) })));
        if (i === 2) begun(); // stays in the queue
      });
    }
    await owner.terminate();
    await Promise.all(ends);
    connected[Symbol.dispose]();
    assert.equal(taken(), before);
  }
  space.check();
});

test('a close by force ends the tasks that a worker runs for others, with main blocked', LIMIT, async (t) => {
  const space = openSpace({ maximum: 2 ** 26 });
  const counters = new Int32Array(new SharedArrayBuffer(4));
  const pool = owned(t, new Pool(fixture('pool-tasks.js'), { threads: 1, space }));
  await pool.run(1);
  const workerData = { counters, handle: pool.handle, spaceHandle: space.handle };
  const connected = owned(t, new Worker(fixture('connected.js'), { workerData }));
  const gone = once(connected, 'exit');
  const begun = Atomics.waitAsync(counters, 0, 0);
  if (begun.async) await begun.value;
  const [worker] = threadsOfPool(space, pool.handle.plaitPool) as [number];
  await until(() => space.load(slotOf(space, worker) + Slot.running) !== 0);
  const closed = pool.close({ force: true });
  blockUntil(counters, 0, 2);
  await closed;
  await gone;
  space.check();
});

for (const kind of ['function', 'symbol']) {
  test(`a worker that ends by a thrown ${kind} has the reason crashed`, LIMIT, async (t) => {
    const pool = owned(t, new Pool(fixture('node-tasks.js'), { threads: 1 }));
    const ends: string[] = [];
    pool.on('end', ({ reason }) => ends.push(reason));
    await assert.rejects(pool.run(kind, { name: 'throwOdd' }), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'ERR_PLAIT_WORKER_DIED');
      assert.match(String(error.cause), new RegExp(kind, 'i')); // as Node reports it
      return true;
    });
    await pool.close();
    assert.equal(ends[0], 'crashed');
  });
}

test('a worker that runs out of memory rejects its task with a code, and is replaced', LIMIT, async (t) => {
  const pool = owned(
    t,
    new Pool(fixture('node-tasks.js'), { threads: 1, resourceLimits: { maxOldGenerationSizeMb: 20 } }),
  );
  await assert.rejects(pool.run(0, { name: 'exhaust' }), { code: 'ERR_PLAIT_WORKER_OUT_OF_MEMORY' });
  assert.ok(await pool.run(0));
  await pool.close();
});

test('an error that was caught late is not the reason of a later end', LIMIT, async (t) => {
  const space = openSpace({ maximum: 2 ** 26 });
  const pool = owned(t, new Pool(fixture('node-tasks.js'), { threads: 1, space }));
  const reasons: string[] = [];
  pool.on('end', ({ reason }) => reasons.push(reason));
  assert.equal(await pool.run(0, { name: 'throwAndGoOn' }), 'went on');
  const error = (await pool.run(3, { name: 'exit' }).catch((reason) => reason)) as Error & { code?: string };
  assert.deepEqual([error.code, error.cause], ['ERR_PLAIT_WORKER_DIED', undefined]);
  assert.match(error.message, /ended with code 3/);
  await pool.close();
  assert.equal(reasons[0], 'exit');
});

test('every task fails if the coordinator ends, and the next pool gets another', LIMIT, async (t) => {
  // Several rounds: a later pool may get the very memory of an earlier one, for which somebody still waited.
  for (let round = 0; round < 5; round++) {
    const space = openSpace({ maximum: 2 ** 26 });
    const started: Worker[] = [];
    const note = (worker: Worker) => void started.push(worker);
    process.on('worker', note);
    const pool = owned(t, new Pool(fixture('tasks.js'), { threads: 2, space }));
    await pool.broadcast(1); // the coordinator answers
    process.off('worker', note);
    assert.equal(started.length, 1, 'this thread starts the coordinator, and nothing else');
    const tasks = [pool.run(1, { name: 'spin' }), pool.run(2, { name: 'spin' }), pool.run(3)];
    await Promise.all([
      ...tasks.map((task) => assert.rejects(task, { code: 'ERR_PLAIT_COORDINATOR_DIED' })),
      (started[0] as Worker).terminate(),
    ]);
    await assert.rejects(pool.run(4), { code: 'ERR_PLAIT_COORDINATOR_DIED' });
    await pool.close();
    const next = owned(t, new Pool(fixture('tasks.js'), { threads: 1, space }));
    assert.equal(await next.run('on'), 'on');
    await next.close();
    space.check(true);
    assert.equal(new Heap(() => space).stats().liveBlocks, 2, 'the stacks of this thread and of the new coordinator');
  }
});

test('a worker is stopped, exits and is replaced although main has never turned its event loop', LIMIT, async (t) => {
  const exited = (code: string, reason: string, run: (pool: Pool) => unknown, check: (error: Error) => void) =>
    new Promise<void>((resolve) => {
      const space = openSpace({ maximum: 2 ** 26 });
      const pool = owned(t, new Pool(fixture('pool-tasks.js'), { threads: 1, grace: 10, space }));
      assert.throws(
        () => run(pool),
        (error: Error & { code?: string }) => {
          assert.equal(error.code, code);
          check(error);
          return true;
        },
      );
      assert.equal(pool.runSync('on'), 'on');
      const { started, ended } = pool.stats();
      assert.equal(started, 2);
      assert.equal(ended[reason as 'exit'], 1, JSON.stringify(ended));
      resolve(
        pool.close().then(() => {
          space.check(true);
          assert.equal(new Heap(() => space).stats().liveBlocks, 2, 'the stacks of this thread and of the coordinator');
        }),
      );
    });
  await exited(
    'ERR_PLAIT_TASK_TIMEOUT',
    'stopped',
    (pool) => pool.runSync(0, { name: 'beginAndSpin', timeout: 30 }),
    ({ message }) => assert.match(message, /30 ms/),
  );
  await exited(
    'ERR_PLAIT_WORKER_DIED',
    'exit',
    (pool) => pool.runSync(3, { name: 'exit' }),
    ({ message }) => assert.match(message, /with code 3/),
  );
  await exited(
    'ERR_PLAIT_WORKER_DIED',
    'crashed',
    (pool) => pool.runSync('lost', { name: 'throwLater' }),
    ({ cause }) => assert.ok(cause instanceof EvalError && cause.message === 'lost', String(cause)),
  );
  await exited(
    'ERR_PLAIT_WORKER_DIED',
    'exit',
    (pool) => {
      assert.equal(pool.runSync('caught', { name: 'throwAndCatch' }), 'caught');
      pool.runSync(4, { name: 'exit' });
    },
    ({ message }) => assert.match(message, /with code 4/),
  );
  // A task that waits for the one that does not stop ends with its worker.
  await exited(
    'ERR_PLAIT_WORKER_DIED',
    'stopped',
    (pool) => pool.runSync({ timeout: 30 }, { name: 'awaitSpin' }),
    ({ message }) => assert.match(message, /because another task on it did not stop/),
  );
});

test('a worker that reaches its memory limit has that error, with main blocked', LIMIT, async () => {
  const program = `
    import { Pool } from 'plait';
    const pool = new Pool(${JSON.stringify(fixture('tasks.js').href)}, { threads: 1 });
    try { pool.runSync(0, { name: 'exhaust' }); } catch (error) { console.log(error.code); }
    console.log(pool.runSync('on'), pool.stats().ended.memory);
    await pool.close();`;
  // A large young generation that is promoted at once may pass the limit so far that Node ends the process.
  const args = ['--max-old-space-size=40', '--max-semi-space-size=1', '--input-type=module', '--eval', program];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
  });
  assert.equal(stdout, 'ERR_PLAIT_WORKER_OUT_OF_MEMORY\non 1\n');
});

test('a pool that cannot be opened leaves nothing', LIMIT, async (t) => {
  const space = openSpace({ maximum: 2 ** 26 });
  const workerData = { call: () => {} };
  assert.throws(() => new Pool(fixture('tasks.js'), { threads: 1, space, workerData }), { name: 'DataCloneError' });
  const pool = owned(t, new Pool(fixture('tasks.js'), { threads: 1, space }));
  assert.equal(await pool.run('on'), 'on');
  await pool.close();
  await until(() => new Heap(() => space).stats().liveBlocks <= 2, 'what the first pool had is still there');
  space.check(true);
});

test('a thread that is blocked finds out that the coordinator has ended', LIMIT, async (t) => {
  const space = openSpace({ maximum: 2 ** 26 });
  const started: Worker[] = [];
  const note = (worker: Worker) => void started.push(worker);
  process.on('worker', note);
  const pool = owned(t, new Pool(fixture('tasks.js'), { threads: 1, space }));
  await pool.broadcast(1); // the coordinator answers
  process.off('worker', note);
  assert.equal(started.length, 1);
  void started[0]?.terminate();
  assert.throws(() => pool.runSync(0, { name: 'spin' }), { code: 'ERR_PLAIT_COORDINATOR_DIED' });
  await assert.rejects(pool.run(1), { code: 'ERR_PLAIT_COORDINATOR_DIED' });
  await pool.close();
});

test('the coordinator sees signals that are raised while it polls', LIMIT, async () => {
  const space = openSpace({ maximum: 2 ** 26 });
  const pool = space.core.plait_pool_create() >>> 0;
  const options = {
    type: 'open',
    pool,
    threads: 0,
    module: '',
    concurrency: 1,
    grace: 1,
    idleTimeout: 1,
  };
  const listener = { closed() {}, indices() {}, done() {}, event() {}, message() {} };
  let polls = 0;
  const watched = Object.create(space, {
    cover: { value: (end: number) => space.cover(end) },
    load: {
      value: (ref: number) => {
        const value = space.load(ref);
        // Each look reads the state: in the second one, there is news right after.
        if (ref === pool + Layout.state && ++polls === 2) space.core.plait_pool_signal_coordinator(pool);
        return value;
      },
    },
  });
  new PoolSupervisor({} as never, watched, options as never, listener, new EndingThreads(watched), []);
  assert.equal(polls, 1);
  space.core.plait_pool_signal_coordinator(pool);
  await until(() => polls >= 3);
});

test('code that needs locks waits for the exit of threads that were stopped while they held one', async () => {
  const space = openSpace({ maximum: 2 ** 26 });
  const slot = slotOf(space, space.thread); // stands for that of both threads
  const ending = new EndingThreads(space);
  const done: string[] = [];
  const newThread = (name: string): HostThread =>
    ({ hostId: space.load(slot + Slot.hostId), terminate: () => done.push(`stop ${name}`) }) as never;
  const [one, two] = [newThread('one'), newThread('two')];
  ending.stop(one);
  ending.stop(two);
  ending.whenNoLock(() => done.push('before'));
  await null;
  assert.deepEqual(done.splice(0), ['before', 'stop one', 'stop two']);
  Atomics.store(space.u32, (slot + Slot.heldCount) >>> 2, 1);
  ending.whenNoLock(() => done.push('first'));
  ending.whenNoLock(() => done.push('second'));
  ending.ended(one);
  assert.equal(done.length, 0);
  ending.ended(two);
  assert.deepEqual(done.splice(0), ['first', 'second']);
  ending.whenNoLock(() => done.push('at once'));
  assert.deepEqual(done, ['at once']);
  Atomics.store(space.u32, (slot + Slot.heldCount) >>> 2, 0);
});

test('the coordinator polls, although a thread exited before it had signaled a task', LIMIT, async (t) => {
  const space = openSpace({ maximum: 2 ** 26 });
  const pool = owned(t, new Pool(fixture('pool-tasks.js'), { minThreads: 1, maxThreads: 2, space }));
  await pool.run(1);
  const word = (pool.handle.plaitPool + Layout.alert) / 4;
  await until(() => Atomics.load(space.u32, word) === Alert.ANY);
  // It has exited before the signal (see plait__worker_wake in core/task/wake.c).
  const { thread } = attach(space.handle);
  Atomics.store(space.u32, word, Alert.NONE);
  recoverThread(space, thread);
  await until(() => Atomics.load(space.u32, word) === Alert.ANY);
  await pool.close();
  space.check();
});

test('options reach the worker', LIMIT, async (t) => {
  const pool = owned(
    t,
    new Pool(fixture('node-tasks.js'), {
      threads: 1,
      workerData: { some: ['data'] },
      env: { PLAIT_TEST: 'set' },
      execArgv: ['--no-warnings'],
      resourceLimits: { maxOldGenerationSizeMb: 50 },
    }),
  );
  const seen = (await pool.run(0, { name: 'where' })) as Record<string, unknown>;
  assert.deepEqual(seen.data, { some: ['data'] });
  assert.equal(seen.env, 'set');
  assert.deepEqual(seen.args, ['--no-warnings']);
  assert.equal((seen.limits as Record<string, unknown>).maxOldGenerationSizeMb, 50);
  assert.equal(await pool.run(0, { name: 'notifyParent' }), true);
  await pool.close();
});

test('env: process.env is copied, without undefined values', LIMIT, async (t) => {
  const module = new URL('data:text/javascript,export default () => ({ ...process.env })');
  process.env.PLAIT_ENV = 'given';
  const pools = [process.env, { PLAIT_ENV: 'given', ABSENT: undefined }].map((env) =>
    owned(t, new Pool(module, { threads: 1, env })),
  );
  process.env.PLAIT_ENV = 'changed';
  const [whole, small] = (await Promise.all(pools.map((pool) => pool.run()))) as Record<string, string>[];
  delete process.env.PLAIT_ENV;
  assert.equal(whole?.PLAIT_ENV, 'given');
  assert.equal(whole?.PATH, process.env.PATH);
  assert.deepEqual(small, { PLAIT_ENV: 'given' });
  for (const pool of pools) await pool.close();
});

test('options for a Worker of the user: unknown ones are refused by name', () => {
  for (const [options, message] of [
    [null, 'options must be an object, not null'],
    [{ transferList: 5 }, 'options.transferList must be an array, not 5'],
    [{ workerData: [] }, /^options\.workerData must be a plain object/],
  ] as const) {
    assert.throws(() => workerOptions(options as never), { name: 'TypeError', message });
  }
});

test('options that Node refuses are an error, not a pool that hangs', LIMIT, async (t) => {
  assert.throws(() => new Pool(fixture('node-tasks.js'), { workerData: { call() {} } }), { name: 'DataCloneError' });
  const pool = owned(t, new Pool(fixture('node-tasks.js'), { threads: 2, execArgv: ['--no-such-option'] }));
  await assert.rejects(pool.run(0), { code: 'ERR_PLAIT_MODULE_LOAD', message: /no-such-option/ });
  await pool.close();
});

test('a pool that could not be opened sleeps nowhere: its memory is soon another pool', LIMIT, async (t) => {
  const { mock } = t.mock.method(Atomics, 'waitAsync');
  for (let i = 0; i < 3; i++) {
    assert.throws(() => new Pool(fixture('node-tasks.js'), { threads: 1, workerData: () => {} }), {
      name: 'DataCloneError',
    });
  }
  await new Promise((resolve) => setTimeout(resolve, 100)); // an open one lies down within 20 ms
  const space = commonSpace();
  const here = mock.calls.filter(({ arguments: [words] }) => words?.buffer.byteLength === space.u8.buffer.byteLength);
  assert.equal(here.length, 0);
});

test('timers of the module run while its worker is idle', LIMIT, async (t) => {
  const pool = owned(t, new Pool(fixture('node-tasks.js'), { threads: 1 }));
  const before = (await pool.run(0, { name: 'countTicks' })) as number;
  for (let now = before; now < before + 5; now = (await pool.run(0, { name: 'countTicks' })) as number) {
    await new Promise((resolve) => setTimeout(resolve, 60)); // longer than a worker waits with its event loop still
  }
  await pool.close();
});

test('CommonJS modules are modules too', LIMIT, async (t) => {
  const pool = owned(t, new Pool(fileURLToPath(fixture('commonjs.cjs')), { threads: 1 }));
  assert.equal(await pool.run(21, { name: 'twice' }), 42);
  await pool.close();
});

/** Starts the churning Worker and resolves when it is at it. */
async function churn(t: TestContext, options: object): Promise<Worker> {
  const worker = owned(t, new Worker(fixture('churn.js'), options));
  await once(worker, 'message');
  return worker;
}

test(`Workers terminated during allocations leave the heap consistent (seed ${seed})`, LIMIT, async (t) => {
  let state = seed;
  for (let round = 0; round < 12 * rounds; round++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const options = { workerData: { seed: state } };
    const workers = await Promise.all([churn(t, round % 2 ? options : workerOptions(options)), churn(t, options)]);
    const end = performance.now() + (state % 4000) / 1000;
    while (performance.now() < end) heap.free(heap.alloc(state % 5000));
    await Promise.all(workers.map((worker) => worker.terminate()));
    heap.free(heap.alloc(100000));
    heap.check();
  }
});

test('the exit of a Worker with workerOptions() is noticed while main is blocked', LIMIT, async (t) => {
  const worker = await churn(t, workerOptions({ workerData: { seed } }));
  const space = commonSpace();
  const [thread] = threadsOfHost(space, worker.threadId);
  const generationState = slotOf(space, thread as number) + Slot.generationState;
  assert.equal(space.load(generationState) & 255, SlotState.LIVE);
  void worker.terminate();
  const end = performance.now() + DEADLINE_MS;
  while ((space.load(generationState) & 255) !== SlotState.FREE) {
    assert.ok(performance.now() < end, 'the slot of the ended Worker is still taken, with main blocked');
    Atomics.wait(space.i32, generationState >>> 2, space.load(generationState), 5);
  }
});

test('workerOptions refuses workerData that could not carry the port', () => {
  for (const workerData of [5, 'text', null, new Map(), [1]]) {
    assert.throws(() => workerOptions({ workerData }), TypeError);
  }
  const options = workerOptions({ workerData: { mine: 1 }, transferList: [], name: 'kept' });
  assert.equal(options.name, 'kept');
  assert.equal(options.workerData.mine, 1);
});

for (const [program, expected] of [
  ['idle', 'one\n'],
  ['outstanding', 'settled\n'],
  ['closed', 'closed\n'],
  ['unused', 'unused\n'],
  ['closing', 'settled\nclosed\n'],
] as const) {
  test(`a process ends by itself, and not too early: ${program}`, LIMIT, async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(fixture('program.js')), program], {
      timeout: DEADLINE_MS,
    });
    assert.equal(stdout, expected);
  });
}

test('require() of the package works', LIMIT, async () => {
  const code = "const { Pool, heap } = require('plait'); console.log(typeof Pool, heap.stats().liveBlocks)";
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', code], {
    cwd: fileURLToPath(new URL('../../', import.meta.url)),
  });
  assert.match(stdout, /^function \d+\n$/);
});
