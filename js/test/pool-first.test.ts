/**
 * The first pool of a program: its coordinator is put off while its first worker boots. Whatever the main thread does
 * meanwhile, it gets what any pool gives. Each case is a program of its own, whose first pool it is.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

const LIMIT = { timeout: 120000 };
const execute = promisify(execFile);
const index = JSON.stringify(new URL('../../dist/node/index.js', import.meta.url).href);
const fixtures = new URL('../../js/test/fixtures/', import.meta.url);

/** Runs a program and gives what it has printed as JSON, line by line. It has to end by itself. */
async function program(source: string): Promise<unknown[]> {
  const text = `
    import { Worker } from 'node:worker_threads';
    import { Pool } from ${index};
    const counters = new Int32Array(new SharedArrayBuffer(32));
    const tasks = new URL(${JSON.stringify(new URL('first-tasks.js', fixtures).href)});
    const open = (options, module = tasks) => new Pool(module, { threads: 2, workerData: counters, ...options });
    const say = (value) => console.log(JSON.stringify(value ?? null));
    const codeOf = (promise) => promise.then(() => 'fulfilled', (error) => (typeof error.code === 'string' ? error.code : error.name));
    /** Blocks this thread until it holds. */
    const block = (holds) => {
      for (const end = performance.now() + 30000; !holds(); ) if (performance.now() > end) throw new Error('in vain');
    };
    const threads = [];
    process.on('worker', ({ threadId }) => threads.push(threadId));
    let firstThread;
    process.once('worker', (worker) => {
      firstThread = worker;
    });
    /** The first worker's thread is no more. It does not keep the process alive, but this does. */
    const gone = async () => {
      while (firstThread?.threadId !== -1) await new Promise((resolve) => setTimeout(resolve, 2));
    };
    /** This thread came round so late that the first worker's has become the coordinator. */
    const lent = () => {
      say('lent');
      process.exit();
    };
    /**
     * From here on no thread but the first to be started begins, until what this gives is called, once it is asked for.
     */
    const holdCoordinator = () => {
      const { postMessage } = Worker.prototype;
      const held = [];
      let first;
      Worker.prototype.postMessage = function (...message) {
        first ??= this;
        if (this === first) postMessage.apply(this, message);
        else held.push(() => postMessage.apply(this, message));
      };
      return async ({ isAsked = false } = {}) => {
        if (!isAsked && first.threadId !== -1) lent(); // nobody had asked for a coordinator
        while (held.length === 0) await new Promise(setImmediate);
        Worker.prototype.postMessage = postMessage;
        for (const send of held) send();
      };
    };
    ${source}`;
  for (;;) {
    const { stdout } = await execute(process.execPath, ['--input-type=module', '-e', text], { timeout: 60000 });
    const lines = stdout.split('\n').filter((line) => line !== '');
    const said = lines.map((line) => JSON.parse(line) as unknown);
    if (!said.includes('lent')) return said; // else it is another case, which a busy machine makes
  }
}

test('a program that awaits its first result starts one thread for it, and the others then', LIMIT, async () => {
  const [first, early, meeting, all] = await program(`
    const pool = open();
    say(await pool.run(7));
    say(threads.length);
    say(await pool.runMany([1, 2], { name: 'meet' }));
    say(counters[0]);
    await pool.close();`);
  assert.equal(first, 7);
  assert.ok(early === 1 || early === 2, `${early} threads`); // two on a machine that is slow just then
  assert.deepEqual([meeting, all], [[1, 2], 2]);
});

test('main is blocked from the start: all workers are there, with what main gave them', LIMIT, async () => {
  const said = await program(`
    const pool = open();
    block(() => Atomics.load(counters, 0) === 2);
    const { workers } = pool.stats();
    say(workers.length);
    say(await pool.runMany([1, 2], { name: 'meet' }));
    const second = new Pool(tasks, { threads: 1, workerData: new Int32Array(new SharedArrayBuffer(8)) });
    say(await second.run(5));
    say(counters[0]); // the second pool's worker has counted elsewhere
    await Promise.all([pool.close(), second.close()]);`);
  assert.deepEqual(said, [2, [1, 2], 5, 2]);
});

test('main is blocked after one task, which hands out tasks that need more workers', LIMIT, async () => {
  const said = await program(`
    const pool = open({ threads: 3 });
    const result = pool.run(0, { name: 'pairs' });
    block(() => pool.stats().completed === 3);
    say(await result);
    await pool.close();`);
  assert.deepEqual(said, [[1, 2]]);
});

