/** Values that are added early are taken in order: compared with a plain map of the positions. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { InOrder } from '../../dist/task/in-order.js';
import { seed } from './seed.ts';

const WINDOWS = [1, 2, 63, 64, 65, 129, 1000];

test(`values are taken in the order of their positions, whatever order they are added in (seed ${seed})`, () => {
  let state = seed >>> 0 || 1;
  const below = (limit: number): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % limit;
  };
  for (const window of WINDOWS) {
    const order = new InOrder<{ position: number }>();
    const model = new Map<number, { position: number }>();
    const missing: number[] = [];
    let taken = 0;
    let begun = 0;
    for (let step = 0; step < 20000; step++) {
      while (begun < taken + window) missing.push(begun++);
      if (below(2) === 0 && missing.length > 0) {
        const [position] = missing.splice(below(missing.length), 1);
        const value = { position: position! };
        order.put(position!, value);
        model.set(position!, value);
      } else {
        const next = order.peek();
        assert.equal(next, model.get(taken), `window ${window}, step ${step}`);
        if (next === undefined) continue;
        order.take();
        model.delete(taken++);
      }
      assert.equal(order.size, model.size, `window ${window}, step ${step}`);
    }
    assert.ok(taken > 0);
    const left = [...model].sort(([a], [b]) => a - b).map(([, value]) => value);
    assert.deepEqual(order.empty(), left, `window ${window}`);
    assert.equal(order.size, 0);
    assert.equal(order.peek(), undefined);
  }
});
