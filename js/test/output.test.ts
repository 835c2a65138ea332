/**
 * Output of workers, as the program's readers see it: complete, in order, and before the result.
 */
import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const LIMIT = { timeout: 60000 };
const PROGRAM = fileURLToPath(new URL('../../js/test/fixtures/output.js', import.meta.url));

const lines = (count: number): string => Array.from({ length: count }, (_, i) => `line ${i}\n`).join('');

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(args: readonly (string | number)[], { env = {}, encoding = 'utf8' } = {}): Promise<Ended> {
  const options = {
    env: { ...process.env, ...env },
    encoding: encoding as 'utf8',
    timeout: 50000,
    maxBuffer: 2 ** 27,
  };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [PROGRAM, ...args.map(String)], options, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number') reject(error);
      else resolve({ code: (error?.code as number | undefined) ?? 0, stdout, stderr });
    });
  });
}

for (const [kind, code] of [
  ['end', 0],
  ['exit', 0],
  ['throw', 1],
] as const) {
  test(`no output is lost if the program has its result and comes to its ${kind}`, LIMIT, async () => {
    for (const count of [3, 3, 10_000]) {
      const ended = await run([kind, count]);
      assert.equal(ended.stdout, lines(count));
      assert.match(ended.stderr, /^to stderr$/m);
      assert.equal(ended.code, code);
    }
  });
}

test('nothing is lost when the program has closed its pool, and exits', LIMIT, async () => {
  assert.equal((await run(['close', 3e6])).stdout.length, 2 * (3e6 + 1));
});

test('nothing is lost if a thread closes its connection while its tasks write', LIMIT, async () => {
  assert.equal((await run(['letGo', 500])).stdout, lines(1).repeat(500));
});

test('earlier output of a task is printed when the program exits', LIMIT, (t) => {
  // To a file: of what is on its way to a slow reader when a program exits, Node drops the rest.
  const folder = mkdtempSync(join(tmpdir(), 'plait-output-'));
  const file = openSync(join(folder, 'out'), 'w');
  t.after(() => {
    closeSync(file);
    rmSync(folder, { recursive: true });
  });
  const { status, stderr } = spawnSync(process.execPath, [PROGRAM, 'cut'], {
    stdio: ['ignore', file, 'pipe'],
    encoding: 'utf8',
    timeout: 50000,
  });
  assert.equal(readFileSync(join(folder, 'out'), 'utf8'), lines(2000));
  assert.deepEqual([status, stderr], [0, 'to stderr\n']);
});

test('a closed reader causes no error and no warning, however much is written', LIMIT, async (t) => {
  const child = spawn(process.execPath, [PROGRAM, 'end', '5000'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 50000,
  });
  t.after(() => child.kill('SIGKILL'));
  child.stdout.destroy();
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  assert.deepEqual([code, stderr], [0, 'to stderr\n']);
});

