/**
 * The command line for long runs: the journal, retries, and `plait top`. No test waits for a time to pass: each waits
 * for an event.
 */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from './cases/pool-setup.ts';
import { owned, ownFolder } from './owned.ts';

const CLI = fileURLToPath(new URL('../../dist/node/cli.js', import.meta.url));
const WORK = fileURLToPath(new URL('../../js/test/fixtures/cli/long.mjs', import.meta.url));
const LIMIT = { timeout: 60000 };

function plait(args: readonly string[], env: Record<string, string> = {}) {
  const options = { encoding: 'utf8', env: { ...process.env, ...env }, timeout: 30000 } as const;
  return spawnSync(process.execPath, [CLI, ...args], options);
}

function inFolder(body: (t: TestContext, folder: string) => Promise<void> | void) {
  return (t: TestContext): Promise<void> | void => body(t, ownFolder(t));
}

const linesOf = (path: string): string[] =>
  existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];

test(
  'map --resume: a killed run is continued; no result is lost or repeated, and no input run twice',
  LIMIT,
  inFolder(async (t, folder) => {
    const journal = join(folder, 'journal');
    const calls = join(folder, 'calls');
    const inputs = Array.from({ length: 60 }, (_, i) => `${i}:${calls}`);
    const args = ['map', '--threads', '2', '--resume', journal, `${WORK}#note`, ...inputs];
    for (let kills = 1; kills <= 2; kills++) {
      const done = 15 * kills;
      const env = { ...process.env, LONG_HOLD: `${done}` };
      const child = owned(t, spawn(process.execPath, [CLI, ...args], { stdio: 'ignore', env }));
      // It stands still there: what comes first is done and noted, and each worker has one more under way.
      await until(() => linesOf(journal).length >= 1 + done && linesOf(calls).length >= done + 2 * kills);
      assert.equal(child.exitCode, null);
      child.kill('SIGKILL');
      await new Promise((resolve) => child.on('close', resolve));
      assert.equal(linesOf(journal).length, 1 + done);
    }
    appendFileSync(journal, '{"place":59,"inp'); // half a line, as after a kill
    const { status, stdout } = plait(args);
    assert.equal(status, 0);
    const outputs = stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { input: string; output: string });
    assert.deepEqual(
      outputs.map(({ input }) => input),
      inputs,
    );
    assert.ok(outputs.every(({ input, output }) => output === input.split(':')[0]));
    // What was done and noted was not done again; what was under way at a kill was.
    const made = linesOf(calls);
    assert.equal(new Set(made).size, 60);
    assert.equal(made.length, 60 + 2 * 2);
    assert.equal(plait(args).stdout, stdout, 'a run that is done says the same again');
    assert.equal(linesOf(calls).length, made.length, 'and runs nothing');
  }),
);

