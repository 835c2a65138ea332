/** Values that the codec refuses, and hostile bytes: truncated, corrupted, random. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import vm from 'node:vm';
import { MessageChannel } from 'node:worker_threads';

import { readValue } from '../../dist/value/reader.js';
import { FORMAT_VERSION } from '../../dist/value/tags.js';
import { seed } from './seed.ts';
import { encode, isBadMessage, refusal, seeded, send, sparse, withExtras } from './value-setup.ts';

const functions = 'is a function, and functions cannot be sent to another thread';
const unsendable: [value: unknown, message: string | RegExp][] = [
  [() => 1, `input ${functions}`],
  [{ items: [1, 2, 3, { callback() {} }] }, `input.items[3].callback ${functions}`],
  [{ 'a b': { 'it"s': () => 1 } }, `input["a b"]["it\\"s"] ${functions}`],
  [{ 7: () => 1 }, `input[7] ${functions}`],
  [new Map([['key', () => 1]]), `input.get("key") ${functions}`],
  [
    new Map<unknown, unknown>([
      [1, 1],
      [2, () => 1],
    ]),
    `input.get(<key 1>) ${functions}`,
  ],
  [new Map([[1, 1] as unknown, [() => 1, 1]] as [unknown, unknown][]), `input.<key 1> ${functions}`],
  [new Set([{ a: Symbol('s') }]), 'input.<member 0>.a is a symbol, and symbols cannot be sent to another thread'],
  [withExtras([], { extra: () => 1 }), `input.extra ${functions}`],
  [sparse(1000, { 500: () => 1 }), `input[500] ${functions}`],
  [
    { p: Promise.resolve() },
    /^input\.p is a Promise, and objects of that kind cannot be sent to another thread; await it/,
  ],
  [new WeakMap(), /^input is a WeakMap, /],
  [new WeakSet(), /^input is a WeakSet, /],
  [new WeakRef({}), /^input is a WeakRef, /],
  [new SharedArrayBuffer(8), /^input is a SharedArrayBuffer, and shared memory other than the heap's /],
  [{ view: new Uint16Array(new SharedArrayBuffer(8)) }, /^input\.view is a view on a SharedArrayBuffer, /],
  [
    new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])),
    /^input is a WebAssembly\.Module, .*workerData/,
  ],
  [Object(Symbol('s')), /^input is a Symbol, /],
  [new MessageChannel().port1, /^input is a MessagePort, /],
  [new EventTarget(), /^input is an EventTarget, /],
  [new (class Mine extends EventTarget {})(), /^input is an EventTarget, /],
  [new Blob(['x']), /^input is a Blob, /],
  [new URL('https://example.org'), /^input is a URL, /],
  [new ReadableStream(), /^input is a ReadableStream, /],
  [new AbortController(), /^input is an AbortController, /],
  [new WebAssembly.Memory({ initial: 0 }), /^input is a WebAssembly.Memory, /],
  [new Intl.NumberFormat(), /^input is an Intl.NumberFormat, /],
  [(function* () {})(), /^input is a Generator, /],
  [[].values(), /^input is an Array Iterator, /],
  [vm.runInNewContext('Promise.resolve()'), /^input is a Promise, /],
  [new Proxy(new Map(), {}), /^input is no real Map /],
];

for (const [value, message] of unsendable) {
  test(`refused: ${message}`, () => {
    const said = refusal(value);
    if (typeof message === 'string') assert.equal(said, message);
    else assert.match(said, message);
  });
}

test('refused: detached buffers, and values deep inside', () => {
  const view = new Uint8Array(4);
  const data = new DataView(view.buffer);
  structuredClone(view.buffer, { transfer: [view.buffer] });
  assert.match(refusal({ view }), /^input\.view is a detached ArrayBuffer/);
  assert.match(refusal([view.buffer]), /^input\[0\] is a detached ArrayBuffer/);
  assert.match(refusal({ data }), /^input\.data is a view outside its buffer/);
  let deep: unknown = { callback() {} };
  for (let level = 0; level < 1000; level++) deep = { deep };
  assert.match(refusal(deep), /^input\.<deep inside>(\.deep)*\.callback is a function/);
});

test('a refusal leaves the writer as it was', () => {
  const shared = { a: 1 };
  refusal([shared, 'key', { a: shared, b: () => 1 }]);
  assert.deepStrictEqual(send([shared, shared]), [{ a: 1 }, { a: 1 }]);
  const before = encode({ a: [1, 2] });
  refusal({ a: Symbol('x') });
  assert.deepEqual(encode({ a: [1, 2] }), before);
});

const sampleParts: unknown[] = [
  { id: 7, name: 'sample', wide: '日本', far: -70000, half: 0.5, none: null, yes: true, again: { id: 8, name: 'x' } },
  [1, sparse(4, { 2: 'x' }), withExtras([1], { extra: 1 }), sparse(900, { 800: 1 })],
  new Map<unknown, unknown>([['a', new Set([1, 'b'])]]),
  [10n, 2n ** 80n, new Date(1), /a+/gi, Object('box')],
  Object.assign(new TypeError('bad', { cause: new DOMException('m', 'AbortError') }), { code: 'E', stack: 'at x' }),
  [new Uint8Array([1, 2, 3]), new Float64Array([1]), new Uint16Array(2).buffer],
];

test('truncated and corrupted bytes give a value or ERR_PLAIT_BAD_MESSAGE', () => {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0; // The stacks of all these errors would take most of the time.
  const before = process.memoryUsage().rss;
  let refused = 0;
  let slowest = 0;
  const attempt = (bytes: Uint8Array): void => {
    const start = performance.now();
    try {
      readValue(bytes);
    } catch (error) {
      refused++;
      assert.ok(isBadMessage(error), String(error));
    }
    slowest = Math.max(slowest, performance.now() - start);
  };
  for (const part of sampleParts) {
    const bytes = encode([part, part, 'end']);
    for (let length = 0; length < bytes.length; length++) {
      assert.throws(() => readValue(bytes.subarray(0, length)), isBadMessage, `cut at ${length}`);
    }
    assert.throws(() => readValue(new Uint8Array([...bytes, 0])), isBadMessage);
    for (let at = 0; at < bytes.length; at++) {
      const original = bytes[at]!;
      for (let value = 0; value < 256; value++) {
        bytes[at] = value;
        attempt(bytes);
      }
      bytes[at] = original;
    }
    assert.deepEqual(encode(readValue(bytes)), bytes);
  }
  Error.stackTraceLimit = stackTraceLimit;
  assert.ok(refused > 1000);
  assert.ok(slowest < 1000, `one message took ${slowest} ms`);
  assert.equal(({} as Record<string, unknown>).extra, undefined);
  assert.ok(process.memoryUsage().rss - before < 300e6, 'memory stays small');
});

test('random bytes give a value or ERR_PLAIT_BAD_MESSAGE', () => {
  const random = seeded(seed);
  for (let round = 0; round < 20_000; round++) {
    const bytes = Uint8Array.from(
      { length: 2 + Math.floor(random() * 60) },
      () => random() * (random() < 0.5 ? 64 : 256),
    );
    bytes[0] = 1;
    bytes[1] = 0;
    try {
      readValue(bytes);
    } catch (error) {
      assert.ok(isBadMessage(error), String(error));
    }
  }
});

test('a few bytes cannot cause a large allocation', () => {
  const huge = [0xff, 0xff, 0xff, 0xff, 0x0f];
  for (const body of [
    [0x21, ...huge],
    [0x22, ...huge],
    [0x24, ...huge],
    [0x25, ...huge],
    [0x07, ...huge],
    [0x09, ...huge],
    [0x23, 0x80, 0x80, 0x80, 0x80, 0x10, 0],
  ]) {
    assert.throws(() => readValue(new Uint8Array([FORMAT_VERSION, 0, ...body])), isBadMessage);
  }
  const before = process.memoryUsage().rss;
  const longest = readValue(new Uint8Array([FORMAT_VERSION, 0, 0x23, 0x80, 0x80, 0x80, 0x08, 0])) as unknown[];
  assert.equal(longest.length, 2 ** 24);
  assert.ok(process.memoryUsage().rss - before < 50e6);
});
