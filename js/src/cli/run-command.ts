/**
 * `plait run`: runs a program of WASI on this thread, over directories of the host.
 *
 * Invariant: the program's streams are this process's, and are read and written at once. So nothing waits to be written
 * when it ends.
 */

import { readFileSync } from 'node:fs';
import { fs } from '../fs/index.ts';
import { WASI } from '../wasi/index.ts';
import type { RunArguments } from './run-args.ts';

/** The exit status after a trap: that of a process that SIGABRT ends, as a shell reports it. */
const TRAPPED = 134;
const UNUSABLE = 2;
/** Where the directories are mounted. Programs see them by their own names only. */
const PLACE = '/plait-run';

function complain(message: string): void {
  process.stderr.write(`plait: ${message}\n`);
}

function reasonOf(error: unknown): string {
  return (error as Error).message ?? String(error);
}

/** Runs the program, and returns the exit status. */
export function runProgram({ file, args, directories, env }: RunArguments): number {
  let wasi: WASI;
  let instance: WebAssembly.Instance;
  try {
    const preopens: Record<string, string> = {};
    for (const [index, { host, guest, readOnly }] of directories.entries()) {
      const place = `${PLACE}/${index}`;
      fs.mkdirSync(place, { recursive: true });
      fs.mount(place, { type: 'host', directory: host, readOnly });
      preopens[guest] = place;
    }
    const module = new WebAssembly.Module(readFileSync(file));
    wasi = new WASI({ version: 'preview1', args: [file, ...args], env, preopens });
    instance = new WebAssembly.Instance(module, wasi.getImportObject() as unknown as WebAssembly.Imports);
  } catch (error) {
    complain(`cannot run ${file}: ${reasonOf(error)}`);
    return UNUSABLE;
  }
  try {
    return wasi.start(instance);
  } catch (error) {
    const isTrap = error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
    complain(isTrap ? `${file} trapped: ${(error as Error).stack}` : `cannot run ${file}: ${reasonOf(error)}`);
    return isTrap ? TRAPPED : UNUSABLE;
  }
}
