/**
 * How many tasks a second that do nothing, all submitted at once?
 *
 * What a task costs besides its work. Each has its own promise, except for `plait map`, which
 * yields results, and `plait runMany`, which gives them all at once.
 *
 * What is asked for is the rate of a program that is under way, so everybody warms up first, for as long and with as
 * many tasks at least: 20,000 take the quickest a fiftieth of a second, in which V8 has compiled little of its way.
 */

import { entrants } from './peers/index.js';
import { openPool } from './peers/open.js';

const TASKS = 100_000;
/** What the warm-up is made of, and how long it goes on at least, in milliseconds. */
const WARM_UP = 20_000;
const WARM_UP_MS = 500;

export default {
  title: `${TASKS} no-ops, all outstanding`,
  entrants: [
    entrants[0],
    { name: 'plait map', peer: 'plait', way: 'map' },
    { name: 'plait runMany', peer: 'plait', way: 'many' },
    ...entrants.slice(1),
  ],
  columns: [{ key: 'rate', label: 'tasks/s', digits: 0, ratio: true }],

  prepare: ({ threads }) => ({ threads }),

  async measure({ peer, way }, { threads }) {
    const { pool } = await openPool(peer, threads);
    const go = WAYS[way] ?? runAll;
    const begun = performance.now();
    do await go(pool, WARM_UP);
    while (performance.now() - begun < WARM_UP_MS);
    const start = performance.now();
    const answers = await go(pool, TASKS);
    const seconds = (performance.now() - start) / 1000;
    if (answers.length !== TASKS || answers.some((answer, i) => answer !== i)) throw new Error(`${peer} lost answers`);
    return { rate: TASKS / seconds };
  },
};

function runAll(pool, count) {
  const pending = [];
  for (let i = 0; i < count; i++) pending.push(pool.run('echo', i));
  return Promise.all(pending);
}

async function mapAll(pool, count) {
  const answers = [];
  for await (const answer of pool.map('echo', numbers(count))) answers.push(answer);
  return answers;
}

const WAYS = { map: mapAll, many: (pool, count) => pool.many('echo', [...numbers(count)]) };

function* numbers(count) {
  for (let i = 0; i < count; i++) yield i;
}
