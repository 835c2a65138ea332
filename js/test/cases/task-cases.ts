/** The contract of a pool, on any host. `module(name)` gives the URL of a fixture. */

import { Heap, heap, openSpace, PlaitError, Pool, type Settled } from 'plait';
import { alike, type Case, ok, rejection, same, thrown } from './check.ts';
import { opened } from './pool-setup.ts';

const cyclic: unknown[] = [1];
cyclic.push(cyclic);

/** One of each kind that crosses between threads its own way. */
export const SAMPLES: readonly unknown[] = [
  undefined,
  null,
  true,
  false,
  0,
  -0,
  1,
  -(2 ** 31),
  2 ** 31,
  2 ** 53,
  1.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  '',
  'plain',
  'x'.repeat(100000),
  'h\u00e9llo \u00ff',
  '\u65e5\u672c \u{1f9f6}'.repeat(5000),
  '\ud800 alone',
  10n ** 40n,
  new Uint8Array(0),
  new Uint8Array(70000).map((_, i) => i),
  new Float64Array([1.5, -2]),
  new Date(1e12),
  /a+b/gi,
  new Map<unknown, unknown>([
    ['key', { deep: [1, 2, { x: null }] }],
    [3, new Set(['s'])],
  ]),
  [undefined, null, [], {}],
  { a: 1, 'b c': [true, 'two'], nested: { list: Array.from({ length: 100 }, (_, i) => ({ i })) } },
];

function isEqual(actual: Uint8Array, expected: Uint8Array): boolean {
  return actual.length === expected.length && actual.every((byte, i) => byte === expected[i]);
}

/** Fails unless the bytes are those, alone in an ordinary buffer. */
function ownBytes(actual: Uint8Array, expected: Uint8Array, what: string): void {
  ok(isEqual(actual, expected), what);
  same(Object.getPrototypeOf(actual), Uint8Array.prototype, `${what}, class`);
  same(Object.getPrototypeOf(actual.buffer), ArrayBuffer.prototype, `${what}, class of the buffer`);
  same(actual.buffer.byteLength, expected.length, `${what}, size of the buffer`);
}

