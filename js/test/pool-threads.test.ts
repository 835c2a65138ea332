/**
 * Pools in Node under load: every task runs exactly once while workers exit and several threads submit; pools continue
 * while the main thread is busy. Main waits in a synchronous loop for counters of the pool, never for a time.
 */
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { connect, heap, Pool, type PoolStats, workerOptions } from 'plait';
import { random } from './cases/check.ts';
import { until } from './cases/pool-setup.ts';
import { owned } from './owned.ts';
import { rounds, seed } from './seed.ts';

const fixture = (name: string): URL => new URL(`../../js/test/fixtures/${name}`, import.meta.url);
const tasks = fixture('pool-tasks.js');
const LIMIT = { timeout: 120000 };
const DEADLINE_MS = 30000;

/** Keeps this thread busy, its event loop still, until the pool's counters say so. */
function spinUntil(pool: Pool, holds: (stats: PoolStats) => boolean): void {
  const end = performance.now() + DEADLINE_MS;
  for (;;) {
    const stats = pool.stats();
    if (holds(stats)) return;
    assert.ok(performance.now() < end, `with main busy, the pool stands at ${JSON.stringify(stats)}`);
    for (const stop = performance.now() + 1; performance.now() < stop; );
  }
}

test(
  'a busy main thread: tasks end, a stuck one is timed out and its worker replaced, the pool grows',
  LIMIT,
  async (t) => {
    const busySince = performance.timeOrigin + performance.now();
    const pool = owned(t, new Pool(tasks, { minThreads: 1, maxThreads: 3, grace: 20 }));
    const events: { type: string; at: number; reason?: string }[] = [];
    pool.on('start', ({ at }) => events.push({ type: 'start', at }));
    pool.on('end', ({ at, reason }) => events.push({ type: 'end', at, reason }));
    const stuck = pool.run(0, { name: 'beginAndSpin', timeout: 50 });
    const stop = new AbortController();
    const aborted = pool.run(0, { name: 'beginAndSpin', signal: stop.signal });
    const others = Promise.all(Array.from({ length: 30 }, () => pool.run(5, { name: 'busy' })));
    stuck.catch(() => {});
    aborted.catch(() => {});
    stop.abort();
    spinUntil(
      pool,
      ({ completed, ended, started, workers }) =>
        completed === 30 && ended.stopped >= 1 && started >= 4 && workers.length === 3,
    );
    assert.equal(events.length, 0, 'no event was received meanwhile');
    await assert.rejects(stuck, { code: 'ERR_PLAIT_TASK_TIMEOUT' });
    await assert.rejects(aborted, { name: 'AbortError' });
    assert.equal((await others).length, 30);
    const isReported = (): boolean =>
      events.filter(({ type }) => type === 'start').length >= 4 && events.some(({ reason }) => reason === 'stopped');
    await until(isReported);
    // By the coordinator's clock. A second: each thread's time has an origin of its own, taken from the wall clock.
    const now = performance.timeOrigin + performance.now();
    for (const { at } of events) assert.ok(at > busySince - 1000 && at < now + 1000, `${busySince} ${at} ${now}`);
    await pool.close();
  },
);

test(`millions of no-ops from three threads, while workers exit (seed ${seed})`, LIMIT, async (t) => {
  const next = random(seed);
  const pool = owned(t, new Pool(tasks, { threads: 2, grace: 10 }));
  const size = 20000;
  const batches = 35 * rounds;
  const expected = (base: number) => {
    const count = size * batches;
    return { count, sum: base * count + (count * (count - 1)) / 2 };
  };
  const submitters = [1e6, 3e7].map((base) => {
    const workerData = { handle: pool.handle, rounds: batches, size, base };
    const worker = owned(t, new Worker(fixture('submitter.js'), workerOptions({ workerData })));
    return { base, done: once(worker, 'message') };
  });
  let sum = 0;
  let count = 0;
  let exits = 0;
  for (let batch = 0; batch < batches; batch++) {
    const inputs = Array.from({ length: size }, (_, i) => batch * size + i);
    const exit =
      next(2) === 0
        ? assert.rejects(pool.run(3, { name: 'exit', priority: next(7) - 3 }), { code: 'ERR_PLAIT_WORKER_DIED' })
        : assert.rejects(pool.run(0, { name: 'beginAndSpin', timeout: 1 + next(20) }), {
            code: 'ERR_PLAIT_TASK_TIMEOUT',
          });
    exits++;
    for (const output of (await pool.runMany(inputs)) as number[]) {
      sum += output;
      count++;
    }
    await exit;
  }
  assert.deepEqual({ count, sum }, expected(0));
  for (const { base, done } of submitters) assert.deepEqual((await done)[0], expected(base));
  const stats = pool.stats();
  assert.equal(stats.completed, 3 * size * batches, 'completed');
  assert.equal(stats.failed, exits, 'failed');
  assert.equal(stats.ended.exit + stats.ended.stopped, exits, `exits: ${JSON.stringify(stats.ended)}`);
  await pool.close();
  heap.check();
});

