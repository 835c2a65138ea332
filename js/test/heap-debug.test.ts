/**
 * Features of the heap's debug build (core/heap/debug.c). `make debug-test` runs this, and the heap's other
 * tests, on that build; in an ordinary build the tests here are skipped.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Heap, heap, openSpace } from 'plait';

const isDebug = heap.size(heap.alloc(5)) === 5;
const options = { skip: isDebug ? false : 'this is an ordinary build' };
const SIZES = [0, 1, 7, 8, 9, 100, 504, 505, 5000, 65528, 65529, 300000];

/** A heap of its own, because a mistake that was found costs a block. */
function ownHeap(): Heap {
  const space = openSpace({ maximum: 2 ** 26 });
  return new Heap(() => space);
}

test('a byte behind the end of a block is found when it is freed, and the block stays', options, () => {
  const own = ownHeap();
  for (const size of SIZES) {
    const block = own.alloc(size);
    const end = block + own.size(block);
    const [behind] = own.view(end, 1);
    for (const call of [() => own.free(block), () => own.realloc(block, 100)]) {
      own.view(end, 1)[0] = 0;
      const message = `block ${block} was written beyond its end, at ${end}; it stays allocated`;
      assert.throws(call, { code: 'ERR_PLAIT_CORRUPT', message });
    }
    own.view(end, 1)[0] = behind as number;
    own.free(block);
  }
  own.check({ quiescent: true });
});

test('a byte that is written after free() is found by check(), and by a later allocation', options, () => {
  for (const size of SIZES.filter((candidate) => candidate > 0 && candidate <= 5000)) {
    for (const offset of new Set([0, 3, size >> 1, size - 1])) {
      if (offset >= size) continue;
      const own = ownHeap();
      const block = own.alloc(size);
      own.free(block);
      own.view(block + offset, 1)[0]! ^= 0xff;
      const message = `block ${block} was written after it had been freed, at ${block + offset}`;
      const expected = { code: 'ERR_PLAIT_CORRUPT', message };
      assert.throws(() => own.check({ quiescent: true }), expected);
      assert.throws(() => {
        for (let i = 0; i < 100; i++) own.free(own.alloc(50));
      }, expected);
      own.free(own.alloc(size)); // the block is lost, and all goes on
      own.check({ quiescent: true });
    }
  }
});

test('a freed block counts as free, although its memory is not reused yet', options, () => {
  const own = ownHeap();
  const before = own.stats().liveBlocks;
  const block = own.alloc(100);
  own.free(block);
  assert.equal(own.stats().liveBlocks, before);
  for (const call of [() => own.free(block), () => own.size(block), () => own.realloc(block, 5)]) {
    assert.throws(call, { code: 'ERR_PLAIT_INVALID_POINTER', message: /it was freed already/ });
  }
});

test('new bytes are neither zero nor the old ones, and realloc() moves the block', options, () => {
  for (const size of SIZES) {
    const block = heap.alloc(size);
    assert.ok(
      heap.view(block, size).every((byte) => byte === 0xcd),
      'at first',
    );
    heap.view(block, size).fill(1);
    const moved = heap.realloc(block, size + 1);
    assert.notEqual(moved, block);
    assert.ok(
      heap.view(moved, size).every((byte) => byte === 1),
      'the bytes are kept',
    );
    assert.ok(
      heap
        .view(block, size)
        .slice(8, -8)
        .every((byte) => byte !== 1),
      'the old ones are gone',
    );
    heap.free(moved);
  }
});
