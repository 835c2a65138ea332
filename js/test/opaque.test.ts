/**
 * Objects that represent shared memory show logs and other threads one line: no property, and no byte of the memory.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { MessageChannel } from 'node:worker_threads';

import { fs } from '../../dist/fs/index.js';
import { connect, heap, openSpace, Pool, task } from '../../dist/index.js';
import { ValueWriter } from '../../dist/value/writer.js';

const LIMIT = { timeout: 60000 };
const SECRET = 'correct horse battery staple';
const MODULE = `data:text/javascript,${encodeURIComponent(`
  import { inspect } from 'node:util';
  import { task } from ${JSON.stringify(new URL('../../dist/task/index.js', import.meta.url).href)};
  export default (input) => input;
  export const look = () => [inspect(task), inspect(task.pool), JSON.stringify([task, task.pool])];
`)}`;
const writer = new ValueWriter();
const isDataCloneError = (says: string) => (error: unknown) =>
  (error as Error).name === 'DataCloneError' && (error as Error).message.includes(says);

test('JSON, a log and a copy of them show nothing of the memory’s contents', LIMIT, async (t) => {
  const space = openSpace({ maximum: 2 ** 24 });
  const pool = new Pool(MODULE, { threads: 2, space });
  t.after(() => pool.close({ force: true }));
  const connected = connect(pool.handle, { space });
  await pool.run({ password: SECRET });
  fs.mkdirSync('/opaque', { recursive: true });
  fs.writeFileSync('/opaque/file', SECRET);
  t.after(() => fs.rmSync('/opaque', { recursive: true }));
  const handle = await fs.promises.open('/opaque/file');
  t.after(() => handle.close());
  const dir = fs.opendirSync('/opaque');
  t.after(() => dir.closeSync());
  const watcher = fs.watch('/opaque');
  t.after(() => watcher.close());
  class OwnPool extends Pool {
    readonly own = 1;
  }
  const derived = new OwnPool(MODULE, { minThreads: 0, maxThreads: 1, space });
  t.after(() => derived.close());

  const objects: [object: object, line: RegExp, instead: string][] = [
    [pool, /^Pool \{ threads: 2, queued: 0 \}$/, 'send pool.handle'],
    [connected, /^Pool \{ threads: 2, queued: 0 \}$/, 'send pool.handle'],
    [derived, /^Pool \{ threads: 1, queued: 0 \}$/, 'send pool.handle'],
    [space, /^Space \{ bytes: \d+, thread: \d+ \}$/, 'send space.handle'],
    [heap, /^Heap \{ used: \d+, reserved: \d+, liveBlocks: \d+ \}$/, 'import it there'],
    [task, /^Task \{\}$/, 'task.worker.id'],
    [fs, /^Fs \{ files: \d+, bytes: \d+ \}$/, 'import it there'],
    [fs.promises, /^FsPromises \{\}$/, 'import it there'],
    [handle, /^FileHandle \{ fd: \d+ \}$/, 'open the file there'],
    [dir, /^Dir \{ path: "\/opaque" \}$/, 'send dir.path'],
    [watcher, /^FsWatcher \{ closed: false \}$/, 'call fs.watch() there'],
  ];
  const { port1, port2 } = new MessageChannel();
  t.after(() => port1.close());
  for (const [object, line, instead] of objects) {
    const shown = inspect(object);
    assert.match(shown, line);
    for (const how of [{ depth: 9 }, { showHidden: true, depth: 9 }, { depth: 0 }]) {
      assert.equal(inspect({ object }, how), `{ object: ${shown} }`);
    }
    inspect(Object.getPrototypeOf(object)); // its class's prototype, which has no state, fails no log
    const isListed = object === fs || object === fs.promises || object === derived || object === dir;
    if (!isListed) assert.equal(JSON.stringify({ object }), '{"object":{}}', shown);
    assert.ok(JSON.stringify({ object }).length < 3000, shown);
    for (const seen of [
      JSON.stringify(object),
      inspect(object, { showHidden: true, depth: 9, customInspect: false }),
    ]) {
      assert.ok(!seen.includes(SECRET), shown);
    }
    const isFunctions = object === fs || object === fs.promises; // their functions stop it
    const says = isFunctions ? '' : instead;
    assert.throws(() => structuredClone({ object }), isDataCloneError(says));
    assert.throws(() => port2.postMessage({ object }), isDataCloneError(says));
    const name = shown.slice(0, shown.indexOf(' '));
    assert.throws(
      () => writer.write({ object }, 'input'),
      ({ message }: Error) => message.startsWith(`input.object is a ${name}, `) && message.includes(instead),
    );
  }
  assert.equal(JSON.stringify(derived), '{"own":1}');
  assert.deepEqual(Object.keys(space), Object.keys(heap));

  const inTask = (await pool.run(0, { name: 'look' })) as string[];
  assert.match(inTask[0] as string, /^Task \{ index: [01], aborted: false \}$/);
  assert.match(inTask[1] as string, /^Pool \{ threads: 2, queued: \d+ \}$/);
  assert.equal(inTask[2], '[{},{}]');
  await assert.rejects(pool.run({ pool }), /input\.pool is a Pool, .*send pool\.handle/);

  connected[Symbol.dispose]();
  assert.equal(inspect(connected), 'Pool { closed: true }');
  await pool.close();
  assert.equal(inspect(pool), 'Pool { closed: true }');
  assert.equal(JSON.stringify(pool), '{}');
});

test('queued tasks are counted', LIMIT, async (t) => {
  const pool = new Pool(MODULE, { minThreads: 0, maxThreads: 1 });
  t.after(() => pool.close({ force: true }));
  const results = pool.runMany([1, 2, 3]);
  assert.match(inspect(pool), /^Pool \{ threads: 1, queued: [0-3] \}$/);
  await results;
});

test('in a task, the things that a task has are as usual', LIMIT, async (t) => {
  const module = `data:text/javascript,${encodeURIComponent(`
    import { task } from ${JSON.stringify(new URL('../../dist/task/index.js', import.meta.url).href)};
    export default async () => {
      const { aborted, signal, worker, pool, progress } = task;
      return [aborted, signal.aborted, Object.keys(worker), progress('told'), await pool.run(3, { name: 'three' })];
    };
    export const three = (input) => input * 3;
  `)}`;
  const pool = new Pool(module, { threads: 1 });
  t.after(() => pool.close({ force: true }));
  assert.deepEqual(await pool.run(), [false, false, ['index', 'id'], true, 9]);
});
