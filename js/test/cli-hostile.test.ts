/**
 * The command line in folders where other users can create names, and with text that contains control sequences.
 */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { createServer } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { owned, ownFolder } from './owned.ts';

const CLI = fileURLToPath(new URL('../../dist/node/cli.js', import.meta.url));
const FIXTURES = fileURLToPath(new URL('../../js/test/fixtures/cli/', import.meta.url));
const WORK = join(FIXTURES, 'work.mjs');
const LIMIT = { timeout: 60000, skip: process.platform === 'win32' && 'needs POSIX files' };
/** DEL and C1 with them, which JSON leaves as they are. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
const ORDERS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029]/;
const orderOf = (text: string): string => `${text}\u001b[2J\u007f\u009b31m\u0085\u2028`;

function plait(args: readonly string[], env: Record<string, string> = {}) {
  const options = { encoding: 'utf8', env: { ...process.env, ...env }, timeout: 30000 } as const;
  const { status, stdout, stderr, signal } = spawnSync(process.execPath, [CLI, ...args], options);
  assert.equal(signal, null, 'it hangs');
  return { status, stdout, stderr };
}

test(
  'results, errors and names with orders for a terminal are written escaped, and mean the same',
  LIMIT,
  (context) => {
    const folder = ownFolder(context);
    const inputs = ['a\u009b1m', 'bad\u001b[1m'];
    for (const options of [
      [],
      ['--json'],
      ['--resume', join(folder, 'journal')],
      ['--resume', join(folder, 'journal')],
    ]) {
      const { stdout, stderr } = plait(['map', ...options, `${WORK}#orders`, ...inputs]);
      assert.doesNotMatch(stdout, ORDERS);
      assert.doesNotMatch(stderr, ORDERS);
      const [good, bad] = stdout.split('\n').map((line) => (line === '' ? {} : JSON.parse(line)));
      assert.deepEqual(good, { input: inputs[0], output: { [orderOf(inputs[0]!)]: orderOf(inputs[0]!) } });
      assert.deepEqual([bad.input, bad.error.message], [inputs[1], orderOf(inputs[1]!)]);
    }
    for (const args of [
      ['map', `${WORK}#\u009bnone`, 'a'],
      ['map', '\u009b.mjs', 'a'],
      ['\u009b'],
      ['top', '\u009b'],
    ]) {
      const { status, stderr } = plait(args);
      assert.notEqual(status, 0);
      assert.doesNotMatch(stderr, ORDERS);
    }
  },
);

test('a journal from another program cannot control the terminal', LIMIT, (context) => {
  const journal = join(ownFolder(context), 'journal');
  assert.equal(plait(['map', '--resume', journal, `${WORK}#echo`, 'a', 'b']).status, 0);
  const header = fs.readFileSync(journal, 'utf8').split('\n')[0]!;
  const entry = {
    place: 0,
    input: 'a',
    line: `{"input":"a","output":"\u009b"}\nplait: \u001b[2J\n`,
    report: '\u001b[2J\n\n',
  };
  fs.writeFileSync(journal, `${header}\n${JSON.stringify(entry)}\n`);
  const { stdout, stderr } = plait(['map', '--resume', journal, `${WORK}#echo`, 'a', 'b']);
  assert.doesNotMatch(stdout + stderr, ORDERS);
  assert.equal(stdout.split('\n').length, 3, 'a line for each input');
  for (const odd of [{ ...entry, place: 'x' }, { ...entry, line: 1 }, { ...entry, report: null }, { place: 0 }]) {
    fs.writeFileSync(journal, `${header}\n${JSON.stringify(odd)}\n`);
    const { status, stderr: reported } = plait(['map', '--resume', journal, `${WORK}#echo`, 'a', 'b']);
    assert.deepEqual([status, /is damaged in line 2/.test(reported)], [2, true], reported);
  }
});

test(
  'a link, pipe or device in place of a journal or its lock is neither followed, written to nor waited for',
  LIMIT,
  (context) => {
    const folder = ownFolder(context);
    const [journal, other] = [join(folder, 'journal'), join(folder, 'other')];
    const run = () => plait(['map', '--resume', journal, `${WORK}#echo`, 'a']);
    const refused = (why: RegExp): void => {
      const { status, stdout, stderr } = run();
      assert.deepEqual([status, stdout], [2, ''], stderr);
      assert.match(stderr, why);
    };
    fs.writeFileSync(other, 'other');
    for (const target of [other, join(folder, 'none'), '/dev/null']) {
      fs.symlinkSync(target, `${journal}.lock`);
      refused(/cannot lock the journal: .*journal\.lock is a symbolic link/);
      fs.rmSync(`${journal}.lock`);
    }
    assert.deepEqual([fs.readFileSync(other, 'utf8'), fs.existsSync(join(folder, 'none'))], ['other', false]);
    assert.equal(spawnSync('mkfifo', [`${journal}.lock`]).status, 0);
    refused(/cannot lock the journal: .*journal\.lock is no regular file/);
    fs.rmSync(`${journal}.lock`);
    fs.mkdirSync(`${journal}.lock`);
    refused(/cannot lock the journal: .*EISDIR/);
    fs.rmdirSync(`${journal}.lock`);
    fs.rmSync(journal);
    assert.equal(spawnSync('mkfifo', [journal]).status, 0);
    refused(/journal is no regular file/);
    fs.rmSync(journal);
    assert.equal(run().status, 0);
  },
);

const folderName = `plait-${userInfo().uid}`;

test('top believes nothing in a folder that others can enter or have made', LIMIT, (context) => {
  const folder = ownFolder(context);
  const env = { TMPDIR: folder, PLAIT_TOP: '1' };
  const sockets = join(folder, folderName);
  const program = join(FIXTURES, 'short-main.mjs');
  const cases: [make: () => void, why: RegExp][] = [
    [() => fs.mkdirSync(sockets, { mode: 0o755 }), /is open to other users/],
    [() => fs.symlinkSync(FIXTURES, sockets), /is no directory/],
    [() => fs.writeFileSync(sockets, ''), /is no directory/],
  ];
  if (userInfo().uid === 0) {
    const foreign = (): void => {
      fs.mkdirSync(sockets, { mode: 0o700 });
      fs.chownSync(sockets, 12345, 12345);
    };
    cases.push([foreign, /belongs to another user/]);
  }
  for (const [make, why] of cases) {
    make();
    for (const args of [['top'], ['top', '--once', String(process.pid)]]) {
      const { status, stderr } = plait(args, env);
      assert.deepEqual([status, why.test(stderr)], [2, true], stderr);
    }
    const before = fs.lstatSync(sockets).mode;
    const reported = spawnSync(process.execPath, [program], {
      env: { ...process.env, ...env },
      encoding: 'utf8',
      timeout: 30000,
    });
    assert.deepEqual([reported.status, reported.stdout], [0, '3\n'], reported.stderr);
    assert.match(reported.stderr, /PLAIT_TOP/);
    assert.match(reported.stderr, why);
    assert.equal(fs.lstatSync(sockets).mode, before);
    if (fs.lstatSync(sockets).isDirectory()) assert.deepEqual(fs.readdirSync(sockets), []);
    fs.rmSync(sockets, { recursive: true });
  }
});

test('top escapes the text that a program publishes', LIMIT, async (context) => {
  const folder = ownFolder(context);
  const env = { ...process.env, TMPDIR: folder };
  fs.mkdirSync(join(folder, folderName), { mode: 0o700 });
  const times = { p50: 1, p90: 1, p99: 1, max: 1 };
  const stats = { ended: { '\u009bexit': 1 }, wait: times, run: times, workers: [], threads: '\u001b[2J' };
  const answer = JSON.stringify([{ module: orderOf('module'), stats }]);
  const server = owned(
    context,
    createServer((socket) => socket.end(answer)),
  );
  await new Promise<void>((resolve) => server.listen(join(folder, folderName, `${process.pid}-0.sock`), resolve));
  for (const args of [['--once', String(process.pid)], [String(process.pid)]]) {
    const top = owned(context, spawn(process.execPath, [CLI, 'top', ...args], { env }));
    let shown = '';
    for await (const chunk of top.stdout.setEncoding('utf8')) {
      shown += chunk;
      if (shown.includes('\n\n') || args.length > 1) break;
    }
    assert.match(shown, /module\\u001b\[2J\\u007f\\u009b31m/);
    assert.doesNotMatch(shown, ORDERS);
  }
});
