/**
 * Checks what libplait_heap.a, libplait_heap_single.a and libplait_heap.so bring into a program: which names, that the
 * archive without threads links into a program without a single atomic instruction, and that the one with threads has
 * some (else the check itself is broken). That a program which names nothing of Plait's gets our malloc from the
 * documented link commands. And that nothing is loaded from the first addresses, where nothing lies: there a compiler
 * would look for a global of the instance that it takes for memory.
 *
 * It reads the "linking" section of Wasm objects (tool-conventions, Linking.md) and walks the code of a linked module
 * instruction by instruction.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CALL, CONSTANT, functions, isAtomic, isLoad, LOCAL_GET, sections, WAIT32 } from './wasm.js';

const build = new URL('../build/', import.meta.url);
const FAMILY = /^(malloc|calloc|realloc|free|aligned_alloc|posix_memalign|malloc_usable_size|plait_\w+)$/;
const NATIVE_FAMILY = /^(memalign|valloc|pvalloc|reallocarray)$/;
/** The linker makes these; any C compiler may call the last four. */
const GIVEN =
  /^(__heap_base|__stack_pointer|__tls_base|__linear_memory|__indirect_function_table|mem(cpy|set|move|cmp))$/;

const DATA_SYMBOL = 1;
const SECTION_SYMBOL = 3;
const BINDING_LOCAL = 2;
const UNDEFINED = 16;
const EXPLICIT_NAME = 64;

function customSection(bytes, wanted) {
  for (const [id, contents] of sections(bytes)) {
    if (id === 0 && contents.text() === wanted) return contents;
  }
  throw new Error(`no section ${wanted}`);
}

const FUNCTION_NAMES = 1;

/** The names of a linked module's functions. pre: it was not stripped. */
function functionNames(bytes) {
  const all = [];
  for (const reader = customSection(bytes, 'name'); !reader.done; ) {
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

/** The one object of an archive (with one member and the table of its names). */
function objectOf(file) {
  const bytes = readFileSync(new URL(file, build));
  const at = bytes.indexOf('\0asm\x01\0\0\0', 'latin1');
  if (at < 0) throw new Error(`${file} holds no Wasm object`);
  // A member's header is 60 bytes; at 48 its size stands in decimal.
  const size = Number(bytes.toString('latin1', at - 12, at - 2));
  return bytes.subarray(at, at + size);
}

/** @returns { name, missing, global } of each function, datum, global and table */
function symbols(object) {
  const imports = importNames(object);
  const reader = customSection(object, 'linking');
  reader.number(); // version
  const all = [];
  while (!reader.done) {
    const type = reader.byte();
    const table = reader.part(reader.number());
    if (type === 8) for (let left = table.number(); left > 0; left--) all.push(symbol(table, imports));
  }
  return all.filter(({ name }) => name !== undefined);
}

function symbol(reader, imports) {
  const kind = reader.byte();
  const flags = reader.number();
  const missing = (flags & UNDEFINED) !== 0;
  /* A hidden name is global, too: another object that gives it would be an error. */
  const of = (name) => ({ name, missing, global: !missing && (flags & BINDING_LOCAL) === 0 });
  if (kind === SECTION_SYMBOL) {
    reader.number();
    return of(undefined);
  }
  if (kind === DATA_SYMBOL) {
    const name = reader.text();
    if (!missing) reader.numbers(3);
    return of(name);
  }
  const index = reader.number();
  return of(missing && (flags & EXPLICIT_NAME) === 0 ? imports[kind]?.[index] : reader.text());
}

/** Names of imports by kind of symbol (function 0, global 2, table 5) and index. */
function importNames(object) {
  const KIND_OF_SYMBOL = { function: 0, global: 2, table: 5 };
  const names = { 0: [], 2: [], 5: [] };
  for (const { name, kind } of WebAssembly.Module.imports(new WebAssembly.Module(object))) {
    names[KIND_OF_SYMBOL[kind]]?.push(name);
  }
  return names;
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

for (const file of ['libplait_heap.a', 'libplait_heap_single.a']) {
  const all = symbols(objectOf(file));
  const globals = all.filter(({ global }) => global).map(({ name }) => name);
  const missing = all.filter((symbol) => symbol.missing).map(({ name }) => name);
  expect(globals.includes('malloc'), `${file} does not give malloc: ${globals}`);
  for (const name of globals) expect(FAMILY.test(name), `${file} gives ${name}`);
  for (const name of missing) expect(GIVEN.test(name), `${file} wants ${name}`);
  console.log(`${file}: gives ${globals.length} names; wants ${[...new Set(missing)].join(' ')}`);
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
for (const name of names) expect(FAMILY.test(name) || NATIVE_FAMILY.test(name), `libplait_heap.so gives ${name}`);
console.log(
  `libplait_heap.so: gives ${names.length} names; atomic instructions: ${single} without threads, ${shared} with`,
);
if (wrong.length > 0) {
  console.error(wrong.join('\n'));
  process.exit(1);
}
