/**
 * The command line, as users see it: its output, and its exit status.
 *
 * No test waits for a time to pass: each waits for an event.
 */

import assert from 'node:assert/strict';
import {
  type ChildProcess,
  type ChildProcessWithoutNullStreams,
  execFileSync,
  spawn,
  spawnSync,
} from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { afterEach, test } from 'node:test';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { linesOf } from '../../dist/cli/inputs.js';
import { progressLine } from '../../dist/cli/progress.js';

const CLI = fileURLToPath(new URL('../../dist/node/cli.js', import.meta.url));
const FIXTURES = fileURLToPath(new URL('../../js/test/fixtures/cli/', import.meta.url));
const WORK = join(FIXTURES, 'work.mjs');

interface Line {
  readonly input: string;
  readonly output?: unknown;
  readonly error?: {
    readonly name: string;
    readonly message: string;
    readonly code?: string;
    readonly cause?: unknown;
  };
}

interface Finished {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Those that a failed test leaves behind are ended with it. */
const children = new Set<ChildProcess>();
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
});

/** A command line that runs. What it writes is collected from the first moment on. */
class Run {
  readonly child: ChildProcessWithoutNullStreams;
  stdout = '';
  stderr = '';
  readonly #ended: Promise<[number | null, NodeJS.Signals | null]>;
  #watchers: (() => void)[] = [];

  constructor(args: readonly string[], options: { readonly readsStdout?: boolean } = {}) {
    this.child = spawn(process.execPath, [CLI, ...args], { cwd: FIXTURES });
    children.add(this.child);
    this.#ended = new Promise((resolve) => {
      this.child.on('close', (status, signal) => {
        resolve([status, signal]);
        this.#watch();
      });
    });
    this.child.stdin.on('error', () => {}); // it may end before it has read everything
    this.child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      this.stderr += chunk;
      this.#watch();
    });
    if (options.readsStdout !== false) this.readStdout();
  }

  readStdout(): void {
    this.child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      this.stdout += chunk;
      this.#watch();
    });
  }

  #watch(): void {
    for (const watcher of this.#watchers) watcher();
  }

  /** Resolves as soon as `isTrue` is; fails if the process ends before. */
  async until(isTrue: () => boolean): Promise<void> {
    let ended = false;
    void this.#ended.then(() => {
      ended = true;
    });
    while (!isTrue()) {
      assert.ok(!ended, `it ended too early: ${this.stdout}${this.stderr}`);
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
      this.#watchers = [];
      await turn();
    }
  }

  async end(): Promise<Finished> {
    const [status, signal] = await this.#ended;
    return { status, signal, stdout: this.stdout, stderr: this.stderr };
  }
}

function run(args: readonly string[], stdin?: string): Promise<Finished> {
  const started = new Run(args);
  started.child.stdin.end(stdin ?? '');
  return started.end();
}

/** The lines of JSON, each of which must be one. */
function parse<T = Line>(text: string): T[] {
  if (text === '') return [];
  assert.ok(text.endsWith('\n'), 'the last line is complete');
  return text
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line) as T);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function numbers(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(index));
}

async function assertFails(args: readonly string[], message: RegExp): Promise<void> {
  const { status, stdout, stderr } = await run(['map', ...args]);
  assert.equal(stdout, '');
  assert.match(stderr, message);
  assert.equal(stderr.trimEnd().split('\n').length, 1, `one message: ${stderr}`);
  assert.equal(status, 2);
}

test('files go to the default export; results come in order', async () => {
  const files = numbers(300);
  const { status, stdout, stderr } = await run(['map', 'work.mjs', ...files]);
  assert.deepEqual(
    parse(stdout),
    files.map((input) => ({ input, output: sha256(input) })),
  );
  assert.equal(stderr, '');
  assert.equal(status, 0);
});

test('the order of the inputs holds for results that are ready in another', async () => {
  const files = numbers(100);
  const { stdout } = await run(['map', '--threads', '4', 'work.mjs#jitter', ...files]);
  assert.deepEqual(
    parse(stdout).map(({ output }) => output),
    files,
  );
});

