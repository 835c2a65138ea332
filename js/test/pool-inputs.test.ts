/**
 * Hostile inputs of a pool: values and iterators that throw or call the pool again when they are read, and callers that
 * abort in the middle of a call.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from 'plait';
import { rejection } from './cases/check.ts';
import { poolsOf, until } from './cases/pool-setup.ts';

const tasks = new URL('../../js/test/fixtures/hostile-tasks.js', import.meta.url);
const LIMIT = { timeout: 60000 };
const withPool = poolsOf(tasks, 1);

test('results and errors that cannot be read cost their task, not the worker', LIMIT, () =>
  withPool({}, async (pool) => {
    let count = 0;
    for (const name of ['giveOdd', 'giveOddLater', 'throwOdd']) {
      for (const kind of ['getter', 'trap', 'prototype']) {
        const error = await rejection(pool.run(kind, { name }));
        assert.equal(error.constructor, RangeError, `${name} ${kind}`);
        assert.equal(error.message, 'boom');
      }
      assert.equal((await rejection(pool.run('unreadable', { name }))).code, 'ERR_PLAIT_CANNOT_SEND');
      assert.equal(await pool.run(0, { name: 'count' }), ++count);
    }
  }),
);

test('the number of bytes does not depend on the object’s own properties', LIMIT, () =>
  withPool({}, async (pool, space) => {
    for (const [kind, size] of [
      ['longer', 4096],
      ['shorter', 16],
    ] as const) {
      const bytes = (await pool.run(kind, { name: 'giveOdd' })) as Uint8Array;
      assert.deepEqual(bytes, new Uint8Array(size).fill(7));
      const input = Object.defineProperty(bytes, 'length', { value: 99 });
      assert.deepEqual(await pool.run(input), new Uint8Array(size).fill(7));
      space.check();
    }
    const detached = new Uint8Array(3);
    structuredClone(detached.buffer, { transfer: [detached.buffer] });
    for (const value of [Object.create(Uint8Array.prototype), new Proxy(new Uint8Array(3), {}), detached]) {
      assert.equal((await rejection(pool.run(value))).code, 'ERR_PLAIT_CANNOT_SEND');
    }
    assert.equal((await rejection(pool.run('notBytes', { name: 'giveOdd' }))).code, 'ERR_PLAIT_CANNOT_SEND');
  }),
);

test('bytes do not depend on the object’s getters, nor on what they do when they run again', LIMIT, () =>
  withPool({}, async (pool, space) => {
    const SIZE = 100_000;
    for (const property of ['length', 'byteOffset', 'byteLength', 'buffer', 'BYTES_PER_ELEMENT']) {
      for (const later of [0, 16, 2 ** 20]) {
        for (const whole of [true, false]) {
          const bytes = new Uint8Array(SIZE + 1).subarray(1).fill(7);
          let asked = 0;
          const nested: Promise<unknown>[] = [];
          Object.defineProperty(bytes, property, {
            get() {
              nested.push(pool.run('a text that takes the place of what is being sent'));
              return asked++ === 0 ? Reflect.get(Uint8Array.prototype, property, new Uint8Array(SIZE)) : later;
            },
          });
          const got = whole
            ? pool.run(bytes)
            : pool.run({ bytes }).then((value) => (value as { bytes: unknown }).bytes);
          assert.deepEqual(await got, new Uint8Array(SIZE).fill(7), `${property} ${later}`);
          await Promise.all(nested);
        }
        space.check();
      }
    }
  }),
);

test('bytes that are left where they are until they are copied: nothing of the user’s runs meanwhile', LIMIT, () =>
  withPool({}, async (pool, space) => {
    const first = new Uint8Array(2 ** 17).fill(7);
    let asked = 0;
    const buffer = Object.defineProperty(new ArrayBuffer(64), 'byteLength', {
      get() {
        if (asked++ > 0) structuredClone(first.buffer, { transfer: [first.buffer] });
        return 64;
      },
    });
    const second = new Uint8Array(buffer);
    assert.deepEqual(await pool.run({ first, second }), {
      first: new Uint8Array(2 ** 17).fill(7),
      second: new Uint8Array(64),
    });
    space.check();
  }),
);

test('broadcast: a signal counts from the call on; an incomplete submission is undone', LIMIT, () =>
  withPool({ threads: 3, maxQueue: 1 }, async (pool) => {
    const stop = new AbortController();
    const aborted = rejection(pool.broadcast(0, { signal: stop.signal }));
    stop.abort(new SyntaxError('no more'));
    assert.equal((await aborted).message, 'no more');
    const release = new AbortController();
    const running: Promise<unknown>[] = [];
    for (let count = 1; count <= 3; count++) {
      running.push(rejection(pool.run(1e6, { name: 'pause', signal: release.signal })));
      await until(() => pool.stats().running === count);
    }
    // The one task for which there is room fails: its rejection must not stay unhandled.
    assert.equal((await rejection(pool.broadcast('late', { name: 'fail' }))).code, 'ERR_PLAIT_QUEUE_FULL');
    release.abort();
    await Promise.all(running);
    await until(() => pool.stats().queued === 0);
    assert.equal(await pool.run(1), 1);
  }),
);

test('a signal that the input itself aborts has its effect', LIMIT, () =>
  withPool({ threads: 2 }, async (pool) => {
    const abortingInput = (): [object, AbortSignal] => {
      const stop = new AbortController();
      const input = {
        get part(): number {
          stop.abort(new SyntaxError('by the input'));
          return 1;
        },
      };
      return [input, stop.signal];
    };
    const [first, signal] = abortingInput();
    assert.equal((await rejection(pool.run(first, { signal }))).message, 'by the input');
    const [second, other] = abortingInput();
    assert.equal((await rejection(pool.parts(second, { signal: other }).next())).message, 'by the input');
    await until(() => pool.stats().threads === 2);
    const [third, last] = abortingInput();
    const everywhere = pool.broadcast(third, { signal: last, name: 'forEver' });
    assert.equal((await rejection(everywhere)).message, 'by the input');
    await until(() => pool.stats().running + pool.stats().queued === 0);
  }),
);

test('an input whose getter closes the connection is refused', LIMIT, () =>
  withPool({}, async (pool, space) => {
    const own = connect(pool.handle, { space });
    const input = {
      get part(): number {
        own[Symbol.dispose]();
        return 1;
      },
    };
    assert.equal((await rejection(own.run(input))).code, 'ERR_PLAIT_POOL_CLOSED');
    space.check();
  }),
);

test('map: an iterator without steps ends it, and so does one whose getters throw', LIMIT, () =>
  withPool({}, async (pool) => {
    const broken: (() => unknown)[] = [
      () => undefined,
      async () => undefined,
      () => ({
        get done() {
          throw new TypeError('looked at');
        },
      }),
      () => ({
        get value() {
          throw new TypeError('looked at');
        },
      }),
      async () => ({
        get value() {
          throw new TypeError('looked at');
        },
      }),
    ];
    for (const next of broken) {
      const outputs = pool.map({ [Symbol.asyncIterator]: () => ({ next }) } as AsyncIterable<unknown>);
      assert.equal((await rejection(outputs.next())).constructor, TypeError);
      assert.deepEqual(await outputs.next(), { value: undefined, done: true });
    }
  }),
);

test('map: it can be aborted while it awaits an input and no result is awaited', LIMIT, () =>
  withPool({}, async (pool) => {
    const stop = new AbortController();
    let come = (_step: object): void => {};
    const awaited = new Promise<object>((resolve) => {
      come = resolve;
    });
    const steps = [Promise.resolve({ value: 1 }), awaited, { done: true }];
    const inputs = { [Symbol.asyncIterator]: () => ({ next: () => steps.shift() }) } as AsyncIterable<unknown>;
    const outputs = pool.map(inputs, { signal: stop.signal });
    assert.deepEqual(await outputs.next(), { value: 1, done: false });
    stop.abort(new SyntaxError('no more'));
    come({ value: 2 });
    await until(() => pool.stats().running + pool.stats().queued === 0);
    assert.equal((await rejection(outputs.next())).message, 'no more');
    assert.equal(pool.stats().completed, 1);
  }),
);

test('map: results that arrive while the last input is requested are yielded', LIMIT, () =>
  withPool({}, async (pool) => {
    for (const ordered of [true, false]) {
      const outputs: unknown[] = [];
      function* inputs() {
        yield 1;
        yield 2;
        pool.runSync(3); // what was submitted before it ends before it
      }
      for await (const output of pool.map(inputs(), { ordered })) outputs.push(output);
      assert.deepEqual(outputs, [1, 2]);
    }
    let inner: Promise<unknown> | undefined;
    function* asking() {
      yield 1;
      yield 2;
      inner = outer.next();
    }
    const outer = pool.map(asking(), { concurrency: 2 });
    assert.deepEqual(await outer.next(), { value: 1, done: false });
    assert.deepEqual(await inner, { value: 2, done: false });
    assert.deepEqual(await outer.next(), { value: undefined, done: true });
  }),
);

test('map, runMany: a getter in an input that aborts the call aborts that task, too', LIMIT, () =>
  withPool({}, async (pool) => {
    for (const ordered of [true, false]) {
      for (const waits of [true, false]) {
        const stop = new AbortController();
        const aborting = {
          get part() {
            stop.abort(new SyntaxError('no more'));
            return 1;
          },
        };
        const options = { concurrency: waits ? 3 : 2, signal: stop.signal, ordered };
        const outputs = pool.map(waits ? [aborting, 2] : [1, 2, aborting, 4], options);
        if (!waits) assert.deepEqual(await outputs.next(), { value: 1, done: false });
        assert.equal((await rejection(outputs.next())).message, 'no more');
        assert.deepEqual(await outputs.next(), { value: undefined, done: true });
      }
    }
    const stop = new AbortController();
    const inputs = [
      {
        get milliseconds() {
          stop.abort(new SyntaxError('no more'));
          return 1;
        },
      },
    ];
    assert.equal((await rejection(pool.runMany(inputs, { signal: stop.signal, name: 'forEver' }))).message, 'no more');
    await until(() => pool.stats().running + pool.stats().queued === 0);
    assert.equal(await pool.run(1), 1);
  }),
);

test('runMany: later changes of the caller’s array have no effect', LIMIT, () =>
  withPool({ maxQueue: 2 }, async (pool) => {
    const inputs = Array.from({ length: 20 }, (_, index) => index);
    const outputs = pool.runMany(inputs);
    inputs.length = 0;
    assert.deepEqual(
      await outputs,
      Array.from({ length: 20 }, (_, index) => index),
    );
  }),
);
