/**
 * Asks the benchmark's questions and stores the answers.
 *
 *     node bench/run.js [selector] [--rounds 5] [--threads 2]
 *
 * The selector is the beginning of a question's name: task, task/main-blocked, ... Without one, all but the graphs are
 * asked, which need Emscripten.
 */

import { existsSync, readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { compare } from './harness/compare.js';
import { install } from './harness/install.js';
import { describeMachine, describeVersions } from './harness/machine.js';
import { formatResult, save } from './harness/report.js';

const SUITES = ['fs', 'graphs', 'heap', 'task'];
/** Needs Emscripten, which is large: asked by its name alone. */
const ASKED_BY_NAME = 'graphs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '5' }, threads: { type: 'string', default: '2' } },
});
const rounds = positive('rounds');
const threads = positive('threads');
const selector = positionals[0] ?? '';
const questions = SUITES.flatMap((suite) =>
  readdirSync(new URL(`./${suite}/`, import.meta.url))
    .filter((file) => file.endsWith('.js'))
    .map((file) => ({ suite, name: file.slice(0, -3) })),
);
const chosen = questions.filter(({ suite, name }) =>
  selector === '' ? suite !== ASKED_BY_NAME : `${suite}/${name}`.startsWith(selector),
);
if (chosen.length === 0) fail(`no question begins with '${selector}':\n${listing(questions)}`);
if (!existsSync(new URL('../dist/index.js', import.meta.url))) fail('Plait is not built: run make build first');

install();
const machine = describeMachine();
const versions = describeVersions();
for (const { suite, name } of chosen) {
  console.log(`\n${suite}/${name}`);
  const url = new URL(`./${suite}/${name}.js`, import.meta.url).href;
  const result = { machine, versions, ...(await compare(url, { rounds, threads })) };
  save(suite, { [name]: result });
  console.log(formatResult(result));
}

function positive(option) {
  const value = Number(values[option]);
  if (!Number.isInteger(value) || value < 1) fail(`--${option} must be a whole number from 1`);
  return value;
}

function listing(questions) {
  return questions.map(({ suite, name }) => `  ${suite}/${name}`).join('\n');
}

function fail(message) {
  console.error(message);
  process.exit(2);
}
