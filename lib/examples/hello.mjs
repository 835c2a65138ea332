// lib/examples/hello.mjs
import { readFileSync } from 'node:fs';
import { fs } from 'plait/fs';
import { WASI } from 'plait/wasi';

fs.mkdirSync('/work');
fs.writeFileSync('/work/name', 'world');
const wasi = new WASI({ version: 'preview1', args: ['hello'], preopens: { '/': '/work' } });
const module = new WebAssembly.Module(readFileSync('hello.wasm'));
const status = wasi.start(new WebAssembly.Instance(module, wasi.getImportObject()));
console.log(status, fs.readFileSync('/work/greeting', 'utf8'));
