/**
 * Builds what is measured, in build/bench-heap: for each allocator a Wasm module with the workload in it (`empty` is
 * the same without one), or a native library to run the workload with. What is newer than all it is made of stays.
 *
 * All Wasm is made with the flags of the top Makefile.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fetchSource, SOURCES, WORKSHOP } from './fetch.js';

const SELF = fileURLToPath(import.meta.url);
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const HEAP = join(ROOT, 'bench/heap');
const PEERS = join(HEAP, 'peers');
const WORKLOAD_HEADERS = ['workload.h', 'block.h'].map((name) => join(HEAP, name));
const INCLUDE = join(WORKSHOP, 'include');
const ARCHIVE = 'build/libplait_heap.a';
const LIBRARY = 'build/libplait_heap.so';

const ZIG = `${join(ROOT, '.venv/bin/python')} -m ziglang`;
const FEATURES = 'generic+atomics+bulk_memory+mutable_globals+sign_ext+nontrapping_fptoint';
const WASM_CC = words(process.env.WASM_CC ?? `${ZIG} cc --target=wasm32-freestanding -mcpu=${FEATURES}`);
const WASM_LD = words(process.env.WASM_LD ?? `${ZIG} wasm-ld`);
const CC = words(process.env.CC ?? 'gcc');
const COMMON = words('-std=c17 -O2 -ffreestanding -fvisibility=hidden -nostdlib');
const LINK = words(
  '--no-entry --import-memory --shared-memory --max-memory=4294967296 -z stack-size=16384 --strip-all',
);
const WASM_OPT = join(ROOT, 'bench/node_modules/binaryen/bin/wasm-opt');
/** No other instructions than those that the compiler may use. */
const OPTIMISE = words(
  `-O2 --enable-threads --enable-bulk-memory --enable-mutable-globals --enable-sign-ext
  --enable-nontrapping-float-to-int`,
);
/** What JavaScript needs to start a thread; wasm.c exports the rest. */
const THREAD = ['__stack_pointer', '__wasm_init_tls', '__tls_size', '__heap_base'];
/** What a program may ask of an allocator: for its size. */
const FAMILY = words('malloc calloc realloc free aligned_alloc posix_memalign malloc_usable_size');

/** The headers that the peers include; all are libc.h. */
const HEADERS = words(
  `assert.h errno.h malloc.h memory.h pthread.h sched.h stdio.h stdlib.h string.h strings.h time.h unistd.h wchar.h
  sys/types.h emscripten.h emscripten/heap.h emscripten/threading.h emscripten/trace.h`,
);

