/**
 * The package in programs that require it: they get the same library as programs that import it. One program may do
 * both, also in contexts of node:vm, in which test runners load CommonJS modules.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { compileFunction, createContext } from 'node:vm';
import * as plait from 'plait';
import * as plaitFs from 'plait/fs';

const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL('../../', import.meta.url));
const tasks = fileURLToPath(new URL('../../js/test/fixtures/required-tasks.cjs', import.meta.url));

type Plait = typeof plait;
type PlaitFs = typeof plaitFs;

test('each entry can be required, and has the same exports as when it is imported', async () => {
  for (const entry of ['plait', 'plait/fs', 'plait/heap', 'plait/task']) {
    assert.match(require.resolve(entry), /\/dist\/node\/\w+\.cjs$/);
    assert.deepEqual(Object.keys(require(entry)).sort(), Object.keys(await import(entry)).sort(), entry);
  }
});

test('import and require in one program yield the same library', async (t) => {
  const required: Plait = require('plait');
  const requiredFs: PlaitFs = require('plait/fs');
  for (const name of ['Pool', 'PoolCalls', 'ConnectedPool', 'connect', 'task', 'PlaitError', 'Heap', 'heap'] as const) {
    assert.equal(Reflect.get(required, name), Reflect.get(plait, name), name);
  }
  for (const [name, value] of Object.entries(plaitFs)) {
    if (name !== 'createFs') assert.equal(Reflect.get(requiredFs, name), value, name);
  }
  assert.equal(required.commonSpace(), plait.commonSpace());
  requiredFs.writeFileSync('/required', 'r');
  t.after(() => plaitFs.rmSync('/required'));
  assert.equal(plaitFs.readFileSync('/required', 'utf8'), 'r');
  assert.throws(() => required.heap.free(12), plait.PlaitError);
});

test('a pool of the required copy works with the imported copy, and the reverse', async (t) => {
  for (const [make, use] of [
    [require('plait') as Plait, plait],
    [plait, require('plait') as Plait],
  ] as const) {
    const pool = new make.Pool(tasks, { threads: 1 });
    t.after(() => pool.close({ force: true }));
    assert.ok(pool instanceof use.Pool && pool instanceof use.PoolCalls);
    const connected = use.connect(pool.handle);
    t.after(() => connected[Symbol.dispose]());
    assert.ok(connected instanceof make.ConnectedPool);
    assert.equal(await connected.run(20, { name: 'double' }), 40);
    assert.equal(await pool.run(20, { name: 'exposed' }), 21);
    const view = use.heap.bytes(3);
    view.set([1, 2, 3]);
    assert.equal(await pool.run(view, { name: 'sum', give: true }), 6);
    await assert.rejects(pool.run(0, { name: 'fail' }), (error) => error instanceof use.PlaitError);
    const reported: unknown[] = [];
    const onProgress = (value: unknown): void => void reported.push(value);
    assert.deepEqual(await pool.run([1, 2], { name: 'more', onProgress }), [2, 4]);
    assert.deepEqual(reported, ['both are one']);
    await pool.close();
  }
  plait.commonSpace().check();
});

test('import and require may come in any order in a new program', () => {
  for (const [first, second] of [
    ["require('plait')", "await import('plait')"],
    ["await import('plait')", "require('plait')"],
  ]) {
    const program = `(async () => {
      const one = ${first}, other = ${second};
      const { fs } = require('plait/fs');
      const pool = new other.Pool(${JSON.stringify(tasks)}, { threads: 1 });
      fs.writeFileSync('/a', 'b');
      console.log(one.Pool === other.Pool, await pool.run('/a', { name: 'read' }), (await import('plait/fs')).existsSync('/a'));
      await pool.close();
    })()`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--eval', program], {
      cwd: root,
      encoding: 'utf8',
      timeout: 30000,
    });
    assert.equal(stdout, 'true b true\n', stderr);
  }
});

/**
 * What Node has beside JavaScript's own, as far as Plait uses it. Contexts that imitate a page have no TextDecoder and
 * the like.
 */
const GLOBALS = [
  'process Buffer URL MessageChannel AbortController AbortSignal DOMException Event EventTarget',
  'queueMicrotask performance console setTimeout clearTimeout setInterval clearInterval',
].flatMap((names) => names.split(' '));

/** Requires files in a context of their own, as a test runner does. */
function requireIn(context: object, file: string): unknown {
  const module = { exports: {} };
  const require = (name: string): unknown => requireIn(context, join(dirname(file), name));
  const code = readFileSync(file, 'utf8');
  const names = ['module', 'exports', 'require'];
  compileFunction(code, names, { parsingContext: context, filename: file })(module, module.exports, require);
  return module.exports;
}

