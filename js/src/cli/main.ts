#!/usr/bin/env node
/**
 * The command `plait`: parses its arguments, and runs the command that they name.
 *
 * Invariant: wrong usage ends with status 2 and one message on standard error, and starts no thread.
 */

import { readFileSync } from 'node:fs';

import { type Command, HELP, parseArguments, USAGE, wantsJson } from './args.ts';
import { describeFatal } from './json-lines.ts';
import { UsageError } from './usage-error.ts';

function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

async function execute(command: Command): Promise<number> {
  switch (command.name) {
    case 'help':
      process.stdout.write(HELP);
      return 0;
    case 'version':
      process.stdout.write(`${version()}\n`);
      return 0;
    case 'usage':
      process.stderr.write(USAGE);
      return 2;
    case 'map': {
      // Imported only here, because help and version need no shared memory.
      const { runMap } = await import('./map-command.ts');
      return runMap(command.options);
    }
    case 'run': {
      const { runProgram } = await import('./run-command.ts');
      return runProgram(command.options);
    }
    case 'top': {
      const { runTop } = await import('./top-command.ts');
      return runTop(command.pid, command.once);
    }
  }
}

const argv = process.argv.slice(2);
try {
  process.exitCode = await execute(parseArguments(argv));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(describeFatal(error.message, wantsJson(argv)));
  process.exitCode = 2;
}
