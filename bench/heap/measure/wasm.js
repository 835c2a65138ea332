/**
 * Measures one run of the workload in Wasm: a memory of its own, and as many workers as it has threads.
 *
 * The memory begins with just what the program has at its start. What it has more in the end than the same program
 * without an allocator would need is the allocator's, tables of its own included.
 */

import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { enter } from './thread.js';

const PAGE = 65536;
const MAXIMUM_PAGES = 65536;
/** The main thread's index: behind those of the workers. */
const MAIN = 8;
const THREAD = new URL('./thread.js', import.meta.url);

/** @returns { ns, gained, size }: wall time per operation; bytes over the start, and all bytes of the memory */
export async function measureWasm(entrant, { mode, threads, seed }) {
  const { module, memory, core, empty } = open(entrant);
  if (!core.setup(mode, threads, seed)) throw new Error(`no mode ${mode} with ${threads} threads`);
  const times = await Promise.all(Array.from({ length: threads }, (_, index) => runThread({ module, memory, index })));
  const wall = Math.max(...times.map(({ end }) => end)) - Math.min(...times.map(({ start }) => start));
  const size = Math.max(...times.map(({ pages }) => pages)) * PAGE;
  return { ns: wall / core.operations(), gained: size - empty, size };
}

/** @returns the bytes that the memory gains until the program has its first 64 bytes */
export function measureFirstMalloc(entrant) {
  const { core, empty } = open(entrant);
  if (core.first_malloc() === 0) throw new Error('no memory for the first 64 bytes');
  return core.pages() * PAGE - empty;
}

function open({ file, empty }) {
  const module = compile(file);
  const memory = new WebAssembly.Memory({ initial: pagesAtStart(module), maximum: MAXIMUM_PAGES, shared: true });
  const core = enter(module, memory, MAIN);
  core.start();
  return { module, memory, core, empty: pagesAtStart(compile(empty)) * PAGE };
}

function compile(file) {
  return new WebAssembly.Module(readFileSync(file));
}

/** Where the program's statics end is a constant in the module: any memory that is large enough tells. */
function pagesAtStart(module) {
  const memory = new WebAssembly.Memory({ initial: 256, maximum: MAXIMUM_PAGES, shared: true });
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  return Math.ceil(exports.__heap_base.value / PAGE);
}

function runThread(workerData) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(THREAD, { workerData });
    worker.on('message', resolve);
    worker.on('error', reject);
    worker.on('exit', () => reject(new Error('a thread ended without an answer')));
  });
}
