/**
 * Runs a program by plait/wasi: node hosted.js memory|mounted MODULE [ARGUMENTS]. Its root is an empty directory of the
 * space, or the working directory, which is mounted.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fs } from '../../dist/node/fs.js';
import { WASI } from '../../dist/node/wasi.js';

const [where, ...args] = process.argv.slice(2);
fs.mkdirSync('/root');
if (where === 'mounted') fs.mount('/root', { type: 'host', directory: process.cwd() });
const wasi = new WASI({ version: 'preview1', args, preopens: { '/': '/root' } });
const module = new WebAssembly.Module(readFileSync(args[0]));
process.exitCode = wasi.start(new WebAssembly.Instance(module, wasi.getImportObject()));
if (where === 'mounted') fs.unmount('/root'); // nothing is open any more
assert.equal(fs.readdirSync('/').join(), 'root');
fs.check();
