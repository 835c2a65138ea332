/** docs/task.md: everything that was asked of the pools, but the files. */

import { openResults, rate, short, table, tenth, whole } from './results.js';

const PEERS = ['plait', 'bare', 'piscina', 'tinypool', 'workerpool', 'poolifier'];
const HEADINGS = ['', 'Plait', 'bare postMessage', 'piscina', 'tinypool', 'workerpool', 'poolifier'];
/** The three ways to have many tasks done; others have one. */
const WAYS = ['plait', 'plait map', 'plait runMany'];

export const page = 'docs/task.md';

export function parts() {
  const { of } = openResults('task');
  const all = (question, key, text) => of(question, key, PEERS).map(text);
  const [, ...otherRates] = all('no-op-throughput', 'rate', rate);
  const last = all('round-trip-latency', 'p99', whole);
  const after = all('exit-in-task', 'after', tenth);
  const latest = all('exit-in-task', 'latest', tenth);
  const rows = [
    [
      'no-op tasks a second: `run`; `map`; `runMany`',
      of('no-op-throughput', 'rate', WAYS).map(rate).join('; '),
      ...otherRates,
    ],
    [
      'one no-op after the other, p50 / p99, µs',
      ...all('round-trip-latency', 'p50', short).map((p50, i) => `${p50} / ${last[i]}`),
    ],
    ['64 tasks of 5 ms done when main unblocks after 200 ms', ...all('main-blocked', 'sleep', whole)],
    [
      'of 9 tasks that call `process.exit()`, rejected; after ms (the latest)',
      ...all('exit-in-task', 'rejected', whole).map((n, i) => (n === '0' ? n : `${n}; ${after[i]} (${latest[i]})`)),
    ],
    ['object of 2 KB there and back, µs', ...all('round-trip-values', 'record', whole)],
    ['1 MiB of bytes there and back, copied, µs', ...all('round-trip-values', 'bytes', whole)],
    ['import of the library, ms', ...all('start-up', 'load', whole)],
    ['from a new pool to its first result, ms', ...all('start-up', 'first', whole)],
    ['both, ms', ...all('start-up', 'both', whole)],
    ['memory of an idle worker, MiB', ...all('idle-memory', 'worker', tenth)],
  ];
  return { figures: table(HEADINGS, rows) };
}
