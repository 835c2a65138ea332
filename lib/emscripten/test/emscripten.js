/** What the tests share: commands in the change-root, and the folder that each test builds in. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
/** This Node, and those in PLAIT_NODES: paths, separated by commas. */
export const NODES = [process.execPath, ...(process.env.PLAIT_NODES?.split(',') ?? [])];

const BUILT = join(ROOT, 'build/emscripten-test');
const RUN = join(ROOT, 'tools/emscripten-run.sh');
/** Emscripten may compile its C library first. */
const LIMIT_MS = 600_000;

const execute = promisify(execFile);

/** @returns what the command printed, its standard output alone, and its exit code */
export async function run(command, parameters, cwd) {
  const options = { cwd, timeout: LIMIT_MS, maxBuffer: 2 ** 26 };
  const { stdout, stderr, code, killed } = await execute(command, parameters, options).catch((error) => error);
  assert.ok(!killed, `no end within ${LIMIT_MS / 1000} s: ${command} ${parameters.join(' ')}`);
  return { text: `${stdout}${stderr}`, stdout, code: code ?? 0 };
}

/** The same in the change-root. */
export const inside = (command, cwd) => run(RUN, command, cwd);

/** A folder of this name in which Node takes a .js file as Emscripten writes it: CommonJS. */
export function folderOf(name) {
  const folder = join(BUILT, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }');
  return folder;
}