test('main is blocked, and what it has asked for is done all the same', LIMIT, async () => {
  const cases: [string, string][] = [
    ["Promise.all([codeOf(pool.run(0, { name: 'meet' })), codeOf(pool.run(0, { name: 'meet' }))])", 'completed === 2'],
    ["codeOf(pool.run(0, { name: 'spin', timeout: 50 }))", 'ended.stopped === 1'],
    ["codeOf(pool.run(3, { name: 'exit', retries: 1 }))", 'ended.exit === 2'],
  ];
  for (const [call, holds] of cases) {
    const said = await program(`
      const pool = open({ grace: 20 });
      const result = ${call};
      block(() => { const { completed, ended } = pool.stats(); return ${holds}; });
      say(await result);
      await pool.close();`);
    assert.equal(said.length, 1, call);
  }
  const timedOut = await program(`
    const pool = open({ timeout: 50, grace: 20 });
    const result = codeOf(pool.run(0, { name: 'spin' }));
    block(() => pool.stats().ended.stopped === 1);
    say(await result);
    await pool.close();`);
  assert.deepEqual(timedOut, ['ERR_PLAIT_TASK_TIMEOUT']);
});

test('a task is aborted while main blocks right after it', LIMIT, async () => {
  const said = await program(`
    const pool = open({ grace: 20 });
    const controller = new AbortController();
    const result = codeOf(pool.run(0, { name: 'spin', signal: controller.signal }));
    block(() => Atomics.load(counters, 1) === 1); // a task that was taken, but has not begun, leaves without a trace
    controller.abort();
    block(() => pool.stats().ended.stopped === 1);
    say(await result);
    say(await pool.run(4));
    await pool.close();`);
  assert.deepEqual(said, ['AbortError', 4]);
});

test('runSync is the first call, and the worker that runs it dies', LIMIT, async () => {
  const said = await program(`
    const pool = open();
    say(pool.runSync(6));
    let code;
    try { pool.runSync(3, { name: 'exit' }); } catch (error) { code = error.code; }
    say(code);
    say(pool.runSync(8));
    await pool.close();`);
  assert.deepEqual(said, [6, 'ERR_PLAIT_WORKER_DIED', 8]);
  const first = await program(`
    const pool = open();
    try { pool.runSync(3, { name: 'exit' }); } catch (error) { say(error.code); }
    await pool.close();`);
  assert.deepEqual(first, ['ERR_PLAIT_WORKER_DIED']);
});

test('the first worker ends before anybody looks after it', LIMIT, async () => {
  const said = await program(`
    const pool = open();
    say(await codeOf(pool.run(3, { name: 'exit' })));
    say(await pool.run(1));
    await pool.close();`);
  assert.deepEqual(said, ['ERR_PLAIT_WORKER_DIED', 1]);
  for (const module of ['throws-on-load.js', 'no-such-module.js']) {
    const failed = await program(`
      const pool = open({}, new URL(${JSON.stringify(new URL(module, fixtures).href)}));
      say(await codeOf(pool.run(1)));
      say(await codeOf(pool.run(2)));
      await pool.close();`);
    assert.deepEqual(failed, ['ERR_PLAIT_MODULE_LOAD', 'ERR_PLAIT_MODULE_LOAD'], module);
    const blocked = await program(`
      const pool = open({}, new URL(${JSON.stringify(new URL(module, fixtures).href)}));
      const result = codeOf(pool.run(1));
      block(() => pool.stats().queued === 0); // whoever is the coordinator then: it comes back, for the pool has failed
      say(await result);
      await pool.close();`);
    assert.deepEqual(blocked, ['ERR_PLAIT_MODULE_LOAD'], `${module}, main blocked`);
  }
});