test('--unordered writes finished results, and each input once', async () => {
  const started = new Run(['map', '--threads=2', '--unordered', 'work.mjs#hang', 'hang', ...numbers(50)]);
  // The first never ends, so these are out of order.
  await started.until(() => started.stdout.split('\n').length > 50);
  started.child.kill('SIGINT');
  const { status, stdout } = await started.end();
  assert.deepEqual(
    new Set(parse(stdout).map(({ output }) => output)),
    new Set(numbers(50)),
    'all but the one that hangs',
  );
  assert.equal(parse(stdout).length, 50);
  assert.equal(status, 130);
});

test('100,000 lines of standard input', async () => {
  const lines = numbers(100_000);
  for (const flags of [[], ['--unordered']]) {
    const { status, stdout } = await run(['map', ...flags, 'work.mjs', '-'], `${lines.join('\n')}\n`);
    const results = parse(stdout);
    if (flags.length > 0) results.sort((a, b) => Number(a.input) - Number(b.input));
    assert.equal(results.length, lines.length);
    for (const [index, { input, output }] of results.entries()) {
      if (input !== lines[index] || output !== sha256(input)) assert.fail(`line ${index}: ${input} ${output}`);
    }
    assert.equal(status, 0);
  }
});

test('lines of standard input: \\r\\n, empty ones, no final newline, a byte order mark', async () => {
  const inputs = async (stdin: string) =>
    parse((await run(['map', 'work.mjs#echo', '-'], stdin)).stdout).map(({ output }) => output);
  assert.deepEqual(await inputs('a\r\n\nb\r\n\r\n'), ['a', '', 'b', '']);
  assert.deepEqual(await inputs('a\nb'), ['a', 'b']);
  assert.deepEqual(await inputs('\n'), ['']);
  assert.deepEqual(await inputs('\ufeffa\rb\n'), ['a\rb']);
});

test('lines are the same wherever the chunks end', async () => {
  const bytes = new TextEncoder().encode('\u00e4\u{1f600}\r\n\n\u20ac\r\nlast\r');
  const expected = ['\u00e4\u{1f600}', '', '\u20ac', 'last'];
  for (let size = 1; size <= bytes.length; size++) {
    const chunks = (async function* () {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    })();
    const lines: string[] = [];
    for await (const line of linesOf(chunks)) lines.push(line);
    assert.deepEqual(lines, expected, `chunks of ${size}`);
  }
});

test('standard input among the files takes their place', async () => {
  const { stdout } = await run(['map', 'work.mjs#echo', 'a', '-', 'z'], 'm\nn\n');
  assert.deepEqual(
    parse(stdout).map(({ output }) => output),
    ['a', 'm', 'n', 'z'],
  );
});

test('the result of a live input is written before the next line arrives', async () => {
  const started = new Run(['map', 'work.mjs#echo', '-']);
  for (const line of ['a', 'b', 'c']) {
    started.child.stdin.write(`${line}\n`);
    await started.until(() => started.stdout.includes(`"output":"${line}"`));
  }
  started.child.stdin.end();
  assert.equal((await started.end()).status, 0);
});

test('empty standard input: nothing, and all is well', async () => {
  assert.deepEqual(await run(['map', 'work.mjs', '-']), { status: 0, signal: null, stdout: '', stderr: '' });
});

test('inputs pass unchanged: spaces, quotes, newlines, non-ASCII; -- ends the options', async () => {
  const odd = [
    'a b',
    `'"`,
    '$HOME `x` \\',
    'two\nlines\r',
    '\u00e4\u{1f600}\u65e5',
    '',
    '#',
    './-',
    '--json',
    '-x',
    '--',
  ];
  const { status, stdout } = await run(['map', 'work.mjs#echo', '--', ...odd]);
  assert.deepEqual(
    parse(stdout),
    odd.map((input) => ({ input, output: input })),
  );
  assert.equal(stdout.split('\n').length, odd.length + 1, 'a newline in a name begins no line');
  assert.equal(status, 0);
});

test('modules: paths, URLs, a # in the name, CommonJS', async () => {
  const output = async (module: string) => {
    const { status, stdout, stderr } = await run(['map', module, 'x']);
    assert.equal(status, 0, stderr);
    return parse(stdout)[0]?.output;
  };
  const url = new URL('../../js/test/fixtures/cli/work.mjs', import.meta.url).href;
  assert.equal(await output('./work.mjs'), sha256('x'));
  assert.equal(await output(WORK), sha256('x'));
  assert.equal(await output(url), sha256('x'));
  assert.equal(await output(`${url}#echo`), 'x');
  assert.equal(await output('odd name#1.mjs'), 'odd x');
  assert.equal(await output('odd name#1.mjs#other'), 'other x');
  assert.equal(await output('common.cjs#shout'), 'X');
});