test('undelivered progress is bounded, and accepted values arrive in order', LIMIT, async (t) => {
  const pool = owned(t, new Pool(tasks, { threads: 1 }));
  for (const size of [10, 100000]) {
    const before = pool.stats().completed;
    let received = 0;
    const sent = pool.run(size, { name: 'flood', onProgress: () => received++ }) as Promise<number>;
    spinUntil(pool, ({ completed }) => completed === before + 1);
    const count = await sent;
    assert.equal(received, count);
    assert.ok(count * (size + 100) < 2 ** 23 && count * (size * 2 + 500) > 2 ** 23, `${count} of ${size} bytes`);
  }
  await pool.close();
});

test('submitters take turns: a single task does not wait for the many tasks of another thread', LIMIT, async (t) => {
  const pool = owned(t, new Pool(tasks, { threads: 1 }));
  const other = owned(t, connect(pool.handle));
  await pool.run(0);
  const hold = pool.run(20, { name: 'busy' });
  const many = Array.from({ length: 50 }, (_, i) => pool.run(`many ${i}`, { name: 'receive' }));
  const few = Array.from({ length: 2 }, (_, i) => other.run(`few ${i}`, { name: 'receive' }));
  await Promise.all([hold, ...many, ...few]);
  const received = await pool.run<string[]>(0, { name: 'receivedValues' });
  assert.equal(received.length, 52);
  assert.ok(received.indexOf('few 0') <= 2 && received.indexOf('few 1') <= 4, String(received.slice(0, 6)));
  assert.deepEqual(
    received.filter((word) => word.startsWith('many')),
    many.map((_, i) => `many ${i}`),
  );
  other[Symbol.dispose]();
  await pool.close();
});

test('stats: any thread can read what each worker does', LIMIT, async (t) => {
  const pool = owned(t, new Pool(tasks, { threads: 1 }));
  await pool.run(20, { name: 'busy' });
  const inside = await pool.run<PoolStats>(0, { name: 'statsInside' });
  assert.deepEqual([inside.running, inside.completed, inside.workers.length], [1, 1, 1]);
  spinUntil(pool, ({ workers: [worker] }) => worker !== undefined && worker.heapUsed > 0);
  const { workers, run, wait } = pool.stats();
  const { utilization, eventLoopUtilization, heapUsed, age, tasks: count } = workers[0] as PoolStats['workers'][0];
  assert.ok(utilization > 0 && utilization <= 1 && age * utilization >= 19, `${utilization} of ${age} ms`);
  assert.ok(eventLoopUtilization > 0 && eventLoopUtilization <= 1, `event loop: ${eventLoopUtilization}`);
  assert.ok(heapUsed > 2 ** 20 && heapUsed < 2 ** 28, `heap: ${heapUsed}`);
  assert.deepEqual([count, run.count, wait.count], [2, 2, 2]);
  assert.ok(run.max >= 19 && run.p99 >= 15 && run.p50 <= run.p90 && run.p90 <= run.p99, JSON.stringify(run));
  await pool.close();
});

test('one task after another: no late wake-up loses a task or runs one twice', LIMIT, async (t) => {
  // A published design, "id or free" in one word, does both here: it takes a wake-up for a promise.
  const pool = owned(t, new Pool(tasks, { threads: 2 }));
  for (let i = 0; i < 20000 * rounds; i++) assert.equal(await pool.run(i), i);
  assert.equal(pool.stats().completed, 20000 * rounds);
  await pool.close();
});

test('a progress listener may close the connection while more progress waits', LIMIT, async (t) => {
  await using pool = owned(t, new Pool(tasks, { threads: 1 }));
  await pool.run(1);
  for (let round = 0; round < 5; round++) {
    const connected = owned(t, connect(pool.handle));
    const reused: ReturnType<typeof heap.bytes>[] = [];
    let received = 0;
    const onProgress = (): void => {
      if (received++ > 0) return; // the rest is received while the first call closes the connection
      connected[Symbol.dispose]();
      while (reused.length < 200) reused.push(heap.bytes(176).fill(0xff)); // of the size of what was freed
    };
    const { completed } = pool.stats();
    const reported = connected.run(100, { name: 'reportSync', onProgress });
    spinUntil(pool, (stats) => stats.completed > completed);
    await reported; // received, like everything in the inbox
    assert.equal(received, 100);
    for (const bytes of reused) {
      assert.ok(bytes.every((byte) => byte === 0xff));
      heap.free(bytes);
    }
    assert.equal(await pool.run(round), round);
  }
  heap.check();
});