test(
  'map --resume: another function, other inputs, or no journal are errors, and the file is unchanged',
  LIMIT,
  inFolder((_, folder) => {
    const journal = join(folder, 'journal');
    assert.equal(plait(['map', '--resume', journal, `${WORK}#upper`, 'a', 'b']).status, 0);
    const text = readFileSync(journal, 'utf8');
    for (const [args, message] of [
      [[`${WORK}#fail`, 'a', 'b'], /journal of .*#upper, not of .*#fail/],
      [[`${WORK}#upper`, 'a', 'c'], /input 2 is "c", but "b"/],
    ] as const) {
      const { status, stderr } = plait(['map', '--resume', journal, ...args]);
      assert.equal(status, 2);
      assert.match(stderr, message);
      assert.equal(readFileSync(journal, 'utf8'), text);
    }
    const other = join(folder, 'other');
    const [header] = text.split('\n');
    const of = `${header?.replace('#upper', '#fail')}\n{"place":0,`;
    for (const content of ['precious\n', 'precious', 'more\nprecious', 'null\n', `${header}\nnull\n`, of]) {
      writeFileSync(other, content);
      const { status, stderr } = plait(['map', '--resume', other, `${WORK}#upper`, 'a']);
      assert.equal(status, 2, content);
      assert.match(stderr, /is no journal of|is the journal of|is damaged in line 2/);
      assert.equal(readFileSync(other, 'utf8'), content);
    }
    for (const content of ['', text.slice(0, 9), text.slice(0, -9)]) {
      writeFileSync(other, content);
      assert.equal(plait(['map', '--resume', other, `${WORK}#upper`, 'a', 'b']).status, 0, 'an incomplete last line');
      // in the order in which they were done
      assert.deepEqual(readFileSync(other, 'utf8').split('\n').sort(), text.split('\n').sort());
    }
    assert.match(plait(['map', '--resume', '', `${WORK}#upper`, 'a']).stderr, /--resume needs/);
    assert.equal(plait(['map', '--resume', join(folder, 'no', 'such'), `${WORK}#upper`, 'a']).status, 2);
  }),
);

test(
  'map --resume: a journal that cannot be written ends the run, and a later run continues it',
  { ...LIMIT, skip: process.platform === 'win32' && 'no limits there' },
  inFolder((_, folder) => {
    const journal = join(folder, 'journal');
    const inputs = Array.from({ length: 100 }, (_, index) => `${index}-${'x'.repeat(200)}`);
    const args = [CLI, 'map', '--resume', journal, `${WORK}#upper`, ...inputs];
    const limited = `ulimit -f 16; trap '' XFSZ; exec "$0" "$@"`;
    const { status, stderr } = spawnSync('sh', ['-c', limited, process.execPath, ...args], { encoding: 'utf8' });
    assert.equal(status, 1);
    assert.match(stderr, /^plait: cannot write to the journal .*: EFBIG.*\n$/);
    const { stdout } = plait(args.slice(1));
    const outputs = stdout.split('\n').filter((line) => line !== '');
    assert.equal(outputs.length, inputs.length);
    for (const [index, input] of inputs.entries()) assert.ok(outputs[index]?.includes(input.toUpperCase()));
  }),
);

test(
  'map --resume: one of several concurrent runs has the journal, the others fail and change nothing',
  LIMIT,
  inFolder(async (t, folder) => {
    const journal = join(folder, 'journal');
    const inputs = Array.from({ length: 200 }, (_, i) => `${i}:${join(folder, 'calls')}`);
    const args = ['map', '--threads', '1', '--resume', journal, `${WORK}#note`, ...inputs];
    // The file exists before any run: with claims of an exited process and of another machine, and half a line.
    const exited = spawnSync('true').pid;
    const claims = [
      { run: 'a', host: hostname(), pid: exited, started: '' },
      { run: 'b', host: '-', pid: 1, started: '' },
    ];
    writeFileSync(`${journal}.lock`, `${claims.map((claim) => JSON.stringify(claim)).join('\n')}\n{"run":"c"`);
    const runs = await Promise.all(
      Array.from({ length: 4 }, async () => {
        const child = owned(t, spawn(process.execPath, [CLI, ...args], { stdio: ['ignore', 'ignore', 'pipe'] }));
        let stderr = '';
        child.stderr.on('data', (chunk) => {
          stderr += chunk;
        });
        const status = await new Promise((resolve) => child.on('close', resolve));
        return { status, stderr };
      }),
    );
    assert.equal(runs.filter(({ status }) => status === 0).length, 1, JSON.stringify(runs));
    for (const { status, stderr } of runs) {
      if (status !== 0) assert.match(stderr, /journal of a run that is under way, process \d+; wait/);
    }
    assert.equal(linesOf(join(folder, 'calls')).length, inputs.length, 'each once');
    assert.equal(linesOf(journal).length, inputs.length + 1);
    assert.equal(existsSync(`${journal}.lock`), false);
    // By another name it is the same journal.
    const link = join(folder, 'link');
    symlinkSync(journal, link);
    const own = { run: 'd', host: hostname(), pid: process.pid, started: '' };
    writeFileSync(`${journal}.lock`, `${JSON.stringify(own)}\n`);
    const { status, stderr } = plait(['map', '--resume', link, `${WORK}#note`, ...inputs]);
    assert.equal(status, 2);
    assert.ok(stderr.includes(`process ${process.pid};`), stderr);
    // A later process with the number of one that has ended is not that one.
    if (process.platform !== 'linux') return;
    writeFileSync(`${journal}.lock`, `${JSON.stringify({ ...own, started: 'before' })}\n`);
    assert.equal(plait(['map', '--resume', link, `${WORK}#note`, ...inputs]).status, 0);
  }),
);

test(
  'map --resume: failures are recorded, and reported again',
  LIMIT,
  inFolder((_, folder) => {
    const args = ['map', '--resume', join(folder, 'journal'), `${WORK}#fail`, 'a'];
    const first = plait(args);
    const second = plait(args);
    assert.deepEqual([second.status, second.stdout, second.stderr], [1, first.stdout, first.stderr]);
    assert.match(second.stdout, /"error"/);
  }),
);

test(
  'map --retries: a call is run again if its worker exits',
  LIMIT,
  inFolder((_, folder) => {
    const calls = join(folder, 'calls');
    const args = [`${WORK}#dieTwice`, calls];
    assert.match(plait(['map', '--retries', '1', ...args]).stdout, /ERR_PLAIT_WORKER_DIED/);
    rmSync(calls);
    const { status, stdout } = plait(['map', '--retries', '2', ...args]);
    assert.equal(status, 0);
    assert.match(stdout, /"output":3/);
    assert.match(plait(['map', '--retries', 'x', ...args]).stderr, /--retries needs a whole number/);
  }),
);

test(
  'top shows the pools of a program that was started for it, also while its main thread is busy',
  LIMIT,
  inFolder(async (t, folder) => {
    const env = { PLAIT_TOP: '1', TMPDIR: folder };
    assert.match(plait(['top'], env).stderr, /no program shows its pools/);
    assert.match(plait(['top', '99999999'], env).stderr, /shows no pools/);
    assert.equal(plait(['top', 'x'], env).status, 2);
    const child = owned(
      t,
      spawn(process.execPath, [fileURLToPath(new URL('./busy-main.mjs', `file://${WORK}`))], {
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'inherit'],
      }),
    );
    await once(child.stdout, 'data'); // main says that it is busy from here on
    const sockets = join(folder, `plait-${userInfo().uid}`);
    await until(() => existsSync(sockets) && readdirSync(sockets).length === 1);
    const live = owned(t, spawn(process.execPath, [CLI, 'top'], { env: { ...process.env, ...env } }));
    let shown = '';
    for await (const chunk of live.stdout) {
      shown += chunk;
      if (/workers {2}2 .*\n[\s\S]*completed[\s\S]*completed/.test(shown)) break;
    }
    assert.match(shown, /1 pool[\s\S]*long\.mjs[\s\S]*workers {2}2 \(2 to 2\)[\s\S]*index/);
    const { stdout } = plait(['top', '--once', String(child.pid)], env);
    const [pool] = JSON.parse(stdout) as { module: string; stats: { threads: number } }[];
    assert.match(pool?.module ?? '', /long\.mjs$/);
    assert.equal(pool?.stats.threads, 2);
  }),
);