test('a stream that the program has corked delays no result', { timeout: 10000 }, async (t) => {
  const child = spawn(process.execPath, [PROGRAM, 'cork'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), 8000);
  t.after(() => clearTimeout(timer));
  const [stdout, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  assert.deepEqual([code, stdout], [0, `${lines(3)}the result\n`]);
});

test('output is written before the result of runSync()', LIMIT, async () => {
  assert.equal((await run(['sync', 100])).stdout, `${lines(100)}the result\n`);
});

test('a worker waits while a blocked program reads nothing', LIMIT, async () => {
  const { stdout } = await run(['large', 6e6]);
  const expected = `${'x'.repeat(6e6)}\n`.repeat(2);
  assert.ok(stdout === `${expected}the result\n`, `${stdout.length} characters`);
});

test('a single piece may be larger than the limit of undelivered output', LIMIT, async () => {
  assert.equal((await run(['large', 20e6])).stdout.length, 2 * (20e6 + 1) + 'the result\n'.length);
});

for (const [name, written, reason] of [
  ['stall', 'it stalls\n', 'ERR_PLAIT_TASK_TIMEOUT\n'],
  ['exits', 'it runs\nit exits\n', 'ERR_PLAIT_WORKER_DIED\n'],
  ['throwsLater', 'it throws later\n', 'ERR_PLAIT_WORKER_DIED\n'],
  ['fails', 'it fails\n', 'as asked\n'],
] as const) {
  test(`output of a failed task is written before its error (${name})`, LIMIT, async () => {
    assert.equal((await run(['lost', name])).stdout, written + reason);
  });
}

test('output from outside of tasks is written before the error, too', LIMIT, async () => {
  const { stdout } = await run(['outside']);
  // A program that comes late finds the result and the remaining output at once, and gets the result in a microtask.
  assert.match(
    stdout,
    /^the module is there\n(the result\nleft behind\n|left behind\nthe result\n)all 0\nall 1\nall 2\n$/,
  );
});

const three = (name: string): string => [0, 1, 2].map((i) => `${name} ${i}\n`).join('');

test('tasks that run tasks write where their caller does', LIMIT, async () => {
  const { stdout } = await run(['nested']);
  assert.equal(stdout, `outer\n${three('inner')}${three('innermost')}outer ends\nthe result\n`);
});

test('tasks that run side by side on one worker', LIMIT, async () => {
  const { stdout } = await run(['together']);
  const all = stdout.split('\n');
  assert.deepEqual(all.slice(-2), ['the result', '']);
  for (const name of 'abc')
    assert.deepEqual(`${all.filter((line) => line.startsWith(name)).join('\n')}\n`, three(name));
});

test(
  "output that one thread's task has left is not written out by another thread whose task runs there",
  LIMIT,
  async () => {
    assert.deepEqual((await run(['behind'])).stdout.split('\n').sort(), ['', '"the result\\n"', 'left behind']);
  },
);

test('a thread that uses another thread’s pool writes out the output of its own tasks', LIMIT, async () => {
  assert.equal((await run(['connected'])).stdout, `${JSON.stringify(`${lines(2)}the result\n`)}\n`);
});

for (const how of ['blocked', 'never'] as const) {
  test(`a thread gets its results although its starter reads none of its output (${how})`, LIMIT, async () => {
    assert.match((await run(['unread', how])).stderr, /^20 results$/m);
  });
}

test('a listener that blocks the thread does not change the order', LIMIT, async () => {
  assert.equal((await run(['listens'])).stdout, 'first\nline 0\nline 1\nsecond\nanother has ended\n');
});

test("a worker's streams behave like other streams", LIMIT, async () => {
  const { stdout, stderr } = await run(['streams'], { encoding: 'latin1' });
  const bytes = Buffer.from(stdout, 'latin1');
  const texts = `textcorked \u20ac\u{1f600}x${'y'.repeat(2 ** 17)}the end`;
  assert.deepEqual(bytes, Buffer.concat([Uint8Array.from({ length: 256 }, (_, i) => i), Buffer.from(texts)]));
  assert.deepEqual(JSON.parse(stderr), { called: null });
});

test('output goes through the program’s own replacements of its streams', LIMIT, async () => {
  assert.equal((await run(['patched'])).stdout, '> line 0\n> line 1\n');
  const throwing = (await run(['throwing'])).stdout.split('\n').sort();
  assert.deepEqual(throwing, ['', 'line 1', 'of the program']);
  const { stdout, stderr } = await run(['replaced']);
  assert.equal(stdout, '');
  assert.equal(stderr, 'to stderr\nseen: line 0\nline 1\n');
});

test('output of workers is discarded after the program has ended its stream', LIMIT, async () => {
  const before = await run(['ended', 'before']);
  assert.deepEqual([before.stdout, before.stderr, before.code], ['bye\n', 'to stderr\n', 0]);
  const during = await run(['ended', 'during']);
  assert.deepEqual([during.stdout, during.stderr, during.code], ['line 0\nbye\n', 'to stderr\n'.repeat(2), 0]);
});

test('many workers that write more than is read at once cause no warning', LIMIT, async () => {
  const { stdout, stderr } = await run(['many']);
  assert.deepEqual(stdout.split('\n').sort(), lines(500).repeat(12).split('\n').slice(0, -1).concat('').sort());
  assert.equal(stderr, 'to stderr\n'.repeat(12));
});

for (const [how, env] of [
  ['a script', {}],
  ['a module', { NODE_OPTIONS: '--import=data:text/javascript,0' }],
] as const) {
  test(`a worker that starts from ${how} finds its input at the end`, LIMIT, async () => {
    assert.equal((await run(['read'], { env })).stdout, '""\n');
  });
}
