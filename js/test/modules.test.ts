/** How a pool finds its module: every kind of module and of program, and the errors for a missing module. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { type BuildOptions, build } from 'esbuild';
import { commonSpace, expose, heap, PlaitError, Pool, type PoolOptions } from 'plait';
import { until } from './cases/pool-setup.ts';
import { owned } from './owned.ts';

const fixtures = new URL('../../js/test/fixtures/modules/', import.meta.url);
const run = promisify(execFile);

/** Runs one task of a module, on a pool of one worker. */
async function runOne(
  module: URL | string,
  name: string,
  input?: unknown,
  options: PoolOptions = {},
): Promise<unknown> {
  const pool = new Pool(typeof module === 'string' ? new URL(module, fixtures) : module, { threads: 1, ...options });
  try {
    return await pool.run(input, { name });
  } finally {
    await pool.close();
  }
}

function program(code: string, ...args: string[]): Promise<string> {
  const cwd = fileURLToPath(fixtures);
  return run(process.execPath, [...args, '-e', code], { cwd, timeout: 30000 }).then(({ stdout }) => stdout.trim());
}

test('a worker has one space, however many copies of Plait it runs', async (t) => {
  const before = heap.stats().threads.length;
  const pool = owned(t, new Pool(new URL('reports.mjs', fixtures), { threads: 1 }));
  const thread = await pool.run(0, { name: 'thread' });
  // The coordinator attaches while the worker that it has started boots.
  await until(() => heap.stats().threads.length >= before + 2);
  const attached = await pool.run(0, { name: 'attached' });
  assert.equal(attached, before + 2, 'the coordinator and one thread for the worker');
  assert.notEqual(thread, commonSpace().thread);
  const error = await pool.run(0, { name: 'fail' }).catch((reason) => reason);
  assert.ok(error instanceof PlaitError, 'the module’s PlaitError is the worker’s, and the caller’s');
  assert.deepEqual([error.code, error.constructor.name], ['ERR_PLAIT_CANNOT_SEND', 'PlaitError']);
  await pool.close();
});

test('modules of --import run in workers first, once', async () => {
  const execArgv = ['--import', new URL('loaded-before.mjs', fixtures).href];
  assert.equal(await runOne('reports.mjs', 'before', 0, { execArgv }), 1);
  const code = `
    import { Pool } from 'plait';
    const pool = new Pool(new URL('reports.mjs', '${fixtures.href}'), { threads: 1 });
    console.log(globalThis.loadedBefore, await pool.run(0, { name: 'before' }));
    await pool.close();`;
  assert.equal(await program(code, '--input-type=module', ...execArgv), '1 1');
});

test('a program that is a string', async () => {
  const pool = `new Pool('data:text/javascript,export default (input) => input + 1', { threads: 1 })`;
  const common = `const pool = new (require('plait').Pool)(${pool.slice(9)}; pool.run(1).then(console.log);`;
  assert.equal(await program(common), '2');
  const module = `import { Pool } from 'plait'; const pool = ${pool}; console.log(await pool.run(1)); await pool.close();`;
  assert.equal(await program(module, '--input-type=module'), '2');
});

test('a CommonJS program requires Plait', async () => {
  const { stdout } = await run(process.execPath, [fileURLToPath(new URL('required.cjs', fixtures))], {
    timeout: 30000,
  });
  assert.equal(stdout, '40 function\n');
});

test('a TypeScript module is loaded by Node, or the error names what can load it', async () => {
  if (Reflect.get(process.features, 'typescript')) assert.equal(await runOne('typed.ts', 'twice', 4), 8);
  else {
    const expected = { code: 'ERR_PLAIT_MODULE_LOAD', message: /typed\.ts.*from 22\.18 on; before, run .* tsx/ };
    await assert.rejects(runOne('typed.ts', 'twice', 4), expected);
  }
});

test('functions that a module exposes are found without an export', async () => {
  assert.equal(await runOne('exposes.mjs', 'twice', 4), 8);
  assert.equal(await runOne('exposes.mjs', 'default', 4), 5);
  await assert.rejects(runOne('exposes.mjs', 'thrice'), {
    code: 'ERR_PLAIT_NO_SUCH_EXPORT',
    message: /exposes\.mjs has no export "thrice"; it exports the functions twice, default$/,
  });
  assert.throws(() => expose({ no: 1 } as never), {
    name: 'TypeError',
    message: 'expose() takes functions, and no is none',
  });
});

test('a module that is missing, or broken by a bundler, is an error with advice', async () => {
  const load = { code: 'ERR_PLAIT_MODULE_LOAD' };
  await assert.rejects(runOne('lost.js', 'default'), {
    ...load,
    message:
      /^cannot load file:.*lost\.js: .*If a bundler made this program, it has left the module behind; see "Bundlers"/s,
  });
  const copied = new URL('data:text/javascript,import "./words.js"; export default 1');
  await assert.rejects(runOne(copied, 'default'), {
    ...load,
    message: /^cannot load data:.*\. A bundler has put the module into a URL, without what it imports; see "Bundlers"/s,
  });
  const long = new URL(`data:text/javascript,import "./words.js";${'//'.repeat(1000)}`);
  await assert.rejects(runOne(long, 'default'), (error: PlaitError) => error.message.length < 400);
  await assert.rejects(runOne(new URL('data:text/javascript,const hash = 1'), 'hash'), {
    code: 'ERR_PLAIT_NO_SUCH_EXPORT',
    message:
      /no export "hash"; it exports no function\. If a bundler .* call expose\(\{ hash \}\) of 'plait\/task' in it/,
  });
});

