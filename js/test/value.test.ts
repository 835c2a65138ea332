/**
 * The codec compared with structuredClone, with its intended differences. value-hostile.test.ts has refusals and
 * hostile bytes.
 *
 * The random values are made from a seed that is printed; PLAIT_SEED=<number> runs the same ones again.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import vm from 'node:vm';
import { Worker } from 'node:worker_threads';

import { readValue } from '../../dist/value/reader.js';
import { owned } from './owned.ts';
import { seed } from './seed.ts';
import { encode, isBadMessage, seeded, send, sparse, withExtras, writer } from './value-setup.ts';

class Point {
  x = 1;
  #hidden = 2;
  get sum(): number {
    return this.x + this.#hidden;
  }
}

const sameAsStructuredClone: Record<string, unknown> = {
  undefined: undefined,
  null: null,
  booleans: [true, false],
  integers: [0, 1, 127, 128, -1, -64, -65, 2 ** 31 - 1, -(2 ** 31), 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 53)],
  doubles: [-0, 0.1, -1.5, Number.NaN, Infinity, -Infinity, Number.MIN_VALUE, Number.MAX_VALUE],
  bigints: [0n, 1n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 63n, -(2n ** 63n) - 1n, 3n ** 500n, -(3n ** 501n)],
  'short strings': ['', 'a', 'é\u00ff', '\u0100', '日本', '😀', '\ud800', '\udfff!', '\0'],
  'string lengths': [4, 5, 24, 25, 62, 63, 64, 65, 127, 128, 8192, 8193, 100_000].flatMap((length) => [
    'x'.repeat(length),
    'é'.repeat(length),
    `${'é'.repeat(length - 1)}\ud83d`,
  ]),
  boxes: [Object(1), Object('text'), Object(true), Object(false), Object(7n), Object(Number.NaN)],
  dates: [new Date(0), new Date(-1), new Date(8.64e15)],
  patterns: [/a/, /[/\]]\//gimsuy, /(?:)/, /é\u{1f600}/u],
  arrays: [[], [[]], sparse(3, { 0: 1, 2: 3 }), sparse(2, {}), [undefined], sparse(3, { 0: undefined, 2: 1 })],
  'array with extras': withExtras([1, 2], { name: 'n', '-1': 'minus', '01': 'zero' }),
  'holes and extras': withExtras(sparse(3, { 0: 1, 2: 3 }), { 1.5: 'x', more: 2 }),
  match: /(?<letter>b)/.exec('abc'),
  'sparse array': sparse(1_000_000, { 5: 'five', 999999: { last: true } }),
  'longest array': sparse(2 ** 32 - 1, { [2 ** 32 - 2]: 1 }),
  objects: { a: 1, b: { c: {} }, '': 'empty', 'a b': 2, 2: 'two', 1: 'one', constructor: 'c', toString: 't' },
  'same keys': [{ key: 1 }, { key: 2 }, { other: { key: 3 } }],
  instance: new Point(),
  'no prototype': Object.assign(Object.create(null) as object, { a: 1 }),
  maps: new Map<unknown, unknown>([
    ['a', 1],
    [{}, []],
    [Number.NaN, new Map()],
    [null, undefined],
  ]),
  sets: new Set<unknown>([1, 'a', {}, new Set([-0])]),
  buffers: [new ArrayBuffer(0), new Uint8Array([1, 2, 3]).buffer],
  views: [
    new Int8Array([-1]),
    new Uint8Array([1, 2]),
    new Uint8ClampedArray([255]),
    new Int16Array([-300]),
    new Uint16Array([65535]),
    new Int32Array([-(2 ** 31)]),
    new Uint32Array([2 ** 32 - 1]),
    new Float32Array([0.5, Number.NaN]),
    new Float64Array([Math.PI, -0]),
    new BigInt64Array([-1n]),
    new BigUint64Array([2n ** 64n - 1n]),
    new DataView(new Uint8Array([9, 8, 7]).buffer),
    new Uint8Array(0),
  ],
  'big view': new Float64Array(100_000).map((_, index) => index / 3),
  getters: {
    get a() {
      return 1;
    },
  },
};

for (const [name, value] of Object.entries(sameAsStructuredClone)) {
  test(`like structuredClone: ${name}`, () => {
    assert.deepStrictEqual(send(value), structuredClone(value));
  });
}

test('holes stay holes, undefined stays undefined, invalid dates stay invalid', () => {
  const holes = send(sparse(3, { 1: undefined }));
  assert.deepEqual(Object.keys(holes), ['1']);
  assert.equal(holes.length, 3);
  // The assertion library of Node 20 finds no two invalid dates equal.
  assert.ok(Number.isNaN(send(new Date(Number.NaN)).getTime()));
});

test('repeated references and cycles keep their identity', () => {
  const shared = { name: 'shared' };
  const date = new Date(5);
  const cycle: Record<string, unknown> = { list: [shared, shared], date, again: date };
  cycle.self = cycle;
  cycle.map = new Map<unknown, unknown>([[cycle, shared]]);
  cycle.set = new Set([cycle]);
  const got = send(cycle) as Record<string, unknown>;
  const list = got.list as unknown[];
  assert.equal(got.self, got);
  assert.equal(list[0], list[1]);
  assert.notEqual(list[0], shared);
  assert.equal(got.date, got.again);
  assert.equal((got.map as Map<unknown, unknown>).get(got), list[0]);
  assert.ok((got.set as Set<unknown>).has(got));
});

test('views over one buffer still share it, at the same offsets', () => {
  const buffer = new ArrayBuffer(64);
  const bytes = new Uint8Array(buffer, 3, 4).fill(7);
  const doubles = new Float64Array(buffer, 16, 2).fill(1.5);
  const got = send({ doubles, bytes, again: bytes });
  assert.deepEqual([...got.doubles], [1.5, 1.5]);
  assert.deepEqual([...got.bytes], [7, 7, 7, 7]);
  assert.equal(got.bytes, got.again);
  assert.equal(got.bytes.buffer as ArrayBufferLike, got.doubles.buffer);
  const whole = send({ bytes, buffer });
  assert.equal(whole.buffer.byteLength, 64);
  assert.equal(whole.bytes.buffer, whole.buffer);
  assert.equal(whole.bytes.byteOffset, 3);
});

test('only the part of a buffer that is viewed is sent', () => {
  const part = new Uint8Array(new ArrayBuffer(1_000_000), 5000, 3).fill(1);
  assert.ok(encode(part).length < 50);
  const got = send(part);
  assert.deepEqual(got, new Uint8Array([1, 1, 1]));
  assert.equal(got.buffer.byteLength, 3);
  const pooled = send(Buffer.from('pool'));
  assert.equal(Object.getPrototypeOf(pooled), Uint8Array.prototype);
  assert.deepEqual([...pooled], [...Buffer.from('pool')]);
});

test('the bytes may be in shared memory', () => {
  const value = {
    text: 'x'.repeat(100),
    wide: '日'.repeat(40),
    view: new Float64Array([1, 2]),
    big: 5n ** 90n,
    at: 0.5,
  };
  const bytes = encode(value);
  const memory = new Uint8Array(new SharedArrayBuffer(bytes.length + 20));
  const view = memory.subarray(13, 13 + bytes.length);
  view.set(bytes);
  const got = readValue(view) as typeof value;
  memory.fill(0);
  assert.deepStrictEqual(got, value);
  assert.ok(got.view.buffer instanceof ArrayBuffer);
});

test('strings are the same without the help of a Buffer', async (t) => {
  const strings = sameAsStructuredClone['string lengths'];
  const script = `
    const { parentPort, workerData } = require('node:worker_threads');
    delete globalThis.Buffer;
    Promise.all([import(workerData.reader), import(workerData.writer)]).then(([{ readValue }, { ValueWriter }]) => {
      const value = readValue(workerData.bytes);
      parentPort.postMessage({ value, bytes: new ValueWriter().write(value, 'input').slice() });
    });`;
  const worker = owned(
    t,
    new Worker(script, {
      eval: true,
      workerData: {
        bytes: encode(strings),
        reader: new URL('../../dist/value/reader.js', import.meta.url).href,
        writer: new URL('../../dist/value/writer.js', import.meta.url).href,
      },
    }),
  );
  const answer = await new Promise<{ value: unknown; bytes: Uint8Array }>((resolve, reject) => {
    worker.once('message', resolve).once('error', reject);
  });
  await worker.terminate();
  assert.deepStrictEqual(answer.value, strings);
  assert.deepEqual(answer.bytes, encode(strings));
});

test("'__proto__' and other inherited names become own properties", () => {
  const value = JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1, "hasOwnProperty": 2}') as object;
  const got = send(value);
  assert.equal(Object.getPrototypeOf(got), Object.prototype);
  assert.deepEqual(Object.keys(got), ['__proto__', 'constructor', 'hasOwnProperty']);
  assert.equal((got as { polluted?: unknown }).polluted, undefined);
  const error = Object.defineProperty(new Error('x'), '__proto__', { value: { polluted: true }, enumerable: true });
  const inError = send(error);
  assert.ok(Object.hasOwn(inError, '__proto__'));
  assert.equal(Object.getPrototypeOf(inError), Error.prototype);
});

test('a setter on Object.prototype is not called', () => {
  Object.defineProperty(Object.prototype, 'trap', { set: () => assert.fail('called'), configurable: true });
  try {
    const value = Object.defineProperty({}, 'trap', { value: 1, enumerable: true });
    assert.equal(Object.getOwnPropertyDescriptor(send(value), 'trap')?.value, 1);
  } finally {
    Reflect.deleteProperty(Object.prototype, 'trap');
  }
});

test('nesting of any depth', () => {
  interface Node {
    next?: Node;
    value: number;
  }
  let list: Node = { value: 0 };
  for (let value = 1; value < 200_000; value++) list = { next: list, value };
  let count = 0;
  for (let at: Node | undefined = send(list); at !== undefined; at = at.next) count++;
  assert.equal(count, 200_000);
  let deep: unknown = 'core';
  for (let level = 0; level < 5000; level++) {
    const at = level % 4;
    deep =
      at === 0 ? [deep, level] : at === 1 ? new Map([[level, deep]]) : at === 2 ? new Set([deep]) : { deep, level };
  }
  assert.deepEqual(encode(send(deep)), encode(deep));
  const hostile = new Uint8Array(100_000).fill(0x21);
  hostile[0] = 1;
  hostile[1] = 0;
  for (let at = 3; at < hostile.length; at += 2) hostile[at] = 1;
  assert.throws(() => readValue(hostile), isBadMessage);
  assert.throws(() => readValue(hostile.fill(0x12, 2)), isBadMessage);
});

class CustomError extends RangeError {
  override name = 'CustomError';
  code = 'E_CUSTOM';
}

test('errors keep their class, name, message, stack, cause and own properties', () => {
  for (const make of [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError]) {
    const error = new make('why', { cause: new TypeError('deeper', { cause: 5 }) });
    const got = send(error);
    assert.equal(Object.getPrototypeOf(got), make.prototype);
    assert.deepStrictEqual(Object.getOwnPropertyNames(got).sort(), ['cause', 'message', 'stack']);
    assert.deepStrictEqual(Object.keys(got), []);
    assert.equal(got.stack, error.stack);
    assert.deepStrictEqual(got.cause, error.cause);
  }
  const custom = Object.assign(new CustomError('own'), { errno: -2, path: '/p', nested: { a: [1] } });
  const got = send(custom);
  assert.equal(Object.getPrototypeOf(got), RangeError.prototype);
  assert.equal(got.name, 'CustomError');
  assert.equal(String(got), 'CustomError: own');
  assert.deepStrictEqual({ ...got }, { code: 'E_CUSTOM', errno: -2, path: '/p', nested: { a: [1] } });
  assert.ok(!Object.hasOwn(send(new Error()), 'message'));
});

test('aggregate errors, DOM exceptions, system errors, and errors of other realms', () => {
  const first = new Error('first');
  const many = send(new AggregateError([first, first, 7, () => 1], 'many'));
  assert.ok(many instanceof AggregateError);
  assert.equal(many.errors[0], many.errors[1]);
  assert.deepEqual(many.errors.slice(2), [7, '() => 1']);
  assert.deepEqual(Object.keys(many), []);

  const abort = send(new DOMException('stop', 'AbortError'));
  assert.ok(abort instanceof DOMException);
  assert.deepEqual([abort.name, abort.message, abort.code], ['AbortError', 'stop', DOMException.ABORT_ERR]);

  const foreign = vm.runInNewContext("Object.assign(new TypeError('far'), { code: 1, map: new Map([[1, [2]]]) })");
  const near = send(foreign) as TypeError & { code: number; map: Map<number, number[]> };
  assert.ok(near instanceof TypeError);
  assert.equal(near.code, 1);
  assert.deepStrictEqual(near.map, new Map([[1, [2]]]));
  const others = vm.runInNewContext(
    '({ d: new Date(1), r: /x/g, s: new Set([1]), b: new Uint8Array(2), o: Object(1) })',
  );
  assert.deepStrictEqual(send(others), structuredClone(others));
});

test('an error is sent even if one of its properties cannot be', () => {
  const plain = { fine: true };
  const error = new Error('kept', { cause: () => 'reason' });
  Object.defineProperty(error, 'thrown', { get: () => assert.fail('from a getter'), enumerable: true });
  Object.assign(error, {
    callback: () => 1,
    half: { key1: plain, inner: { list: [new Uint8Array(9), Symbol('no')] } },
    whole: { key1: plain, list: [plain] },
    self: error,
  });
  const got = send({ error, plain, key1: 1 });
  const properties = { ...got.error } as Record<string, unknown>;
  assert.deepEqual(Object.keys(got.error), ['whole', 'self']);
  assert.equal(got.error.cause, "() => 'reason'");
  assert.equal(properties.self, got.error);
  assert.equal((properties.whole as { key1: unknown }).key1, got.plain);
  assert.equal(got.key1, 1);

  let chain: unknown = () => 1;
  for (let level = 0; level < 1000; level++) chain = new Error(`level ${level}`, { cause: chain });
  let length = 0;
  let at = send(chain) as Error;
  for (; at.cause instanceof Error; at = at.cause) length++;
  assert.deepEqual([length, at.cause], [999, '() => 1']);

  let deep: unknown = { no: () => 1 };
  for (let level = 0; level < 200; level++) deep = [deep];
  assert.equal(send(Object.assign(new Error('deep'), { deep })).message, 'deep');
});

test('user classes and plain globals are not taken for host objects', () => {
  class Tagged {
    a = 1;
    get [Symbol.toStringTag](): string {
      return 'Promise';
    }
  }
  assert.deepEqual({ ...send(new Tagged()) }, { a: 1 });
  Reflect.set(globalThis, 'PlaitTestGlobal', Point);
  assert.deepEqual(send(new Point()), { x: 1 });
  Reflect.deleteProperty(globalThis, 'PlaitTestGlobal');
});

test('errors of getters are thrown unchanged, and getters run once, in key order', () => {
  const thrown = new Error('mine');
  const value = {
    a: 1,
    get b(): never {
      throw thrown;
    },
  };
  assert.throws(
    () => writer.write([value], 'input'),
    (error) => error === thrown,
  );
  const order: string[] = [];
  const record = (key: string): PropertyDescriptor => ({ get: () => order.push(key), enumerable: true });
  send(Object.defineProperties({}, { z: record('z'), a: record('a'), m: record('m') }));
  assert.deepEqual(order, ['z', 'a', 'm']);
  const shrinking = {
    get a() {
      Reflect.deleteProperty(this, 'b');
      return 1;
    },
    b: 2,
    c: 3,
  };
  assert.deepEqual(send(shrinking), { a: 1, c: 3 });
});

test('a getter may start a write inside a write', () => {
  const inner: unknown[] = [];
  const value = {
    before: 'x'.repeat(5000),
    get middle() {
      inner.push(readValue(writer.write({ before: 'inside', list: [1] }, 'input')));
      assert.throws(() => writer.write(() => 1, 'input'));
      return 'middle';
    },
    after: ['y'],
  };
  const got = send(value);
  assert.deepEqual(got, { before: 'x'.repeat(5000), middle: 'middle', after: ['y'] });
  assert.deepEqual(inner, [{ before: 'inside', list: [1] }]);
});

function randomValue(random: () => number, depth: number, made: object[]): unknown {
  const below = (limit: number): number => Math.floor(random() * limit);
  const text = (): string =>
    String.fromCharCode(
      ...Array.from({ length: below(random() < 0.1 ? 200 : 9) }, () => below(random() < 0.8 ? 128 : 65536)),
    );
  const note = <T extends object>(object: T): T => {
    made.push(object);
    return object;
  };
  const leaves: (() => unknown)[] = [
    () => below(300) - 150,
    () => (random() - 0.5) * 2 ** below(80),
    text,
    () => [undefined, null, true, false, -0, Number.NaN][below(6)],
    () => BigInt(below(2 ** 30)) ** BigInt(below(9)) * (random() < 0.5 ? -1n : 1n),
    () => note(new Date(below(2 ** 40))),
    () => note(new Uint16Array(below(9)).map(() => below(65536))),
    () => note(Object(text()) as object),
    () => (made.length > 0 ? made[below(made.length)] : 'none'),
  ];
  const containers: (() => unknown)[] = [
    () => {
      const array: unknown[] = note([]);
      for (let left = below(6); left > 0; left--) array.push(randomValue(random, depth - 1, made));
      if (random() < 0.2) array.length += below(random() < 0.3 ? 5000 : 3);
      if (random() < 0.1) Object.assign(array, { [text()]: 1 });
      return array;
    },
    () => {
      const object: Record<string, unknown> = note({});
      for (let left = below(6); left > 0; left--) {
        const key = random() < 0.7 ? `k${below(20)}` : text();
        object[key] = randomValue(random, depth - 1, made);
      }
      return object;
    },
    () => {
      const map = note(new Map<unknown, unknown>());
      for (let left = below(4); left > 0; left--) {
        map.set(randomValue(random, depth - 1, made), randomValue(random, depth - 1, made));
      }
      return map;
    },
    () => {
      const set = note(new Set<unknown>());
      for (let left = below(4); left > 0; left--) set.add(randomValue(random, depth - 1, made));
      return set;
    },
  ];
  const choices = depth > 0 && random() < 0.6 ? containers : leaves;
  return choices[below(choices.length)]!();
}

/** Numbers the objects of a value in the order of a walk: equal lists mean equal sharing and equal cycles. */
function sharing(root: unknown): number[] {
  const numbers = new Map<object, number>();
  const walk: number[] = [];
  const stack = [root];
  while (stack.length > 0) {
    const value = stack.pop();
    if (typeof value !== 'object' || value === null) continue;
    const known = numbers.get(value);
    walk.push(known ?? -1);
    if (known !== undefined) continue;
    numbers.set(value, numbers.size);
    if (value instanceof Map) stack.push(...[...value].flat());
    else if (value instanceof Set) stack.push(...value);
    else if (!ArrayBuffer.isView(value)) stack.push(...(Object.values(value) as unknown[]));
  }
  return walk;
}

test('random values are the same as after structuredClone', (context) => {
  context.diagnostic(`PLAIT_SEED=${seed}`);
  const random = seeded(seed);
  for (let round = 0; round < 1500; round++) {
    const value = randomValue(random, 5, []);
    const bytes = encode(value);
    const got = readValue(bytes);
    const expected = structuredClone(value);
    assert.deepStrictEqual(sharing(got), sharing(expected), `round ${round}`);
    // Comparing cycles inside Sets and Map keys is quadratic and worse; the bytes say the same at once.
    assert.deepEqual(encode(expected), bytes, `round ${round}`);
    assert.deepEqual(encode(got), bytes, `round ${round}`);
  }
});
