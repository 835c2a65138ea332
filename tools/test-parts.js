/**
 * Runs the parts of `make test` one after the other, each as a make target of its own, whatever became of those before.
 *
 *     node tools/test-parts.js MAKE PART...
 *
 * What a part prints lies in build/logs, too. In the end come the last lines of those that failed, and a table of all.
 * The exit status is 1 if one failed.
 */

import { spawn } from 'node:child_process';
import { createWriteStream, mkdirSync, readFileSync } from 'node:fs';

const LOGS = 'build/logs';
const SHOWN_LINES = 60;

const [make, ...parts] = process.argv.slice(2);
mkdirSync(LOGS, { recursive: true });

const logOf = (part) => `${LOGS}/${part}.txt`;

/** @returns its exit status, or the signal that ended it */
function run(part) {
  const child = spawn(make, ['--no-print-directory', '--keep-going', part], { stdio: ['inherit', 'pipe', 'pipe'] });
  const log = createWriteStream(logOf(part));
  for (const [from, to] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ]) {
    from.pipe(to, { end: false });
    from.pipe(log, { end: false });
  }
  return new Promise((resolve) => {
    child.on('close', (status, signal) => log.end(() => resolve(signal ?? status)));
  });
}

const rows = [];
for (const part of parts) {
  console.log(`\n#### ${part}`);
  const begun = performance.now();
  const status = await run(part);
  rows.push({ part, status, seconds: Math.round((performance.now() - begun) / 1000) });
  if (status === 'SIGINT' || status === 'SIGTERM') break; // somebody wants an end
}

const failed = rows.filter(({ status }) => status !== 0);
for (const { part } of failed) {
  const lines = readFileSync(logOf(part), 'utf8').trimEnd().split('\n');
  console.log(`\n#### ${part} failed; the last of ${lines.length} lines in ${logOf(part)}:\n`);
  console.log(lines.slice(-SHOWN_LINES).join('\n'));
}
const width = Math.max(...rows.map(({ part }) => part.length));
console.log('\n#### all parts');
for (const { part, status, seconds } of rows) {
  console.log(`${part.padEnd(width)}  ${String(seconds).padStart(4)} s  ${status === 0 ? 'ok' : `FAILED (${status})`}`);
}
const total = rows.reduce((sum, { seconds }) => sum + seconds, 0);
console.log(
  `${'together'.padEnd(width)}  ${String(total).padStart(4)} s  ${parts.length - rows.length} not run, ${failed.length} failed`,
);
process.exitCode = failed.length > 0 || rows.length < parts.length ? 1 : 0;
