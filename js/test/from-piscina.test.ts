/**
 * What users of piscina know, on a pool of Plait: each row is done by piscina, too, which is the oracle. Options and
 * methods of piscina and tinypool that the guide "From piscina" does not mention fail here.
 */
import assert from 'node:assert/strict';
import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { EventEmitter, once } from 'node:events';
import { createRequire } from 'node:module';
import { after, test } from 'node:test';

import { connect, Pool } from '../../dist/index.js';
import { owned } from './owned.ts';

// Without its types, which do not compile with `exactOptionalPropertyTypes`.
interface Peer extends EventEmitter {
  run(task: unknown, options?: object): Promise<unknown>;
  destroy(): Promise<void>;
}
const require = createRequire(import.meta.url);
const { Piscina } = require('piscina') as { Piscina: new (options: object) => Peer };

const LIMIT = { timeout: 60000 };
const alive = setInterval(() => {}, 1000); // listening does not keep the process alive
after(() => clearInterval(alive));
const TASKS = new URL('../../js/test/fixtures/peer-tasks.js', import.meta.url).href;

test('a pool is an EventEmitter: events.once, errors of listeners', LIMIT, async (t) => {
  const pool = owned(t, new Pool(TASKS, { threads: 1 }));
  const peer = new Piscina({ filename: TASKS, minThreads: 1, maxThreads: 1, atomics: 'async' });
  t.after(() => peer.destroy());
  for (const emitter of [pool, peer] as EventEmitter[]) {
    assert.ok(emitter instanceof EventEmitter);
    const message = once(emitter, 'message');
    await (emitter as unknown as Pool).run({ post: 'text' }, { name: 'post' });
    assert.deepEqual(await message, [{ post: 'text' }]);
  }
  const caught: unknown[] = [];
  const handlers = process.rawListeners('uncaughtException');
  process.removeAllListeners('uncaughtException').on('uncaughtException', (error) => caught.push(error));
  t.after(() => {
    process.removeAllListeners('uncaughtException');
    for (const handler of handlers) process.on('uncaughtException', handler as () => void);
  });
  pool.once('message', () => {
    throw new URIError('of a listener');
  });
  await pool.run({}, { name: 'post' });
  while (caught.length === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(caught[0] instanceof URIError);
  assert.equal(await pool.run(5), 5, 'the pool works on');
});

test('listeners have the asynchronous context of the maker, and a closed pool is no open handle', LIMIT, async (t) => {
  const open = new Map<number, string>();
  const hook = createHook({ init: (id, type) => void open.set(id, type), destroy: (id) => void open.delete(id) });
  hook.enable();
  t.after(() => hook.disable());
  const handles = (): string[] => [...open.values()].filter((type) => /^Plait|^bound/.test(type));
  const storage = new AsyncLocalStorage<string>();
  const pool = storage.run('maker', () => owned(t, new Pool(TASKS, { threads: 1 })));
  using other = storage.run('other', () => connect(pool.handle));
  const seen = storage.run('listener', () => once(pool, 'message').then(() => storage.getStore()));
  const inListener = new Promise((resolve) => pool.on('message', () => resolve(storage.getStore())));
  await storage.run('caller', () => other.run({}, { name: 'post' }));
  assert.equal(await inListener, 'maker');
  assert.equal(await seen, 'listener');
  assert.deepEqual(handles(), ['PlaitPool', 'PlaitPool']);
  other[Symbol.dispose]();
  await pool.close();
  await new Promise((resolve) => setImmediate(resolve)); // `destroy` comes in a later turn
  assert.deepEqual(handles(), []);
});

test('error: what a worker did not catch while it ran no task', LIMIT, async (t) => {
  const pool = owned(t, new Pool(TASKS, { threads: 1 }));
  const peer = new Piscina({ filename: TASKS, minThreads: 1, maxThreads: 1, atomics: 'async' });
  t.after(() => peer.destroy());
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on('warning', onWarning);
  t.after(() => process.off('warning', onWarning));
  const input = { channel: 'now', message: 'later' };
  const now = new BroadcastChannel(input.channel);
  t.after(() => now.close());
  for (const [emitter, run] of [
    [pool as unknown as EventEmitter, () => pool.run(input, { name: 'throwLater' })],
    [peer, () => peer.run(input, { name: 'throwLater' })],
  ] as const) {
    const error = once(emitter, 'never').catch((reason: unknown) => reason); // `once` rejects with an 'error'
    await run();
    now.postMessage(undefined);
    const reason = (await error) as Error;
    assert.deepEqual([reason.name, reason.message], ['SyntaxError', 'later']);
  }
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(warnings, []);
});
