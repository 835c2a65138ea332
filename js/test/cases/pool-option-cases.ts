/**
 * Unknown and invalid options of a pool and its calls, and a pool's options as defaults for its tasks. On any host.
 */

import { connect, Heap, Pool, type PoolOptions } from 'plait';
import { alike, type Case, ok, rejection, same, thrown } from './check.ts';
import { opened, poolsOf } from './pool-setup.ts';

/** Options, and parts of the error's message. */
type Wrong = [unknown, ...string[]];

function checkError(error: Error, options: unknown, kind: typeof TypeError | typeof RangeError, parts: string[]): void {
  const what = `${JSON.stringify(options)}: ${error}`;
  same(error.constructor, kind, what);
  for (const part of parts) ok(error.message.includes(part), `${what}, which lacks "${part}"`);
}

export function poolOptionCases(module: (name: string) => string): Case[] {
  const tasks = module('pool-tasks.js');
  const withPool = poolsOf(tasks);

  return [
    {
      name: 'options of a pool: unknown names are refused, with a suggestion',
      run: () => {
        const wrong: Wrong[] = [
          [{ timout: 50 }, 'options.timout is no option of new Pool()', 'is timeout meant?'],
          [{ maxthreads: 2 }, 'options.maxthreads', 'is maxThreads meant?'],
          [{ maxQueu: 2 }, 'is maxQueue meant?'],
          [{ recylce: {} }, 'is recycle meant?'],
          [{ filename: tasks }, 'options.filename', 'first argument'],
          [{ minWorkers: 1 }, 'options.minWorkers', 'minThreads'],
          [{ maxWorkers: 1 }, 'options.maxWorkers', 'maxThreads'],
          [{ maxQueueSize: 1 }, 'options.maxQueueSize', 'maxQueue'],
          [{ concurrency: 1 }, 'options.concurrency', 'concurrentTasksPerWorker'],
          [{ isolateWorkers: true }, 'recycle: { tasks: 1 }'],
          [{ maxMemoryLimitBeforeRecycle: 1 }, 'recycle: { bytes }'],
          [{ workerThreadOpts: {} }, 'workerData'],
          [{ recycle: { task: 3 } }, 'options.recycle.task', 'is tasks meant?'],
          [{ resourceLimits: { maxOldSpaceSizeMb: 3 } }, 'options.resourceLimits.maxOldSpaceSizeMb'],
        ];
        for (const [options, ...parts] of wrong) {
          checkError(
            thrown(() => new Pool(tasks, options as PoolOptions)),
            options,
            TypeError,
            parts,
          );
        }
        const far = thrown(() => new Pool(tasks, { colour: 'red' } as PoolOptions));
        same(far.message, 'options.colour is no option of new Pool()');
      },
    },
    {
      name: 'options of a pool: wrong values are refused, with the valid ones',
      run: () => {
        const types: Wrong[] = [
          [null, 'options must be an object, not null'],
          [4, 'options must be an object, not 4'],
          [{ recycle: 5 }, 'options.recycle must be an object, not 5'],
          [{ recycle: null }, 'options.recycle must be an object, not null'],
          [{ inline: 'yes' }, "options.inline must be true or false, not 'yes'"],
          [{ resourceLimits: 5 }, 'options.resourceLimits must be an object, not 5'],
          [{ resourceLimits: { stackSizeMb: '4' } }, 'options.resourceLimits.stackSizeMb must be a number above 0'],
          [{ space: 3 }, 'options.space must be a space', 'not 3'],
          [{ space: {} }, 'options.space must be a space', 'not an object'],
          [{ env: 5 }, 'options.env must be an object, not 5'],
          [{ env: Symbol.for('nodejs.worker_threads.SHARE_ENV') }, 'options.env cannot be SHARE_ENV'],
          [{ execArgv: '--expose-gc' }, 'options.execArgv must be an array of strings'],
        ];
        const ranges: Wrong[] = [
          [{ maxQueue: 'much' }, "options.maxQueue must be 'auto' or a whole number from 1 to ", "not 'much'"],
          [{ retries: -1 }, 'options.retries must be a whole number from 0 to 1000, not -1'],
          [{ idleTimeout: -1 }, 'options.idleTimeout'],
          [{ loadTimeout: -1 }, 'options.loadTimeout'],
          [{ idleTimeout: null }, 'options.idleTimeout', 'not null'],
          [{ minThreads: null }, 'options.minThreads', 'not null'],
          [{ recycle: { bytes: '1' } }, 'options.recycle.bytes must be a whole number from 1 to', "not '1'"],
        ];
        const refused = (options: unknown) => thrown(() => new Pool(tasks, options as PoolOptions));
        for (const [options, ...parts] of types) checkError(refused(options), parts, TypeError, parts);
        for (const [options, ...parts] of ranges) checkError(refused(options), options, RangeError, parts);
      },
    },
    {
      name: 'options of calls: unknown names and wrong values are refused, and the pool works on',
      run: () =>
        withPool({ threads: 1, inline: true }, async (pool, space) => {
          const { signal } = new AbortController();
          const calls: Record<string, (options: never) => Promise<unknown> | unknown> = {
            run: (options) => pool.run(1, options),
            runMany: (options) => pool.runMany([1], options),
            map: (options) => pool.map([1], options).next(),
            mapSettled: (options) => pool.mapSettled([1], options).next(),
            parts: (options) => pool.parts(1, options).next(),
            broadcast: (options) => pool.broadcast(1, options),
            runInline: (options) => pool.runInline((input: number) => input, 1, options),
            resize: (options) => pool.resize(options),
            close: (options) => pool.close(options),
            connect: (options) => connect(pool.handle, options)[Symbol.dispose](),
          };
          const all = Object.keys(calls);
          const tasksOf = all.slice(0, all.indexOf('resize'));
          const wrong: [string[], ...Wrong][] = [
            [all, null, 'must be an object, not null'],
            [all, 'x', "must be an object, not 'x'"],
            [all, { sapce: 5 }, 'options.sapce is no option of '],
            [tasksOf, { tiemout: 5 }, 'options.tiemout', 'is timeout meant?'],
            [tasksOf, { abortSignal: signal }, 'options.abortSignal', 'it is called signal'],
            [tasksOf, { signal: 5 }, 'options.signal must be an AbortSignal'],
            [['run', 'parts', 'runInline'], { transferList: [] }, 'options.transferList', 'it is called transfer'],
            [['runMany', 'map', 'mapSettled'], { transferList: [] }, 'only calls with a single input'],
            [['runMany', 'map'], { give: true }, 'options.give', 'only calls with a single input'],
            [['run', 'runMany', 'runInline'], { onProgress: 5 }, 'options.onProgress must be a function, not 5'],
            [['parts'], { onProgress: () => {} }, 'iterate over the parts'],
            [['run', 'map', 'broadcast'], { name: 5 }, 'options.name must be a string, not 5'],
            [['runInline'], { name: 'x' }, 'options.name'],
            [['run', 'runMany', 'map'], { lend: 1 }, 'options.lend must be true or false, not 1'],
            [['run', 'parts'], { give: 'yes' }, "options.give must be true or false, not 'yes'"],
            [['map'], { ordered: 0 }, 'options.ordered must be true or false, not 0'],
            [['run'], { concurrency: 5 }, 'options.concurrency is no option of run()'],
            [['broadcast'], { later: 1 }, 'options.later must be true or false, not 1'],
            [['broadcast'], { priority: 1 }, 'options.priority is no option of broadcast()'],
            [['resize'], undefined, '{ min, max }'],
            [['resize'], { maxThreads: 1 }, 'it is called max here'],
            [['close'], { force: 'yes' }, "options.force must be true or false, not 'yes'"],
            [['connect'], { space: 3 }, 'options.space must be a space'],
          ];
          for (const [names, options, ...parts] of wrong) {
            for (const name of names) {
              const error = await rejection((async () => await calls[name]?.(options as never))());
              checkError(error, [name, options], TypeError, parts);
            }
          }
          const none = Object.create({ timout: 5 }); // what is inherited may be anybody's
          same(await pool.run(1, none), 1);
          const absent = {
            name: undefined,
            timeout: undefined,
            signal: undefined,
            retries: undefined,
            give: undefined,
          };
          same(await pool.run(1, absent), 1, 'undefined is as if it were absent');
          same(space.thread !== 0, true);
        }),
    },
    {
      name: 'options of runSync: a signal is refused by name, and so are unknown options',
      run: () =>
        withPool({ threads: 1 }, async (pool) => {
          const refused = (options: unknown) => thrown(() => pool.runSync(1, options as never));
          const { signal } = new AbortController();
          checkError(refused({ signal }), 'signal', TypeError, ['options.signal', 'runSync()', 'timeout']);
          checkError(refused({ onProgress: 5 }), 5, TypeError, ['options.onProgress must be a function, not 5']);
          checkError(refused({ transferList: [] }), 'list', TypeError, ['it is called transfer']);
        }),
    },
    {
      name: 'a known option that is undefined is as if it were absent; idleTimeout may be Infinity',
      run: () => {
        const none = undefined;
        const numbers = { threads: none, minThreads: none, maxThreads: 1, maxQueue: none, timeout: none, grace: none };
        const rest = { recycle: none, inline: none, workerData: none, env: none, execArgv: none, resourceLimits: none };
        const idleTimeout = Number.POSITIVE_INFINITY;
        const options = { ...numbers, ...rest, retries: none, concurrentTasksPerWorker: none, idleTimeout };
        return withPool(options, async (pool) => {
          same(await pool.run('done'), 'done');
          pool.resize({ min: undefined, max: 2 });
          same(pool.threads, 2);
        });
      },
    },
    {
      name: 'options of any make: with the `type` that webpack writes, frozen, without a prototype, as getters of a class',
      run: async () => {
        class Options {
          get maxThreads() {
            return 1;
          }
          get minThreads() {
            return 0;
          }
        }
        const bare = Object.assign(Object.create(null), { maxThreads: 1, minThreads: 0 });
        for (const how of [
          { type: 'module', maxThreads: 1, minThreads: 0 },
          Object.freeze({ ...bare }),
          bare,
          new Options(),
        ]) {
          // Not by withPool, which makes new options of them.
          const pool = opened(new Pool(tasks, how as PoolOptions));
          try {
            same(pool.threads, 1);
            same(pool.stats().minThreads, 0);
            const call = Object.assign(Object.create(null), { name: 'default' });
            same(await pool.run('done', Object.freeze(call)), 'done');
          } finally {
            await pool.close();
          }
        }
      },
    },
    {
      name: 'retries of the pool: the default for its tasks, in every call and thread',
      run: () =>
        withPool({ threads: 1, retries: 2 }, async (pool, space) => {
          const block = new Heap(() => space).alloc(4);
          const words = new Int32Array(space.bytes(block, 4).buffer, block, 1);
          const dying = (times: number) => {
            Atomics.store(words, 0, 0);
            return { block, times, text: 'lives' };
          };
          const name = 'exitAtFirst';
          const api = pool.proxy<{ exitAtFirst(input: object): string }>();
          using other = connect(pool.handle, { space });
          const calls: Record<string, (input: object, options: { retries?: number }) => Promise<unknown>> = {
            run: (input, options) => pool.run(input, { name, ...options }),
            runMany: (input, options) => pool.runMany([input], { name, ...options }).then(([first]) => first),
            map: async (input, options) => (await pool.map([input], { name, ...options }).next()).value,
            parts: (input, options) => pool.parts(input, { name, ...options }).result,
            broadcast: (input, options) => pool.broadcast(input, { name, ...options }).then(([first]) => first),
            proxy: (input, options) => api.exitAtFirst(input, options),
            connected: (input, options) => other.run(input, { name, ...options }),
          };
          if (canBlock()) calls.runSync = async (input, options) => pool.runSync(input, { name, ...options });
          for (const [call, make] of Object.entries(calls)) {
            same(await make(dying(2), {}), 'lives', `${call}: run three times`);
            same((await rejection(make(dying(1), { retries: 0 }))).code, 'ERR_PLAIT_WORKER_DIED', `${call}, 0: none`);
          }
          same((await rejection(pool.run(dying(3), { name }))).code, 'ERR_PLAIT_WORKER_DIED', 'no more than that');
          same(await pool.run(dying(3), { name, retries: 3 }), 'lives', 'the task’s own count');
          alike(await pool.runMany([1, 2]), [1, 2]);
        }),
    },
  ];
}

/** Whether this thread may wait for a task without its event loop. */
function canBlock(): boolean {
  try {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 0);
    return true;
  } catch {
    return false;
  }
}
