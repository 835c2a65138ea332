/**
 * What becomes of a task that calls process.exit(), and of those beside it?
 *
 * Its worker is gone, so somebody has to notice: the task's promise is to be rejected soon, and the tasks that were
 * submitted with it are to end as if nothing had happened. The time is that from the call in the worker until main
 * knows. What has not ended after a second is taken for lost; a pool that has lost a task is not asked again.
 */

import { entrants } from './peers/index.js';
import { openPool } from './peers/open.js';
import { DONE, microseconds } from './peers/work.js';

const EXITS = 9;
/** So many before it, and so many behind it. */
const OTHERS = 4;
const PATIENCE_MS = 1000;

export default {
  title: `${EXITS} tasks that call process.exit(), each among ${2 * OTHERS} no-ops`,
  entrants,
  columns: [
    { key: 'rejected', label: 'rejected', digits: 0 },
    { key: 'after', label: 'after, ms', digits: 1 },
    { key: 'latest', label: 'the latest after, ms', digits: 1 },
    { key: 'lost', label: 'no-ops lost', digits: 0 },
  ],

  prepare: ({ threads }) => ({ threads }),

  async measure({ peer }, { threads }) {
    const { pool, counters } = await openPool(peer, threads);
    const times = [];
    let lost = 0;
    for (let i = 0; i < EXITS && lost === 0 && times.length === i; i++) {
      const submit = () => Array.from({ length: OTHERS }, (_, k) => pool.run('echo', k));
      const beside = submit();
      const ended = pool.run('exit').then(
        () => false,
        () => times.push(((microseconds() - Atomics.load(counters, DONE)) & 0x3fffffff) / 1000),
      );
      beside.push(...submit());
      await inTime(ended);
      const answers = await Promise.all(beside.map((answer) => inTime(answer.catch(() => undefined))));
      lost += answers.filter((answer, k) => answer !== k % OTHERS).length;
    }
    times.sort((a, b) => a - b);
    return { rejected: times.length, after: times[times.length >> 1], latest: times.at(-1), lost };
  },
};

/** What a promise gives, or undefined if it takes too long. */
function inTime(promise) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, PATIENCE_MS);
    promise.then((value) => {
      clearTimeout(timer);
      resolve(value);
    });
  });
}
