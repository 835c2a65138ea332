/**
 * The demo in the terminal: the cost of a blocked main thread, for a pool that hands out its work, and for a pool whose
 * workers take it from a queue.
 *
 * Every figure, and the conclusion, is measured in this run; every digest is compared with a sequential run.
 *
 *     node demo/terminal/demo.js [--files 4096] [--size 65536] [--threads N]
 */

import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { Pool } from 'plait';
import { measureCommandLine, shownCommand } from './command-line.js';
import { HandOutPool } from './hand-out-pool.js';
import { makeFiles, measureAlone, reference } from './job.js';
import { measure, readFiles, readIntoHeap } from './measure.js';
import { formatTable, ms, percent } from './table.js';

/** The reference and the pools are the best of this many runs, so that variations of the machine matter less. */
const RUNS = 6;

const cores = availableParallelism();
const options = readOptions();
const sizeText = options.size % 1024 === 0 ? `${options.size / 1024} KiB` : `${options.size} bytes`;
let wrong = 0;

console.log(`One job: the main thread reads ${options.files} files of ${sizeText} without a pause,
worker threads compute the SHA-256 of each.

Node.js ${process.version}, ${cores} cores, ${cpus()[0]?.model.trim() ?? 'unknown processor'}.
Each figure is the best of ${RUNS} runs.
`);

const { paths } = makeFiles(options);
const alone = measureAlone(paths, RUNS);
console.log(`Reference: one thread, no pool
${formatTable(
  ['work', 'time'],
  [
    ['read', ms(alone.read)],
    ['hash', ms(alone.hash)],
  ],
)}
`);

const handedOut = await measureCounts(HandOutPool, readFiles);
printPool('Handed out by main: a free worker gets one task when main turns its event loop', handedOut);
const pulled = await measureCounts(Pool, readFiles);
printPool('Pulled by the workers: Plait', pulled);
const direct = await measureCounts(Pool, readIntoHeap);
printPool('Pulled by the workers, read straight into shared memory: Plait without a copy', direct);

console.log(`The same files by command line, read by the workers
  ${shownCommand(options.threads)}`);
const commandLine = await measureCommandLine(paths, options.threads);
check(commandLine.digests);
const perSecond = options.files / (commandLine.total / 1000);
const mebibytes = (perSecond * options.size) / 2 ** 20;
console.log(`  ${ms(commandLine.total)} with its start: ${perSecond.toFixed(0)} files/s, ${mebibytes.toFixed(0)} MiB/s
`);

console.log(wrong === 0 ? `${options.files} digests, all right` : `${wrong} digests are WRONG`);
console.log(conclusion(handedOut.at(-1), pulled.at(-1), direct.at(-1)));
process.exitCode = wrong === 0 ? 0 : 1;

function readOptions() {
  const { values } = parseArgs({
    options: { files: { type: 'string' }, size: { type: 'string' }, threads: { type: 'string' } },
  });
  const number = (name, fallback, step) => {
    const value = Number(values[name] ?? fallback);
    if (Number.isInteger(value) && value >= step && value % step === 0) return value;
    console.error(`--${name} must be a positive multiple of ${step}`);
    return process.exit(2);
  };
  return {
    files: number('files', 4096, 1),
    size: number('size', 65536, 4),
    threads: number('threads', Math.max(2, cores), 1),
  };
}

/** 1, 2, 3, 4, then in steps that double, and the most of all: a large machine need not try each count. */
function threadCounts(most) {
  const counts = [];
  for (let n = 1; n < most; n = n < 4 ? n + 1 : n * 2) counts.push(n);
  return [...counts, most];
}

async function measureCounts(PoolClass, way) {
  const rows = [];
  for (const workers of threadCounts(options.threads)) {
    const best = await measure(PoolClass, way, paths, { threads: workers, runs: RUNS, check });
    rows.push({ ...best, workers, reference: reference({ ...alone, workers, cores }) });
  }
  return rows;
}

function check(digests) {
  for (const [i, expected] of alone.digests.entries()) if (digests[i] !== expected) wrong++;
}

function printPool(title, rows) {
  const cells = rows.map((row) => [
    String(row.workers),
    ms(row.read),
    ms(row.total),
    ms(row.total - row.read),
    busyText(row.busy),
    ms(row.reference),
    (row.total / row.reference).toFixed(2),
  ]);
  console.log(title);
  console.log(
    formatTable(['workers', 'read', 'total', 'total - read', 'workers busy', 'reference', 'total / reference'], cells),
  );
  console.log();
}

/** Each worker's share; of many workers the least and the most. */
function busyText(busy) {
  if (busy.length <= 4) return busy.map(percent).join(' ');
  return `${percent(Math.min(...busy))} to ${percent(Math.max(...busy))}`;
}

function conclusion(main, plait, direct) {
  const times = main.total / plait.total;
  const comparison =
    times >= 1 ? `is ${times.toFixed(2)} times as fast as` : `takes ${(1 / times).toFixed(2)} times as long as`;
  const ratio = (row) => (row.total / row.reference).toFixed(2);
  const workers = plait.workers === 1 ? 'one worker' : `${plait.workers} workers`;
  return `With ${workers}, pulling ${comparison} handing out: ${ratio(plait)} times the reference against ${ratio(main)}, and ${ratio(direct)} without a copy.`;
}
