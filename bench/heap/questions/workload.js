/**
 * The question of each workload: how long does an operation take, with 1, 2 and 4 threads, and how much memory do they
 * need? The total of the work is fixed and divided by the threads: on two cores, two threads should take half as long.
 *
 * Every block is checked before it is freed (workload.c); a wrong one ends the measurement.
 */

import { readFileSync } from 'node:fs';
import { mayFail, reasonOf } from '../../harness/failure.js';
import { measureNative } from '../measure/native.js';
import { measureWasm } from '../measure/wasm.js';
import { build } from '../peers/build.js';
import { ALL } from '../peers/index.js';

const MIB = 2 ** 20;
const THREADS = [1, 2, 4];

/** As the modes of workload.c are numbered. */
export const WORKLOADS = [
  ['small', '16\u2013128 B, random replacement among 4096 blocks a thread'],
  ['article', '1000\u20132023 B, a ring of 1024 blocks a thread'],
  ['mixed', '8 B\u201332 KiB, log-distributed, random replacement among 2048 blocks a thread'],
  ['large', '64 KiB\u20131 MiB, random replacement among 16 blocks a thread'],
  ['realloc', 'One block grows by half and half again with realloc, from 32 B to 64 KiB'],
  ['prodcons', '16\u2013271 B, one thread allocates, another one frees', [2, 4]],
  ['larson', '16\u2013512 B, all threads replace blocks of one array of 16384'],
];
export const NAMES = WORKLOADS.map(([name]) => name);

/** Measures an entrant with each number of threads. @returns { ns1, peak1, size1, ns2, ... }; memory in MiB */
export async function measure(entrant, { mode, threads, seed }) {
  const sample = {};
  for (const count of threads) {
    const run = entrant.host === 'wasm' ? measureWasm : measureNative;
    try {
      const { ns, gained, size } = await run(entrant, { mode, threads: count, seed });
      sample[`ns${count}`] = ns;
      sample[`peak${count}`] = (gained ?? size) / MIB;
      sample[`size${count}`] = size / MIB;
    } catch (error) {
      if (!mayFail(entrant)) throw error;
      for (const part of ['ns', 'peak', 'size']) sample[`${part}${count}`] = reasonOf(error);
    }
  }
  return sample;
}

/** Builds entrants. @returns those that can be had, and what their versions are; says which cannot */
export function prepareEntrants(wanted) {
  const built = wanted.map(build);
  for (const { entrant, missing } of built) if (missing) console.error(`without ${entrant.name}: ${missing}`);
  const there = built.filter(({ missing }) => !missing);
  const versions = there.filter(({ version }) => version).map(({ version }) => version.split(' '));
  if (there.some(({ entrant }) => entrant.allocator === 'glibc')) versions.push(['glibc', glibcVersion()]);
  if (there.some(({ entrant }) => entrant.allocator === 'plait')) versions.unshift(['plait', plaitVersion()]);
  return { entrants: there.map(({ entrant }) => entrant), versions: Object.fromEntries(versions) };
}

function glibcVersion() {
  return process.report.getReport().header.glibcVersionRuntime;
}

function plaitVersion() {
  return JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')).version;
}

/** How many threads a workload can have. */
export const threadsOf = (mode) => WORKLOADS[mode][2] ?? THREADS;

/** The question about one workload, by its name. */
export function workload(name) {
  const mode = NAMES.indexOf(name);
  const threads = threadsOf(mode);
  const most = threads.at(-1);
  return {
    title: WORKLOADS[mode][1],
    entrants: [],
    columns: [
      ...threads.map((count) => ({
        key: `ns${count}`,
        label: `${count} ${count === 1 ? 'thread' : 'threads'}, ns`,
        digits: 1,
        ratio: true,
      })),
      { key: `peak${most}`, label: `peak with ${most}, MiB`, digits: 1 },
    ],

    prepare() {
      const { entrants, versions } = prepareEntrants(ALL);
      this.entrants.push(...entrants);
      return { mode, threads, versions, seed: 1 };
    },

    measure,

    conclude: (rows, { versions }) => ({ rows, notes: [], versions, threads: `${threads.join(', ')} threads` }),
  };
}
