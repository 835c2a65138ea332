/**
 * Draws bench/results/graphs.json as SVG: `node bench/charts.js`, after `node bench/run.js graphs`. Each chart is there
 * twice, as NAME-light.svg and NAME-dark.svg, in bench/results/graphs.
 *
 * Invariant: every point is the median that the benchmark stored.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { bars, lines } from './charts/svg.js';
import { openResults } from './figures/results.js';

const FOLDER = new URL('./results/graphs/', import.meta.url);
const NS_PER_US = 1000;

const { about, of } = openResults('graphs');

const PLAIT = 'plait';

/** The rows of a question: their names, there and in the chart, and their colors. The first color is always Plait's. */
function entrantsOf(question) {
  const peers = about(question).rows.filter(({ name }) => name !== PLAIT);
  return about(question).rows.map(({ name: key }) => ({
    key,
    name: key === PLAIT ? 'Plait' : key,
    color: peers.findIndex(({ name }) => name === key) + 1,
  }));
}

/** Operations per microsecond of all threads, by their number. */
function perThreads(question, title) {
  const counts = about(question).columns.map(({ key }) => Number(key.slice('ns'.length)));
  const series = entrantsOf(question).map((entrant) => ({
    ...entrant,
    points: counts.map((count) => ({ x: count, y: NS_PER_US / of(question, `ns${count}`, [entrant.key])[0] })),
  }));
  return lines({ title, x: 'threads', y: 'operations per µs', series, note: noteOf(question) });
}

/** Nanoseconds of an operation; shorter is better. */
function perSystem(question, key, title) {
  const rows = entrantsOf(question).map((entrant) => ({ ...entrant, value: of(question, key, [entrant.key])[0] }));
  return bars({ title, x: 'ns per operation, shorter is better', rows, note: noteOf(question) });
}

function noteOf(question) {
  const { machine, versions, rounds } = about(question);
  const node = machine.node.replace(/^v(\d+).*/, 'Node $1');
  return `Emscripten ${versions.Emscripten}, ${node}, ${machine.processor}, ${machine.cores} cores; median of ${rounds}`;
}

const charts = {
  math: perThreads('math', 'Arithmetic alone'),
  malloc: perThreads('malloc', 'malloc and free of 1 to 2 KB'),
  'malloc-small': perThreads('malloc-small', 'malloc and free of 16 to 128 bytes'),
  'files-main': perSystem('files', 'main', 'File work on the main thread'),
  'files-worker': perSystem('files', 'worker', 'File work on a worker thread'),
};

mkdirSync(FOLDER, { recursive: true });
for (const [name, draw] of Object.entries(charts)) {
  for (const theme of ['light', 'dark']) writeFileSync(new URL(`${name}-${theme}.svg`, FOLDER), draw(theme));
}
