/** Runs reach.c: node reach.js MODULE. */

import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/** Long enough that the thread sleeps inside the function. */
const LATER = 50;

function enter({ module, memory }, thread) {
  const core = new WebAssembly.Instance(module, { env: { memory } }).exports;
  core.__stack_pointer.value = core.stack_top(thread);
  core.__wasm_init_tls(core.tls_block(thread));
  return core;
}

async function main(file) {
  const module = new WebAssembly.Module(readFileSync(file));
  const memory = new WebAssembly.Memory({ initial: 32, maximum: 65536, shared: true });
  const core = enter({ module, memory }, 0);
  const worker = new Worker(new URL(import.meta.url), { workerData: { module, memory } });
  const answer = new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  while (core.is_asleep() === 0) await setTimeout(LATER);
  await setTimeout(LATER);
  core.grower();
  if ((await answer) !== 1) throw new Error('a block was damaged, or there was none');
  console.log('a thread reaches memory that another has grown while it slept');
}

if (isMainThread) await main(process.argv[2]);
else parentPort.postMessage(enter(workerData, 1).sleeper());
