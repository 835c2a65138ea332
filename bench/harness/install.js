/** Installs the benchmark's packages when they are missing or older than the lock file. */

import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const BENCH = new URL('../', import.meta.url);

export function install() {
  const installed = modified('node_modules/.package-lock.json');
  if (installed >= modified('package-lock.json')) return;
  const options = { cwd: fileURLToPath(BENCH), stdio: 'inherit', shell: process.platform === 'win32' };
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], options);
  if (status !== 0) throw new Error('npm ci failed in bench/');
}

/** 0 for a file that is not there. */
function modified(path) {
  return statSync(new URL(path, BENCH), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
