/**
 * Asks the benchmark's questions and stores the answers.
 *
 *     node bench/run.js [selector] [--rounds 5] [--threads 2]
 *
 * The selector is the beginning of a question's name: task, task/main-blocked, ...
 */

import { existsSync, readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { compare } from './harness/compare.js';
import { install } from './harness/install.js';
import { describeMachine, describeVersions } from './harness/machine.js';
import { formatResult, save } from './harness/report.js';

const ROOMS = ['fs', 'heap', 'task'];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '5' }, threads: { type: 'string', default: '2' } },
});
const rounds = positive('rounds');
const threads = positive('threads');
const selector = positionals[0] ?? '';
const questions = ROOMS.flatMap((room) =>
  readdirSync(new URL(`./${room}/`, import.meta.url))
    .filter((file) => file.endsWith('.js'))
    .map((file) => ({ room, name: file.slice(0, -3) })),
);
const chosen = questions.filter(({ room, name }) => `${room}/${name}`.startsWith(selector));
if (chosen.length === 0) fail(`no question begins with '${selector}':\n${listing(questions)}`);
if (!existsSync(new URL('../dist/index.js', import.meta.url))) fail('Plait is not built: run make build first');

install();
const machine = describeMachine();
const versions = describeVersions();
for (const { room, name } of chosen) {
  console.log(`\n${room}/${name}`);
  const url = new URL(`./${room}/${name}.js`, import.meta.url).href;
  const result = { machine, versions, ...(await compare(url, { rounds, threads })) };
  save(room, { [name]: result });
  console.log(formatResult(result));
}

function positive(option) {
  const value = Number(values[option]);
  if (!Number.isInteger(value) || value < 1) fail(`--${option} must be a whole number from 1`);
  return value;
}

function listing(questions) {
  return questions.map(({ room, name }) => `  ${room}/${name}`).join('\n');
}

function fail(message) {
  console.error(message);
  process.exit(2);
}
