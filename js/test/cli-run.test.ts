/** `plait run`: programs of WASI on directories of the host. Programs are compared by lib/test/run.js. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import * as nodeFs from 'node:fs';
import { tmpdir } from 'node:os';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { call, constant, moduleBytes, PROGRAMS, writer } from './wasi-modules.ts';

const cli = fileURLToPath(new URL('../../dist/node/cli.js', import.meta.url));
const scratch = nodeFs.mkdtempSync(`${tmpdir()}/plait-run-`);
after(() => nodeFs.rmSync(scratch, { recursive: true }));

interface End {
  status: number;
  stdout: string;
  stderr: string;
}

function run(...args: string[]): Promise<End> {
  return new Promise((resolve) => {
    execFile(process.execPath, [cli, 'run', ...args], { cwd: scratch, timeout: 60_000 }, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

function save(name: string, body: number[]): string {
  nodeFs.writeFileSync(`${scratch}/${name}`, moduleBytes(body));
  return name;
}

test('the status is the program’s, and arguments and environment are its own', async () => {
  const status = async (...args: string[]): Promise<number> => (await run(...args)).status;
  const count = save('count.wasm', PROGRAMS['exits with the number of its arguments'] as number[]);
  assert.equal(await status(count), 1);
  assert.equal(await status(count, '--dir', '--env', '-x'), 4);
  const bytes = save('bytes.wasm', PROGRAMS['exits with the bytes of its environment'] as number[]);
  assert.equal(await status(bytes), 0, 'the environment of the command is not the program’s');
  assert.equal(await status('--env', 'A=b', '--env=LONG=a=b', bytes), 'A=b\0LONG=a=b\0'.length);
});

test('a trap has status 134 and the stack, what cannot be run 2 and a reason', async () => {
  const { status, stderr } = await run(save('trap.wasm', [0x00]));
  assert.equal(status, 134);
  assert.match(stderr, /^plait: trap\.wasm trapped: RuntimeError: unreachable\n +at /);
  const deep = await run(save('deep.wasm', PROGRAMS['calls itself for ever'] as number[]));
  assert.equal(deep.status, 134);
  nodeFs.writeFileSync(`${scratch}/text`, 'text');
  for (const [args, reason] of [
    [['none.wasm'], /cannot run none\.wasm: ENOENT/],
    [['text'], /cannot run text: WebAssembly/],
    [['--dir', 'none', 'trap.wasm'], /ENOENT/],
    [['--dir', '::/', 'trap.wasm'], /--dir must be/],
    [['--env', 'A', 'trap.wasm'], /--env must be/],
    [['--other', 'trap.wasm'], /unknown option '--other'/],
    [['--env'], /needs a value/],
    [[], /needs a program/],
  ] as [string[], RegExp][]) {
    const end = await run(...args);
    assert.equal(end.status, 2, args.join(' '));
    assert.match(end.stderr, reason);
  }
});

test('a program writes where it may, and nowhere else', async () => {
  const file = save('writer.wasm', writer([]));
  nodeFs.mkdirSync(`${scratch}/given`);
  assert.equal((await run('--dir', 'given::/', file)).status, 0);
  assert.equal(nodeFs.readFileSync(`${scratch}/given/f`, 'utf8'), 'f');
  nodeFs.rmSync(`${scratch}/given/f`);
  await run('--dir=given::/:ro', file);
  await run(file);
  assert.deepEqual(nodeFs.readdirSync(`${scratch}/given`), []);
  // What it writes to standard output arrives, if a pipe takes it slowly, too.
  const bytes = 60_000;
  const store = (at: number, value: number): number[] => [...constant(at), ...constant(value), 0x36, 2, 0];
  const body = [
    ...[...store(0, 1000), ...store(4, bytes)],
    ...[...constant(1), ...constant(0), ...constant(1), ...constant(8), ...call('fd_write'), ...call('proc_exit')],
  ];
  const { status, stdout } = await run(save('loud.wasm', body));
  assert.deepEqual([status, stdout.length], [0, bytes]);
});
