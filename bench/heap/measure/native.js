/** Measures one run of the workload natively, with an allocator in front of the C library's. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** @returns { ns, size }: wall time per operation; the process's peak in bytes */
export async function measureNative({ file, preload }, { mode, threads, seed }) {
  const env = { ...process.env, ...(preload && { LD_PRELOAD: preload }) };
  const { stdout } = await execute(file, [mode, threads, seed].map(String), { env });
  return JSON.parse(stdout);
}