test('a task whose worker ends before the coordinator is there is rejected at once, and counted', LIMIT, async () => {
  for (const [call, reason] of [
    ["pool.run(3, { name: 'exit' })", 'exit'],
    ["pool.run('oops', { name: 'crash' })", 'crashed'],
    ["pool.run(0, { name: 'hoard' })", 'memory'],
  ] as const) {
    const said = await program(`
      // Of threads from here on. A pool with limits of its own does not put off its coordinator.
      process.getBuiltinModule('node:v8').setFlagsFromString('--max-old-space-size=30');
      const heard = [];
      const letGo = holdCoordinator();
      const pool = open();
      pool.on('start', ({ worker }) => heard.push(['start', worker]));
      pool.on('end', ({ worker, reason }) => heard.push(['end', worker, reason]));
      const told = ({ name, code, message, cause }) => ({
        name, code, message, cause: cause && { name: cause.name, message: cause.message, isRange: cause instanceof RangeError },
      });
      const first = await ${call}.catch(told);
      say(first);
      const { started, failed, ended } = pool.stats();
      say({ started, failed, ended: ended.${reason}, heard: heard.length });
      await letGo();
      say(await pool.run(1));
      while (!heard.some(([type]) => type === 'end')) await new Promise(setImmediate);
      say(heard.filter(([, worker]) => worker === threads[0]).map(([type, , reason]) => (reason === undefined ? [type] : [type, reason])));
      while (pool.stats().workers.length < 2) await new Promise(setImmediate);
      say([pool.stats().ended.${reason}, pool.stats().started]);
      say(await ${call}.catch(told)); // as the coordinator tells it
      say(pool.stats().ended.${reason});
      await pool.close();`);
    const [error, early, result, events, counts, later, ended] = said as [{ code: string }, ...unknown[]];
    assert.equal(error.code, `ERR_PLAIT_WORKER_${reason === 'memory' ? 'OUT_OF_MEMORY' : 'DIED'}`);
    assert.deepEqual(error, later, 'the same, whoever has noticed');
    assert.deepEqual(early, { started: 1, failed: 1, ended: 1, heard: 0 });
    assert.deepEqual([result, events, counts, ended], [1, [['start'], ['end', reason]], [1, 3], 2]);
  }
});

test('the first worker ends when the coordinator is there, which alone counts it', LIMIT, async () => {
  const said = await program(`
    const pool = open({ threads: 1 });
    say(await pool.broadcast(1)); // answered by the coordinator
    say(await codeOf(pool.run(3, { name: 'exit' })));
    await gone();
    say(await pool.run(2));
    const { started, ended } = pool.stats();
    say([started, ended.exit]);
    await pool.close();`);
  assert.deepEqual(said, [[1], 'ERR_PLAIT_WORKER_DIED', 2, [2, 1]]);
});

test('the worker that ends before the coordinator is there leaves other tasks', LIMIT, async () => {
  const queued = await program(`
    const letGo = holdCoordinator();
    const pool = open({ threads: 1 });
    const dies = codeOf(pool.run(3, { name: 'exit' }));
    const second = pool.run(8);
    say(await dies);
    say(pool.stats().queued);
    await letGo();
    say(await second);
    await pool.close();`);
  assert.deepEqual(queued, ['ERR_PLAIT_WORKER_DIED', 1, 8]);
  const again = await program(`
    const letGo = holdCoordinator();
    const pool = open();
    const twice = pool.run(9, { name: 'exitOnce', retries: 1 });
    while (pool.stats().ended.exit === 0) await new Promise(setImmediate);
    say(pool.stats().queued);
    await letGo();
    say(await twice);
    await pool.close();
    say(counters[1]);`);
  assert.deepEqual(again, [1, 9, 2]);
});

test('a pool that is closed, or left, when its worker has ended before the coordinator is there', LIMIT, async () => {
  for (const options of ['', '{ force: true }', '{ timeout: 1 }']) {
    const said = await program(`
      const letGo = holdCoordinator();
      const pool = open();
      const dies = codeOf(pool.run(3, { name: 'exit' }));
      const closed = dies.then(() => pool.close(${options}));
      say(await dies);
      await letGo();
      await closed;
      say(await codeOf(pool.run(1)));`);
    assert.deepEqual(said, ['ERR_PLAIT_WORKER_DIED', 'ERR_PLAIT_POOL_CLOSED'], options);
    const meanwhile = await program(`
      const letGo = holdCoordinator();
      const pool = open();
      const dies = codeOf(pool.run(3, { name: 'exit' }));
      const closed = pool.close(${options});
      say(await dies);
      await letGo({ isAsked: true });
      await closed;`);
    assert.ok(['ERR_PLAIT_WORKER_DIED', 'ERR_PLAIT_POOL_CLOSED'].includes(meanwhile[0] as string), options);
  }
  const left = await program(`
    holdCoordinator();
    say(await codeOf(open().run(3, { name: 'exit' })));`);
  assert.deepEqual(left, ['ERR_PLAIT_WORKER_DIED']);
});

