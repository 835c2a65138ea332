// Runs notes.c under node:wasi, and reads its files: node --no-warnings notes.mjs MODULE
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';
import { linkedFiles } from 'plait/linked';

const wasi = new WASI({ version: 'preview1', returnOnExit: true });
const module = new WebAssembly.Module(readFileSync(process.argv[2]));
const instance = new WebAssembly.Instance(module, wasi.getImportObject());
const files = linkedFiles(instance.exports);
files.mkdirSync('/notes');
files.writeFileSync('/notes/0.txt', 'from JavaScript\n');
wasi.start(instance);
console.log(files.readFileSync('/notes/2.txt', 'utf8'));