test('a context of node:vm is a program of its own, with a space of its own', async (t) => {
  const own = Object.fromEntries(GLOBALS.map((name) => [name, Reflect.get(globalThis, name)]));
  plaitFs.writeFileSync('/outside', '');
  t.after(() => plaitFs.rmSync('/outside'));
  const spaces = new Set([plait.commonSpace()]);
  for (let round = 0; round < 3; round++) {
    const context = createContext({ ...own });
    const inner = requireIn(context, require.resolve('plait')) as Plait;
    const { fs } = requireIn(context, require.resolve('plait/fs')) as PlaitFs;
    assert.deepEqual([...fs.readdirSync('/')], []);
    fs.writeFileSync('/a', 'inside');
    const pool = new inner.Pool(tasks, { threads: 1 });
    t.after(() => pool.close({ force: true }));
    assert.equal(await pool.run('/a', { name: 'read' }), 'inside');
    await assert.rejects(pool.run(0, { name: 'fail' }), (error) => error instanceof inner.PlaitError);
    await pool.close();
    inner.commonSpace().check();
    spaces.add(inner.commonSpace());
  }
  assert.equal(spaces.size, 4);
  assert.deepEqual(plaitFs.readdirSync('/'), ['outside']);
});

test('a vm context accepts objects that were made outside of it', async (t) => {
  const own = Object.fromEntries(GLOBALS.map((name) => [name, Reflect.get(globalThis, name)]));
  const context = createContext({ ...own, URL: class extends URL {} });
  const inner = requireIn(context, require.resolve('plait')) as Plait;
  const { fs } = requireIn(context, require.resolve('plait/fs')) as PlaitFs;
  const bytes = Buffer.from('bytes');
  const read = (path: string): number[] => [...(fs.readFileSync(path) as Uint8Array)];

  fs.writeFileSync('/bytes', bytes);
  fs.appendFileSync('/bytes', new DataView(new ArrayBuffer(2)) as never);
  assert.deepEqual(read('/bytes'), [...bytes, 0, 0]);
  fs.writeFileSync(Buffer.from('/named'), bytes);
  fs.writeFileSync(new URL('file:///url'), bytes);
  await fs.promises.writeFile('/later', bytes);
  for (const name of ['/named', '/url', '/later']) assert.deepEqual(read(name), [...bytes], name);
  const fd = fs.openSync('/bytes', 'r+');
  const into = Buffer.alloc(5);
  assert.equal(fs.readSync(fd, into, 0, 5, 0), 5);
  assert.deepEqual(into, bytes);
  fs.writevSync(fd, [bytes, new Uint16Array([1])], 0);
  fs.closeSync(fd);
  fs.utimesSync('/bytes', new Date(5000), new Date(7000));
  assert.equal(Number(fs.statSync('/bytes').mtimeMs), 7000);
  const parts = [...fs.exportTar('/')].map((part) => Buffer.from(part));
  for (const archive of [parts, Buffer.concat(parts)]) {
    fs.importTar(archive, '/copy');
    assert.deepEqual(read('/copy/named'), [...bytes]);
    fs.rmSync('/copy', { recursive: true });
  }
  await fs.promises.importTar(Buffer.concat(parts), '/copy');
  assert.deepEqual(read('/copy/url'), [...bytes]);
  fs.mount('/host', { type: 'host', directory: new URL('.', import.meta.url) } as never);
  assert.ok(fs.existsSync('/host/commonjs.test.js'));
  fs.unmount('/host');

  const pool = new inner.Pool(pathToFileURL(tasks), { threads: 1 });
  t.after(() => pool.close({ force: true }));
  assert.equal(
    await pool.run(bytes, { name: 'sum' }),
    bytes.reduce((sum, byte) => sum + byte, 0),
  );
  assert.equal(await pool.run(new Uint8Array([1, 2]), { name: 'sum' }), 3);
  assert.equal(await pool.run(new Float64Array([1, 2]), { name: 'sum' }), 3);
  const view = inner.heap.bytes(2);
  view.set([4, 5]);
  assert.equal(await pool.run(view, { name: 'sum', lend: true }), 9);
  inner.heap.free(view);
  inner.transfer(bytes, [new ArrayBuffer(8)]);
  const error = await pool.run(() => {}).catch((reason: unknown) => reason);
  assert.match(String(error), /input is a function/);
  const controller = new AbortController();
  controller.abort();
  await assert.rejects(pool.run(1, { name: 'double', signal: controller.signal }), { name: 'AbortError' });
  (inner.workerOptions({ workerData: { a: 1 } }).workerData.plaitPort as MessagePort).close();
  await pool.close();
  inner.commonSpace().check();
});