test('failures: status 1, a line on each stream', async () => {
  const { status, stdout, stderr } = await run(['map', 'work.mjs#picky', 'a', 'bad one', 'b', 'bad\ntwo']);
  const error = (input: string) => ({
    name: 'RangeError',
    message: `no ${input}`,
    code: 'E_PICKY',
    cause: { name: 'TypeError', message: 'deep down' },
  });
  assert.deepEqual(parse(stdout), [
    { input: 'a', output: 'a' },
    { input: 'bad one', error: error('bad one') },
    { input: 'b', output: 'b' },
    { input: 'bad\ntwo', error: error('bad\ntwo') },
  ]);
  assert.deepEqual(stderr.split('\n'), [
    'plait: bad one: RangeError: no bad one (caused by TypeError: deep down)',
    'plait: bad\\ntwo: RangeError: no bad\\ntwo (caused by TypeError: deep down)',
    'plait: 2 of 4 failed',
    '',
  ]);
  assert.equal(status, 1);
});

test('any thrown value is written as a line', async () => {
  const inputs = ['string', 'object', 'undefined', 'terminal', 'ownCause'];
  const { status, stdout, stderr } = await run(['map', 'work.mjs#fail', ...inputs]);
  const errors = parse(stdout).map(({ error }) => error!);
  assert.deepEqual(errors[0], { name: 'Error', message: 'just text' });
  assert.deepEqual(errors[1], { name: 'Error', message: '{"status":404}' });
  assert.deepEqual(errors[2], { name: 'Error', message: 'undefined' });
  assert.equal(errors[3]!.message, 'red \u001b[31m and\nbelow');
  assert.equal(errors[4]!.message, 'round');
  assert.match(stderr, /^plait: terminal: Error: red \\u001b\[31m and\\nbelow$/m);
  assert.equal(status, 1);
});

test('results that JSON cannot hold as they are', async () => {
  const expected: Record<string, unknown> = {
    undefined: null,
    null: null,
    bigint: '12345678901234567890',
    map: [['a', '1']],
    set: [1, [2]],
    bytes: { base64: 'AQL/' },
    part: { base64: 'Av8=' },
    buffer: { base64: 'AQL/' },
    view: { base64: 'Av8=' },
    floats: [1.5, null],
    bigints: ['1', '-2'],
    date: '1970-01-01T00:00:00.000Z',
    nan: null,
    regexp: '/a\\/b/g',
    text: 'line\n"quoted" \u2028 \u00e4',
  };
  const { status, stdout } = await run(['map', 'work.mjs#value', ...Object.keys(expected), 'nested']);
  const results = parse(stdout);
  for (const [index, [input, output]] of Object.entries(expected).entries()) {
    assert.deepEqual(results[index], { input, output });
  }
  const nested = results.at(-1)!.output as { list: unknown; error: { name: string; message: string } };
  assert.deepEqual(nested.list, [null, null]);
  assert.equal(Object.hasOwn(nested, 'gone'), false);
  assert.equal(nested.error.name, 'RangeError');
  assert.equal(nested.error.message, 'inner');
  assert.equal(status, 0);
});

test('a result that contains itself fails, and no other', async () => {
  const { status, stdout, stderr } = await run(['map', 'work.mjs#value', 'cycle', 'null', 'mapCycle']);
  const [cycle, other, mapCycle] = parse(stdout);
  assert.match(cycle!.error!.message, /cannot be written as JSON: it contains itself/);
  assert.deepEqual(other, { input: 'null', output: null });
  assert.match(mapCycle!.error!.message, /cannot be written as JSON: .*contains itself/);
  assert.match(stderr, /^plait: cycle: TypeError: the result cannot be written/m);
  assert.equal(status, 1);
});

test('--json: failures and summary as JSON Lines on standard error', async () => {
  const { status, stdout, stderr } = await run(['map', '--json', 'work.mjs#picky', 'a', 'bad']);
  const [failure, summary, ...rest] = parse<Record<string, unknown>>(stderr);
  assert.equal(failure!.type, 'failure');
  assert.equal(failure!.input, 'bad');
  const { stack, ...error } = failure!.error as Record<string, unknown>;
  assert.match(String(stack), /work\.mjs:\d+/);
  assert.deepEqual(parse(stdout)[1]!.error, error, 'standard output has the same, without the stack');
  const { seconds, ...counts } = summary!;
  assert.equal(typeof seconds, 'number');
  assert.deepEqual(counts, { type: 'summary', done: 2, failed: 1, total: 2, stopped: null });
  assert.deepEqual(rest, []);
  assert.equal(status, 1);
});

test('--json: a summary after success, and after fatal errors', async () => {
  const well = await run(['map', '--json', 'work.mjs', '-'], 'a\nb\n');
  const { seconds: _, ...summary } = parse<Record<string, unknown>>(well.stderr)[0]!;
  assert.deepEqual(summary, { type: 'summary', done: 2, failed: 0, total: 2, stopped: null });
  assert.equal(parse(well.stderr).length, 1);
  for (const args of [
    ['map', '--json', 'gone.mjs', 'a'],
    ['map', '--json', 'throws.mjs', 'a'],
    ['map', '--json', '--bogus'],
  ]) {
    const { status, stderr } = await run(args);
    const [fatal, ...rest] = parse<{ type: string; message: string }>(stderr);
    assert.equal(fatal!.type, 'fatal');
    assert.match(fatal!.message, /gone\.mjs|broken at load|--bogus/);
    assert.deepEqual(rest, []);
    assert.equal(status, 2);
  }
});

test('--timeout stops a call that runs too long', async () => {
  for (const timeout of ['300', '300ms', '0.3s', '0.005m']) {
    const { status, stdout, stderr } = await run(['map', '--timeout', timeout, 'work.mjs#spin', 'a', 'spin', 'b']);
    const [a, spin, b] = parse(stdout);
    assert.equal(spin!.error!.code, 'ERR_PLAIT_TASK_TIMEOUT');
    assert.match(stderr, /^plait: spin: PlaitError: .*300 ms/m);
    assert.deepEqual([a!.output, b!.output], ['a', 'b']);
    assert.equal(status, 1);
  }
});

test('a worker that exits fails its input only', async () => {
  const { status, stdout, stderr } = await run(['map', '--threads', '1', 'work.mjs#exit', 'a', 'exit', 'b']);
  const [a, exit, b] = parse(stdout);
  assert.equal(exit!.error!.code, 'ERR_PLAIT_WORKER_DIED');
  assert.deepEqual([a!.output, b!.output], ['a', 'b']);
  assert.match(stderr, /^plait: exit: PlaitError: .*code 7/m);
  assert.equal(status, 1);
});

test('the module’s own output goes to standard error', async () => {
  const { status, stdout, stderr } = await run(['map', 'work.mjs#print', 'a', 'b']);
  assert.deepEqual(
    parse(stdout).map(({ output }) => output),
    ['a', 'b'],
  );
  assert.deepEqual(stderr.trimEnd().split('\n').sort(), ['printed a', 'printed b']);
  assert.equal(status, 0);
});

test('a module that cannot be loaded: one message, status 2', async () => {
  const many = numbers(100);
  await assertFails(['gone.mjs', ...many], /^plait: no such module: .*gone\.mjs\n$/);
  await assertFails(['gone.mjs#x', ...many], /^plait: no such module: .*gone\.mjs\n$/);
  await assertFails(['file:///nowhere/gone.mjs', 'a'], /^plait: no such module: /);
  await assertFails(['file://host:x/y', 'a'], /is not the URL of a file/);
  await assertFails(['.', 'a'], /^plait: a folder, not a module: /);
  await assertFails(['text.txt', ...many], /^plait: cannot load file:.*text\.txt/);
  await assertFails(['throws.mjs', ...many], /^plait: cannot load file:.*throws\.mjs: broken at load\n$/);
  await assertFails(['leaves.mjs', ...many], /^plait: cannot load file:.*leaves\.mjs: .*code 3/);
});

test('an export that cannot be loaded: one message, status 2', async () => {
  const many = numbers(100);
  await assertFails(
    ['work.mjs#gone', ...many],
    /^plait: .*work\.mjs has no export "gone"; it exports the functions .*echo/,
  );
  await assertFails(['work.mjs#number', ...many], /^plait: .*work\.mjs has an export "number" that is not a function/);
  await assertFails(['common.cjs', 'a'], /^plait: .*common\.cjs has .*"default"/);
  await assertFails(['work.mjs#', 'a'], /names no export after the #/);
});

test('a module that cannot be loaded ends the run although standard input stays open', async () => {
  const started = new Run(['map', 'throws.mjs', '-']);
  started.child.stdin.write('a\n');
  const { status, stderr } = await started.end();
  assert.match(stderr, /broken at load/);
  assert.equal(status, 2);
});

test('wrong usage: one message that names it, status 2', async () => {
  await assertFails([], /^plait: map needs a module; see plait --help\n$/);
  await assertFails(['work.mjs'], /^plait: map needs inputs: .* - .*; see plait --help\n$/);
  await assertFails(['work.mjs', '-', '-'], /given only once/);
  await assertFails(['--bogus', 'work.mjs', 'a'], /^plait: unknown option '--bogus'; see plait --help\n$/);
  await assertFails(['work.mjs', 'a', '-x'], /^plait: unknown option '-x'; .*--.*; see plait --help\n$/);
  await assertFails(['--unordered=yes', 'work.mjs', 'a'], /'--unordered' takes no value/);
  for (const threads of ['0', '-1', '1.5', '251', 'x', '']) {
    await assertFails([`--threads=${threads}`, 'work.mjs', 'a'], new RegExp(`1 to 250, not '${threads}'; see`));
  }
  for (const timeout of ['0', '-1', 'x', '1h', '1 s', '', '99999999999']) {
    await assertFails(
      [`--timeout=${timeout}`, 'work.mjs', 'a'],
      new RegExp(`--timeout needs .*, not '${timeout}'; see`),
    );
  }
  await assertFails(['work.mjs', 'a', '--threads'], /--threads needs a whole number from 1 to 250; see/);
});

test('no arguments, an unknown command, options without a command', async () => {
  const nothing = await run([]);
  assert.equal(nothing.stdout, '');
  assert.match(nothing.stderr, /^usage: plait map /);
  assert.equal(nothing.status, 2);
  for (const [args, message] of [
    [['mop', 'x'], /^plait: unknown command 'mop'; see plait --help\n$/],
    [['--bogus'], /^plait: unknown option '--bogus'; see plait --help\n$/],
    [['--json'], /no command given/],
  ] as const) {
    const { status, stdout, stderr } = await run(args);
    assert.equal(stdout, '');
    assert.match(stderr, message);
    assert.equal(status, 2);
  }
});

test('--help and --version', async () => {
  for (const args of [['--help'], ['-h'], ['map', '--help']]) {
    const { status, stdout, stderr } = await run(args);
    assert.match(stdout, /^usage: plait map /);
    for (const word of ['--threads', '--timeout', '--unordered', '--json', '--version', 'empty line', 'base64']) {
      assert.ok(stdout.includes(word), word);
    }
    assert.ok(
      stdout.split('\n').every((line) => line.length <= 80),
      'no line is too wide',
    );
    assert.equal(stderr, '');
    assert.equal(status, 0);
  }
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { status, stdout } = await run(['--version']);
  assert.equal(stdout, `${(JSON.parse(manifest) as { version: string }).version}\n`);
  assert.equal(status, 0);
});

test('a reader that leaves ends the run quietly', async () => {
  // Endless inputs: nothing but the reader's leaving can end it.
  for (const [name, status] of [
    ['echo', 0],
    ['picky', 1],
  ] as const) {
    const started = new Run(['map', `work.mjs#${name}`, '-']);
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
  const started = new Run(['map', 'work.mjs#big', ...numbers(5000)], { readsStdout: false });
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
  const started = new Run(['map', '--threads', '2', 'work.mjs#hang', '-']);
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
    const started = new Run(['map', '--threads', '2', 'work.mjs#hang', ...files]);
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
  const started = new Run(['map', '--json', 'work.mjs#picky', '-']);
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
    const started = new Run(['map', '--threads', '1', 'work.mjs#block', '-']);
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
