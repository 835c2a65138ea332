/**
 * plait/fs on several threads. They are terminated at random while they use the same files, and the files stay
 * consistent. Other threads see a change, are notified of it, and can wait for it.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { openSpace, type Space } from 'plait';
import { createFs, type Fs } from 'plait/fs';
import { owned } from './owned.ts';
import { rounds, seed } from './seed.ts';
import './terminates.ts';

const fixture = (name: string): URL => new URL(`../../js/test/fixtures/${name}`, import.meta.url);
const DEADLINE_MS = 30000;
const WORKERS = 3;

function files(): { space: Space; fs: Fs } {
  const space = openSpace({ maximum: 2 ** 28 });
  return { space, fs: createFs(() => space) };
}

async function start(
  t: TestContext,
  space: Space,
  index: number,
  seed: number,
  steps: Int32Array,
  errors: unknown[],
): Promise<Worker> {
  const workerData = { handle: space.handle, steps, index, seed };
  const worker = owned(t, new Worker(fixture('fs-churn.js'), { workerData }));
  worker.on('error', (error) => errors.push(error));
  await once(worker, 'message');
  return worker;
}

test(`terminated Workers leave the files consistent, and the others continue (seed ${seed})`, {
  timeout: 120000 * rounds,
}, async (t) => {
  let state = seed >>> 0 || 1;
  const next = (limit: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % limit;
  };
  const { space, fs } = files();
  fs.mkdirSync('/d');
  fs.mkdirSync('/e');
  fs.writeFileSync('/log', '');
  fs.writeFileSync('/locked', '000000000000');
  const steps = new Int32Array(new SharedArrayBuffer(4 * (WORKERS + 2)));
  const errors: unknown[] = [];
  const workers = await Promise.all(
    Array.from({ length: WORKERS }, (_, i) => start(t, space, i, next(2 ** 31), steps, errors)),
  );
  let exits = 0;
  for (; exits < 40 * rounds; exits++) {
    const goal = Array.from({ length: WORKERS }, (_, i) => Atomics.load(steps, i + 2) + next(200));
    const end = performance.now() + DEADLINE_MS;
    while (goal.some((count, i) => Atomics.load(steps, i + 2) < count)) {
      assert.deepEqual(errors, []);
      assert.ok(performance.now() < end, 'all go on');
      await setTimeout(1);
    }
    const victim = next(WORKERS);
    await (workers[victim] as Worker).terminate();
    workers[victim] = await start(t, space, victim, next(2 ** 31), steps, errors);
  }
  const ends = workers.map((worker) => once(worker, 'exit'));
  Atomics.store(steps, 0, 1);
  await Promise.all(ends);
  assert.deepEqual(errors, []);
  fs.check();
  space.check(true);
  // Each line of the log is one thread's, and whole.
  for (const line of fs.readFileSync('/log', 'latin1').split('\n').slice(0, -1))
    assert.match(line, /^(A{39}|B{39}|C{39})$/);
  // Under the lock no count was lost; a thread that exited may have counted only in the file.
  const counted = Number(fs.readFileSync('/locked', 'utf8'));
  const done = Atomics.load(steps, 1);
  assert.ok(counted >= done && counted <= done + exits, `${counted} in the file, ${done} done`);
  for (const name of fs.readdirSync('/')) fs.rmSync(`/${name}`, { recursive: true });
  fs.check();
  const { bfree, blocks, files: most, ffree } = fs.statfsSync('/');
  assert.deepEqual([blocks - bfree, most - ffree], [0, 1], 'all memory and all files but the root are given back');
  t.diagnostic(`${exits} terminations`);
});

test('watch and watchFile report changes by other threads', { timeout: 60000 }, async (t) => {
  const { space, fs } = files();
  fs.mkdirSync('/w');
  fs.writeFileSync('/w/old', '1');
  const seen: string[] = [];
  const watcher = fs.watch('/w', (event, name) => seen.push(`${event} ${name}`));
  t.after(() => watcher.close());
  t.after(() => fs.unwatchFile('/w/old'));
  let size = -1;
  fs.watchFile('/w/old', (now) => {
    size = now.size;
  });
  const source = `
    import { workerData } from 'node:worker_threads';
    import { attach } from 'plait';
    import { createFs } from 'plait/fs';
    const space = attach(workerData);
    const fs = createFs(() => space);
    fs.writeFileSync('/w/new', 'x');
    fs.writeFileSync('/w/old', 'longer');`;
  const url = new URL(
    `data:text/javascript,${encodeURIComponent(
      source
        .replaceAll("'plait", `'${new URL('../../dist/', import.meta.url)}`)
        .replaceAll("/fs'", "/fs/index.js'")
        .replace("dist/'", "dist/index.js'"),
    )}`,
  );
  const worker = owned(t, new Worker(url, { workerData: space.handle }));
  await once(worker, 'exit');
  const end = performance.now() + DEADLINE_MS;
  while (!(seen.includes('rename new') && seen.includes('change old') && size === 6)) {
    assert.ok(performance.now() < end, `seen: ${seen}, size ${size}`);
    await setTimeout(1);
  }
  fs.unlinkSync('/w/new');
  while (seen.filter((event) => event === 'rename new').length < 2) {
    assert.ok(performance.now() < end, `seen: ${seen}`);
    await setTimeout(1);
  }
  watcher.close();
  fs.unwatchFile('/w/old');
  const controller = new AbortController();
  const found: string[] = [];
  const loop = (async () => {
    for await (const { filename } of fs.promises.watch('/w', { signal: controller.signal })) {
      found.push(`${filename}`);
      controller.abort();
    }
  })();
  await setTimeout(0);
  fs.writeFileSync('/w/third', '');
  await assert.rejects(loop, { name: 'AbortError' });
  assert.deepEqual(found, ['third']);
});

test('a mapped file shares its bytes with the file in every operation', () => {
  const { fs } = files();
  fs.writeFileSync('/m', Buffer.alloc(100000, 1));
  fs.appendFileSync('/m', Buffer.alloc(100000, 2));
  const view = fs.mapSync('/m');
  assert.equal(view.length, 200000);
  assert.deepEqual([view[0], view[99999], view[100000], view[199999]], [1, 1, 2, 2]);
  view[5] = 77;
  assert.equal(fs.readFileSync('/m')[5], 77);
  const fd = fs.openSync('/m', 'r+');
  fs.writeSync(fd, Buffer.from([88]), 0, 1, 6);
  assert.equal(view[6], 88);
  fs.ftruncateSync(fd, 10);
  assert.deepEqual([view[6], view[10], view[199999]], [88, 0, 0], 'what is cut off is zero, and still there');
  fs.writeFileSync('/m', Buffer.alloc(50, 9));
  assert.deepEqual([view[49], view[50]], [9, 0]);
  fs.closeSync(fd);
  fs.unlinkSync('/m');
  for (let number = 0; number < 200; number++) {
    assert.throws(() => fs.closeSync(number), { code: 'EBADF' }, 'no number closes a mapping');
  }
  assert.equal(view[49], 9);
  view.close();
  view.close();
  fs.check();
});

test('locks exclude descriptors, by ranges, and end with them', () => {
  const { fs } = files();
  fs.writeFileSync('/f', '');
  const [a, b] = [fs.openSync('/f', 'r+'), fs.openSync('/f', 'r+')];
  fs.lockSync(a, { start: 0, end: 10 });
  assert.throws(() => fs.lockSync(b, { start: 9, end: 11, wait: false }), { code: 'EAGAIN', syscall: 'flock' });
  fs.lockSync(b, { start: 10 });
  fs.unlockSync(a, { start: 5 });
  fs.lockSync(b, { exclusive: false, start: 5, end: 6, wait: false });
  assert.throws(() => fs.lockSync(b, { wait: 20 }), { code: 'EAGAIN' });
  fs.closeSync(a);
  fs.lockSync(b, { wait: false });
  fs.closeSync(b);
  fs.check();
});

test('limits are ENOSPC, and change nothing', () => {
  const { fs } = files();
  fs.writeFileSync('/a', Buffer.alloc(1000, 1));
  fs.setLimits({ bytes: 100000, files: 3 });
  assert.throws(() => fs.writeFileSync('/b', Buffer.alloc(200000)), { code: 'ENOSPC', syscall: 'write' });
  assert.equal(fs.existsSync('/b'), false);
  assert.throws(() => fs.appendFileSync('/a', Buffer.alloc(200000)), { code: 'ENOSPC' });
  assert.deepEqual(fs.readFileSync('/a'), Buffer.alloc(1000, 1));
  fs.writeFileSync('/b', '');
  assert.throws(() => fs.mkdirSync('/c'), { code: 'ENOSPC', syscall: 'mkdir' });
  fs.setLimits({});
  fs.mkdirSync('/c');
  assert.throws(() => fs.writeFileSync('/big', Buffer.alloc(2 ** 28)), { code: 'ENOSPC' });
  fs.check();
});

test('glob', () => {
  const { fs } = files();
  for (const path of ['a/b/c.js', 'a/b/d.ts', 'a/x.js', 'a/.hidden/y.js', 'z.js', 'a/b/e/f.js']) {
    fs.mkdirSync(`/${path.slice(0, path.lastIndexOf('/') + 1)}`, { recursive: true });
    fs.writeFileSync(path, '');
  }
  const found = (pattern: string | string[], options?: object): string[] =>
    (fs.globSync(pattern, options) as string[]).sort();
  assert.deepEqual(found('**/*.js'), ['a/b/c.js', 'a/b/e/f.js', 'a/x.js', 'z.js']);
  assert.deepEqual(found('a/*'), ['a/b', 'a/x.js']);
  assert.deepEqual(found('a/{b/*.{js,ts},x.js}'), ['a/b/c.js', 'a/b/d.ts', 'a/x.js']);
  assert.deepEqual(found('?.js'), ['z.js']);
  assert.deepEqual(found('[a-b]/b/[!c]*'), ['a/b/d.ts', 'a/b/e']);
  assert.deepEqual(found('/a/**/c.js'), ['/a/b/c.js']);
  assert.deepEqual(found('**/*.js', { cwd: '/a', exclude: ['b/**'] }), ['x.js']);
  assert.deepEqual(found('b/**', { cwd: '/a' }), ['b', 'b/c.js', 'b/d.ts', 'b/e', 'b/e/f.js']);
});
