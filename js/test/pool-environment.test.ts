/**
 * The environment of workers: all workers of a pool have the environment in which `new Pool()` was called. The oracle
 * is a Worker that is created on the same line, before or after. Each program is a process of its own, because the
 * first pool of a thread starts in another way than later ones.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { Pool } from 'plait';
import { owned } from './owned.ts';

const LIMIT = { timeout: 60000 };
const execute = promisify(execFile);
const index = JSON.stringify(new URL('../../dist/node/index.js', import.meta.url).href);

/** What a program says. */
async function program(source: string, flags: readonly string[] = []): Promise<unknown[]> {
  const text = `
    import { once } from 'node:events';
    import { Worker } from 'node:worker_threads';
    import { Pool } from ${index};
    const module = 'data:text/javascript,' + encodeURIComponent(\`
      export const look = () => [process.env.PLAIT_A ?? null, process.env.PLAIT_B ?? null];
      export const set = (value) => { process.env.PLAIT_A = value; };
      export const exit = () => process.exit();
      export const flags = () => [globalThis.preloaded ?? null, process.execArgv.length];
      export const inner = async (value) => {
        const { Pool } = await import(\${${JSON.stringify(index)}});
        const pools = [];
        for (const PLAIT_A of value) {
          process.env.PLAIT_A = PLAIT_A;
          pools.push(new Pool(import.meta.url, { threads: 1 }));
        }
        process.env.PLAIT_A = 'late';
        const found = await Promise.all(pools.map((pool) => pool.run(0, { name: 'look' })));
        await Promise.all(pools.map((pool) => pool.close()));
        return found;
      };
    \`);
    const lookOf = (pool) => pool.run(0, { name: 'look' });
    const script =
      "process.getBuiltinModule('node:worker_threads').parentPort.postMessage([process.env.PLAIT_A ?? null, process.env.PLAIT_B ?? null])";
    const worker = () => once(new Worker(script, { eval: true }), 'message').then(([found]) => found);
    const say = (value) => console.log(JSON.stringify(value));
    ${source}`;
  const { stdout } = await execute(process.execPath, [...flags, '--input-type=module', '--eval', text], {
    timeout: 30000,
    env: { ...process.env, PLAIT_A: 'start' },
  });
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

for (const [kind, options, blocked = 0] of [
  ['a fixed size', '{ threads: 2 }'],
  ['this thread is blocked meanwhile', '{ threads: 2 }', 150],
  ['workers that start when they are needed', '{ minThreads: 0, maxThreads: 2 }'],
  ['limits of memory', '{ threads: 1, resourceLimits: { maxOldGenerationSizeMb: 64 } }'],
] as const) {
  test(`each pool has the environment in which it was made: ${kind}`, LIMIT, async () => {
    const said = await program(`
      const found = [];
      const pools = [];
      const make = () => {
        const judge = worker();
        const pool = new Pool(module, ${options});
        pools.push(pool);
        found.push(judge, pool);
      };
      make();
      for (const end = performance.now() + ${blocked}; performance.now() < end; );
      process.env.PLAIT_A = 'second';
      make();
      process.env.PLAIT_B = 'third';
      make();
      delete process.env.PLAIT_A;
      make();
      process.env.PLAIT_A = 'late';
      for (let i = 0; i < found.length; i += 2) {
        const pool = found[i + 1];
        const all = await Promise.all([lookOf(pool), lookOf(pool), ...(await pool.broadcast(0, { name: 'look' }))]);
        say([await found[i], ...all]);
      }
      await Promise.all(pools.map((pool) => pool.close()));`);
    const expected = [
      ['start', null],
      ['second', null],
      ['second', 'third'],
      [null, 'third'],
    ];
    assert.deepEqual(said.length, expected.length);
    for (const [at, answers] of said.entries()) {
      for (const answer of answers as unknown[]) assert.deepEqual(answer, expected[at], `pool ${at}`);
    }
  });
}

test('a replacement worker has the environment, too, and its changes are its own', LIMIT, async () => {
  const said = await program(`
    process.env.PLAIT_A = 'first';
    const first = new Pool(module, { threads: 1 });
    say(await lookOf(first));
    process.env.PLAIT_A = 'second';
    const second = new Pool(module, { threads: 1 });
    const own = new Pool(module, { threads: 1, env: { PLAIT_B: 'given' } });
    process.env.PLAIT_A = 'late';
    for (const pool of [first, second, own]) {
      await pool.run('changed', { name: 'set' });
      say(await lookOf(pool));
      await pool.run(0, { name: 'exit' }).catch(() => {});
      say(await lookOf(pool));
      await pool.close();
    }
    say(process.env.PLAIT_A);`);
  assert.deepEqual(said, [
    ['first', null],
    ['changed', null],
    ['first', null],
    ['changed', null],
    ['second', null],
    ['changed', 'given'],
    [null, 'given'],
    'late',
  ]);
});

test('pools that workers make have the environment of that worker', LIMIT, async () => {
  const said = await program(`
    const pool = new Pool(module, { threads: 1 });
    say(await pool.run(['one', 'two', 'three'], { name: 'inner' }));
    await pool.close();`);
  assert.deepEqual(said, [
    [
      ['one', null],
      ['two', null],
      ['three', null],
    ],
  ]);
});

test('the flags of the program reach the workers of all pools', LIMIT, async () => {
  const flags = ['--import', 'data:text/javascript,globalThis.preloaded = true'];
  const said = await program(
    `
    const pools = [1, 2].map(() => new Pool(module, { threads: 1 }));
    for (const pool of pools) {
      const [preloaded, count] = await pool.run(0, { name: 'flags' });
      say([preloaded, count === process.execArgv.length]);
    }
    await Promise.all(pools.map((pool) => pool.close()));`,
    flags,
  );
  assert.deepEqual(said, [
    [true, true],
    [true, true],
  ]);
});

test('argv: as in a Worker of Node, also while the module loads, but no module is the program', LIMIT, async (t) => {
  const file = new URL('../../js/test/fixtures/argv.js', import.meta.url);
  const preload = ['--import', 'data:text/javascript,globalThis.preloaded = true'];
  for (const options of [{}, { argv: ['--level', '5'] }, { argv: ['one'], execArgv: preload }]) {
    const [expected] = await once(new Worker(file, options), 'message');
    assert.equal(expected[1], fileURLToPath(file));
    expected[1] = process.execPath;
    const pool = owned(t, new Pool(file, { threads: 1, ...options }));
    const loading = once(pool, 'message');
    assert.deepEqual(await pool.run(), expected);
    assert.deepEqual(await loading, [expected]);
    await pool.close();
  }
  const url = 'data:text/javascript,export default () => process.argv[1]';
  const pool = owned(t, new Pool(url, { threads: 1 }));
  assert.equal(await pool.run(), process.execPath);
  for (const argv of ['text', [5], {}]) {
    assert.throws(() => new Pool(file, { argv: argv as never }), /options\.argv must be an array of strings/);
  }
});
