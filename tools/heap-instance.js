/**
 * Checks that an instance of a module is a thread to libplait_heap.a: a host that runs one thread after another in the
 * same instance, each with a thread-local block of its own, as pools of workers do, has one place in the heap for all
 * of them, though none says that it ends; and that one which does say so gives the place to whoever comes next.
 */

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const build = (name) => fileURLToPath(new URL(`../build/${name}`, import.meta.url));
const WASM_LD = (process.env.WASM_LD ?? '.venv/bin/python -m ziglang wasm-ld').split(' ');
const NAMES = 'malloc free plait_heap_usage plait_heap_is_whole plait_heap_thread_done'.split(' ');
const THREAD = ['__stack_pointer', '__wasm_init_tls', '__tls_size', '__heap_base'];
const PAGE = 65536;

mkdirSync(build('examples'), { recursive: true });
const file = build('examples/instance.wasm');
execFileSync(WASM_LD[0], [
  ...WASM_LD.slice(1),
  ...'--no-entry --import-memory --shared-memory --max-memory=4294967296 -z stack-size=16384'.split(' '),
  ...[...NAMES, ...THREAD].map((name) => `--export=${name}`),
  ...['--whole-archive', build('libplait_heap.a'), '-o', file],
]);

const memory = new WebAssembly.Memory({ initial: 64, maximum: PAGE, shared: true });
const module = new WebAssembly.Module(readFileSync(file));

/**
 * An instance, and a function that runs another thread in it. Both have the page `at` for stack and thread-local
 * blocks.
 */
function instance(at) {
  const core = new WebAssembly.Instance(module, { env: { memory } }).exports;
  let block = at * PAGE;
  core.__stack_pointer.value = (at + 1) * PAGE;
  const thread = () => {
    core.__wasm_init_tls(block);
    block += (core.__tls_size.value + 63) & ~63;
  };
  thread();
  return { core, thread };
}

/** Bytes in use, as plait_heap.h lays them out. */
function usage(core, at) {
  core.plait_heap_usage(at);
  const [, used] = new BigUint64Array(memory.buffer, at, 2);
  return Number(used);
}

function expect(good, message) {
  if (good) return;
  console.error(message);
  process.exit(1);
}

const first = memory.grow(3);
const { core, thread } = instance(first);
/** Fifty blocks at least, for the first few say nothing of what a thread takes. */
const blocks = Array.from({ length: 50 }, () => core.malloc(24));
const before = usage(core, (first + 2) * PAGE);
for (let turn = 0; turn < 300; turn++) {
  thread();
  blocks.push(core.malloc(24));
  core.free(blocks.shift());
}
const after = usage(core, (first + 2) * PAGE);
expect(after === before, `300 threads of one instance have taken ${after - before} bytes: each has a place of its own`);
core.plait_heap_thread_done();
const other = instance(first + 1);
for (const block of blocks) other.core.free(block);
expect(other.core.malloc(24) !== 0 && other.core.plait_heap_is_whole() === 1, 'the heap is not whole');
const taken = usage(core, (first + 2) * PAGE);
expect(taken === before, `the next instance has taken ${taken - before} bytes: not the place of the one that has left`);
console.log('an instance has one place, whoever runs in it');
