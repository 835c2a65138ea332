/** A task's name is the name of an export, whatever it begins with, and never a function's source. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { connect, Pool } from '../../dist/index.js';

const LIMIT = { timeout: 60000 };
const CLI = fileURLToPath(new URL('../../dist/node/cli.js', import.meta.url));
const TASKS = fileURLToPath(new URL('../../js/test/fixtures/tasks.js', import.meta.url));
const MODULE = 'data:text/javascript,export default 1';
const ODD = `data:text/javascript,${encodeURIComponent(`
  const called = (name) => () => name;
  const odd = [called('='), called('=(x) => x'), called('\\u00ff'), called('.')];
  export { odd as default };
  export const [a, b, c, d] = odd;
  export { a as '=', b as '=(x) => x', c as '\\u00ff', d as '.' };
`)}`;

async function codeOf(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    return await promise;
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
}

test('a name is never used as source, in any call', LIMIT, async (t) => {
  const pool = new Pool(MODULE, { threads: 1, inline: true });
  t.after(() => pool.close({ force: true }));
  const connected = connect(pool.handle);
  t.after(() => connected[Symbol.dispose]());
  for (const name of ['=x => x', '=(x) => x', '\u00ff', '\u00ffx => x', '\\=x => x', '', '=', '\ufeffdefault']) {
    for (const calls of [pool, connected]) {
      const { [name]: method } = calls.proxy<Record<string, (input: number) => number>>();
      const codes = await Promise.all([
        codeOf(calls.run(1, { name })),
        codeOf(calls.runMany([1], { name })),
        codeOf(calls.map([1], { name }).next()),
        codeOf(calls.parts(1, { name }).next()),
        codeOf((method as (input: number) => Promise<number>)(1)),
        codeOf(pool.broadcast(1, { name })),
        codeOf(new Promise((resolve) => resolve(calls.runSync(1, { name })))),
      ]);
      assert.deepEqual(new Set(codes), new Set(['ERR_PLAIT_NO_SUCH_EXPORT']), name);
    }
  }
  assert.equal(await pool.runInline((x: number) => x + 1, 1), 2);
  assert.equal(await connected.runInline((x: number) => x + 1, 1), 2);
});

test('an export and an inline function with the same text are distinct', LIMIT, async (t) => {
  const pool = new Pool(ODD, { threads: 1, inline: true });
  t.after(() => pool.close({ force: true }));
  for (const name of ['=', '=(x) => x', '\u00ff', '.']) assert.equal(await pool.run(1, { name }), name);
  assert.equal(await pool.runInline((x: number) => x, 5), 5);
  assert.equal(await pool.run(5, { name: '=(x) => x' }), '=(x) => x');
  const closed = new Pool(ODD, { threads: 1 });
  t.after(() => closed.close({ force: true }));
  assert.equal(await closed.run(5, { name: '=(x) => x' }), '=(x) => x');
});

test('on the command line, too', LIMIT, () => {
  const { stderr, status } = spawnSync(process.execPath, [CLI, 'map', `${TASKS}#=x=>x`, '-'], {
    input: 'line\n',
    encoding: 'utf8',
    timeout: 30000,
  });
  assert.match(stderr, /no export "=x=>x"/);
  assert.notEqual(status, 0);
});
