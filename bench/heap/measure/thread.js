/**
 * A thread of the workload: enter() gives the calling thread an instance of the module on the shared memory, with the
 * stack and the TLS block of its index. As a worker it runs its share of the work, and tells when that began and ended.
 */

import { parentPort, workerData } from 'node:worker_threads';

const REASONS = ['trapped', 'no memory', 'a block was damaged: it overlaps another one, or was handed out twice'];

export function enter(module, memory, index) {
  const core = new WebAssembly.Instance(module, { env: { memory } }).exports;
  if (core.__tls_size.value > core.tls_room()) throw new Error('the thread-local variables need more room: see wasm.c');
  core.__stack_pointer.value = core.stack_top(index);
  core.__wasm_init_tls(core.tls_block(index));
  return core;
}

function run(core, index) {
  core.warm(index);
  const start = process.hrtime.bigint();
  core.work(index);
  const end = process.hrtime.bigint();
  core.finish(index);
  return { start: Number(start), end: Number(end), pages: core.pages() };
}

if (parentPort !== null) {
  const { module, memory, index } = workerData;
  const core = enter(module, memory, index);
  try {
    parentPort.postMessage(run(core, index));
  } catch (error) {
    throw new Error(REASONS[core.why()], { cause: error });
  }
}