test('another thread uses the pool while main is blocked', LIMIT, async () => {
  const said = await program(`
    const pool = open();
    const done = new Int32Array(new SharedArrayBuffer(4));
    const source = \`
      import { workerData } from 'node:worker_threads';
      const { connect } = await import(\${JSON.stringify(${index})});
      const pool = connect(workerData.handle);
      await pool.runMany([1, 2], { name: 'meet' });
      pool[Symbol.dispose]();
      Atomics.store(workerData.done, 0, 1);\`;
    new Worker(new URL('data:text/javascript,' + encodeURIComponent(source)), { workerData: { handle: pool.handle, done } });
    block(() => Atomics.load(done, 0) === 1);
    say('met');
    await pool.close();`);
  assert.deepEqual(said, ['met']);
});

test('a pool that is closed, resized or asked at once', LIMIT, async () => {
  const said = await program(`
    const pool = open();
    pool.resize({ max: 3 });
    say((await pool.broadcast(0, { name: 'thread' })).length > 0);
    await pool.close();
    const next = open();
    await next.close({ force: true });
    const last = open();
    const result = codeOf(last.run(1));
    const closed = last.close({ force: true });
    say(['fulfilled', 'ERR_PLAIT_POOL_CLOSED'].includes(await result));
    await closed;`);
  assert.deepEqual(said, [true, true]);
});

test('a program whose pool has nothing to do ends, blocked before that or not', LIMIT, async () => {
  assert.deepEqual(await program('open();'), []);
  assert.deepEqual(await program('open(); block(() => Atomics.load(counters, 0) === 2);'), []);
  assert.deepEqual(await program('const pool = open(); say(await pool.run(2));'), [2]);
  assert.deepEqual(
    await program(`
      const pool = open();
      block(() => Atomics.load(counters, 0) === 2);
      say(await pool.run(2));`),
    [2],
  );
});

test('the options of the first pool are its own', LIMIT, async () => {
  const said = await program(`
    const env = { ...process.env, PLAIT_FIRST: 'first' };
    const first = new Pool(new URL('data:text/javascript,export default () => process.env.PLAIT_FIRST ?? null'), { threads: 1, env });
    const second = new Pool(new URL('data:text/javascript,export default () => process.env.PLAIT_FIRST ?? null'), { threads: 1 });
    block(() => first.stats().started === 1 && second.stats().started === 1);
    say([await first.run(), await second.run()]);
    await Promise.all([first.close(), second.close()]);`);
  assert.deepEqual(said, [['first', null]]);
});

test('workerData is as it was when the pool was made, for all workers', LIMIT, async () => {
  const module = `export default () => workerData.at(0); import { workerData } from 'node:worker_threads';`;
  const said = await program(`
    const workerData = ['then'];
    const pool = new Pool(new URL(${JSON.stringify(`data:text/javascript,${encodeURIComponent(module)}`)}), { threads: 2, workerData });
    workerData[0] = 'later';
    say(await pool.run());
    say(await pool.broadcast());
    await pool.close();
    try { new Pool(tasks, { workerData: () => {} }); } catch (error) { say(error.name); }`);
  assert.deepEqual(said.slice(0, 1), ['then']);
  assert.ok((said[1] as string[]).every((value) => value === 'then'));
  assert.equal(said[2], 'DataCloneError');
});

test('the environment of all workers is the one from when the pool was made', LIMIT, async () => {
  const module = 'export default () => [process.env.PLAIT_LATER ?? null, process.env.PLAIT_GONE ?? null]';
  const said = await program(`
    process.env.PLAIT_GONE = 'there';
    const pool = new Pool(new URL(${JSON.stringify(`data:text/javascript,${encodeURIComponent(module)}`)}), { threads: 3 });
    process.env.PLAIT_LATER = 'later';
    delete process.env.PLAIT_GONE;
    await pool.run();
    await pool.runMany([1, 2, 3, 4]);
    say(await pool.broadcast());
    await pool.close();`);
  const [answers] = said as [unknown[]];
  assert.ok(answers.length > 0);
  for (const answer of answers) assert.deepEqual(answer, [null, 'there']);
});

