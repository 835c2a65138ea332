/** The README's first screen: the pool beside the ones that people use. */

import { openResults, rate, table, times } from './results.js';

const PEERS = ['plait', 'bare', 'piscina', 'tinypool', 'workerpool'];
const HEADINGS = ['Plait', 'bare postMessage', 'piscina', 'tinypool', 'workerpool'];

export const page = 'README.md';

export function parts() {
  const { about, of } = openResults('task');
  const { machine, threads } = about('main-blocked');
  const rows = [
    ['tasks of 5 ms done, of 64, when main unblocks after 200 ms', of('main-blocked', 'sleep', PEERS).map(String)],
    ['no-op tasks a second', of('no-op-throughput', 'rate', PEERS).map(rate)],
    [
      '4096 files, read by a main thread without a pause and hashed by workers: time against the limit¹',
      of('files-and-software-hashes', 'overLimit', PEERS).map(times),
    ],
  ];
  const [direct] = of('files-and-software-hashes', 'overLimit', ['plait, no copy']);
  const note =
    '¹ What reading and hashing take alone, on all cores; SHA-256 without the processor’s own instructions, which ' +
    `[make copying matter more](bench/results/task.md). ${times(direct)} if main reads straight into shared memory.`;
  const cells = rows.map(([label, [ours, ...others]]) => [label, `**${ours}**`, ...others]);
  const headings = [`medians, ${threads} workers, ${machine.cores} cores`, ...HEADINGS];
  return { figures: `${table(headings, cells)}\n\n${note}` };
}
