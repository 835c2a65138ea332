/** docs/heap.md: the workloads in Wasm and natively, and what memory they take. */

import { openResults, short, table, tenth } from './results.js';

const WORKLOADS = [
  ['small', '16–128 B, random replacement among 4096'],
  ['article', '1–2 KB, ring of 1024'],
  ['mixed', '8 B–32 KB, log-distributed among 2048'],
  ['large', '64 KB–1 MB among 16'],
  ['realloc', 'growing realloc, 32 B–64 KB'],
  ['prodcons', 'allocated on one thread, freed on another'],
  ['larson', 'shared array, most frees remote'],
];
const PEERS = ['plait', 'dlmalloc', 'emmalloc', 'mimalloc'];
const NATIVE = ['plait', 'glibc', 'mimalloc', 'jemalloc', 'tcmalloc'].map((name) => `native ${name}`);

export const page = 'docs/heap.md';

export function parts() {
  const { about, of } = openResults('heap');
  const { versions } = about('small');
  const threads = (question) =>
    about(question)
      .columns.map(({ key }) => key)
      .filter((key) => key.startsWith('ns'));
  const speeds = (names) =>
    WORKLOADS.map(([question, label]) => {
      const columns = threads(question).map((key) => of(question, key, names).map(short));
      return [label, ...names.map((_, i) => columns.map((column) => column[i]).join(' / '))];
    });
  const speed = 'median ns per operation, 1 / 2 / 4 threads';
  const release = (name) => `${name} ${versions[name].replace(/-\d+$/, '')}`;
  return {
    wasm: table([speed, 'Plait', 'dlmalloc', 'emmalloc', release('mimalloc')], speeds(PEERS)),
    native: table(
      [speed, 'Plait', release('glibc'), 'mimalloc', release('jemalloc'), release('tcmalloc')],
      speeds(NATIVE),
    ),
    peaks: table(
      ['', 'Plait', 'dlmalloc', 'emmalloc', 'mimalloc'],
      WORKLOADS.map(([question, label]) => [label, ...of(question, 'peak4', PEERS).map(tenth)]),
    ),
  };
}
