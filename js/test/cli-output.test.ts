/**
 * Output of the command line: closed and slow readers, a full disk, Ctrl-C, and the progress bar.
 *
 * No test waits for a time to pass: each waits for an event.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { progressLine } from '../../dist/cli/progress.js';
import { CLI, children, FIXTURES, numbers, parse, RunningCommand } from './cli-setup.ts';

test('a reader that leaves ends the run quietly', async () => {
  // Endless inputs: nothing but the reader's leaving can end it.
  for (const [name, status] of [
    ['echo', 0],
    ['picky', 1],
  ] as const) {
    const started = new RunningCommand(['map', `work.mjs#${name}`, '-']);
    const { stdin, stdout } = started.child;
    stdin.write('bad\n');
    const fill = (): void => {
      while (!stdin.destroyed && stdin.write('x\n'.repeat(10_000)));
    };
    stdin.on('drain', fill);
    fill();
    await started.until(() => started.stdout.includes('\n'));
    stdout.destroy();
    const ended = await started.end();
    assert.equal(ended.status, status);
    assert.equal(ended.stderr.includes('    at '), false, ended.stderr);
    if (status === 0) assert.equal(ended.stderr, '');
    else assert.match(ended.stderr, /^plait: bad: RangeError: no bad.*\n$/);
  }
});

test('in a shell: | head -1', { skip: process.platform === 'win32' && 'needs a POSIX shell' }, () => {
  const script = `seq 1 100000 | ("$NODE" "$CLI" map work.mjs#echo -; echo "status $?" >&2) | head -n 1`;
  const env = { ...process.env, NODE: process.execPath, CLI };
  const { stdout, stderr } = spawnSync('sh', ['-c', script], { cwd: FIXTURES, env, encoding: 'utf8' });
  assert.equal(stdout, '{"input":"1","output":"1"}\n');
  assert.match(stderr, /^status 0$/m);
  assert.doesNotMatch(stderr, /plait|Error/);
});

test('a full disk is an error', { skip: process.platform !== 'linux' && 'needs /dev/full' }, () => {
  const script = '"$NODE" "$CLI" map work.mjs#echo a b c > /dev/full';
  const env = { ...process.env, NODE: process.execPath, CLI };
  const { status, stderr } = spawnSync('sh', ['-c', script], { cwd: FIXTURES, env, encoding: 'utf8' });
  assert.match(stderr, /^plait: cannot write to standard output: .*ENOSPC.*\n$/);
  assert.equal(status, 1);
});

test('a slow reader stops the inputs', async () => {
  const started = new RunningCommand(['map', 'work.mjs#big', ...numbers(5000)], { readsStdout: false });
  // Each call writes a dot. A machine that is slow makes this easier to pass, never harder.
  let before = -1;
  for (let still = 0; still < 20; ) {
    await wait(25);
    still = started.stderr.length > 0 && started.stderr.length === before ? still + 1 : 0;
    before = started.stderr.length;
  }
  assert.ok(before < 3000, `${before} of 5000 inputs were started although there is no reader`);
  started.readStdout();
  const { status, stdout } = await started.end();
  assert.equal(parse(stdout).length, 5000);
  assert.equal(status, 0);
});

test('a slow first input stops the others before they fill the memory', async () => {
  const started = new RunningCommand(['map', '--threads', '2', 'work.mjs#hang', '-']);
  started.child.stdin.write(['hang', ...numbers(100_000)].join('\n'));
  await started.until(() => started.stderr.includes('<500>'));
  started.child.kill('SIGINT');
  const { status, stdout } = await started.end();
  const results = parse(stdout).map(({ output }) => output);
  assert.ok(results.length >= 500 && results.length < 2000, `${results.length} were ready`);
  assert.deepEqual(results, numbers(results.length), 'in order, although the first is missing');
  assert.equal(status, 130);
});

test('Ctrl-C: complete results are written, also behind a gap', async () => {
  for (const [signal, status] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const files = ['hang', 'a', 'bad', 'b', 'hang last', 'never'];
    const started = new RunningCommand(['map', '--threads', '2', 'work.mjs#hang', ...files]);
    // The worker that takes the last one has delivered those before.
    await started.until(() => started.stderr.includes('<hang last>'));
    started.child.kill(signal);
    const ended = await started.end();
    assert.deepEqual(
      parse(ended.stdout).map(({ output }) => output),
      ['a', 'bad', 'b'],
    );
    assert.match(ended.stderr, /^plait: stopped: 3 of 6 done, 0 failed\n$/m);
    assert.doesNotMatch(ended.stderr, /POOL_CLOSED|never/);
    assert.equal(ended.status, status);
  }
});

test('Ctrl-C while standard input is silent', async () => {
  const started = new RunningCommand(['map', '--json', 'work.mjs#picky', '-']);
  started.child.stdin.write('a\nbad\n');
  await started.until(() => started.stdout.split('\n').length > 2);
  started.child.kill('SIGINT');
  const { status, stderr } = await started.end();
  const summary = parse<Record<string, unknown>>(stderr).at(-1)!;
  assert.equal(summary.done, 2);
  assert.equal(summary.failed, 1);
  assert.equal(summary.total, null);
  assert.equal(summary.stopped, 'SIGINT');
  assert.equal(status, 130);
});

test('a second Ctrl-C ends it at once', { skip: process.platform === 'win32' && 'needs mkfifo' }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'plait-cli-'));
  const fifo = join(folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  try {
    const started = new RunningCommand(['map', '--threads', '1', 'work.mjs#block', '-']);
    const { stdin } = started.child;
    stdin.write(`${fifo}\n`);
    await started.until(() => started.stderr.includes('<blocking>'));
    started.child.kill('SIGINT');
    await started.until(() => started.stderr.includes('still stopping'));
    assert.equal(started.child.exitCode, null, 'it waits for the worker');
    started.child.kill('SIGINT');
    const { signal } = await started.end();
    assert.equal(signal, 'SIGINT');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the text of the progress bar', () => {
  const state = { done: 30, failed: 0, total: 120, rate: 10 };
  assert.equal(progressLine(state, 80), '[#######-----------------------] 30/120  10.0/s  9s left');
  assert.equal(progressLine({ ...state, failed: 2 }, 20), '30/120  2 failed  10'.slice(0, 19));
  assert.equal(progressLine({ ...state, total: undefined, rate: 1234.5 }, 80), '30 done  1235/s');
  assert.match(progressLine({ ...state, rate: 0 }, 80), /30\/120 {2}0\.0\/s$/);
  assert.match(progressLine({ ...state, rate: 0.5 }, 80), / 3m00s left$/);
  assert.match(progressLine({ ...state, rate: 0.01 }, 80), / 2h30m left$/);
  assert.match(progressLine({ ...state, done: 120 }, 80), /^\[#+\] 120\/120 {2}10\.0\/s {2}0s left$/);
  assert.match(progressLine({ ...state, done: 0, total: 0 }, 80), /^0\/0/);
  for (let columns = 1; columns < 200; columns++) {
    assert.ok(progressLine(state, columns).length < columns, `${columns} columns`);
  }
});

/** The lines that a terminal shows at the end. Knows what the bar uses, and nothing else. */
function screenOf(output: string): string[] {
  const lines = [''];
  let column = 0;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what the bar is made of
  for (const [token] of output.matchAll(/\r|\n|\u001b\[K|[^\r\n\u001b]/g)) {
    const line = lines.at(-1)!;
    if (token === '\r') column = 0;
    else if (token === '\n') lines.push('');
    else if (token === '\u001b[K') lines[lines.length - 1] = line.slice(0, column);
    else lines[lines.length - 1] = line.slice(0, column++) + token + line.slice(column);
  }
  return lines;
}

const hasScript = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') ?? false;
const needsTerminal = { skip: !hasScript && 'needs script(1) of util-linux' };

/** Runs a shell command on a terminal of 60 columns; what the terminal received. */
async function onTerminal(command: string): Promise<string> {
  const child = spawn('script', ['-qec', `stty cols 60; ${command}`, '/dev/null'], {
    cwd: FIXTURES,
    env: { ...process.env, NODE: process.execPath, CLI, TERM: 'xterm' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.add(child);
  return textOf(child.stdout);
}

test('the progress bar on a terminal leaves the results whole', needsTerminal, async () => {
  const output = await onTerminal('"$NODE" "$CLI" map --threads 2 work.mjs#nap 0 1 2 3 4 5');
  assert.match(output, /\[-+\] 0\/6/);
  assert.match(output, /\[#+-+\] [1-5]\/6 {2}\d+\.\d\/s {2}\d+s left/);
  for (const part of output.split(/[\r\n]/)) assert.ok(part.replace('\u001b[K', '').length < 60, part);
  assert.deepEqual(screenOf(output), [...numbers(6).map((input) => JSON.stringify({ input, output: input })), '']);
});

test('the progress bar with failures and prints', needsTerminal, async () => {
  const failing = await onTerminal('"$NODE" "$CLI" map work.mjs#picky a bad b 2>&1');
  // A report may come before later results, or after them.
  const expected = [
    '{"input":"a","output":"a"}',
    '{"input":"bad","error":{"name":"RangeError","message":"no bad","code":"E_PICKY","cause":{"name":"TypeError","message":"deep down"}}}',
    '{"input":"b","output":"b"}',
    'plait: bad: RangeError: no bad (caused by TypeError: deep down)',
    'plait: 1 of 3 failed',
    '',
  ];
  assert.deepEqual(screenOf(failing).sort(), expected.sort());
  const printing = await onTerminal('"$NODE" "$CLI" map work.mjs#print a > /dev/null');
  assert.deepEqual(screenOf(printing), ['printed a', '']);
});

test('the progress bar for an unknown total; none with --json, or without a terminal', needsTerminal, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'plait-cli-'));
  const list = join(folder, 'list');
  writeFileSync(list, numbers(6).join('\n'));
  try {
    // The input ends when the results are there, but for the last line's, and another redraw of the bar is due.
    const results = join(folder, 'results');
    const wait = `until [ "$(wc -l < '${results}')" = 5 ]; do sleep 0.1; done; sleep 1`;
    const counting = await onTerminal(`(cat '${list}'; ${wait}) | "$NODE" "$CLI" map work.mjs#nap - > '${results}'`);
    assert.match(counting, /[1-6] done {2}\d+\.\d\/s/);
    assert.deepEqual(screenOf(counting), ['']);
    const json = await onTerminal(`"$NODE" "$CLI" map --json work.mjs#nap - < '${list}'`);
    assert.equal(json.includes('\u001b'), false);
    const quiet = await onTerminal(`"$NODE" "$CLI" map work.mjs#nap - < '${list}' 2> '${list}.err'`);
    assert.equal(quiet.includes('\u001b'), false);
    assert.equal(readFileSync(`${list}.err`, 'utf8'), '');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
