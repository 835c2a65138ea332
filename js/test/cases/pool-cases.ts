/** What a pool's calls promise beyond running a function: order, stopping, progress, sizes, counters. On any host. */

import { connect, Heap, openSpace, PlaitError, Pool, type PoolOptions, type Space } from 'plait';
import { alike, type Case, ok, rejection, same, thrown } from './check.ts';

/** Resolves when `what` holds; a test waits for states, never for times. */
async function until(what: () => boolean, why: string): Promise<void> {
  const end = performance.now() + 20000;
  while (!what()) {
    ok(performance.now() < end, why);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export function poolCases(module: (name: string) => string): Case[] {
  const tasks = module('pool-tasks.js');
  const isNode =
    typeof (globalThis as { process?: { getBuiltinModule?: unknown } }).process?.getBuiltinModule === 'function';
  const withPool = async (options: PoolOptions, body: (pool: Pool, space: Space) => Promise<void>): Promise<void> => {
    const space = openSpace({ maximum: 2 ** 27 });
    const pool = new Pool(tasks, { threads: 2, space, ...options });
    try {
      await body(pool, space);
    } finally {
      await pool.close({ force: true });
    }
    space.check();
  };
  /** Runs a task and resolves when it has begun. */
  const begun = async (pool: Pool, name: string, options: object = {}): Promise<{ end: Promise<unknown> }> => {
    let end: Promise<unknown> = Promise.resolve();
    await new Promise<void>((resolve, reject) => {
      end = pool.run(0, { name, onProgress: () => resolve(), ...options });
      end.catch(reject);
    });
    end.catch(() => {});
    return { end };
  };

  return [
    // ---- order ----
    {
      name: 'order: the urgent first, first in first out within a priority',
      run: () =>
        withPool({ threads: 1 }, async (pool) => {
          const blocker = await begun(pool, 'untilSignal', { signal: undefined, timeout: 300 });
          const order: number[] = [];
          const note = (value: unknown): void => void order.push(value as number);
          const runs = [
            ...[10, 11].map((i) => pool.run(i, { priority: -3 })),
            ...[20, 21, 22].map((i) => pool.run(i)),
            ...[30, 31].map((i) => pool.run(i, { priority: 3 })),
          ].map((run) => run.then(note));
          await Promise.all(runs);
          alike(order, [30, 31, 20, 21, 22, 10, 11]);
          await rejection(blocker.end);
          for (const priority of [4, -4, 0.5, '1']) {
            ok((await rejection(pool.run(1, { priority } as never))) instanceof RangeError, `priority ${priority}`);
          }
        }),
    },
    {
      name: 'order: tasks with one key run on one worker, in the order of submission, whatever else there is',
      run: () =>
        withPool({ threads: 3 }, async (pool) => {
          const others = pool.runMany(Array.from({ length: 300 }, (_, i) => i));
          const seats = new Map<string, Set<unknown>>();
          const runs = [];
          for (let i = 0; i < 90; i++) {
            const key = `key ${i % 9}`;
            runs.push(
              pool.run(0, { name: 'worker', affinity: key }).then((seat) => {
                seats.set(key, (seats.get(key) ?? new Set()).add(seat));
              }),
            );
          }
          await Promise.all(runs);
          for (const [key, used] of seats) same(used.size, 1, `workers of ${key}`);
          ok(new Set([...seats.values()].flatMap((used) => [...used])).size > 1, 'the keys are spread');
          await others;
          ok((await rejection(pool.run(1, { affinity: {} } as never))) instanceof TypeError, 'a wrong key');
        }),
    },
    {
      name: 'order: a key survives its worker',
      run: () =>
        withPool({ threads: 2 }, async (pool) => {
          const seat = await pool.run(0, { name: 'worker', affinity: 'k' });
          same((await rejection(pool.run(1, { name: 'exit', affinity: 'k' }))).code, 'ERR_PLAIT_WORKER_DIED');
          same(await pool.run(0, { name: 'worker', affinity: 'k' }), seat);
        }),
    },
    {
      name: 'order: single tasks, quick and slow ones in turn; timers go on meanwhile',
      run: () =>
        withPool({ threads: 1 }, async (pool) => {
          let ticks = 0;
          const timer = setInterval(() => ticks++, 1);
          try {
            // Results that come in an instant are looked for, later ones slept for; those make the thread turn to sleep again.
            for (let i = 0; ticks < 20 || i < 300; i++) {
              if (i % 100 === 99) same(await pool.run(2, { name: 'pause' }), 2);
              else same(await pool.run(i), i);
            }
          } finally {
            clearInterval(timer);
          }
        }),
    },
    {
      name: 'maxQueue: a further task is refused; drain tells when there is room; map and runMany wait by themselves',
      run: () =>
        withPool({ threads: 1, maxQueue: 4 }, async (pool) => {
          const stop = new AbortController();
          const blocker = await begun(pool, 'untilSignal', { signal: stop.signal });
          const accepted = [1, 2, 3, 4].map((i) => pool.run(i));
          ok(pool.needsDrain, 'the queue is full');
          const error = await rejection(pool.run(5));
          same(error.code, 'ERR_PLAIT_QUEUE_FULL');
          ok(error.message.includes('4'), error.message);
          const drained = new Promise<void>((resolve) => pool.on('drain', resolve));
          const many = pool.runMany(Array.from({ length: 100 }, (_, i) => i));
          stop.abort();
          await rejection(blocker.end);
          await drained;
          alike(await Promise.all(accepted), [1, 2, 3, 4]);
          same((await many).length, 100);
          const mapped = [];
          for await (const output of pool.map(Array.from({ length: 50 }, (_, i) => i))) mapped.push(output);
          same(mapped.length, 50);
          ok(!pool.needsDrain, 'there is room');
          const automatic = new Pool(tasks, { threads: 3, maxQueue: 'auto' });
          await automatic.close();
        }),
    },
    {
      name: 'maxQueue: aborted tasks make room at once, though every worker is busy; those behind them keep their order',
      run: () =>
        withPool({ threads: 1, maxQueue: 6 }, async (pool, space) => {
          const release = new AbortController();
          const blocker = await begun(pool, 'untilSignal', { signal: release.signal });
          const heap = new Heap(() => space);
          const before = heap.stats().liveBlocks;
          const stops = Array.from({ length: 6 }, () => new AbortController());
          const order: number[] = [];
          const input = new Uint8Array(50_000);
          const queued = stops.map(({ signal }, i) => {
            const run = pool.run([i, input], { signal, priority: i === 5 ? 1 : 0 }).then(() => order.push(i));
            run.catch(() => {}); // heard below
            return run;
          });
          ok(pool.needsDrain, 'the queue is full');
          same((await rejection(pool.run(9))).code, 'ERR_PLAIT_QUEUE_FULL');
          const drained = new Promise<void>((resolve) => pool.on('drain', resolve));
          for (const i of [1, 4, 0, 5]) stops[i]!.abort(new Error(`no ${i}`));
          same(pool.stats().queued, 2);
          ok(!pool.needsDrain, 'there is room');
          await drained;
          const later = [6, 7, 8, 9].map((i) => pool.run([i, input]).then(() => order.push(i)));
          same((await rejection(pool.run(10))).code, 'ERR_PLAIT_QUEUE_FULL');
          for (const i of [1, 4, 0, 5]) same((await rejection(queued[i]!)).message, `no ${i}`);
          // As often as you like: nothing piles up where nobody can take it away.
          stops[3]!.abort();
          await rejection(queued[3]!);
          for (let i = 0; i < 1000; i++) {
            const stop = new AbortController();
            const run = pool.run([i, input], { signal: stop.signal });
            stop.abort();
            await rejection(run);
          }
          await until(() => heap.stats().liveBlocks - before < 40, 'what they had is freed');
          release.abort();
          await rejection(blocker.end);
          await Promise.all([queued[2], ...later]);
          alike(order, [2, 6, 7, 8, 9]);
        }),
    },
    {
      name: 'maxQueue: who leaves map early, or aborts runMany, gives its places in a blocked pool back',
      run: () =>
        withPool({ threads: 1, maxQueue: 8 }, async (pool) => {
          const release = new AbortController();
          const blocker = await begun(pool, 'untilSignal', { signal: release.signal });
          const mapped = pool.map(Array.from({ length: 100 }, (_, i) => i));
          void mapped.next();
          ok(pool.needsDrain, 'map fills the queue');
          await mapped.return();
          same(pool.stats().queued, 0);
          const stop = new AbortController();
          const many = pool.runMany(Array(100).fill(1), { signal: stop.signal });
          ok(pool.needsDrain, 'runMany fills the queue');
          stop.abort();
          await rejection(many);
          same(pool.stats().queued, 0);
          release.abort();
          await rejection(blocker.end);
        }),
    },
    // ---- values ----
    {
      name: 'transfer: the source is detached, on the way there and on the way back; what cannot is named',
      run: () =>
        withPool({ threads: 1 }, async (pool) => {
          const bytes = new Uint8Array(5000).fill(7);
          const back = (await pool.run({ bytes }, { transfer: [bytes.buffer] })) as { bytes: Uint8Array };
          same(bytes.byteLength, 0, 'what the sender has left');
          ok(back.bytes.length === 5000 && back.bytes[4999] === 7, 'what came back');
          const given = (await pool.run(300, { name: 'giveBytes' })) as { bytes: Uint8Array };
          ok(given.bytes.length === 300 && given.bytes[0] === 3, 'what the worker gave');
          same(await pool.run(0, { name: 'keptLength' }), 0, 'what the worker has left');
          const twice = new ArrayBuffer(8);
          const wrong: [string, readonly unknown[]][] = [
            ['transfer[0]', [5]],
            ['transfer[1]', [new ArrayBuffer(1), new Uint8Array(1)]],
            ['transfer[1] is listed twice', [twice, twice]],
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
      name: 'runMany: results in order, the first failure rejects, a signal takes the rest back',
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
          const told: unknown[] = [];
          await pool.runMany([2, 3], {
            name: 'tellSync',
            onProgress: (value: number, index) => told.push([index, value]),
          });
          same(told.length, 5);
        }),
    },
    {
      name: 'parts: what a task tells comes in order, before its end; the rest is as of run()',
      run: () =>
        withPool({ threads: 1, grace: 10000 }, async (pool) => {
          const parts = pool.parts<{ step: number }, number>(5000, { name: 'tell' });
          let step = 0;
          for await (const part of parts) same(part.step, step++);
          same(step, 5000);
          same(await parts.result, 5000);
          alike(await parts.next(), { value: undefined, done: true });
          const quick = pool.parts(1, { name: 'tellSync' });
          alike(await quick.next(), { value: 0, done: false });
          alike(await quick.next(), { value: 1, done: true }, 'the result');
          const failing = pool.parts('x', { name: 'tellAndFail' });
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
      name: 'map: leaving early or a signal takes back what is under way',
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
          const told: unknown[] = [];
          same(pool.runSync(4, { name: 'tell', onProgress: (part) => void told.push(part) }), 4);
          alike(told, [{ step: 0 }, { step: 1 }, { step: 2 }, { step: 3 }], 'while it blocks');
          ok(thrown(() => pool.runSync('m', { name: 'fail' })) instanceof RangeError, 'its error');
          same(thrown(() => pool.runSync(1, { name: 'exit' })).code, 'ERR_PLAIT_WORKER_DIED');
          same(await pending, 'other');
          same((await rejection(pool.run(0, { name: 'blockOnOwnPool' }))).code, 'ERR_PLAIT_CANNOT_BLOCK');
        }),
    },
    {
      name: 'broadcast: every worker once; workers born later too, when that is asked for',
      run: () =>
        withPool({ threads: 3 }, async (pool) => {
          const seats = (await pool.broadcast('first', { name: 'hear' })) as number[];
          alike([...seats].sort(), [0, 1, 2]);
          await pool.broadcast('second', { name: 'hear', later: true });
          await rejection(pool.run(1, { name: 'exit', affinity: 'k' }));
          const heard = (await pool.broadcast(0, { name: 'whatWasHeard' })) as string[][];
          same(heard.filter((list) => list.join() === 'second').length, 1, 'the new worker');
          same(heard.filter((list) => list.join() === 'first,second').length, 2, 'the others');
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
          same(await pool.runInline((n: number) => n * 2, 21), 42);
          same(await pool.runInline(async ({ a }: { a: number }) => a + 1, { a: 1 }), 2);
          ok((await rejection(pool.runInline(5 as never, 1))) instanceof TypeError, 'no function');
          const strict = new Pool(tasks, { threads: 1 });
          same((await rejection(strict.runInline((n: number) => n, 1))).code, 'ERR_PLAIT_INLINE_FORBIDDEN');
          await strict.close();
        }),
    },
    {
      name: 'tasks of tasks: a full pool helps itself, to any depth',
      run: () =>
        withPool({ threads: 1 }, async (pool) => {
          same(await pool.run(6, { name: 'tree' }), 64);
          const told: unknown[] = [];
          const onProgress = (value: unknown): void => void told.push(value);
          alike(await pool.run('child', { name: 'parentOf', onProgress }), [false, 'child', false]);
          alike(told, ['after']);
          const wide = new Pool(tasks, { threads: 2 });
          alike(await wide.runMany(Array(8).fill(5), { name: 'tree' }), Array(8).fill(32));
          await wide.close();
        }),
    },
    // ---- stopping ----
    {
      name: 'abort: the promise rejects with the reason; a loop sees the flag; a signal listener hears it',
      run: () =>
        withPool({ threads: 1, grace: 10000 }, async (pool) => {
          for (const name of ['beginUntilAborted', 'untilSignal']) {
            const stop = new AbortController();
            const { end } = await begun(pool, name, { signal: stop.signal });
            stop.abort(new SyntaxError('no more'));
            ok((await rejection(end)) instanceof SyntaxError, 'the reason');
          }
          same(await pool.run(0, { name: 'lastReason' }), 'AbortError');
          same(pool.stats().started, 1, 'no worker was stopped');
          const before = AbortSignal.abort(new URIError('before'));
          ok((await rejection(pool.run(1, { signal: before }))) instanceof URIError, 'aborted before');
          const stop = new AbortController();
          const blocker = await begun(pool, 'untilSignal', { signal: stop.signal });
          const queued = new AbortController();
          const never = rejection(pool.run('never', { name: 'hear', signal: queued.signal }));
          queued.abort();
          same((await never).name, 'AbortError', 'while queued');
          stop.abort();
          await rejection(blocker.end);
          alike(await pool.run(0, { name: 'whatWasHeard' }), [], 'what was aborted in the queue was not run');
        }),
    },
    {
      name: 'abort: a task that does not stop is stopped with its worker, and nothing else is lost',
      run: () =>
        withPool({ threads: 2, grace: 20 }, async (pool) => {
          for (const name of ['beginAndSpin', 'beginAndHang']) {
            const stop = new AbortController();
            const { end } = await begun(pool, name, { signal: stop.signal });
            const others = pool.runMany(Array.from({ length: 500 }, (_, i) => i));
            stop.abort();
            same((await rejection(end)).name, 'AbortError');
            same((await others).length, 500);
            await until(() => pool.stats().ended.stopped > 0, 'the worker is stopped');
          }
          await until(() => pool.stats().ended.stopped === 2 && pool.stats().workers.length === 2, 'both are replaced');
        }),
    },
    {
      name: 'timeout: counted from the start of the run; a flag first, then the worker is stopped',
      run: () =>
        withPool({ threads: 1, grace: 5000 }, async (pool) => {
          const first = pool.run(100, { name: 'pause' });
          const behind = pool.run(1, { name: 'pause', timeout: 60000 });
          const short = pool.run('quick', { timeout: 50 }); // waits for longer than it may run
          await Promise.all([first, behind]);
          same(await short, 'quick');
          same((await rejection(pool.run(0, { name: 'untilAborted', timeout: 20 }))).code, 'ERR_PLAIT_TASK_TIMEOUT');
          same((await rejection(pool.run(0, { name: 'untilSignal', timeout: 20 }))).code, 'ERR_PLAIT_TASK_TIMEOUT');
          same(await pool.run(0, { name: 'lastReason' }), 'ERR_PLAIT_TASK_TIMEOUT');
          same(pool.stats().started, 1, 'no worker was stopped');
        }),
    },
    {
      name: 'retries: a task whose worker died is run again, with its input, as often as is allowed',
      run: () =>
        withPool({ threads: 1 }, async (pool, space) => {
          const heap = new Heap(() => space);
          const block = heap.alloc(4);
          for (const text of ['short', 'long '.repeat(2000)]) {
            heap.view(block, 4).fill(0);
            const input = { block, times: 3, text };
            same(await pool.run(input, { name: 'dieAtFirst', retries: 3 }), text, 'the fourth run');
            heap.view(block, 4).fill(0);
            const error = await rejection(pool.run(input, { name: 'dieAtFirst', retries: 2 }));
            same(error.code, 'ERR_PLAIT_WORKER_DIED');
          }
          heap.free(block);
          for (const input of ['x'.repeat(10), 'y'.repeat(5000)]) {
            const counter = await pool.run(0, { name: 'worker' });
            same(counter, 0);
            const { started } = pool.stats();
            same((await rejection(pool.run(input, { name: 'exit', retries: 2 }))).code, 'ERR_PLAIT_WORKER_DIED');
            await until(() => pool.stats().started === started + 3, 'run three times');
          }
          ok(
            (await rejection(pool.run('m', { name: 'fail', retries: 5 }))) instanceof RangeError,
            'a failure is no death',
          );
        }),
    },
    {
      name: 'close: its deadline forces what is left',
      run: async () => {
        const pool = new Pool(tasks, { threads: 2 });
        const { end } = await begun(pool, 'beginAndSpin');
        const hang = rejection(pool.run(0, { name: 'beginAndHang' }));
        const quick = pool.run('quick', { priority: 3 }).catch(() => 'too late'); /* either is right */
        const closed = pool.close({ timeout: 100 });
        same((await rejection(end)).code, 'ERR_PLAIT_POOL_CLOSED');
        same((await hang).code, 'ERR_PLAIT_POOL_CLOSED');
        await quick;
        await closed;
        same(thrown(() => pool.stats()).code, 'ERR_PLAIT_POOL_CLOSED');
        same((await rejection(pool.run(1))).code, 'ERR_PLAIT_POOL_CLOSED');
        same((await rejection(pool.runMany([1]))).code, 'ERR_PLAIT_POOL_CLOSED');
        ok(thrown(() => pool.resize({ max: 3 })) instanceof PlaitError, 'resize');
      },
    },
    {
      name: 'close: what was submitted is run, also by workers that have yet to be started, on their seats',
      run: async () => {
        for (const options of [
          { minThreads: 0, maxThreads: 3 },
          { threads: 2, recycle: { tasks: 1 } },
        ]) {
          const pool = new Pool(tasks, options);
          const runs = Array.from({ length: 12 }, (_, i) => pool.run(i, i % 3 === 0 ? {} : { affinity: i % 5 }));
          const closed = pool.close();
          alike(
            await Promise.all(runs),
            Array.from({ length: 12 }, (_, i) => i),
          );
          await closed;
        }
      },
    },
    // ---- several at a time, progress ----
    {
      name: 'concurrentTasksPerWorker: asynchronous tasks run beside each other, and know who they are',
      run: () =>
        withPool({ threads: 1, concurrentTasksPerWorker: 8 }, async (pool) => {
          alike(await Promise.all(Array.from({ length: 8 }, () => pool.run(8, { name: 'meet' }))), Array(8).fill(true));
          const told: unknown[] = [];
          const runs = [1, 2, 3, 4, 5, 6].map((value) =>
            pool.run(value, {
              name: 'remember',
              onProgress: (word: number) => {
                if (isNode) same(word, value, 'whose progress');
                told.push(word);
              },
            }),
          );
          alike(await Promise.all(runs), [1, 2, 3, 4, 5, 6]);
          same(told.length, 12);
          same((await pool.runMany(Array(500).fill(1), { name: 'pause' })).length, 500);
          const hang = rejection(pool.run(0, { name: 'beginAndHang', timeout: 30 }));
          const beside = pool.run(300, { name: 'pause' });
          same((await hang).code, 'ERR_PLAIT_TASK_TIMEOUT');
          same(await beside, 300, 'its neighbour');
          same(pool.stats().started, 1, 'no worker was stopped');
          same(await pool.run(4, { name: 'tree' }), 16);
        }),
    },
    {
      name: 'progress: in order, before the end, from asynchronous and synchronous tasks',
      run: () =>
        withPool({}, async (pool) => {
          const told: unknown[] = [];
          let ended = false;
          const run = pool.run(20, {
            name: 'tell',
            onProgress: (value: unknown) => {
              ok(!ended, 'before the end');
              told.push(value);
            },
          });
          same(await run, 20);
          ended = true;
          alike(
            told,
            Array.from({ length: 20 }, (_, step) => ({ step })),
          );
          same(await pool.run(1000, { name: 'tellSync' }), 1000, 'without a listener');
        }),
    },
    // ---- sizes ----
    {
      name: 'minThreads to maxThreads: grows while tasks wait, shrinks when workers are idle, down to none',
      run: () =>
        withPool({ threads: undefined as never, minThreads: 0, maxThreads: 3, idleTimeout: 50 }, async (pool) => {
          same(pool.stats().threads, 0);
          await Promise.all(Array.from({ length: 6 }, () => pool.run(100, { name: 'busy' })));
          const { started } = pool.stats();
          ok(started >= 2 && started <= 3, `${started} workers were started`);
          await until(() => pool.stats().threads === 0, 'all idle workers end');
          same(pool.stats().ended.idle, started);
          same(((await pool.run(0, { name: 'worker', affinity: 'some key' })) as number) >= 0, true);
          pool.resize({ min: 2, max: 2 });
          await until(() => pool.stats().workers.length === 2, 'resized to two');
          pool.resize({ min: 1, max: 1 });
          await until(() => pool.stats().threads === 1, 'resized to one');
          same(await pool.run('on'), 'on');
        }),
    },
    {
      name: 'recycle: a worker makes room for a fresh one after so many tasks; no task is lost',
      run: () =>
        withPool({ threads: 2, recycle: { tasks: 20 } }, async (pool) => {
          const inputs = Array.from({ length: 300 }, (_, i) => i);
          alike(await pool.runMany(inputs), inputs);
          await until(() => pool.stats().ended.recycled >= 10, 'workers are recycled');
          if (!isNode) return;
          const fat = new Pool(tasks, { threads: 1, recycle: { bytes: 60e6 } });
          await fat.run(0, { name: 'hoard' });
          await until(() => fat.stats().ended.recycled === 1, 'by memory');
          await fat.close();
        }),
    },
    // ---- insight ----
    {
      name: 'stats count every task once; events tell of workers',
      run: () =>
        withPool({}, async (pool) => {
          const events: string[] = [];
          pool.on('start', ({ seat }) => events.push(`start ${seat}`));
          pool.on('end', ({ reason }) => events.push(`end ${reason}`));
          await pool.runMany(Array.from({ length: 1000 }, (_, i) => i));
          for (let i = 0; i < 5; i++) await rejection(pool.run('m', { name: 'fail' }));
          await rejection(pool.run(1, { name: 'exit' }));
          await pool.run(30, { name: 'busy' });
          await until(() => pool.stats().completed === 1001, 'completed');
          const stats = pool.stats();
          same(stats.failed, 6);
          same(stats.wait.count, 1006);
          ok(stats.run.max >= 30 && stats.run.p50 < 5 && stats.run.p50 <= stats.run.p90, JSON.stringify(stats.run));
          same(stats.queued + stats.running, 0);
          await until(() => events.filter((name) => name.startsWith('start')).length >= 3, 'the replacement');
          same(stats.ended.exit, 1);
          ok(events.includes('end exit'), events.join());
          ok(
            pool.stats().workers.every((worker) => worker.utilisation <= 1 && worker.age >= 0),
            'workers',
          );
        }),
    },
    {
      name: 'another thread connects to a pool by its handle, and lets go of it',
      run: () =>
        withPool({ threads: 1 }, async (pool, space) => {
          const other = connect(structuredClone(pool.handle), { space });
          same(await other.run(1), 1);
          alike(await other.runMany([1, 2]), [1, 2]);
          ok(other.stats().completed >= 3, 'its stats');
          other[Symbol.dispose]();
          same((await rejection(other.run(1))).code, 'ERR_PLAIT_POOL_CLOSED');
          ok(thrown(() => connect({} as never)) instanceof TypeError, 'no handle');
          const closed = new Pool(tasks, { threads: 1, space });
          const { handle } = closed;
          await closed.close();
          same(thrown(() => connect(handle, { space })).code, 'ERR_PLAIT_POOL_CLOSED');
        }),
    },
    {
      name: 'timeout: a call that gives 0 has none, whatever the pool says',
      run: () =>
        withPool({ threads: 1, timeout: 30 }, async (pool) => {
          same((await rejection(pool.run(200, { name: 'pause' }))).code, 'ERR_PLAIT_TASK_TIMEOUT');
          same(await pool.run(200, { name: 'pause', timeout: 0 }), 200);
          ok(thrown(() => pool.on('drain', 5 as never)) instanceof TypeError, 'no listener');
        }),
    },
    {
      name: 'a connection in the thread of the owner outlives the pool',
      run: () =>
        withPool({ threads: 1 }, async (pool, space) => {
          const others = [connect(pool.handle, { space }), connect(pool.handle, { space })];
          alike(await Promise.all(others.map((other) => other.run(1))), [1, 1]);
          await pool.close();
          for (const other of others) {
            same((await rejection(other.run(1))).code, 'ERR_PLAIT_POOL_CLOSED');
            same(other.needsDrain, false);
            other[Symbol.dispose]();
          }
        }),
    },
    {
      name: 'options outside their range are told at once',
      run: () => {
        const wrong: object[] = [
          { minThreads: 3, maxThreads: 2 },
          { maxThreads: 0 },
          { threads: 2, maxThreads: 3 },
          { maxQueue: 0 },
          { maxQueue: 'much' },
          { concurrentTasksPerWorker: 0 },
          { grace: -1 },
          { idleTimeout: 1.5 },
          { recycle: { tasks: 0 } },
        ];
        for (const options of wrong) {
          ok(thrown(() => new Pool(tasks, options)) instanceof RangeError, JSON.stringify(options));
        }
      },
    },
  ];
}
