/**
 * The command line, as users see it: arguments, results, failures, and the exit status.
 *
 * No test waits for a time to pass: each waits for an event.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { linesOf } from '../../dist/cli/inputs.js';
import { assertFails, numbers, parse, RunningCommand, run, sha256, WORK } from './cli-setup.ts';

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
  const started = new RunningCommand(['map', '--threads=2', '--unordered', 'work.mjs#hang', 'hang', ...numbers(50)]);
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
  const started = new RunningCommand(['map', 'work.mjs#echo', '-']);
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
  const started = new RunningCommand(['map', 'throws.mjs', '-']);
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