export function taskCases(module: (name: string) => string): Case[] {
  const tasks = module('tasks.js');
  const withPool = async (
    options: ConstructorParameters<typeof Pool>[1],
    body: (pool: Pool) => Promise<void>,
    url = tasks,
  ): Promise<void> => {
    const pool = opened(new Pool(url, { threads: 2, ...options }));
    try {
      await body(pool);
    } finally {
      await pool.close({ force: true });
    }
  };

  return [
    {
      name: 'values arrive and return as they were',
      run: () =>
        withPool({}, async (pool) => {
          for (const [index, value] of SAMPLES.entries()) alike(await pool.run(value), value, `sample ${index}`);
          const back = (await pool.run(cyclic)) as unknown[];
          same(back[1], back, 'a cycle');
        }),
    },
    {
      name: 'many bytes, in any memory, arrive alone and in objects, in private memory',
      run: () =>
        withPool({}, async (pool) => {
          const all = new Uint8Array(2 ** 20 + 64).map((_, i) => i * 31 + (i >>> 8));
          const block = heap.bytes(all.length);
          for (const size of [2100, 16384, 70001, 2 ** 19, 2 ** 20]) {
            for (const at of [0, 1, 8, 13]) {
              const what = `${size} bytes from ${at}`;
              const bytes = all.subarray(at, at + size);
              ownBytes((await pool.run(bytes)) as Uint8Array, bytes, what);
              const shared = block.subarray(at, at + size); // the heap's memory
              shared.set(bytes);
              const numbers = new Float64Array(all.slice(0, 2000).buffer, 8);
              const inner: Promise<unknown>[] = [];
              const input = {
                bytes,
                shared,
                numbers,
                get other() {
                  inner.push(pool.run({ rest: all.subarray(size) }));
                  return all.buffer.slice(at, 40000);
                },
                again: bytes,
              };
              const back = (await pool.run(input)) as Omit<typeof input, 'shared'> & { shared: Uint8Array };
              ownBytes(back.shared, bytes, `${what}, shared`);
              ownBytes(new Uint8Array(back.other), all.subarray(at, 40000), `${what}, a whole buffer`);
              alike(back.numbers, numbers, `${what}, numbers`);
              same(back.again, back.bytes, `${what}, twice the same`);
              // The buffer of these is sent once, as much of it as both cover.
              ok(isEqual(back.bytes, bytes), what);
              const { rest } = (await inner[0]) as { rest: Uint8Array };
              ownBytes(rest, all.subarray(size), `${what}, sent by a getter`);
            }
          }
          heap.free(block);
        }),
    },
    {
      name: 'a view on shared memory of the user is refused wherever it is; one on the heap arrives as a copy',
      run: () =>
        withPool(
          {},
          async (pool) => {
            const shared = new SharedArrayBuffer(64);
            const disguised = new SharedArrayBuffer(64);
            Object.setPrototypeOf(disguised, ArrayBuffer.prototype);
            const cases: [value: unknown, where: string][] = [
              [new Uint8Array(shared), 'input'],
              [new Uint8Array(new SharedArrayBuffer(0)), 'input'],
              [new Int32Array(shared), 'input'],
              [new DataView(shared), 'input'],
              [new Uint8Array(disguised), 'input'],
              [new Uint8Array(new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }).buffer), 'input'],
              [{ list: [1, new Uint8Array(shared, 8, 8)] }, 'input.list[1]'],
              [new Map([['key', new Float64Array(shared)]]), 'input.get("key")'],
              [shared, 'input'],
            ];
            for (const [value, where] of cases) {
              for (const lend of [false, true]) {
                const { code, message } = await rejection(pool.run(value, { lend }));
                same(code, 'ERR_PLAIT_CANNOT_SEND', message);
                ok(message.startsWith(`${where} is a `), message);
                ok(/workerData.*slice\(\)/.test(message), `it says what to do: ${message}`);
              }
            }
            const { message } = await rejection(pool.run(0, { name: 'reportOwnShared' }));
            ok(message.startsWith('progress is a view on a SharedArrayBuffer, '), message);
            const output = await rejection(pool.run(1, { name: 'reportOwnShared' }));
            ok(output.message.startsWith('output.view is a view on a SharedArrayBuffer, '), output.message);
            const error = await rejection(pool.run(2, { name: 'reportOwnShared' }));
            same(error.message, 'has such a property');
            ok(!('view' in error), 'an error is sent without what cannot be');
            // The heap's memory is another object after each growth, and in each view that has come from elsewhere.
            const bytes = heap.bytes(10).fill(9);
            heap.free(heap.bytes(2 ** 22));
            for (const view of [
              bytes,
              structuredClone(bytes),
              new Int8Array(structuredClone(bytes.buffer), bytes.byteOffset, 10),
            ]) {
              const got = (await pool.run(view)) as Uint8Array;
              ok(got.buffer instanceof ArrayBuffer && got.length === 10 && got[9] === 9, 'alone');
              const { inside } = (await pool.run({ inside: view })) as { inside: Uint8Array };
              ok(inside.buffer instanceof ArrayBuffer && inside.length === 10 && inside[9] === 9, 'inside');
            }
            heap.free(bytes);
          },
          module('pool-tasks.js'),
        ),
    },
    {
      name: 'named functions, async functions, results of any size',
      run: () =>
        withPool({}, async (pool) => {
          same(await pool.run(5, { name: 'later' }), 5);
          same(await pool.run(new Uint8Array([1, 2, 3]), { name: 'sum' }), 6);
          for (const size of [0, 63, 64, 65, 5000, 3000000]) {
            const bytes = (await pool.run(size, { name: 'returnBytes' })) as Uint8Array;
            ok(bytes.length === size && bytes.every((byte) => byte === 5), `${size} bytes`);
          }
        }),
    },
    {
      name: 'bytes can be lent: the function sees them in shared memory, and may even return them',
      run: () =>
        withPool({}, async (pool) => {
          for (const size of [0, 10, 64, 1000, 100000]) {
            const bytes = new Uint8Array(size).map((_, i) => i * 7);
            alike(await pool.run(bytes, { lend: true }), bytes, `${size} bytes`);
            same(await pool.run(bytes, { name: 'isShared', lend: true }), true);
            same(await pool.run(bytes, { name: 'isShared' }), false);
          }
          alike(await pool.run({ other: 'values' }, { lend: true }), { other: 'values' });
        }),
    },
    {
      name: 'bytes of the heap can be given away: no copy, freed when the task has ended',
      run: async () => {
        const space = openSpace({ maximum: 2 ** 26 });
        const heap = new Heap(() => space);
        const pool = opened(new Pool(tasks, { threads: 2, space }));
        await pool.run(1);
        const before = heap.stats().liveBlocks;
        for (const size of [0, 10, 1000, 100000]) {
          const bytes = heap.bytes(size).fill(3);
          const result = pool.run(bytes, { name: 'sum', give: true });
          ok((await rejection(pool.run(bytes, { give: true }))) instanceof TypeError, 'given twice');
          same(thrown(() => heap.free(bytes)).code, 'ERR_PLAIT_INVALID_POINTER', 'freed after it was given');
          same(await result, size * 3);
          same(await pool.run(heap.bytes(size), { name: 'isShared', give: true }), true);
        }
        ok(
          (await rejection(pool.run(heap.bytes(5), { name: 'fail', give: true }))) instanceof RangeError,
          'a failing task',
        );
        ok((await rejection(pool.run(new Uint8Array(5), { give: true }))) instanceof TypeError, 'not of the heap');
        same((await rejection(pool.run(heap.bytes(5), { name: 'exit', give: true }))).code, 'ERR_PLAIT_WORKER_DIED');
        same(await pool.run('on'), 'on');
        const kept = heap.bytes(5);
        await pool.close();
        same((await rejection(pool.run(kept, { give: true }))).code, 'ERR_PLAIT_POOL_CLOSED');
        heap.free(kept); // it could not be submitted, so it stayed ours
        same(thrown(() => heap.free(kept)).code, 'ERR_PLAIT_INVALID_POINTER', 'a double free');
        ok(heap.stats().liveBlocks < before, 'nothing is left');
        space.check(true);
      },
    },
    {
      name: 'errors keep class, name, message, stack, cause, code and own properties',
      run: () =>
        withPool({}, async (pool) => {
          const error = await rejection(pool.run('no good', { name: 'fail' }));
          ok(error instanceof RangeError, 'the built-in class');
          same(error.name, 'ParseError');
          same(error.message, 'no good');
          same(error.code, 'E_PARSE');
          alike(error.where, { line: 3, column: 7 });
          ok(error.cause instanceof TypeError && error.cause.message === 'the deeper reason', 'the cause');
          ok(/\bfail\b[\s\S]*tasks\.js/.test(error.stack ?? ''), 'the stack of the worker');
          ok((await rejection(pool.run('s', { name: 'laterError' }))) instanceof SyntaxError, 'from a promise');
          alike(await rejection(pool.run({ odd: 1 }, { name: 'throwValue' })), { odd: 1 });
        }),
    },
    {
      name: 'an error names the part that cannot be sent, and nothing else is lost',
      run: () =>
        withPool({}, async (pool) => {
          const input = { items: [1, 2, 3, { callback() {} }] };
          const [error, other] = await Promise.all([rejection(pool.run(input)), pool.run('fine')]);
          ok(error instanceof PlaitError, 'a PlaitError');
          same(error.code, 'ERR_PLAIT_CANNOT_SEND');
          ok(error.message.includes('input.items[3].callback'), error.message);
          same(other, 'fine');
          const result = await rejection(pool.run(1, { name: 'returnFunction' }));
          same(result.code, 'ERR_PLAIT_CANNOT_SEND');
          ok(result.message.includes('output.list[1]'), result.message);
          const mapped = pool.map([1, 2, [Symbol('x')]]);
          alike([(await mapped.next()).value, (await mapped.next()).value], [1, 2]);
          const third = await rejection(mapped.next());
          ok(third.message.startsWith('inputs[2][0] is a symbol'), third.message);
          same(await pool.run('still'), 'still');
        }),
    },
    {
      name: 'the error for a missing export, or one that is no function, names it and lists the functions',
      run: () =>
        withPool({}, async (pool) => {
          const missing = await rejection(pool.run(1, { name: 'absent' }));
          same(missing.code, 'ERR_PLAIT_NO_SUCH_EXPORT');
          ok(missing.message.includes('"absent"') && missing.message.includes('later'), missing.message);
          const wrong = await rejection(pool.run(1, { name: 'notAFunction' }));
          ok(wrong.message.includes('not a function'), wrong.message);
          same(await pool.run(1), 1);
        }),
    },
    ...['absent.js', 'throws-on-load.js', 'broken/not-a-module.js'].map(
      (name): Case => ({
        name: `a module that cannot be loaded rejects every task: ${name}`,
        run: () =>
          withPool(
            {},
            async (pool) => {
              const errors = await Promise.all([1, 2, 3].map((input) => rejection(pool.run(input))));
              for (const error of [...errors, await rejection(pool.run(4))]) {
                same(error.code, 'ERR_PLAIT_MODULE_LOAD');
                ok(error instanceof PlaitError, 'a PlaitError, although it comes from another thread');
                ok(error.message.includes(name), error.message);
              }
            },
            module(name),
          ),
      }),
    ),
    {
      name: 'map: in order, as ready, none, endless, failing, left early',
      run: () =>
        withPool({}, async (pool) => {
          const inputs = Array.from({ length: 1000 }, (_, i) => i);
          const ordered: unknown[] = [];
          for await (const output of pool.map(inputs)) ordered.push(output);
          alike(ordered, inputs);
          const unordered: unknown[] = [];
          for await (const output of pool.map(inputs, { ordered: false, name: 'later' })) unordered.push(output);
          alike(
            unordered.sort((a, b) => (a as number) - (b as number)),
            inputs,
          );
          for await (const output of pool.map([])) throw new Error(`an output of no input: ${output}`);
          let started = 0;
          function* endless() {
            try {
              for (;;) yield started++;
            } finally {
              started = -started;
            }
          }
          let seen = 0;
          for await (const output of pool.map(endless(), { concurrency: 10 })) {
            same(output, seen++);
            if (seen === 50) break;
          }
          ok(started < 0 && started >= -61, `the inputs were closed, after ${-started}`);
          const error = await rejection(pool.map(['a', 'b'], { name: 'fail' }).next());
          same(error.message, 'a');
          async function* asynchronous() {
            yield* ['x', 'y'];
          }
          const settled = [];
          for await (const result of pool.mapSettled(asynchronous(), { name: 'fail' })) settled.push(result);
          alike(
            settled.map(({ index, input, status }) => ({ index, input, status })),
            [
              { index: 0, input: 'x', status: 'rejected' },
              { index: 1, input: 'y', status: 'rejected' },
            ],
          );
          ok((await rejection(pool.map(5 as never).next())) instanceof TypeError, 'no iterable');
        }),
    },
    {
      name: 'map, mapSettled: a closed pool ends them after the accepted inputs, and closes endless inputs',
      run: async () => {
        for (const settled of [false, true]) {
          for (const when of ['before', 'meanwhile', 'by force']) {
            const pool = opened(new Pool(module('tasks.js'), { threads: 2 }));
            const how = `settled: ${settled}, ${when}`;
            let started = 0;
            let isClosed = false;
            function* endless(): Generator<number> {
              try {
                for (;;) yield started++;
              } finally {
                isClosed = true;
              }
            }
            if (when === 'before') await pool.close();
            const options = { concurrency: 10 };
            const outputs = settled ? pool.mapSettled(endless(), options) : pool.map(endless(), options);
            let seen = 0;
            let closing: Promise<void> | undefined;
            const error = await rejection(
              (async () => {
                for await (const output of outputs) {
                  ok(seen < 1000, `${how}: it goes on for ever`);
                  if (!settled) same(output, seen);
                  else if ((output as Settled<number>).status === 'fulfilled' || when !== 'by force') {
                    alike(output as Settled<number>, { index: seen, input: seen, status: 'fulfilled', value: seen });
                  } else
                    same((output as Settled<number> & { reason: PlaitError }).reason.code, 'ERR_PLAIT_POOL_CLOSED');
                  if (++seen === 50 && when !== 'before') closing = pool.close({ force: when === 'by force' });
                }
              })(),
            );
            same(error.code, 'ERR_PLAIT_POOL_CLOSED');
            ok(when === 'before' ? seen === 0 : seen >= 50, `${how}: ${seen} seen`);
            if (when === 'meanwhile') ok(seen >= started - 1, `${how}: ${started} taken, ${seen} seen`);
            ok(isClosed, `${how}: the inputs are closed`);
            same((await outputs.next()).done, true);
            await closing;
          }
        }
        const broken = opened(new Pool(module('throws-on-load.js'), { threads: 1 }));
        const all = [];
        const error = await rejection(
          (async () => {
            for await (const { status } of broken.mapSettled(
              (function* () {
                for (;;) yield all.push(0);
              })(),
            )) {
              ok(status === 'rejected' && all.length < 10_000, 'it goes on for ever');
            }
          })(),
        );
        same(error.code, 'ERR_PLAIT_MODULE_LOAD');
        await broken.close();
      },
    },
    {
      name: 'map: a result does not wait for the next input, an input that fails ends it, and leaving never hangs',
      run: () =>
        withPool({}, async (pool) => {
          async function* hesitant() {
            yield 'first';
            await new Promise(() => {}); // the second never comes
          }
          for await (const output of pool.map(hesitant())) {
            same(output, 'first');
            break;
          }
          async function* broken() {
            yield 1;
            throw new URIError('no more inputs');
          }
          const outputs: unknown[] = [];
          const error = await rejection(
            (async () => {
              for await (const output of pool.map(broken())) outputs.push(output);
            })(),
          );
          ok(error instanceof URIError, 'the error of the inputs');
          alike(outputs, [1]);
          const brokenAtOnce: Iterable<number> = {
            [Symbol.iterator]() {
              throw new URIError('none at all');
            },
          };
          ok((await rejection(pool.map(brokenAtOnce).next())) instanceof URIError, 'a synchronous one');
        }),
    },
    {
      name: '100,000 inputs: each result arrives once, in its place',
      run: () =>
        withPool({}, async (pool) => {
          let expected = 0;
          for await (const output of pool.map(Array.from({ length: 100000 }, (_, i) => i))) same(output, expected++);
          same(expected, 100000);
        }),
    },
    {
      name: '50,000 no-op tasks at once: none is lost or run twice',
      run: () =>
        withPool({ threads: 3 }, async (pool) => {
          const outputs = await Promise.all(Array.from({ length: 50000 }, (_, i) => pool.run(i)));
          for (const [i, output] of outputs.entries()) same(output, i);
          pool.run('a last one').catch(() => {});
        }),
    },
    {
      name: 'a worker that ends rejects its task and is replaced; nothing else is lost',
      run: () =>
        withPool({ threads: 2 }, async (pool) => {
          await pool.run(1);
          for (let round = 0; round < 3; round++) {
            const others = Promise.all(Array.from({ length: 200 }, (_, i) => pool.run(i)));
            const error = await rejection(pool.run(7, { name: 'exit' }));
            same(error.code, 'ERR_PLAIT_WORKER_DIED');
            alike(
              await others,
              Array.from({ length: 200 }, (_, i) => i),
            );
          }
        }),
    },
    {
      name: 'the only worker ends, and the tasks behind it still run',
      run: () =>
        withPool({ threads: 1 }, async (pool) => {
          const exit = rejection(pool.run(0, { name: 'exit' }));
          const behind = pool.run('behind');
          same((await exit).code, 'ERR_PLAIT_WORKER_DIED');
          same(await behind, 'behind');
        }),
    },
    {
      name: 'an uncaught error ends the worker and is the cause',
      run: () =>
        withPool({ threads: 1 }, async (pool) => {
          const error = await rejection(pool.run('stray', { name: 'uncaught' }));
          same(error.code, 'ERR_PLAIT_WORKER_DIED');
          ok((error.cause as Error).message.includes('stray'), 'the cause');
          same(await pool.run(2), 2);
        }),
    },
    {
      name: 'only a task that exceeds its timeout is stopped',
      run: () =>
        withPool({ threads: 2, timeout: 200 }, async (pool) => {
          const stuck = rejection(pool.run(1, { name: 'spin' }));
          const others = Promise.all(Array.from({ length: 100 }, (_, i) => pool.run(i, { name: 'later' })));
          same((await stuck).code, 'ERR_PLAIT_TASK_TIMEOUT');
          same((await others).length, 100);
          same(await pool.run('on'), 'on');
        }),
    },
    {
      name: 'close finishes the submitted tasks; then none is accepted',
      run: async () => {
        const pool = opened(new Pool(tasks, { threads: 2 }));
        const running = Array.from({ length: 50 }, (_, i) => pool.run(i, { name: 'later' }));
        const closed = pool.close();
        same(closed, pool.close(), 'the same promise');
        same((await rejection(pool.run(1))).code, 'ERR_PLAIT_POOL_CLOSED');
        await closed;
        alike(
          await Promise.all(running),
          Array.from({ length: 50 }, (_, i) => i),
        );
      },
    },
    {
      name: 'close by force stops running tasks and rejects queued ones',
      run: async () => {
        const pool = opened(new Pool(tasks, { threads: 1 }));
        await pool.run(1);
        const stuck = [rejection(pool.run(1, { name: 'spin' })), rejection(pool.run(2)), rejection(pool.run(3))];
        const closed = pool.close(); // would wait for ever
        await pool.close({ force: true });
        await closed;
        for (const error of await Promise.all(stuck)) same(error.code, 'ERR_PLAIT_POOL_CLOSED');
      },
    },
    {
      name: 'a full space is an error with a code; the pool works on',
      run: async () => {
        const space = openSpace({ maximum: 8 * 2 ** 20 });
        const pool = opened(new Pool(tasks, { threads: 2, space }));
        await pool.run(1);
        same((await rejection(pool.run(new Uint8Array(9e6)))).code, 'ERR_PLAIT_OUT_OF_MEMORY');
        same((await rejection(pool.run(9e6, { name: 'returnBytes' }))).code, 'ERR_PLAIT_OUT_OF_MEMORY');
        const sent = await Promise.allSettled(Array.from({ length: 40 }, () => pool.run(new Uint8Array(300000))));
        ok(
          sent.some(({ status }) => status === 'fulfilled'),
          'some fit',
        );
        same(await pool.run('on'), 'on');
        await pool.close();
        space.check(true);
        same(new Heap(() => space).stats().liveBlocks, 2, 'live blocks: the stacks of this thread and the coordinator');
      },
    },
    {
      name: 'a closed pool leaves nothing in the space',
      run: async () => {
        const space = openSpace({ maximum: 64 * 2 ** 20 });
        const heap = new Heap(() => space);
        const first = opened(new Pool(tasks, { threads: 1, space }));
        await first.run(1);
        await first.close();
        const before = heap.stats().liveBlocks;
        for (let round = 0; round < 3; round++) {
          const pool = opened(new Pool(tasks, { threads: 2, space }));
          await Promise.all(SAMPLES.map((value) => pool.run(value)));
          await rejection(pool.run(1, { name: 'exit' }));
          await pool.close({ force: round === 2 });
        }
        same(heap.stats().liveBlocks, before, 'live blocks');
        space.check(true);
      },
    },
    {
      name: 'a getter in the input may submit, too',
      run: () =>
        withPool({}, async (pool) => {
          const inner: Promise<unknown>[] = [];
          const input = () => ({
            before: 1,
            get now() {
              inner.push(pool.run(inner.length), pool.run({ bytes: new Uint8Array(3) }));
              return 2;
            },
          });
          const outer = await Promise.all([pool.run(input()), pool.run(input())]);
          alike(outer, [
            { before: 1, now: 2 },
            { before: 1, now: 2 },
          ]);
          alike(await Promise.all(inner), [0, { bytes: new Uint8Array(3) }, 2, { bytes: new Uint8Array(3) }]);
        }),
    },
    {
      name: 'misuse is refused at once',
      run: () => {
        for (const threads of [0, -1, 1.5, Number.NaN, 1e6]) {
          ok(thrown(() => new Pool(tasks, { threads })) instanceof RangeError, `threads ${threads}`);
        }
        ok(thrown(() => new Pool(tasks, { timeout: -1 })) instanceof RangeError, 'timeout');
        ok(thrown(() => new Pool(undefined as never)) instanceof TypeError, 'no module');
        ok(thrown(() => new Pool('')) instanceof TypeError, 'an empty path');
      },
    },
  ];
}
