/**
 * Reads Wasm modules and objects: sections, and code instruction by instruction. For the checks of what we build.
 *
 * Invariant: code that is read wrongly is an error, never a wrong answer.
 *
 * By hand, because the checks need the instructions as they stand in the file: binaryen shows its own tree instead, and
 * the pinned toolchain has no disassembler for Wasm.
 */

export class Reader {
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
export function sections(bytes) {
  const all = [];
  for (const reader = new Reader(bytes, 8); !reader.done; ) all.push([reader.byte(), reader.part(reader.number())]);
  return all;
}

/** The bodies of all functions in a module's code section, each a list of instructions: see instruction(). */
export function functions(bytes) {
  const [, code] = sections(bytes).find(([id]) => id === 10);
  return Array.from({ length: code.number() }, () => {
    const body = code.part(code.number());
    body.numbers(2 * body.number()); // locals: how many, which type
    const all = [];
    while (!body.done) all.push(instruction(body));
    if (body.at !== body.end || all.at(-1).code !== END)
      throw new Error('the code was misread: the check itself is broken');
    return all;
  });
}

/** Which function each exported name stands for, and how many functions are imported: they come before all others. */
export function exportedFunctions(bytes) {
  const all = new Map(sections(bytes));
  const exported = new Map();
  const names = all.get(7);
  for (let left = names.number(); left > 0; left--) {
    const [name, kind, index] = [names.text(), names.byte(), names.number()];
    if (kind === 0) exported.set(name, index);
  }
  const imported = all.get(2);
  let imports = 0;
  for (let left = imported?.number() ?? 0; left > 0; left--) {
    imported.skip(imported.number()); // the module's name
    imported.skip(imported.number());
    const kind = imported.byte();
    if (kind === 0) {
      imported.number(); // the function's type
      imports++;
    } else if (kind === 2) {
      const flags = imported.byte();
      imported.numbers(flags & 1 ? 2 : 1); // the memory's limits
    } else throw new Error(`an import of kind ${kind}: the check itself must learn more`);
  }
  return { exported, imports };
}

export const END = 0x0b;
export const LOCAL_GET = 0x20;
export const CALL = 0x10;
export const CALL_INDIRECT = 0x11;
export const GLOBAL_GET = 0x23;
export const GLOBAL_SET = 0x24;
export const CONSTANT = 0x41;
export const isLoad = (code) => code >= 0x28 && code <= 0x35;
/** An atomic instruction's code is its prefix, 0xfe, and its number. */
export const isAtomic = (code) => code >> 8 === 0xfe;
export const WAIT32 = 0xfe01;
export const WAIT64 = 0xfe02;

/** One instruction. `value`: what a constant pushes, the offset of a load, or which function is called. */
function instruction(reader) {
  const code = reader.byte();
  if (code === CONSTANT || code === CALL) return { code, value: reader.number() };
  if (isLoad(code)) {
    reader.number(); // alignment
    return { code, value: reader.number() };
  }
  if (code === 0xfe) return { code: 0xfe00 + skipAtomic(reader) };
  skipOther(code, reader);
  return { code };
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
  const number = reader.number();
  if (number === 3)
    reader.skip(1); // fence
  else reader.numbers(2);
  return number;
}

function skipMiscellaneous(reader) {
  const code = reader.number();
  if (code < 8) return; // conversions
  reader.numbers([8, 10, 12, 14].includes(code) ? 2 : 1);
}
