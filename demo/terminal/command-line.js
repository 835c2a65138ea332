/** Runs the job through the command line, `plait map`: the workers read the files themselves. */

import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../../', import.meta.url);
const ARGUMENTS = ['dist/node/cli.js', 'map', 'demo/terminal/hash-file.js', '-', '--threads'];

export const shownCommand = (threads) => `node ${ARGUMENTS.join(' ')} ${threads}`;

/** @returns milliseconds in all, with the start of the process, and the digest of each path */
export async function measureCommandLine(paths, threads) {
  const start = performance.now();
  const child = spawn(process.execPath, [...ARGUMENTS, String(threads)], {
    cwd: fileURLToPath(ROOT),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  child.stdin.on('error', () => {}); // it ended early: its exit code says so
  child.stdin.end(`${paths.join('\n')}\n`);
  const [output, code] = await Promise.all([text(child.stdout), ended]);
  const total = performance.now() - start;
  if (code !== 0) throw new Error(`plait map ended with code ${code}`);
  const digests = new Map();
  for (const line of output.split('\n')) {
    if (line === '') continue;
    const { input, output: digest } = JSON.parse(line);
    digests.set(input, digest);
  }
  return { total, digests: paths.map((path) => digests.get(path)) };
}
