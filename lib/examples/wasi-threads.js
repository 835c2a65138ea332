/**
 * Runs a program for WASI that starts threads: node --no-warnings wasi-threads.js MODULE [ARGUMENTS].
 *
 * Each thread of the program is a worker. The program's main thread is one, too: this thread starts the others, and may
 * not block. The memory has the limits that the program was linked with: --initial-memory and --max-memory.
 */

import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

const INITIAL_PAGES = 256;
const MAXIMUM_PAGES = 32768;
/** Thrown by a thread that ends before its function returns. */
const ENDED = Symbol('the thread has ended');

function runProgram() {
  const args = process.argv.slice(2);
  const module = new WebAssembly.Module(readFileSync(args[0]));
  const memory = new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum: MAXIMUM_PAGES, shared: true });
  const ids = new Int32Array(new SharedArrayBuffer(4)).fill(1);
  const startThread = (thread) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: { args, module, memory, ids, ...thread } });
    worker.on('message', ({ exit, thread }) => (thread ? startThread(thread) : process.exit(exit)));
    worker.on('error', (error) => {
      console.error(error);
      process.exit(1);
    });
  };
  startThread({ id: 0 });
}

function runThread({ args, module, memory, ids, id, argument }) {
  const wasi = new WASI({ version: 'preview1', args, returnOnExit: true });
  const exit = (code) => {
    parentPort.postMessage({ exit: code });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); // the process ends
  };
  const spawn = (argument) => {
    const id = Atomics.add(ids, 0, 1);
    parentPort.postMessage({ thread: { id, argument } });
    return id;
  };
  const end = () => {
    throw ENDED;
  };
  const { wasi_snapshot_preview1 } = wasi.getImportObject();
  const { exports } = new WebAssembly.Instance(module, {
    env: { memory },
    wasi: { 'thread-spawn': spawn },
    wasi_snapshot_preview1: { ...wasi_snapshot_preview1, proc_exit: exit },
    wasix_32v1: { thread_exit: end }, // only WASIX's C library imports it
  });
  if (id === 0) exit(wasi.start({ exports: { ...exports, memory } }));
  wasi.initialize({ exports: { memory } });
  try {
    exports.wasi_thread_start(id, argument);
  } catch (error) {
    if (error !== ENDED) throw error;
  }
}

if (isMainThread) runProgram();
else runThread(workerData);
