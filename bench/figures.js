/**
 * Makes the README's figures from bench/results/task.json, between its marks. `--check` fails if they are not those.
 *
 * Invariant: every number in the table is a median that the benchmark stored; none is typed in.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { median } from './harness/statistics.js';

const BEGIN = '<!-- figures: made by bench/figures.js -->';
const END = '<!-- figures: end -->';
const PEERS = ['plait', 'bare', 'piscina', 'tinypool', 'workerpool'];
const HEADINGS = ['Plait', 'bare postMessage', 'piscina', 'tinypool', 'workerpool'];

const readme = new URL('../README.md', import.meta.url);
const results = JSON.parse(readFileSync(new URL('./results/task.json', import.meta.url), 'utf8'));

function values(question, key, peers = PEERS) {
  const { rows } = results[question];
  return peers.map((peer) => median(rows.find(({ name }) => name === peer).samples.map((sample) => sample[key])));
}

const rate = (value) => `${Math.round(value / 1000)} k`;
const times = (value) => `${value.toFixed(2)} ×`;
const rows = [
  ['tasks of 5 ms done, of 64, when main unblocks after 200 ms', values('main-blocked', 'sleep').map(String)],
  ['no-op tasks a second', values('no-op-throughput', 'rate').map(rate)],
  [
    '4096 files, read by a main thread without a pause and hashed by workers: time against the limit¹',
    values('files-and-software-hashes', 'overLimit').map(times),
  ],
];
const [direct] = values('files-and-software-hashes', 'overLimit', ['plait, no copy']);
const { machine, threads } = results['main-blocked'];

const table = [
  `| medians, ${threads} workers, ${machine.cores} cores | ${HEADINGS.join(' | ')} |`,
  `|---|${'---|'.repeat(HEADINGS.length)}`,
  ...rows.map(([label, [ours, ...others]]) => `| ${label} | **${ours}** | ${others.join(' | ')} |`),
];
const note =
  '¹ What reading and hashing take alone, on all cores; SHA-256 without the processor’s own instructions, which ' +
  `[make copying matter more](bench/results/task.md). ${times(direct)} if main reads straight into shared memory.`;
const text = `${BEGIN}\n\n${table.join('\n')}\n\n${note}\n\n${END}`;

const before = readFileSync(readme, 'utf8');
const after = before.replace(new RegExp(`${BEGIN}[\\s\\S]*?${END}`), () => text);
if (!process.argv.includes('--check')) writeFileSync(readme, after);
else if (after !== before || !before.includes(text)) {
  console.error('the README does not show the figures of bench/results: run `node bench/figures.js`');
  process.exit(1);
}
