/**
 * Prefaulted receive buffers: when one is made, that each is used for one value only, and that received values are
 * private.
 */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ReceiveBuffer } from '../../dist/value/receive-buffer.js';
import { poolsOf } from './cases/pool-setup.ts';

const MIB = 2 ** 20;
const withPool = poolsOf(new URL('../../js/test/fixtures/hostile-tasks.js', import.meta.url), 1);

/** A receive buffer, and the sizes of the buffers that were made for it. */
function counted(): { receiveBuffer: ReceiveBuffer; made: number[] } {
  const made: number[] = [];
  const receiveBuffer = new ReceiveBuffer((size) => {
    made.push(size);
    return new Uint8Array(size).fill(1);
  });
  return { receiveBuffer, made };
}

describe('ReceiveBuffer', () => {
  test('one is made after two values of a size, and goes to the next one of that size', () => {
    const { receiveBuffer, made } = counted();
    assert.equal(receiveBuffer.prepare(), false);
    const first = receiveBuffer.take(MIB);
    assert.equal(receiveBuffer.prepare(), false);
    const second = receiveBuffer.take(MIB);
    assert.deepEqual([receiveBuffer.prepare(), receiveBuffer.prepare()], [true, false]);
    const third = receiveBuffer.take(MIB);
    assert.deepEqual(made, [MIB, MIB, MIB]);
    const fourth = receiveBuffer.take(MIB);
    assert.equal(new Set([first, second, third, fourth].map(({ buffer }) => buffer)).size, 4);
    for (const bytes of [first, second, third, fourth]) assert.equal(bytes.length, MIB);
  });

  test('one is made in parts, and may be taken before it is whole', () => {
    const { receiveBuffer, made } = counted();
    for (let i = 0; i < 2; i++) receiveBuffer.take(MIB);
    const part = MIB / 2 + 1;
    assert.deepEqual(
      [receiveBuffer.prepare(part), receiveBuffer.prepare(part), receiveBuffer.prepare(part)],
      [true, true, false],
    );
    assert.deepEqual(new Set(receiveBuffer.take(MIB)), new Set([0]));
    assert.equal(receiveBuffer.prepare(part), true);
    const early = receiveBuffer.take(MIB);
    assert.deepEqual([early.length, early[part - 1], early[part]], [MIB, 0, 1]);
    assert.equal(receiveBuffer.prepare(part), true);
    assert.equal(receiveBuffer.prepare(part), true, 'another one is begun at its beginning');
    assert.deepEqual(made, new Array(5).fill(MIB));
  });

  test('a value of another size gets a buffer of its own size, and expects nothing', () => {
    const { receiveBuffer, made } = counted();
    for (let i = 0; i < 2; i++) receiveBuffer.take(MIB);
    assert.equal(receiveBuffer.prepare(), true);
    assert.equal(receiveBuffer.take(MIB + 1).length, MIB + 1);
    assert.equal(receiveBuffer.prepare(), false);
    assert.deepEqual(made, [MIB, MIB, MIB, MIB + 1]);
  });

  test('no buffer is made for small or huge values, and these do not affect an existing one', () => {
    const { receiveBuffer } = counted();
    for (const size of [2 ** 18 - 1, 2 ** 22 + 1]) {
      for (let i = 0; i < 3; i++) assert.equal(receiveBuffer.take(size).length, size);
      assert.equal(receiveBuffer.prepare(), false);
    }
    for (let i = 0; i < 2; i++) receiveBuffer.take(MIB);
    assert.equal(receiveBuffer.prepare(), true);
    receiveBuffer.take(4096);
    assert.equal(receiveBuffer.prepare(), false, 'it is still there');
  });

  test('one that is dropped is not made again before two values of a size', () => {
    const { receiveBuffer } = counted();
    for (let i = 0; i < 2; i++) receiveBuffer.take(MIB);
    receiveBuffer.drop();
    assert.equal(receiveBuffer.prepare(), true, 'there was none to be dropped');
    receiveBuffer.drop();
    assert.equal(receiveBuffer.prepare(), false);
    receiveBuffer.take(MIB);
    assert.equal(receiveBuffer.prepare(), false);
    receiveBuffer.take(MIB);
    assert.equal(receiveBuffer.prepare(), true);
  });

  test('without memory no buffer is made, and the code that needs one gets the error', () => {
    let left = 2;
    const receiveBuffer = new ReceiveBuffer((size) => {
      if (left-- <= 0) throw new RangeError('Array buffer allocation failed');
      return new Uint8Array(size);
    });
    for (let i = 0; i < 2; i++) receiveBuffer.take(MIB);
    assert.equal(receiveBuffer.prepare(), false);
    assert.throws(() => receiveBuffer.take(MIB), RangeError);
  });
});

test('inputs and results of one size, one after another, stay unchanged', { timeout: 60000 }, () =>
  withPool({}, async (pool) => {
    const size = 2 ** 18;
    const results: Uint8Array[] = [];
    for (let i = 0; i < 40; i++) {
      results.push((await pool.run(new Uint8Array(size).fill(i))) as Uint8Array);
      if (i % 10 === 9) assert.equal(await pool.run(i), i); // and a small one in between
    }
    assert.equal(new Set(results.map(({ buffer }) => buffer)).size, results.length);
    for (const [i, bytes] of results.entries()) assert.deepEqual(bytes, new Uint8Array(size).fill(i));
  }),
);