test('each module runs once, whichever way Node loads it', async () => {
  assert.deepEqual(await runOne('awaits.mjs', 'report'), ['awaited', 1], 'one with an await at its top');
  const folder = mkdtempSync(join(tmpdir(), 'plait-modules-'));
  const write = (name: string, text: string): URL => {
    writeFileSync(join(folder, name), text);
    return pathToFileURL(join(folder, name));
  };
  try {
    write('package.json', '{ "type": "commonjs" }');
    const count = 'globalThis.runs = (globalThis.runs ?? 0) + 1;';
    assert.equal(
      await runOne(write('runs.js', `${count} exports.runs = () => globalThis.runs;`), 'runs'),
      1,
      'CommonJS',
    );
    for (const [name, how] of Object.entries({ 'throws.js': 'CommonJS', 'throws.mjs': 'a module' })) {
      const throwing = write(name, `${count} throw new RangeError('run ' + globalThis.runs);`);
      const error = (await runOne(throwing, 'default').catch((reason) => reason)) as PlaitError;
      assert.deepEqual([error.code, String(error.cause)], ['ERR_PLAIT_MODULE_LOAD', 'RangeError: run 1'], how);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a module sees nothing of how its thread was started', async (t) => {
  const pool = owned(t, new Pool(new URL('globals.mjs', fixtures), { threads: 2 }));
  assert.deepEqual(await Promise.all([pool.run(0, { name: 'names' }), pool.broadcast(0, { name: 'names' })]), [
    [],
    [[], []],
  ]);
  assert.deepEqual(await pool.run(0, { name: 'args' }), [process.execPath]);
  assert.deepEqual(await pool.run(new Map([['a', 1]]), { name: 'kind' }), ['a'], 'a value that needs the codec');
  await pool.close();
});

test('a loader that --require has registered receives the module', async () => {
  const execArgv = ['--require', fileURLToPath(new URL('hooks.cjs', fixtures)), '--no-warnings'];
  assert.equal(await runOne('globals.mjs', 'names', 0, { execArgv }), 'from the loader');
});

test('a library that makes a pool, in a program that esbuild bundles', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'plait library '));
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const builds = (options: BuildOptions) =>
    build({ absWorkingDir: folder, bundle: true, platform: 'node', format: 'esm', logLevel: 'silent', ...options });
  const prints = async (path: string): Promise<string> =>
    (await run(process.execPath, [join(folder, path)], { timeout: 30000 })).stdout.trim();
  try {
    const manifest = (name: string) =>
      JSON.stringify({ name, type: 'module', exports: { '.': './index.js', './work.js': './work.js' } });
    const pool = (module: string) => `import { Pool } from 'plait';
      export const count = (text) => new Pool(${module}, { threads: 1 }).run(text);`;
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(root, join(folder, 'node_modules', 'plait'));
    put('package.json', '{ "type": "module" }');
    for (const name of ['words', 'carried']) {
      put(`node_modules/${name}/package.json`, manifest(name));
      put(`node_modules/${name}/split.js`, "export const split = (text) => text.split(' ');");
      put(
        `node_modules/${name}/work.js`,
        "import { split } from './split.js'; export default (text) => split(text).length;",
      );
      put(`${name}.js`, `import { count } from '${name}'; console.log(await count('a b c'));`);
    }
    put('node_modules/words/index.js', pool("new URL('./work.js', import.meta.url)"));
    assert.equal(await prints('words.js'), '3', 'unbundled');
    await builds({ entryPoints: ['words.js'], outdir: 'lost' });
    await assert.rejects(prints('lost/words.js'), /ERR_PLAIT_MODULE_LOAD/);
    await builds({ entryPoints: ['words.js'], outdir: 'outside', external: ['words'] });
    assert.equal(await prints('outside/words.js'), '3', 'not bundled itself');
    await builds({ entryPoints: { main: 'words.js', work: 'words/work.js' }, outdir: 'entry' });
    assert.equal(await prints('entry/main.js'), '3', 'its module beside the bundle');

    await builds({ entryPoints: ['carried/work.js'], outfile: 'work.bundled.js', minify: true });
    const text = readFileSync(join(folder, 'work.bundled.js'), 'utf8');
    put('node_modules/carried/work.text.js', `export default ${JSON.stringify(text)};`);
    const url = "'data:text/javascript,' + encodeURIComponent(work)";
    put('node_modules/carried/index.js', `import work from './work.text.js'; ${pool(url)}`);
    assert.equal(await prints('carried.js'), '3', 'carried as a string, unbundled');
    await builds({ entryPoints: ['carried.js'], outdir: 'alone', minify: true });
    rmSync(join(folder, 'node_modules'), { recursive: true });
    assert.equal(await prints('alone/carried.js'), '3', 'and alone');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
