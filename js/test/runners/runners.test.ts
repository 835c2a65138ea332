/**
 * The projects of examples/runners, with the package as it would be published: under Jest as it is, with babel and with
 * ts-jest, under Vitest, and through the compiler in each way that programs set it. The output of a runner
 * shows failed tests, and processes that do not end by themselves.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { installPacked } from '../packed.ts';

const project = fileURLToPath(new URL('../../../examples/runners/', import.meta.url));
const run = promisify(execFile);
/** Of a command, and of a test, which may have several: compiling takes half a minute on a busy machine. */
const DEADLINE_MS = 100_000;
const TEST_MS = 280_000;

/** What a command of the project prints; fails with that if the command does. */
async function node(...args: string[]): Promise<string> {
  const env: NodeJS.ProcessEnv = { ...process.env, CI: 'true' };
  delete env.NODE_TEST_CONTEXT; // the runners are no tests of node:test
  try {
    const { stdout, stderr } = await run(process.execPath, args, { cwd: project, env, timeout: DEADLINE_MS });
    return stdout + stderr;
  } catch (error) {
    const { stdout, stderr, killed } = error as { stdout: string; stderr: string; killed: boolean };
    throw new Error(`${args.join(' ')} ${killed ? 'does not end' : 'fails'}:\n${stdout}${stderr}`, { cause: error });
  }
}

before(() => installPacked(project));

/** Runs Jest and checks that it ran so many tests, and ended by itself. */
async function jest(tests: number, ...args: string[]): Promise<void> {
  const said = await node('node_modules/jest/bin/jest.js', '--colors=false', `--testTimeout=${DEADLINE_MS}`, ...args);
  assert.match(said, new RegExp(`^Tests: +${tests} passed, ${tests} total$`, 'm'));
  assert.doesNotMatch(said, /did not exit|open handle|failed to exit|leak/i);
}

test('Jest in its default mode, all in one process', { timeout: TEST_MS }, () =>
  jest(9, '--config', 'jest/jest.config.js', '--runInBand', '--detectOpenHandles'),
);

test('Jest in its default mode, in processes and in threads', { timeout: TEST_MS }, async () => {
  await jest(9, '--config', 'jest/jest.config.js', '--maxWorkers=2');
  await jest(9, '--config', 'jest/jest.config.js', '--maxWorkers=2', '--workerThreads');
});

test('Jest with the conditions of a page, as jest-environment-jsdom has them', { timeout: TEST_MS }, () => {
  const conditions = JSON.stringify({ customExportConditions: ['browser'] });
  return jest(9, '--config', 'jest/jest.config.js', '--runInBand', `--testEnvironmentOptions=${conditions}`);
});

test('Jest with babel', { timeout: TEST_MS }, () => jest(2, '--config', 'babel/jest.config.js', '--runInBand'));

test('Jest with ts-jest', { timeout: TEST_MS }, () =>
  // Its cache knows nothing of the types of packages.
  jest(1, '--config', 'ts-jest/jest.config.js', '--runInBand', '--no-cache'),
);

test('Vitest, in processes, threads and contexts', { timeout: TEST_MS }, async () => {
  for (const pool of ['forks', 'threads', 'vmThreads']) {
    const limit = `--testTimeout=${DEADLINE_MS}`;
    const said = await node('node_modules/vitest/vitest.mjs', 'run', '--root', 'vitest', '--pool', pool, limit);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it prints in colours
    assert.match(said.replaceAll(/\x1b\[\d*m/g, ''), /Tests +3 passed \(3\)/, pool);
    assert.doesNotMatch(said, /close timed out|hanging/i, pool);
  }
});

const COMPILERS = { 'TypeScript 5': 'typescript', 'TypeScript 7': 'typescript-7' };
const EXPECTED = '25 b 1 a ERR_PLAIT_UNSUPPORTED object\n';

for (const [name, compiler] of Object.entries(COMPILERS)) {
  test(`${name}, strict, without skipping the types of libraries`, { timeout: TEST_MS }, async (t) => {
    const dist = join(project, 'typescript', 'dist');
    rmSync(dist, { recursive: true, force: true });
    t.after(() => rmSync(dist, { recursive: true, force: true }));
    for (const mode of ['nodenext', 'node16', 'bundler', 'preserve', 'commonjs']) {
      await node(join('node_modules', compiler, 'bin', 'tsc'), '-p', `typescript/tsconfig.${mode}.json`);
    }
    for (const program of ['nodenext/main.mjs', 'nodenext/main.js', 'commonjs/main.js']) {
      assert.equal(await node(join(dist, program)), EXPECTED, program);
    }
  });
}
