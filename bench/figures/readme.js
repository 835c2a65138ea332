/** The README's first screen: the pool beside the ones that people use. */

import { openResults, rate, short, table, whole } from './results.js';

const PEERS = ['plait', 'piscina', 'tinypool', 'workerpool', 'poolifier'];
const HEADINGS = ['Plait', 'piscina', 'tinypool', 'workerpool', 'poolifier'];

export const page = 'README.md';

export function parts() {
  const { about, of } = openResults('task');
  const { machine, threads } = about('main-blocked');
  const row = (label, question, key, text) => [label, ...of(question, key, PEERS).map(text)];
  const rows = [
    row('of 64 tasks of 5 ms, done after main was blocked for 200 ms', 'main-blocked', 'sleep', whole),
    row('no-op tasks per second (`run`)', 'no-op-throughput', 'rate', rate),
    row('one no-op at a time, µs', 'round-trip-latency', 'p50', short),
    row('object of 2 KB, there and back, µs', 'round-trip-values', 'record', whole),
    row('import, new pool, first result, ms', 'start-up', 'both', whole),
  ];
  const node = machine.node?.replace(/^v?(\d+).*/, 'Node $1') ?? '';
  const headings = [[`${threads} workers, ${machine.cores} cores`, node].filter(Boolean).join(', '), ...HEADINGS];
  return { figures: table(headings, rows) };
}
