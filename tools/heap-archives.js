/**
 * Checks what libplait_heap.a, libplait_heap_single.a and libplait_heap.so bring into a program: which names, that the
 * archive without threads links into a program without a single atomic instruction, and that the one with threads has
 * some (else the check itself is broken). And that nothing is loaded from the first addresses, where nothing lies: there
 * a compiler would look for a global of the instance that it takes for memory.
 *
 * It reads the "linking" section of Wasm objects (tool-conventions, Linking.md) and walks the code of a linked module
 * instruction by instruction.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

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

class Reader {
  constructor(bytes, at = 0, end = bytes.length) {
    Object.assign(this, { bytes, at, end });
  }
  get done() {
    return this.at >= this.end;
  }
  byte() {
    return this.bytes[this.at++];
  }
  /** Also for signed numbers, where only the length matters. */
  number() {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = this.byte();
      value += (byte & 127) * shift;
      if (byte < 128) return value;
    }
  }
  numbers(count) {
    for (let left = count; left > 0; left--) this.number();
  }
  skip(count) {
    this.at += count;
  }
  part(length) {
    const part = new Reader(this.bytes, this.at, this.at + length);
    this.at += length;
    return part;
  }
  text() {
    const { at, end } = this.part(this.number());
    return new TextDecoder().decode(this.bytes.subarray(at, end));
  }
}

/** The sections of a module: [id, contents]. */
function sections(bytes) {
  const all = [];
  for (const reader = new Reader(bytes, 8); !reader.done; ) all.push([reader.byte(), reader.part(reader.number())]);
  return all;
}

function customSection(bytes, wanted) {
  for (const [id, contents] of sections(bytes)) {
    if (id === 0 && contents.text() === wanted) return contents;
  }
  throw new Error(`no section ${wanted}`);
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

/** Reads one instruction, and notes in `seen` what it is. `seen.constant`: what the one before has pushed, if a constant. */
function instruction(reader, seen) {
  const code = reader.byte();
  const address = seen.constant;
  seen.constant = undefined;
  if (code === 0x41) seen.constant = reader.number();
  else if (code >= 0x28 && code <= 0x35) {
    reader.number(); // alignment
    if (address + reader.number() < FIRST_ADDRESS) seen.low++;
  } else if (code === 0xfe) {
    seen.atomics++;
    skipAtomic(reader);
  } else skipOther(code, reader);
}

function skipOther(code, reader) {
  if (code > 0xc4 && code !== 0xd0 && code !== 0xd2 && code !== 0xfc) throw new Error(`unknown instruction ${code}`);
  if (code === 0x0e || code === 0x1c) reader.numbers(reader.number() + (code === 0x0e ? 1 : 0));
  else if (code === 0x43 || code === 0x44) reader.skip(code === 0x43 ? 4 : 8);
  else if (code === 0xfc) skipMiscellaneous(reader);
  else reader.numbers(immediates(code));
}

/** How many numbers follow an instruction that has only such. */
function immediates(code) {
  if (code === 0x11 || (code >= 0x28 && code <= 0x3e)) return 2; // indirect calls, loads and stores
  if (code >= 0x02 && code <= 0x04) return 1; // blocks
  if (code === 0x0c || code === 0x0d || code === 0x10) return 1; // branches, calls
  if ((code >= 0x20 && code <= 0x26) || (code >= 0x3f && code <= 0x42)) return 1; // variables, memory.size, constants
  return code === 0xd0 || code === 0xd2 ? 1 : 0; // references
}

function skipAtomic(reader) {
  if (reader.number() === 3)
    reader.skip(1); // fence
  else reader.numbers(2);
}

function skipMiscellaneous(reader) {
  const code = reader.number();
  if (code < 8) return; // conversions
  reader.numbers([8, 10, 12, 14].includes(code) ? 2 : 1);
}

/** @returns { atomics, low }: how many atomic instructions a module has, and loads from the first addresses */
function walk(name) {
  const seen = { atomics: 0, low: 0, constant: undefined };
  const [, code] = sections(readFileSync(new URL(name, build))).find(([id]) => id === 10);
  for (let left = code.number(); left > 0; left--) {
    const body = code.part(code.number());
    body.numbers(2 * body.number()); // locals: how many, which type
    while (!body.done) instruction(body, seen);
    if (body.at !== body.end) throw new Error('the code was misread: the check itself is broken');
  }
  return seen;
}

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
const single = walk('examples/words.wasm').atomics;
const shared = walk('examples/threads.wasm').atomics;
for (const name of ['plait.wasm', 'examples/threads.wasm', 'examples/instance.wasm']) {
  const { low } = walk(name);
  expect(low === 0, `${name} has ${low} loads from addresses below ${FIRST_ADDRESS}`);
}
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
