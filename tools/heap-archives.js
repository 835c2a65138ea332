/**
 * Checks what libplait_heap.a, libplait_heap_single.a and libplait_heap.so bring into a program: which names, that the
 * archive without threads links into a program without a single atomic instruction, and that the one with threads has
 * some (else the check itself is broken). That a program which names nothing of Plait's gets our malloc from the
 * documented link commands. And that nothing is loaded from the first addresses, where nothing lies: there a compiler
 * would look for a global of the instance that it takes for memory.
 *
 * llvm-ar and wasm-ld tell the names of an archive; wasm.js reads the instructions of a module.
 */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CALL, CONSTANT, functions, isAtomic, isLoad, LOCAL_GET, Reader, WAIT32 } from './wasm.js';

const WASM_LD = (process.env.WASM_LD ?? '.venv/bin/python -m ziglang wasm-ld').split(' ');
const build = new URL('../build/', import.meta.url);
const FAMILY =
  /^(malloc|calloc|realloc|free|reallocarray|aligned_alloc|(posix_)?memalign|p?valloc|malloc_usable_size|mallinfo2?|mallopt|malloc_trim|malloc_stats)$/;
/** What the archives give besides. */
const ARCHIVE = /^(plait_\w+|sbrk|errno|__libc_\w+|__reallocarray)$/;
const NATIVE = /^plait_heap_\w+$/;
/** Any C compiler may call the first; malloc_stats(), in an object of its own, calls the last. */
const GIVEN = /^(mem(cpy|set|move|cmp)|write)$/;

const FUNCTION_NAMES = 1;

/** The names of a linked module's functions. pre: it was not stripped. */
function functionNames(bytes) {
  const all = [];
  const [section] = WebAssembly.Module.customSections(new WebAssembly.Module(bytes), 'name');
  for (const reader = new Reader(new Uint8Array(section)); !reader.done; ) {
    const kind = reader.byte();
    const part = reader.part(reader.number());
    if (kind !== FUNCTION_NAMES) continue;
    for (let left = part.number(); left > 0; left--) {
      part.number(); // which function
      all.push(part.text());
    }
  }
  return all;
}

/** Behind the archive's magic number and the first member's header. */
const TABLE = 8 + 60;

/** The global names of an archive. llvm-ar puts them into the first member: a count, an offset each, the names. */
function globalNames(archive) {
  const count = archive.readUInt32BE(TABLE);
  const names = archive.subarray(TABLE + 4 + 4 * count).toString('latin1');
  return names.split('\0', count);
}

/** The names that an archive needs and the linker does not define. */
function missingNames(file, flags) {
  const folder = mkdtempSync(join(tmpdir(), 'plait-archive-'));
  const linked = join(folder, 'all.wasm');
  try {
    const [command, ...words] = WASM_LD;
    const options = ['--no-entry', '--no-gc-sections', '--import-undefined', ...flags];
    execFileSync(command, [...words, ...options, '--whole-archive', fileURLToPath(new URL(file, build)), '-o', linked]);
    const imports = WebAssembly.Module.imports(new WebAssembly.Module(readFileSync(linked)));
    return imports.filter(({ kind }) => kind !== 'memory').map(({ name }) => name);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Below lies the stack, or nothing. */
const FIRST_ADDRESS = 1024;

/** @returns { atomics, low }: how many atomic instructions a module has, and loads from the first addresses */
function count(bytes) {
  const all = functions(bytes).flat();
  const isLow = ({ code, value }, before) =>
    isLoad(code) && before?.code === CONSTANT && before.value + value < FIRST_ADDRESS;
  return {
    atomics: all.filter(({ code }) => isAtomic(code)).length,
    low: all.filter((instruction, at) => isLow(instruction, all[at - 1])).length,
  };
}

/**
 * How many calls name a function that has locals and waits: an optimiser inlines what is called from one place. See
 * waits.js.
 */
function callsOfWait(bytes) {
  const module = new WebAssembly.Module(bytes);
  const imported = WebAssembly.Module.imports(module).filter(({ kind }) => kind === 'function').length;
  const all = functions(bytes);
  const has = (index, wanted) => all[index - imported]?.some(({ code }) => code === wanted);
  return all.flat().filter(({ code, value }) => code === CALL && has(value, WAIT32) && has(value, LOCAL_GET)).length;
}

const built = (name) => readFileSync(new URL(name, build));
const wrong = [];
function expect(good, message) {
  if (!good) wrong.push(message);
}

const SHARED = ['--import-memory', '--shared-memory', '--max-memory=4294967296'];
for (const [file, flags] of [
  ['libplait_heap.a', SHARED],
  ['libplait_heap_single.a', []],
]) {
  const globals = globalNames(built(file));
  const missing = missingNames(file, flags);
  expect(globals.includes('malloc'), `${file} does not give malloc: ${globals}`);
  for (const name of globals) expect(FAMILY.test(name) || ARCHIVE.test(name), `${file} gives ${name}`);
  for (const name of missing) expect(GIVEN.test(name), `${file} wants ${name}`);
  console.log(`${file}: gives ${globals.length} names; wants ${missing.join(' ')}`);
}
const single = count(built('examples/words.wasm')).atomics;
const shared = count(built('examples/threads.wasm')).atomics;
for (const name of ['plait.wasm', 'examples/threads.wasm', 'examples/instance.wasm']) {
  const { low } = count(built(name));
  expect(low === 0, `${name} has ${low} loads from addresses below ${FIRST_ADDRESS}`);
}
for (const name of ['plain', 'plain-zig', 'plain-threads']) {
  const ours = functionNames(built(`examples/${name}.wasm`)).filter((text) => text.startsWith('plait_'));
  expect(ours.length > 0, `${name}.wasm has another malloc: none of its functions is Plait's`);
  const more = ours.filter((text) => /^plait_heap_(totals|details|stats|usage|check)/.test(text));
  expect(more.length === 0, `${name}.wasm counts nothing, and has ${more}`);
}
expect(callsOfWait(built('examples/instance.wasm')) === 0, 'optimisers would inline the function that waits');
expect(single === 0, `the program without threads has ${single} atomic instructions`);
expect(shared > 0, 'the program with threads has no atomic instruction: the check itself is broken');
const dynamic = execFileSync('nm', ['-D', '--defined-only', fileURLToPath(new URL('libplait_heap.so', build))], {
  encoding: 'utf8',
});
const names = dynamic
  .trimEnd()
  .split('\n')
  .map((line) => line.split(' ').at(-1));
for (const name of names) expect(FAMILY.test(name) || NATIVE.test(name), `libplait_heap.so gives ${name}`);
console.log(
  `libplait_heap.so: gives ${names.length} names; atomic instructions: ${single} without threads, ${shared} with`,
);
if (wrong.length > 0) {
  console.error(wrong.join('\n'));
  process.exit(1);
}
