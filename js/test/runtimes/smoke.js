/**
 * The main features of Plait, in a program without a test runner. `make runtime-test` runs it on each runtime with
 * Node's worker threads, from the packed package. It prints one line for each feature, and exits with 1 if one fails.
 *
 *     smoke.js          the promises
 *     smoke.js output   a task writes 2000 lines, and the program exits with its result
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'plait';
import fs from 'plait/fs';
import { heap } from 'plait/heap';

const WORK = new URL('./work.js', import.meta.url);
const DEADLINE_MS = 30_000;

/** Blocks this thread, as programs do that compute. */
function block(milliseconds) {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

const promises = {
  async 'run, runMany, map'(pool) {
    assert.equal(await pool.run(7), 49);
    assert.deepEqual(await pool.runMany([1, 2, 3]), [1, 4, 9]);
    const squares = [];
    for await (const square of pool.map([4, 5, 6])) squares.push(square);
    assert.deepEqual(squares.sort(), [16, 25, 36]);
    assert.equal(pool.runSync(8), 64);
    assert.deepEqual(await pool.run([1, 2, 3], { name: 'nested' }), [1, 4, 9]);
  },

  async values(pool) {
    const value = {
      map: new Map([[1, new Set(['a'])]]),
      date: new Date(5),
      big: 2n ** 70n,
      bytes: new Uint8Array(100_000),
    };
    assert.deepEqual(await pool.run(value, { name: 'echo' }), value);
  },

  async 'tasks while the program is blocked'(pool) {
    const results = pool.runMany(Array.from({ length: 50 }, (_, i) => i));
    block(200);
    assert.equal(pool.stats().queued, 0);
    assert.equal((await results).length, 50);
  },

  async 'errors with their class and cause'(pool) {
    const error = await pool.run('no paper', { name: 'fails' }).catch((reason) => reason);
    assert.ok(error instanceof RangeError);
    assert.equal(error.message, 'no paper');
    assert.ok(error.cause instanceof TypeError);
    assert.match(error.stack, /work\.js/);
  },

  async 'files, both ways'(pool) {
    fs.mkdirSync('/smoke');
    fs.writeFileSync('/smoke/a', 'there');
    await pool.run({ from: '/smoke/a', to: '/smoke/b' }, { name: 'copies' });
    assert.equal(fs.readFileSync('/smoke/b', 'utf8'), 'there and back');
    assert.equal((await fs.promises.stat('/smoke/b')).size, 14);
  },

  async 'a mounted folder'(pool) {
    const folder = mkdtempSync(join(tmpdir(), 'plait-smoke-'));
    try {
      writeFileSync(join(folder, 'a'), 'there');
      fs.mount('/host', { type: 'host', directory: folder });
      await pool.run({ from: '/host/a', to: '/host/b' }, { name: 'copies' });
      fs.mkdirSync('/host/c');
      assert.equal(readFileSync(join(folder, 'b'), 'utf8'), 'there and back');
      assert.deepEqual(fs.readdirSync('/host').sort(), readdirSync(folder).sort());
      const kinds = fs.readdirSync('/host', { withFileTypes: true }).map((entry) => [entry.name, entry.isDirectory()]);
      assert.deepEqual(kinds.sort(), [
        ['a', false],
        ['b', false],
        ['c', true],
      ]);
      fs.unmount('/host');
    } finally {
      rmSync(folder, { recursive: true });
    }
  },

  async heap() {
    const block = heap.alloc(100);
    assert.notEqual(block, 0);
    heap.free(block);
    heap.check();
  },

  async progress(pool) {
    const reported = [];
    assert.equal(await pool.run(3, { name: 'reports', onProgress: (value) => reported.push(value) }), 'end');
    assert.deepEqual(reported, [0, 1, 2]);
  },

  async 'a timeout that the task notices'(pool) {
    const error = await pool.run(null, { name: 'waits', timeout: 50 }).catch((reason) => reason);
    assert.equal(error.code, 'ERR_PLAIT_TASK_TIMEOUT');
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 20);
    const stopped = await pool.run(null, { name: 'waits', signal: controller.signal }).catch((reason) => reason);
    assert.equal(stopped.name, 'AbortError');
  },

  async 'a timeout that ends the worker'(pool) {
    const error = await pool.run(null, { name: 'spins', timeout: 50 }).catch((reason) => reason);
    assert.equal(error.code, 'ERR_PLAIT_TASK_TIMEOUT');
    assert.equal(await pool.run(3), 9);
  },

  async 'process.exit() in a task'(pool) {
    const error = await pool.run(3, { name: 'exits' }).catch((reason) => reason);
    assert.equal(error.code, 'ERR_PLAIT_WORKER_DIED');
    assert.equal(await pool.run(4), 16);
  },

  async "the web's Workers, where there are any"(pool) {
    if (globalThis.Worker === undefined) return;
    const source = `import { Pool } from 'plait';
      const squares = await new Pool(${JSON.stringify(WORK.href)}, { threads: 1 }).runMany([5, 6]);
      postMessage(squares);`;
    const file = new URL('./web-worker.js', import.meta.url);
    writeFileSync(file, source);
    const worker = new Worker(file, { type: 'module' });
    try {
      assert.deepEqual(
        await new Promise((resolve) => worker.addEventListener('message', ({ data }) => resolve(data))),
        [25, 36],
      );
    } finally {
      worker.terminate();
      rmSync(file);
    }
    assert.equal(await pool.run(5), 25);
  },

  async close(pool) {
    await pool.close();
    await assert.rejects(pool.run(1), { code: 'ERR_PLAIT_POOL_CLOSED' });
  },

  async 'a close by force'() {
    const pool = new Pool(WORK, { threads: 2 });
    const task = pool.run(null, { name: 'spins' }).catch((reason) => reason.code);
    await pool.run(1);
    await pool.close({ force: true });
    assert.equal(await task, 'ERR_PLAIT_POOL_CLOSED');
  },
};

async function smoke() {
  const watchdog = setTimeout(() => {
    console.error('no end in sight');
    process.exit(2);
  }, DEADLINE_MS);
  const pool = new Pool(WORK, { threads: 2, grace: 100 });
  for (const [promise, keep] of Object.entries(promises)) {
    const begin = performance.now();
    try {
      await keep(pool);
      console.log(`ok ${promise} (${Math.round(performance.now() - begin)} ms)`);
    } catch (error) {
      console.log(`not ok ${promise}`);
      console.log(error);
      process.exitCode = 1;
    }
  }
  clearTimeout(watchdog);
}

if (process.argv[2] === 'output') {
  assert.equal(await new Pool(WORK, { threads: 1 }).run(2000, { name: 'writes' }), 2000);
  process.exit(0);
} else await smoke();
