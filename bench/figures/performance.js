/** docs/explanation/performance.md: pools, files and the heap beside their peers. */

import { openResults, rate, short, table, tenth, times, whole } from './results.js';

const POOLS = ['plait', 'bare', 'piscina', 'tinypool', 'workerpool', 'poolifier'];
const POOL_HEADINGS = ['', 'Plait', 'bare postMessage', 'piscina', 'tinypool', 'workerpool', 'poolifier'];
/** The three ways to have many tasks done; others have one. */
const WAYS = ['plait', 'plait map', 'plait runMany'];

const FILES = ['plait', 'plait, from a worker', 'node:fs on tmpfs, main', 'memfs, main', 'ZenFS, main'];
const FILE_HEADINGS = [
  'operations per second',
  'plait/fs, main',
  'plait/fs, worker',
  'node:fs on tmpfs',
  'memfs',
  'ZenFS',
];

const ALLOCATORS = ['plait', 'dlmalloc', 'emmalloc', 'mimalloc'];
const WORKLOADS = [
  ['small', '16–128 B, random replacement among 4096'],
  ['article', '1–2 KB, ring of 1024'],
  ['mixed', '8 B–32 KB, log-distributed among 2048'],
  ['large', '64 KB–1 MB among 16'],
  ['realloc', 'growing realloc, 32 B–64 KB'],
  ['prodcons', 'allocated on one thread, freed on another'],
  ['larson', 'shared array, most frees remote'],
];

export const page = 'docs/explanation/performance.md';

export const parts = () => ({ pools: pools(), files: files(), workers: workers(), heap: heap() });

function pools() {
  const { of } = openResults('task');
  const all = (question, key, text) => of(question, key, POOLS).map(text);
  const [, ...otherRates] = all('no-op-throughput', 'rate', rate);
  const last = all('round-trip-latency', 'p99', whole);
  const after = all('exit-in-task', 'after', tenth);
  return table(POOL_HEADINGS, [
    ['of 64 tasks of 5 ms, done after main was blocked for 200 ms', ...all('main-blocked', 'sleep', whole)],
    [
      'no-op tasks per second: `run`; `map`; `runMany`',
      of('no-op-throughput', 'rate', WAYS).map(rate).join('; '),
      ...otherRates,
    ],
    [
      'one no-op at a time, p50 / p99, µs',
      ...all('round-trip-latency', 'p50', short).map((p50, i) => `${p50} / ${last[i]}`),
    ],
    ['object of 2 KB, there and back, µs', ...all('round-trip-values', 'record', whole)],
    ['1 MiB of bytes, there and back, copied, µs', ...all('round-trip-values', 'bytes', whole)],
    ['4096 files hashed: time against the reference', ...all('files-and-hashes', 'overLimit', times)],
    ['the same without SHA instructions', ...all('files-and-software-hashes', 'overLimit', times)],
    [
      'of 9 tasks that call `process.exit()`, rejected; after ms',
      ...all('exit-in-task', 'rejected', whole).map((n, i) => (n === '0' ? n : `${n}; ${after[i]}`)),
    ],
    ['import of the library, ms', ...all('start-up', 'load', whole)],
    ['new pool to first result, ms', ...all('start-up', 'first', whole)],
    ['memory of an idle worker, MiB', ...all('idle-memory', 'worker', tenth)],
    ['memory of a process with 8 idle workers, MiB', ...all('idle-memory', 'all', whole)],
  ]);
}

function files() {
  const { about, of } = openResults('fs');
  const rows = about('operations').columns.map(({ key, label }) => [
    label,
    ...of('operations', key, FILES).map((thousands) =>
      thousands < 10 ? `${tenth(thousands)} k` : rate(thousands * 1000),
    ),
  ]);
  return table(FILE_HEADINGS, rows);
}

function workers() {
  const { about, of } = openResults('fs');
  const names = ['plait', 'node:fs on tmpfs'];
  const rows = about('several-workers')
    .columns.filter(({ key }) => key.endsWith('1'))
    .map(({ key, label }) => [
      label.replace('1: ', ''),
      ...of('several-workers', key.replace('1', 'Times'), names).map(times),
    ]);
  return table(['two workers against one', 'plait/fs', 'node:fs on tmpfs'], rows);
}

function heap() {
  const { about, of } = openResults('heap');
  const { versions } = about('small');
  const rows = WORKLOADS.map(([question, label]) => {
    const keys = about(question).columns.map(({ key }) => key);
    const columns = keys.filter((key) => key.startsWith('ns')).map((key) => of(question, key, ALLOCATORS).map(short));
    const peaks = of(question, 'peak4', ALLOCATORS).map(short);
    return [label, ...peaks.map((peak, i) => `${columns.map((column) => column[i]).join(' / ')}; ${peak}`)];
  });
  const size = of('footprint', 'code', ALLOCATORS);
  return table(
    [
      'ns per operation with 1 / 2 / 4 threads; peak MiB with 4',
      'Plait',
      'dlmalloc',
      'emmalloc',
      `mimalloc ${versions.mimalloc}`,
    ],
    [...rows, ['code after `wasm-opt -O2`, bytes', ...size.map(whole)]],
  );
}