/** What is said is shown only if it failed. */
const QUIET = { stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' };
/** Warnings are ours to heed, not the peers'. */
const OURS = ['-Wall', '-Wextra', '-Werror'];
const THEIRS = ['-w', '-DNDEBUG'];

/** Builds one entrant. @returns { entrant, version } or { entrant, missing: why } */
export function build(entrant) {
  try {
    const { version } = entrant.source ? fetchSource(entrant.source) : {};
    const made = entrant.host === 'wasm' ? buildWasm(entrant.allocator) : buildNative(entrant.allocator);
    return { entrant: { ...entrant, ...made }, version };
  } catch (error) {
    return { entrant, missing: `${error.stderr || error.message}`.trim().split('\n').slice(-3).join('; ') };
  }
}

/** The bytes of a module of the malloc family, and nothing else; without an allocator, what any module has. */
export function familyFile(allocator) {
  const file = join(WORKSHOP, `family-${allocator ?? 'none'}.wasm`);
  const parts = allocator === undefined ? [] : allocatorParts(allocator);
  link(file, [compileWasm(join(PEERS, 'family.c'), OURS), ...parts], FAMILY);
  return file;
}

/**
 * The same module as programs ship it: after `wasm-opt -O2`, which Emscripten runs by itself and others can. It takes
 * out the room that a linker leaves for addresses, and inlines what is called once.
 */
export function optimise(file) {
  const optimised = file.replace(/\.wasm$/, '-optimised.wasm');
  if (!fresh(optimised, [file, WASM_OPT])) run([process.execPath, WASM_OPT, file, ...OPTIMISE, '-o', optimised]);
  return optimised;
}

function buildWasm(allocator) {
  const workload = ['workload', 'wasm'].map((name) => compileWasm(join(HEAP, `${name}.c`), OURS));
  const [file, empty] = [allocator, 'empty'].map((name) => join(WORKSHOP, `${name}.wasm`));
  link(file, [...workload, ...allocatorParts(allocator)], THREAD);
  link(empty, workload, THREAD, ['--unresolved-symbols=ignore-all']);
  return { file, empty };
}

function allocatorParts(allocator) {
  const shim = join(PEERS, `${allocator}.c`);
  if (allocator === 'plait') return [compileWasm(shim, OURS), make(ARCHIVE)];
  headers();
  const own = allocator === 'mimalloc' ? ['include', 'src'].map((name) => join(SOURCES, allocator, name)) : [];
  const folders = [INCLUDE, PEERS, SOURCES, ...own];
  const flags = [...THEIRS, ...folders.map((folder) => `-I${folder}`)];
  return [compileWasm(shim, flags, true), compileWasm(join(PEERS, 'libc.c'), [...OURS, `-I${PEERS}`], true)];
}

function compileWasm(source, flags, libc = false) {
  const object = join(WORKSHOP, 'objects', `${source.split('/').at(-1)}.o`);
  const inputs = [source, ...WORKLOAD_HEADERS, ...(libc ? [join(PEERS, 'libc.h')] : [])];
  if (fresh(object, inputs)) return object;
  run([...WASM_CC, ...COMMON, ...flags, '-c', source, '-o', object]);
  return object;
}

function link(file, inputs, exports, flags = []) {
  if (fresh(file, inputs)) return;
  const names = exports.map((name) => `--export-if-defined=${name}`);
  run([...WASM_LD, ...LINK, ...flags, ...names, ...inputs, '-o', file]);
}

function buildNative(allocator) {
  const file = join(WORKSHOP, 'native');
  const sources = ['workload.c', 'native.c'].map((name) => join(HEAP, name));
  if (!fresh(file, [...sources, ...WORKLOAD_HEADERS])) {
    run([...CC, '-std=gnu17', '-O2', ...OURS, '-fno-builtin', '-pthread', ...sources, '-o', file]);
  }
  return { file, preload: preload(allocator) };
}

/** The library to put in front of the C library's allocator. */
function preload(allocator) {
  if (allocator === 'glibc') return '';
  if (allocator === 'plait') return make(LIBRARY);
  const source = join(SOURCES, allocator);
  if (allocator !== 'mimalloc') return join(source, 'library.so');
  const file = join(WORKSHOP, 'libmimalloc.so');
  if (!fresh(file, [join(source, 'version')])) {
    // As its own CMakeLists.txt builds a release.
    const defines = words('-DMI_MALLOC_OVERRIDE -DMI_SHARED_LIB -DMI_SHARED_LIB_EXPORT -DNDEBUG');
    const flags = words('-fPIC -shared -fvisibility=hidden -ftls-model=initial-exec -fno-builtin-malloc -pthread');
    const parameters = [...words('-std=gnu17 -O2 -w'), ...defines, ...flags, `-I${source}/include`];
    run([...CC, ...parameters, `${source}/src/static.c`, '-o', file]);
  }
  return file;
}

function headers() {
  for (const name of HEADERS) {
    const file = join(INCLUDE, name);
    if (existsSync(file)) continue;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, '#include "libc.h"\n');
  }
}

/** What the top Makefile makes: as new as the core is. */
function make(target) {
  execFileSync('make', ['--silent', '--no-print-directory', target], { cwd: ROOT, ...QUIET });
  return join(ROOT, target);
}

function fresh(output, inputs) {
  const made = modified(output);
  return made > 0 && [...inputs, SELF].every((input) => modified(input) < made);
}

function modified(file) {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function run([command, ...parameters]) {
  mkdirSync(join(WORKSHOP, 'objects'), { recursive: true });
  execFileSync(command, parameters, QUIET);
}

function words(text) {
  return text.split(/\s+/);
}
