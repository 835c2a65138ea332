/**
 * Runs a program for WASI that only prints and exits: node run.js MODULE. node:wasi of Node 20 and 22 crashes at random
 * if the memory grows by some hundred MiB.
 */

import { readFileSync, writeSync } from 'node:fs';

const DONE = 0;
const module = new WebAssembly.Module(readFileSync(process.argv[2]));
let memory;

const calls = {
  fd_write(descriptor, vectors, count, written) {
    const view = new DataView(memory.buffer);
    let total = 0;
    for (let at = vectors; at < vectors + 8 * count; at += 8) {
      const [start, length] = [view.getUint32(at, true), view.getUint32(at + 4, true)];
      total += writeSync(descriptor, new Uint8Array(memory.buffer, start, length));
    }
    view.setUint32(written, total, true);
    return DONE;
  },
  proc_exit: (code) => process.exit(code),
};

const imports = {};
for (const { module: from, name } of WebAssembly.Module.imports(module)) {
  imports[from] ??= {};
  imports[from][name] = calls[name] ?? (() => DONE);
}
const { exports } = new WebAssembly.Instance(module, imports);
memory = exports.memory;
process.exitCode = exports._start ? exports._start() : exports.main(0, 0); // Rust's own target has no start function
