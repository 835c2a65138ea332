/**
 * The contract of a pool's calls beyond running a function: transfer, many inputs, blocking calls, and calls of tasks.
 * On any host.
 */

import { Pool } from 'plait';
import { alike, type Case, ok, rejection, same, thrown } from './check.ts';
import { isNode, opened, poolsOf } from './pool-setup.ts';

export function poolCallCases(module: (name: string) => string): Case[] {
  const tasks = module('pool-tasks.js');
  const withPool = poolsOf(tasks);

  return [
    // ---- values ----
    {
      name: 'transfer: the source is detached, for inputs and results; an error names what cannot be transferred',
      run: () =>
        withPool({ threads: 1 }, async (pool) => {
          const bytes = new Uint8Array(5000).fill(7);
          const back = (await pool.run({ bytes }, { transfer: [bytes.buffer] })) as { bytes: Uint8Array };
          same(bytes.byteLength, 0, 'what the sender has left');
          ok(back.bytes.length === 5000 && back.bytes[4999] === 7, 'what came back');
          const given = (await pool.run(300, { name: 'giveBytes' })) as { bytes: Uint8Array };
          ok(given.bytes.length === 300 && given.bytes[0] === 3, 'what the worker gave');
          same(await pool.run(0, { name: 'keptLength' }), 0, 'the length that the worker sees afterwards');
          const twice = new ArrayBuffer(8);
          const gone = new ArrayBuffer(8);
          structuredClone(gone, { transfer: [gone] });
          const wrong: [string, readonly unknown[]][] = [
            ['transfer[0]', [5]],
            ['transfer[1]', [new ArrayBuffer(1), new Uint8Array(1)]],
            ['transfer[1] is listed twice', [twice, twice]],
            ['transfer[1] is detached already', [twice, gone]],
          ];
          for (const [part, transfer] of wrong) {
            const error = await rejection(pool.run(1, { transfer }));
            same(error.code, 'ERR_PLAIT_CANNOT_SEND');
            ok(error.message.includes(part), error.message);
          }
          const noList = await rejection(pool.run(1, { transfer: twice as unknown as unknown[] }));
          ok(noList instanceof TypeError && noList.message.includes('must be an array'), noList.message);
          same(twice.byteLength, 8, 'nothing was taken');
        }),
    },
    // ---- calls ----
    {
      name: 'runMany: results in order, the first failure rejects, a signal aborts the rest',
      run: () =>
        withPool({}, async (pool) => {
          const inputs = Array.from({ length: 5000 }, (_, i) => i);
          alike(await pool.runMany(inputs), inputs);
          alike(await pool.runMany(new Set(['a', 'b'])), ['a', 'b']);
          alike(await pool.runMany([]), []);
          const error = await rejection(pool.runMany(['x', 'y'], { name: 'fail' }));
          ok(error instanceof RangeError, 'the first failure');
          const unsendable = await rejection(pool.runMany([1, { call: () => 1 }, 2]));
          same(unsendable.code, 'ERR_PLAIT_CANNOT_SEND');
          ok(unsendable.message.startsWith('inputs[1].call is a function'), unsendable.message);
          const stop = new AbortController();
          const many = rejection(pool.runMany(Array(50).fill(20), { name: 'pause', signal: stop.signal }));
          stop.abort(new URIError('enough'));
          ok((await many) instanceof URIError, 'the reason of the signal');
          ok((await rejection(pool.runMany([1], { signal: stop.signal }))) instanceof URIError, 'aborted before');
          const reported: unknown[] = [];
          await pool.runMany([2, 3], {
            name: 'reportSync',
            onProgress: (value: number, index) => reported.push([index, value]),
          });
          same(reported.length, 5);
        }),
    },
    {
      name: 'parts: a task’s progress arrives in order, before its end; otherwise it works like run()',
      run: () =>
        withPool({ threads: 1, grace: 10000 }, async (pool) => {
          const parts = pool.parts<{ step: number }, number>(5000, { name: 'report' });
          let step = 0;
          for await (const part of parts) same(part.step, step++);
          same(step, 5000);
          same(await parts.result, 5000);
          alike(await parts.next(), { value: undefined, done: true });
          const quick = pool.parts(1, { name: 'reportSync' });
          alike(await quick.next(), { value: 0, done: false });
          alike(await quick.next(), { value: 1, done: true }, 'the result');
          const failing = pool.parts('x', { name: 'reportAndFail' });
          alike(await failing.next(), { value: 'x', done: false });
          ok((await rejection(failing.next())) instanceof RangeError, 'the error');
          ok((await rejection(failing.result)) instanceof RangeError, 'the same by its result');
          same((await rejection(pool.parts(() => 1).next())).code, 'ERR_PLAIT_CANNOT_SEND');
          // The task would go on for ever.
          const left = pool.parts(0, { name: 'beginUntilAborted' });
          for await (const part of left) {
            same(part, 'begun');
            break;
          }
          same((await rejection(left.result)).name, 'AbortError');
          same(await pool.run('on'), 'on');
          const stop = new AbortController();
          const stopped = pool.parts(0, { name: 'beginUntilAborted', signal: stop.signal });
          same((await stopped.next()).value, 'begun');
          const waiting = rejection(stopped.next());
          stop.abort(new URIError('enough'));
          ok((await waiting) instanceof URIError, 'the reason of the signal');
          ok((await rejection(pool.parts(1, { signal: stop.signal }).next())) instanceof URIError, 'aborted before');
          same(await pool.run('on'), 'on');
        }),
    },
    {
      name: 'map: leaving early or a signal aborts the started tasks',
      run: () =>
        withPool({ threads: 1 }, async (pool) => {
          for await (const output of pool.map([0, 1e7, 1e7], { name: 'pause' })) {
            same(output, 0);
            break;
          }
          same(await pool.run('on'), 'on'); // the pauses did not end, and hold nothing up
          const stop = new AbortController();
          const iterator = pool.map([1e7], { name: 'pause', signal: stop.signal });
          const next = rejection(iterator.next());
          stop.abort();
          same((await next).name, 'AbortError');
          alike(await iterator.next(), { value: undefined, done: true });
          same((await rejection(pool.map([1], { signal: stop.signal }).next())).name, 'AbortError');
        }),
    },
    {
      name: 'runSync: values, errors, asynchronous functions; not where it must not block',
      run: () =>
        withPool({}, async (pool) => {
          if (!isNode) {
            same(thrown(() => pool.runSync(1)).code, 'ERR_PLAIT_CANNOT_BLOCK');
            return;
          }
          const pending = pool.run('other');
          same(pool.runSync('value'), 'value');
          same(pool.runSync(3, { name: 'pause' }), 3);
          const reported: unknown[] = [];
          same(pool.runSync(4, { name: 'report', onProgress: (part) => void reported.push(part) }), 4);
          alike(reported, [{ step: 0 }, { step: 1 }, { step: 2 }, { step: 3 }], 'while it blocks');
          ok(thrown(() => pool.runSync('m', { name: 'fail' })) instanceof RangeError, 'its error');
          same(thrown(() => pool.runSync(1, { name: 'exit' })).code, 'ERR_PLAIT_WORKER_DIED');
          same(await pending, 'other');
          same((await rejection(pool.run(0, { name: 'blockOnOwnPool' }))).code, 'ERR_PLAIT_CANNOT_BLOCK');
        }),
    },
    {
      name: 'broadcast: every worker once; with `later`, also workers that start later',
      run: () =>
        withPool({ threads: 3 }, async (pool) => {
          const indices = (await pool.broadcast('first', { name: 'receive' })) as number[];
          alike([...indices].sort(), [0, 1, 2]);
          await pool.broadcast('second', { name: 'receive', later: true });
          await rejection(pool.run(1, { name: 'exit', affinity: 'k' }));
          const received = (await pool.broadcast(0, { name: 'receivedValues' })) as string[][];
          same(received.filter((list) => list.join() === 'second').length, 1, 'the new worker');
          same(received.filter((list) => list.join() === 'first,second').length, 2, 'the others');
          ok((await rejection(pool.broadcast('m', { name: 'fail' }))) instanceof RangeError, 'its error');
          const done = pool.close();
          same((await rejection(pool.broadcast(1))).code, 'ERR_PLAIT_POOL_CLOSED');
          await done;
        }),
    },
    {
      name: 'proxy and inline functions',
      run: () =>
        withPool({ threads: 1, inline: true }, async (pool) => {
          const api = pool.proxy<{ pause(milliseconds: number): Promise<number>; absent(): void }>();
          same(await api.pause(1), 1);
          same(await api.pause(2, { priority: 1 }), 2);
          same((await rejection(api.absent())).code, 'ERR_PLAIT_NO_SUCH_EXPORT');
          same((api as { then?: unknown }).then, undefined, 'a proxy is no promise');
          const { completed, failed } = pool.stats();
          same(JSON.stringify({ api }), '{"api":{}}');
          same(`${api}`, '[object Object]');
          same(String(api) + (api as unknown as number), '[object Object][object Object]');
          same(Object.prototype.toString.call(api), '[object Object]');
          const object: object = api;
          ok(object instanceof Object && Object.keys(object).length === 0, 'an object without properties');
          same(object.constructor, Object);
          console.debug(object); // whatever the host does with it there
          const inside = await Promise.all([api, api.pause(3)]);
          same(inside[1], 3);
          alike([pool.stats().completed, pool.stats().failed], [completed + 1, failed], 'tasks');
          same(await pool.run('by its name', { name: 'toString' }), 'exported by the module: by its name');
          same(await pool.runInline((n: number) => n * 2, 21), 42);
          same(await pool.runInline(async ({ a }: { a: number }) => a + 1, { a: 1 }), 2);
          const methods = {
            twice(n: number) {
              return n * 2;
            },
            async 'half of'(n: number) {
              return n / 2;
            },
            class: (n: number) => n,
          };
          same(await pool.runInline(methods.twice, 21), 42, 'a method');
          same(await pool.runInline(methods['half of'], 42), 21, 'an asynchronous one, with an odd name');
          same(await pool.runInline(methods.class, 4), 4);
          const key = 'computed';
          const odd = { [key]: 0, [`${key}!`]() {} };
          for (const [call, says] of [
            [5, 'needs a function'],
            [methods.twice.bind(methods), 'a bound function'],
            [Math.max, 'one of the host'],
            [new Proxy(methods.twice, {}), 'it has no source'],
            [class Shape {}, 'a class'],
            [odd[`${key}!`], 'write it as (input) =>'],
          ] as const) {
            const error = await rejection(pool.runInline(call as never, 1));
            ok(error instanceof TypeError && error.message.includes(says), `${says}: ${error}`);
          }
          const strict = opened(new Pool(tasks, { threads: 1 }));
          same((await rejection(strict.runInline((n: number) => n, 1))).code, 'ERR_PLAIT_INLINE_FORBIDDEN');
          await strict.close();
        }),
    },
    {
      name: 'inline functions import: URLs everywhere, packages and files beside the pool’s module in Node',
      run: () =>
        withPool({ threads: 1, inline: true }, async (pool) => {
          // By this way, since the compiler would put a helper of its own around the import().
          const namesOf = new Function('name', 'return import(name).then(Object.keys)') as (name: string) => string[];
          ok((await pool.runInline(namesOf, module('tasks.js'))).includes('isShared'), 'a URL');
          ok((await rejection(pool.runInline(namesOf, module('absent.js')))) instanceof Error, 'what is not there');
          if (!isNode) return;
          ok((await pool.runInline(namesOf, 'node:os')).includes('cpus'), 'of the host');
          ok((await pool.runInline(namesOf, 'plait')).includes('Pool'), 'a package');
          ok((await pool.runInline(namesOf, './tasks.js')).includes('isShared'), 'a path');
          const elsewhere = opened(new Pool('data:text/javascript,export default 1', { threads: 1, inline: true }));
          ok((await elsewhere.runInline(namesOf, 'node:os')).includes('cpus'), 'of a module without a place');
          await elsewhere.close();
          const first = opened(
            new Pool(tasks, { threads: 1, inline: true, execArgv: ['--import', 'data:text/javascript,'] }),
          );
          ok((await first.runInline(namesOf, 'plait')).includes('Pool'), 'in a thread that is a module');
          await first.close();
        }),
    },
    {
      name: 'tasks of tasks: a full pool helps itself, to any depth',
      run: () =>
        withPool({ threads: 1 }, async (pool) => {
          same(await pool.run(6, { name: 'tree' }), 64);
          const reported: unknown[] = [];
          const onProgress = (value: unknown): void => void reported.push(value);
          alike(await pool.run('child', { name: 'parentOf', onProgress }), [false, 'child', false]);
          alike(reported, ['after']);
          const wide = opened(new Pool(tasks, { threads: 2 }));
          alike(await wide.runMany(Array(8).fill(5), { name: 'tree' }), Array(8).fill(32));
          await wide.close();
        }),
    },
  ];
}
