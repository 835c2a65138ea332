/** The bench's harness: a peer that fails affects only its own cells. */

import assert from 'node:assert/strict';
import { test } from 'node:test';

const QUESTION = new URL('../../js/test/fixtures/bench-question.js', import.meta.url).href;
const harness = (name: string) => import(new URL(`../../bench/harness/${name}.js`, import.meta.url).href);
const LIMIT = { timeout: 60000 };

test('a peer that throws, exits or fails in part has the failure in its cells', LIMIT, async () => {
  const [{ compare }, { formatResult }] = [await harness('compare'), await harness('report')];
  const answer = await compare(QUESTION, { rounds: 2, threads: 1 });
  const machine = { processor: 'p', cores: 1, system: 's', node: 'n' };
  const cells = formatResult({ ...answer, machine, versions: {} })
    .split('\n')
    .filter((line: string) => line.startsWith('| '))
    .map((line: string) => line.split('|').map((cell) => cell.trim()));
  const of = (name: string) => cells.find((row: string[]) => row[1] === name)?.slice(2, -1);
  assert.deepEqual(of('plait'), ['2.0 (2.0–2.0)', '1.00', '1 (1–1)']);
  assert.deepEqual(of('well'), ['4.0 (4.0–4.0)', '2.00', '1 (1–1)']);
  const why = 'failed 2 of 2: trapped / here: deep';
  assert.deepEqual(of('throws'), [why, '–', why]);
  assert.match(of('exits')[0], /^failed 2 of 2: ./);
  assert.deepEqual(of('in part'), ['4.0 (4.0–4.0)', '2.00', 'failed 2 of 2: trapped']);
});

test('the bench ends if Plait fails', LIMIT, async (context) => {
  const { compare } = await harness('compare');
  process.env.PLAIT_FAILS = 'plait';
  context.after(() => delete process.env.PLAIT_FAILS);
  await assert.rejects(compare(QUESTION, { rounds: 1, threads: 1 }), /plait failed: no answer/);
});
