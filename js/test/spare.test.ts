/**
 * Buffers made ahead: when one is made, that each goes to one value only, and that a pool's values stay their
 * receivers' own.
 */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Spare } from '../../dist/value/receive-buffer.js';
import { poolsOf } from './cases/pool-setup.ts';

const MIB = 2 ** 20;
const withPool = poolsOf(new URL('../../js/test/fixtures/hostile-tasks.js', import.meta.url), 1);

/** A spare, and the sizes of the buffers that were made for it. */
function counted(): { spare: Spare; made: number[] } {
  const made: number[] = [];
  const spare = new Spare((size) => {
    made.push(size);
    return new Uint8Array(size).fill(1);
  });
  return { spare, made };
}

describe('Spare', () => {
  test('one is made after two values of a size, and goes to the next one of that size', () => {
    const { spare, made } = counted();
    assert.equal(spare.prepare(), false);
    const first = spare.take(MIB);
    assert.equal(spare.prepare(), false);
    const second = spare.take(MIB);
    assert.deepEqual([spare.prepare(), spare.prepare()], [true, false]);
    const third = spare.take(MIB);
    assert.deepEqual(made, [MIB, MIB, MIB]);
    const fourth = spare.take(MIB);
    assert.equal(new Set([first, second, third, fourth].map(({ buffer }) => buffer)).size, 4);
    for (const bytes of [first, second, third, fourth]) assert.equal(bytes.length, MIB);
  });

  test('one is made in parts, and may be taken before it is whole', () => {
    const { spare, made } = counted();
    for (let i = 0; i < 2; i++) spare.take(MIB);
    const part = MIB / 2 + 1;
    assert.deepEqual([spare.prepare(part), spare.prepare(part), spare.prepare(part)], [true, true, false]);
    assert.deepEqual(new Set(spare.take(MIB)), new Set([0]));
    assert.equal(spare.prepare(part), true);
    const early = spare.take(MIB);
    assert.deepEqual([early.length, early[part - 1], early[part]], [MIB, 0, 1]);
    assert.equal(spare.prepare(part), true);
    assert.equal(spare.prepare(part), true, 'another one is begun at its beginning');
    assert.deepEqual(made, new Array(5).fill(MIB));
  });

  test('a value of another size gets a buffer of its own size, and expects nothing', () => {
    const { spare, made } = counted();
    for (let i = 0; i < 2; i++) spare.take(MIB);
    assert.equal(spare.prepare(), true);
    assert.equal(spare.take(MIB + 1).length, MIB + 1);
    assert.equal(spare.prepare(), false);
    assert.deepEqual(made, [MIB, MIB, MIB, MIB + 1]);
  });

  test('none is made for small or huge values, and these leave the one that there is', () => {
    const { spare } = counted();
    for (const size of [2 ** 18 - 1, 2 ** 22 + 1]) {
      for (let i = 0; i < 3; i++) assert.equal(spare.take(size).length, size);
      assert.equal(spare.prepare(), false);
    }
    for (let i = 0; i < 2; i++) spare.take(MIB);
    assert.equal(spare.prepare(), true);
    spare.take(4096);
    assert.equal(spare.prepare(), false, 'it is still there');
  });

  test('one that is dropped is not made again before two values of a size', () => {
    const { spare } = counted();
    for (let i = 0; i < 2; i++) spare.take(MIB);
    spare.drop();
    assert.equal(spare.prepare(), true, 'there was none to be dropped');
    spare.drop();
    assert.equal(spare.prepare(), false);
    spare.take(MIB);
    assert.equal(spare.prepare(), false);
    spare.take(MIB);
    assert.equal(spare.prepare(), true);
  });

  test('where there is no memory for one, none is made, and whoever needs it hears of it', () => {
    let left = 2;
    const spare = new Spare((size) => {
      if (left-- <= 0) throw new RangeError('Array buffer allocation failed');
      return new Uint8Array(size);
    });
    for (let i = 0; i < 2; i++) spare.take(MIB);
    assert.equal(spare.prepare(), false);
    assert.throws(() => spare.take(MIB), RangeError);
  });
});

test('inputs and results of one size, one after the other, stay as they were', { timeout: 60000 }, () =>
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
