/**
 * A quick look at the allocators, while one of them is being changed: prints a table and stores nothing.
 *
 *     node bench/heap/quick [workload ...] [--threads 1,2,4] [--rounds 3] [--entrants plait,emmalloc] [--seed 1]
 *
 * Entrants are named as in the tables; --native and --all choose groups. A cell is best / median in nanoseconds for one
 * operation, and the largest peak in MiB. Plait's archive is made anew if the core changed.
 */

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { figures, median } from '../../harness/statistics.js';
import { ALL, NATIVE, WASM } from '../peers/index.js';
import { NAMES, prepareEntrants, threadsOf } from '../questions/workload.js';

const CHILD = fileURLToPath(new URL('../../harness/child.js', import.meta.url));
const QUESTION = new URL('./question.js', import.meta.url).href;

const execute = promisify(execFile);
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    threads: { type: 'string', default: '1,2,4' },
    rounds: { type: 'string', default: '3' },
    entrants: { type: 'string' },
    native: { type: 'boolean' },
    all: { type: 'boolean' },
    seed: { type: 'string', default: '1' },
  },
});

const workloads = positionals.length > 0 ? positionals : NAMES;
for (const name of workloads) if (!NAMES.includes(name)) fail(`no workload '${name}', there are: ${NAMES.join(' ')}`);
const counts = values.threads.split(',').map(Number);
const rounds = Number(values.rounds);
const { entrants } = prepareEntrants(chosenEntrants());
if (entrants.length === 0) fail('nothing to measure');

for (const name of workloads) {
  const mode = NAMES.indexOf(name);
  const threads = counts.filter(
    (count) => count > 0 && (threadsOf(mode).includes(count) || threadsOf(mode).includes(1)),
  );
  if (threads.length === 0) continue;
  const samples = entrants.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < entrants.length; i++) {
      const at = (i + round) % entrants.length;
      samples[at].push(await sample(entrants[at], { mode, threads, seed: Number(values.seed) }));
    }
  }
  print(name, threads, samples);
}

function chosenEntrants() {
  if (values.entrants === undefined) return values.all ? ALL : values.native ? NATIVE : WASM;
  return values.entrants.split(',').map((name) => {
    return (
      ALL.find((entrant) => entrant.name === name) ??
      fail(`no entrant '${name}': ${ALL.map((one) => one.name).join(', ')}`)
    );
  });
}

async function sample(entrant, context) {
  const { stdout } = await execute(process.execPath, [
    CHILD,
    QUESTION,
    JSON.stringify(entrant),
    JSON.stringify(context),
  ]);
  return JSON.parse(stdout.trimEnd().split('\n').at(-1));
}

function print(name, threads, samples) {
  const rows = threads.map((count) => [
    count === threads[0] ? name : '',
    String(count),
    ...samples.map((ofEntrant) => {
      const times = figures(ofEntrant.map((one) => one[`ns${count}`]));
      if (times.length === 0) return 'failed';
      const peak = Math.max(...figures(ofEntrant.map((one) => one[`peak${count}`])));
      return `${digits(Math.min(...times))} / ${digits(median(times))}  ${digits(peak)} M`;
    }),
  ]);
  if (name === workloads[0]) rows.unshift(['ns best / median, peak', '', ...entrants.map((entrant) => entrant.name)]);
  for (const [label, ...cells] of rows)
    console.log([label.padEnd(24), cells[0], ...cells.slice(1).map((cell) => cell.padStart(22))].join(' '));
}

function digits(value) {
  return value.toFixed(value < 100 ? 1 : 0);
}

function fail(message) {
  console.error(message);
  process.exit(2);
}
