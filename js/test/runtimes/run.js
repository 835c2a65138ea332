/**
 * Runs smoke.js on runtimes, from the package as npm would publish it, installed in an empty project.
 *
 *     node js/test/runtimes/run.js 'bun' 'deno run -A' ...      each argument a command, which is given the program
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, copyFileSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'plait-runtimes-'));
const TIMES = 10;

function npm(...args) {
  return execFileSync('npm', [...args, '--loglevel=error'], { cwd: root, encoding: 'utf8' });
}

/**
 * Its output goes to files: of what a pipe has still to take when a program exits, Bun drops the rest, main's own as
 * well.
 */
function run(command, ...args) {
  const [program, ...first] = command.split(' ');
  const files = ['stdout', 'stderr'].map((name) => join(folder, name));
  const [out, err] = files.map((file) => openSync(file, 'w'));
  const options = { cwd: folder, stdio: ['ignore', out, err], timeout: 60_000 };
  const { status, error } = spawnSync(program, [...first, 'smoke.js', ...args], options);
  for (const descriptor of [out, err]) closeSync(descriptor);
  const [stdout, stderr] = files.map((file) => readFileSync(file, 'utf8'));
  return { status: status ?? String(error), stdout, stderr };
}

const LINES = Array.from({ length: 2000 }, (_, i) => `line ${i}\n`).join('');

/** What is wrong, or undefined. */
function problemOf(command) {
  const smoke = run(command);
  process.stdout.write(smoke.stdout);
  if (smoke.status !== 0) return `${smoke.stderr}it ended with ${smoke.status}`;
  for (let time = 0; time < TIMES; time++) {
    const { status, stdout, stderr } = run(command, 'output');
    if (status !== 0) return `${stderr}a program that writes ended with ${status}`;
    if (stdout !== `${LINES}and a piece\n`) return `of what a task wrote ${stdout.length} characters came`;
    if (stderr !== 'to stderr\n') return `on standard error came ${JSON.stringify(stderr)}`;
  }
  return undefined;
}

try {
  const [{ filename }] = JSON.parse(npm('pack', '--json', '--pack-destination', folder));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  npm('install', '--prefix', folder, '--no-audit', '--no-fund', join(folder, filename));
  for (const file of ['smoke.js', 'work.js']) copyFileSync(new URL(file, import.meta.url), join(folder, file));
  for (const command of process.argv.slice(2)) {
    console.log(`== ${command}`);
    const problem = problemOf(command);
    if (problem === undefined) continue;
    console.log(`not ok: ${problem}`);
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}