test('the caller’s asynchronous context is kept', LIMIT, async (t) => {
  const storage = new AsyncLocalStorage<string>();
  const pool = owned(t, new Pool(tasks, { threads: 1 }));
  await Promise.all(
    ['one', 'two'].map((context) =>
      storage.run(context, async () => {
        await pool.run(4, { name: 'report', onProgress: () => assert.equal(storage.getStore(), context, 'progress') });
        assert.equal(storage.getStore(), context, 'run');
        function* inputs() {
          for (let i = 0; i < 600; i++) {
            assert.equal(storage.getStore(), context, 'inputs');
            yield i;
          }
        }
        for await (const output of pool.map(inputs(), { concurrency: 3 })) {
          assert.equal(storage.getStore(), context, `map ${output}`);
        }
      }),
    ),
  );
  // The inputs' code belongs to whoever iterates, as a generator's does, whatever moment it runs at.
  const seen = new Set<string | undefined>();
  function* inputs() {
    for (let i = 0; i < 100; i++) {
      seen.add(storage.getStore());
      yield i;
    }
  }
  const made = storage.run('made', () => pool.map(inputs(), { concurrency: 3 }));
  await storage.run('read', async () => {
    for await (const _ of made) if (Math.random() < 0.5) await new Promise((resolve) => setImmediate(resolve));
  });
  assert.deepEqual([...seen], ['read']);
  await pool.close();
});

test('an idle pool does not keep the process alive; outstanding tasks do; it ends by itself', LIMIT, async () => {
  const program = `
    import { Pool } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)};
    const pool = new Pool(${JSON.stringify(tasks.href)}, { minThreads: 0, maxThreads: 2, timeout: 60000 });
    const grown = new Pool(${JSON.stringify(tasks.href)}, { threads: 2 });
    pool.on('start', () => {});
    await grown.run(1);
    pool.run(200, { name: 'pause' }).then((value) => console.log('ended', value));
    const stop = new AbortController();
    pool.run(1e6, { name: 'pause', signal: stop.signal }).catch((error) => console.log(error.name));
    setTimeout(() => stop.abort(), 50);
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    timeout: 60000,
    cwd: fileURLToPath(new URL('.', import.meta.url)),
  });
  assert.deepEqual(stdout.trim().split('\n').sort(), ['AbortError', 'ended 200']);
});

test('mocked timers in a test stop no pool, neither in its thread nor in its workers', LIMIT, async () => {
  const program = `
    import { mock } from 'node:test';
    import { Pool } from 'plait';
    mock.timers.enable();
    const work = 'import { mock } from "node:test"; mock.timers.enable(); export default async (i) => i;';
    const pool = new Pool('data:text/javascript,' + work, { threads: 2, maxQueue: 100 });
    let sum = 0;
    for (let i = 0; i < 200; i++) sum += await pool.run(i);
    for await (const i of pool.map(Array.from({ length: 2000 }, (_, i) => i))) sum += i;
    console.log(sum);
    await pool.close({ timeout: 10000 });
    console.log('closed');
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    timeout: 60000,
    cwd: fileURLToPath(new URL('.', import.meta.url)),
  });
  assert.equal(stdout, `${(199 * 200) / 2 + (1999 * 2000) / 2}\nclosed\n`);
});

test(
  "global timers that a runner replaced before Plait was loaded stop neither a pool nor a file's watcher",
  LIMIT,
  async () => {
    const program = `
    for (const name of ['setTimeout', 'setInterval', 'setImmediate']) globalThis[name] = () => ({ unref() {} });
    const [{ Pool }, { default: fs }] = await Promise.all([import('plait'), import('plait/fs')]);
    const pool = new Pool('data:text/javascript,export default (i) => i', { threads: 2, maxQueue: 100 });
    let sum = 0;
    for await (const i of pool.map(Array.from({ length: 2000 }, (_, i) => i))) sum += i;
    console.log(sum);
    await pool.close({ timeout: 10000 });
    fs.mkdirSync('/watched');
    let left = 100;
    await new Promise((resolve) => {
      const write = () => fs.writeFileSync('/watched/' + left, '');
      // The change that the listener makes is there before anybody waits for it.
      const watcher = fs.watch('/watched', () => {
        if (left-- > 0) return write();
        watcher.close();
        resolve();
      });
      write();
    });
    console.log('seen');
  `;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
      timeout: 60000,
      cwd: fileURLToPath(new URL('.', import.meta.url)),
    });
    assert.equal(stdout, `${(1999 * 2000) / 2}\nseen\n`);
  },
);

test(
  'results that come quickly are looked for each millisecond, also under a clock that a test has replaced',
  LIMIT,
  async () => {
    const program = `
    const timers = process.getBuiltinModule('node:timers');
    const { setTimeout } = timers;
    let looks = 0;
    timers.setTimeout = (listener, delay) => { if (delay === 1) looks++; return setTimeout(listener, delay); };
    const { Pool } = await import('plait');
    timers.setTimeout = globalThis.setTimeout = () => { throw new Error('not this one'); };
    const spin = 'export default (i) => { const end = performance.now() + 0.03; while (performance.now() < end); return i; }';
    const pool = new Pool('data:text/javascript,' + spin, { threads: 2 });
    const results = await Promise.all(Array.from({ length: 3000 }, (_, i) => pool.run(i)));
    console.log(results.every((result, i) => result === i), looks > 0);
    await pool.close();
  `;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
      timeout: 60000,
      cwd: fileURLToPath(new URL('.', import.meta.url)),
    });
    assert.equal(stdout, 'true true\n');
  },
);
