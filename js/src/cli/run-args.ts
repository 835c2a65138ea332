/**
 * Parses and checks the arguments of `plait run`. What follows the module is the program's.
 */

import { UsageError } from './usage-error.ts';

/** A directory of the host that the program gets. */
export interface GivenDirectory {
  /** On the host, as given. */
  readonly host: string;
  /** The program's name for it. */
  readonly guest: string;
  readonly readOnly: boolean;
}

/** The arguments of `plait run`. */
export interface RunArguments {
  /** The module's path, as given. */
  readonly file: string;
  readonly args: readonly string[];
  readonly directories: readonly GivenDirectory[];
  readonly env: Readonly<Record<string, string>>;
}

const READ_ONLY = ':ro';

function directoryOf(value: string): GivenDirectory {
  const readOnly = value.endsWith(READ_ONLY);
  const [host = '', guest = host, ...more] = (readOnly ? value.slice(0, -READ_ONLY.length) : value).split('::');
  if (host === '' || guest === '' || more.length > 0) {
    throw new UsageError(`--dir must be HOST, HOST::GUEST or HOST::GUEST:ro, not '${value}'; see plait --help`);
  }
  return { host, guest, readOnly };
}

/** `argv`: what follows `run`. Undefined: help is asked for. */
export function parseRun(argv: readonly string[]): RunArguments | undefined {
  const directories: GivenDirectory[] = [];
  const env: Record<string, string> = {};
  const rest = [...argv];
  while (rest[0]?.startsWith('-') && rest[0] !== '-') {
    const [option = '', ...parts] = (rest.shift() as string).split('=');
    if (option === '--') break;
    if (option === '--help' || option === '-h') return undefined;
    if (option !== '--dir' && option !== '--env') {
      throw new UsageError(`unknown option '${option}'; the program's own go after its name; see plait --help`);
    }
    const value = parts.length > 0 ? parts.join('=') : rest.shift();
    if (value === undefined) throw new UsageError(`option '${option}' needs a value; see plait --help`);
    if (option === '--dir') {
      directories.push(directoryOf(value));
      continue;
    }
    const at = value.indexOf('=');
    if (at < 1) throw new UsageError(`--env must be NAME=VALUE, not '${value}'; see plait --help`);
    env[value.slice(0, at)] = value.slice(at + 1);
  }
  const file = rest.shift();
  if (file === undefined) throw new UsageError('run needs a program; see plait --help');
  return { file, args: rest, directories, env };
}
