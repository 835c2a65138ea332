/**
 * Programs that import Plait where it cannot run, or only in part: importing never throws, and the first use throws an
 * error with a code.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Imports every entry, uses each, and prints what was thrown. */
const PROGRAM = `
import { commonSpace, heap, isSupported, openSpace, Pool, PlaitError } from 'plait';
import * as task from 'plait/task';
import * as own from 'plait/heap';
import fs from 'plait/fs';
const uses = {
  pool: () => new Pool('/work.js'),
  heap: () => heap.alloc(8),
  file: () => fs.writeFileSync('/a', 'b'),
  promise: () => fs.promises.readFile('/a'),
  space: () => commonSpace(),
  own: () => openSpace(),
  connect: () => task.connect({ plaitPool: 8 }),
  worker: () => task.workerOptions(),
};
const reported = { supported: isSupported() };
for (const [name, use] of Object.entries(uses)) {
  try {
    await use();
    reported[name] = 'nothing';
  } catch (error) {
    reported[name] = error instanceof PlaitError && error instanceof own.PlaitError ? error.code + ': ' + error.message : String(error.stack);
  }
}
console.log(JSON.stringify(reported));
process.exit();
`;

interface Host {
  /** Runs in the program's thread before it. */
  readonly before?: string;
  readonly args?: readonly string[];
}

function reported({ before = '', args = [] }: Host): Record<string, unknown> {
  const first = `data:text/javascript,${encodeURIComponent(before)}`;
  const program = [...args, '--import', first, '--input-type=module', '--eval', PROGRAM];
  const { stdout, stderr, status } = spawnSync(process.execPath, program, {
    cwd: root,
    encoding: 'utf8',
    timeout: 30000,
  });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

function allTold(host: Host, expected: RegExp): void {
  const { supported, ...uses } = reported(host);
  assert.equal(supported, false);
  for (const [name, said] of Object.entries(uses)) assert.match(String(said), expected, name);
}

test('a host without shared memory', () => {
  allTold({ before: 'delete globalThis.SharedArrayBuffer' }, /^ERR_PLAIT_UNSUPPORTED: .*SharedArrayBuffer/);
});

/** As a page is: no Node, and what its headers give. */
const page = (isolated: boolean, rest = ''): string =>
  `Object.assign(globalThis, { crossOriginIsolated: ${isolated}, document: {} });
   process.getBuiltinModule = undefined; ${rest}`;

test('a page without isolation, and one whose browser has no shared memory for it', () => {
  const gone = 'delete globalThis.SharedArrayBuffer;';
  allTold({ before: page(false, gone) }, /^ERR_PLAIT_NOT_ISOLATED: .*Cross-Origin-Opener-Policy.*Embedder-Policy/);
  allTold({ before: page(true, gone) }, /^ERR_PLAIT_UNSUPPORTED: .*is cross-origin isolated.*no SharedArrayBuffer/);
});

test('a policy against WebAssembly', () => {
  const refuse = 'WebAssembly.Module = class { constructor() { throw new WebAssembly.CompileError("by policy") } };';
  allTold({ before: page(true, refuse) }, /^ERR_PLAIT_UNSUPPORTED: .*by policy.*'wasm-unsafe-eval'/);
  allTold({ before: 'delete globalThis.WebAssembly' }, /^ERR_PLAIT_UNSUPPORTED: .*WebAssembly/);
});

test('a Node that is too old', () => {
  // What Node 21 and 22.0 to 22.2 do not have, and those before 21 do not, either.
  const old = 'process.getBuiltinModule = undefined; delete globalThis.navigator; delete globalThis.crypto;';
  allTold({ before: old }, /^ERR_PLAIT_UNSUPPORTED: Plait needs Node 20\.19 .*or 22\.3 or later: this is Node \d/);
});

test('too little address space', () => {
  // Under `ulimit -v` it depends on the version of Node how much is too little.
  const refuse = 'WebAssembly.Memory = class { constructor() { throw new RangeError("could not allocate memory") } };';
  allTold({ before: refuse }, /^ERR_PLAIT_OUT_OF_MEMORY: the host refuses a shared memory of \d+ bytes/);
  const full = 'WebAssembly.Instance = class { constructor() { throw new RangeError("Out of memory: code") } };';
  allTold({ before: full }, /^ERR_PLAIT_OUT_OF_MEMORY: .*Out of memory: code/);
});

test('in a process that may not start threads, files and heap work, and a pool reports what is missing', () => {
  const old = Number.parseInt(process.versions.node, 10) < 22;
  const args = [old ? '--experimental-permission' : '--permission', '--allow-fs-read=*'];
  const { supported, pool, file, heap } = reported({ args });
  assert.deepEqual({ supported, file, heap }, { supported: true, file: 'nothing', heap: 'nothing' });
  assert.match(String(pool), /ERR_ACCESS_DENIED|Access to this API has been restricted/);
});

test('Plait works in a host that shows nothing of the process', () => {
  const deny = 'process.umask = () => { throw new Error("not permitted") };';
  assert.equal(reported({ before: deny }).file, 'nothing');
});