test('a getter in workerData makes a pool while the first one is made', LIMIT, async () => {
  // It runs twice: for the first worker's thread, and for the coordinator.
  for (const [at, blocks] of [
    [1, 0],
    [2, 0],
    [2, 200],
  ]) {
    // blocked: the first worker's thread is the coordinator by then
    const said = await program(`
      let looks = 0;
      let inner;
      const workerData = {
        get value() {
          if (++looks === ${at}) {
            for (const end = performance.now() + ${blocks}; performance.now() < end; );
            inner = open();
          }
          return 1;
        },
      };
      const pool = open({ workerData });
      say(await pool.runMany([1, 2]));
      say((await pool.broadcast(3)).every((value) => value === 3));
      say(await inner.runMany([4, 5]));
      await Promise.all([pool.close(), inner.close()]);
      say('closed');`);
    assert.deepEqual(said, [[1, 2], true, [4, 5], 'closed'], `at the look ${at}, ${blocks} ms`);
  }
});

test('the thread that has become the coordinator ends before its owner knows', LIMIT, async () => {
  const said = await program(`
    const started = [];
    process.on('worker', (worker) => started.push(worker));
    const pool = open();
    const result = codeOf(pool.run(1));
    await new Promise(process.nextTick); // who is told of the thread
    block(() => Atomics.load(counters, 0) === 2); // the first thread has started others
    started[0].terminate();
    say(await result);
    await pool.close();
    const next = open();
    say(await next.runMany([2, 3]));
    await next.close();`);
  assert.ok(said[0] === 'ERR_PLAIT_COORDINATOR_DIED' || said[0] === 'fulfilled', String(said[0]));
  assert.deepEqual(said[1], [2, 3]);
});

/**
 * A program whose first worker, and no other, stands at a gate: before it has entered the pool, or while it loads the
 * module. Main blocks until it is given up for that.
 */
const givenUpAt = (place: 'entry' | 'module', then = ''): string => `
  const isFirst = 'import { workerData, threadId } from "node:worker_threads"; Atomics.wait(workerData, 3, 0); if (threadId === workerData[3])';
  const note = 'process.on("exit", () => Atomics.store(workerData, 4, 1));';
  const gate = isFirst + ' {' + note + 'Atomics.wait(workerData, 2, 0); ${then} }';
  const text = (code) => 'data:text/javascript,' + encodeURIComponent(code);
  const all = 'export * from ' + JSON.stringify(tasks.href) + '; export { default } from ' + JSON.stringify(tasks.href) + ';';
  const pool = ${
    place === 'entry'
      ? "open({ loadTimeout: 3000, execArgv: ['--import', text(gate)] })"
      : 'open({ loadTimeout: 3000 }, new URL(text(all + gate)))'
  };
  await new Promise(process.nextTick); // which thread it is has been told now
  Atomics.store(counters, 3, threads[0]);
  Atomics.notify(counters, 3);
  const events = [];
  pool.on('start', ({ worker }) => worker === threads[0] && events.push('start'));
  pool.on('end', ({ worker, reason }) => worker === threads[0] && events.push(reason));
  /** Main is still blocked, so it ends by itself. */
  const letIn = () => {
    Atomics.store(counters, 2, 1);
    Atomics.notify(counters, 2);
    block(() => Atomics.load(counters, 4) === 1);
  };
  pool.runSync(0);
  block(() => pool.stats().ended.stopped === 1);`;

test('a first worker that is given up before it has entered the pool takes no task there', LIMIT, async () => {
  const said = await program(`${givenUpAt('entry')}
    const meets = pool.run(1, { name: 'meet' });
    block(() => Atomics.load(counters, 1) === 1); // the only other worker waits there for a second task
    letIn();
    const thread = pool.runSync(0, { name: 'meetIn' });
    await gone();
    say([thread !== threads[0], await meets]);
    await pool.broadcast(0); // the coordinator has heard all that the worker said
    say(events);
    await pool.close();`);
  assert.deepEqual(said, [[true, 1], ['stopped']]);
});

test('what a first worker says that is given up while it loads changes nothing', LIMIT, async () => {
  const loads = await program(`${givenUpAt('module')}
    letIn();
    await gone();
    await pool.broadcast(0);
    say(events);
    await pool.close();`);
  assert.deepEqual(loads, [['stopped']]);
  const fails = await program(`${givenUpAt('module', 'throw new RangeError();')}
    block(() => pool.stats().threads === 2); // another sits on its seat
    letIn();
    await gone();
    await pool.broadcast(0);
    pool.resize({ max: 3 });
    // the pool grows all the same
    say((await Promise.all([1, 2, 3].map((n) => pool.run(n, { name: 'meetThree' })))).length);
    await pool.close();`);
  assert.deepEqual(fails, [3]);
});
