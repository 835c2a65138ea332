/**
 * What workers write, as the program and its readers see it: as with Workers of Node's own, though the program's streams
 * are made only when there is something to write.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const LIMIT = { timeout: 60000 };
const PROGRAM = fileURLToPath(new URL('../../js/test/fixtures/output.js', import.meta.url));
const line = (i: number): string => `${i} ${'x'.repeat(500)}\n`;

/** Rejects unless the program ends by itself, with code 0. */
function run(kind: string, env: Record<string, string> = {}): Promise<{ stdout: string; stderr: string }> {
  const options = { env: { ...process.env, ...env }, timeout: 30000, maxBuffer: 2 ** 25 };
  return promisify(execFile)(process.execPath, [PROGRAM, kind], options);
}

test('all that a worker writes arrives, in order', LIMIT, async () => {
  const { stdout, stderr } = await run('lines');
  assert.equal(stdout, `${Array.from({ length: 2000 }, (_, i) => line(i)).join('')}end\n`);
  assert.equal(stderr, 'from the worker\n');
});

test('it goes through what the program has made of its streams', LIMIT, async () => {
  const { stdout } = await run('patched');
  assert.equal(stdout, `> ${line(0)}> end\n`);
});

test('it goes to the stream that the program has put into their place', LIMIT, async () => {
  const { stdout, stderr } = await run('replaced');
  assert.equal(stdout, '');
  assert.equal(stderr, `from the worker\nseen: ${line(0)}end\n`);
});

test('the program itself can write while it starts a thread', LIMIT, async () => {
  const { stdout } = await run('getter');
  assert.match(stdout, /^(while it starts\n)+0 x{500}\nend\n$/);
});

test('once the program has ended its stream, what workers write is dropped', LIMIT, async () => {
  const { stdout, stderr } = await run('ended');
  assert.equal(stdout, `${line(0)}end\nbye\n`);
  assert.equal(stderr, 'from the worker\n'.repeat(2));
});

for (const [kind, when] of [
  ['ending', 'while the worker starts'],
  ['ended before it writes', 'between the start of the worker and what it writes'],
] as const) {
  test(`likewise if that happened ${when}`, LIMIT, async () => {
    const { stdout, stderr } = await run(kind);
    assert.equal(stdout, 'bye\n');
    assert.equal(stderr, 'from the worker\n');
  });
}

test('many workers that write more than is read at once are nothing to warn of', LIMIT, async () => {
  // Of what waits for the program's own stream when it ends, Node drops the rest, with its own pipes, too: so not each end arrives.
  const { stdout, stderr } = await run('many');
  assert.match(stdout, /^end$/m);
  assert.deepEqual(new Set(stderr.split('\n')), new Set(['from the worker', '']));
});

for (const [how, env] of [
  ['a script', {}],
  ['a module', { NODE_OPTIONS: '--import=data:text/javascript,0' }],
] as const) {
  test(`a worker that starts from ${how} finds its input at the end`, LIMIT, async () => {
    assert.equal((await run('read', env)).stdout, '""\n');
  });
}
