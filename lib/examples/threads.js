/**
 * Runs threads.c on several threads: node threads.js MODULE [THREADS]. Each thread has an instance of the same module
 * on the same memory, with a stack and a TLS block of its own.
 */

import { readFileSync } from 'node:fs';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const MAXIMUM_PAGES = 65536;
/** The main thread's index: behind those of the workers. */
const MAIN = 64;
const RESULTS = ['good', 'no memory', 'a block was damaged'];

function enter({ module, memory, index }) {
  const core = new WebAssembly.Instance(module, { env: { memory } }).exports;
  if (core.__tls_size.value > core.tls_room()) throw new Error('the thread-local variables need more room');
  core.__stack_pointer.value = core.stack_top(index);
  core.__wasm_init_tls(core.tls_block(index));
  return core;
}

function startThread(data) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: data });
    worker.on('message', resolve);
    worker.on('error', reject);
    worker.on('exit', () => reject(new Error('a thread ended without an answer')));
  });
}

function print(core, when) {
  console.log(`heap, ${when}: ${core.live_blocks()} live blocks, ${core.peak_kib()} KiB at peak`);
}

async function main(file, threads) {
  const module = new WebAssembly.Module(readFileSync(file));
  const memory = new WebAssembly.Memory({ initial: 64, maximum: MAXIMUM_PAGES, shared: true });
  const core = enter({ module, memory, index: MAIN });
  print(core, 'before');
  const run = Array.from({ length: threads }, (_, index) => startThread({ module, memory, index }));
  const results = await Promise.all(run);
  for (const result of results.filter((result) => result !== 0)) throw new Error(RESULTS[result]);
  print(core, `after ${threads} threads`);
  if (core.live_blocks() === 0) throw new Error('no live block: the program allocates from somewhere else');
  if (core.empty_table() !== 0) throw new Error('a block was damaged');
  print(core, 'after the last free');
  if (core.live_blocks() !== 0) throw new Error('blocks were lost');
  if (!core.is_whole()) throw new Error('the heap is not whole');
  console.log("every block was Plait's");
}

if (isMainThread) {
  await main(process.argv[2], Number(process.argv[3] ?? 4));
} else {
  parentPort.postMessage(enter(workerData).work(workerData.index));
}
