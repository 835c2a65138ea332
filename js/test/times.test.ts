/**
 * The times of a worker place: counts, sums and percentiles beside Node's own histogram as oracle, and resets while
 * workers count.
 */
import assert from 'node:assert/strict';
import { createHistogram } from 'node:perf_hooks';
import { test } from 'node:test';
import { WorkerPlace } from '../../dist/core/layout.generated.js';
import { openSpace, Pool } from '../../dist/index.js';
import { noteTimes, readTimes, resetTimes } from '../../dist/task/place-times.js';
import { seed } from './seed.ts';

const LIMIT = { timeout: 60000 };
const TASKS = new URL('../../js/test/fixtures/tasks.js', import.meta.url);
const near = (actual: number, expected: number, share: number, what: string): void =>
  assert.ok(Math.abs(actual - expected) <= Math.abs(expected) * share + 1e-9, `${what}: ${actual}, not ${expected}`);

test('times: mean, deviation, least and most, and every percentile, as in a histogram of Node', LIMIT, () => {
  const space = openSpace({ maximum: 2 ** 24 });
  const { core } = space;
  const pool = core.plait_pool_create() >>> 0;
  const place = core.plait_pool_place(pool, 0) >>> 0;
  space.cover(place + WorkerPlace.BYTES);
  let state = seed;
  const next = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  for (const round of [1, 2, 3]) {
    const oracle = createHistogram();
    for (let i = 0; i < 20000; i++) {
      const microseconds = 1 + Math.floor(10 ** (next() * 3 * round)); // up to seventeen minutes
      oracle.record(microseconds);
      noteTimes(space, pool, place, microseconds / 1000, 0);
    }
    const { wait, run } = readTimes(space, pool, place);
    const times = wait.times();
    assert.equal(times.count, oracle.count);
    near(times.min, oracle.min / 1000, 0.001, 'min');
    near(times.max, oracle.max / 1000, 0.001, 'max'); // its precision
    near(times.mean, oracle.mean / 1000, 0.001, 'mean');
    near(times.stddev, oracle.stddev / 1000, 0.001, 'stddev');
    for (const name of Object.keys(times).filter((key) => /^p\d/.test(key)) as (keyof typeof times)[]) {
      const percentile = Number(name.slice(1).replace('_', '.'));
      near(times[name], oracle.percentile(percentile) / 1000, 0.25, name);
    }
    assert.deepEqual([run.times().count, run.times().min, run.times().max, run.times().p50], [20000, 0, 0, 0]);
    resetTimes(space, pool);
    const none = readTimes(space, pool, place).wait.times();
    assert.ok(
      Object.values(none).every((value) => value === 0),
      JSON.stringify(none),
    );
  }
  core.plait_pool_destroy(pool);
  space.check();
});

test(
  'times: each worker has its own, they add up to the pool’s, and a reset begins all of them anew',
  LIMIT,
  async () => {
    const space = openSpace({ maximum: 2 ** 26 });
    const pool = new Pool(TASKS, { threads: 2, space });
    try {
      await pool.broadcast(1);
      await pool.runMany(Array(500).fill(1));
      const { workers, wait, run, completed } = pool.stats();
      assert.equal(workers.length, 2);
      for (const kind of ['wait', 'run'] as const) {
        const all = kind === 'wait' ? wait : run;
        assert.equal(
          workers.reduce((sum, worker) => sum + worker[kind].count, 0),
          all.count,
        );
        assert.equal(Math.max(...workers.map((worker) => worker[kind].max)), all.max);
        assert.equal(Math.min(...workers.map((worker) => worker[kind].min)), all.min);
        near(
          workers.reduce((sum, worker) => sum + worker[kind].mean * worker[kind].count, 0) / all.count,
          all.mean,
          1e-9,
          kind,
        );
        assert.ok(all.min <= all.p50 && all.p50 <= all.p99_999 && all.p99_999 <= all.max && all.stddev >= 0);
      }
      assert.equal(wait.count, completed);
      pool.resetTimes();
      assert.equal(pool.stats().run.count, 0);
      assert.equal(pool.stats().completed, completed, 'counters go on');
      await pool.broadcast(1);
      assert.equal(pool.stats().run.count, 2);
      // While workers count: no time of before the last reset is left.
      const many = pool.runMany(Array(20000).fill(1));
      for (let i = 0; i < 50; i++) {
        pool.resetTimes();
        await new Promise((resolve) => setImmediate(resolve));
      }
      await many;
      pool.resetTimes();
      await pool.broadcast(1);
      assert.equal(pool.stats().run.count, 2);
    } finally {
      await pool.close({ force: true });
    }
    space.check();
    assert.throws(() => pool.resetTimes(), { code: 'ERR_PLAIT_POOL_CLOSED' });
  },
);
