/**
 * Parses and checks the arguments of the command line, and contains the help text.
 *
 * Invariant: the result is complete and in range; every error is a {@link UsageError} that names the argument.
 */

import { parseArgs } from 'node:util';
import { parseRun, type RunArguments } from './run-args.ts';
import { UsageError } from './usage-error.ts';

/** The arguments of `plait map`. */
export interface MapArguments {
  /** MODULE[#export], as given. */
  readonly module: string;
  /** The inputs, as given; `-` stands for the lines of standard input. */
  readonly files: readonly string[];
  readonly threads: number | undefined;
  /** In milliseconds. */
  readonly timeout: number | undefined;
  /** How often a call is run again if its worker exits. */
  readonly retries: number;
  /** The journal's path. */
  readonly resume: string | undefined;
  readonly ordered: boolean;
  readonly json: boolean;
}

export type Command =
  | { readonly name: 'help' | 'version' | 'usage' }
  | { readonly name: 'map'; readonly options: MapArguments }
  | { readonly name: 'run'; readonly options: RunArguments }
  | { readonly name: 'top'; readonly pid: number | undefined; readonly once: boolean };

export const USAGE = `usage: plait map [OPTIONS] MODULE[#EXPORT] FILES...
       plait map [OPTIONS] MODULE[#EXPORT] -
       plait run [--dir HOST[::GUEST][:ro]] [--env NAME=VALUE] PROGRAM [ARGS...]
       plait top [--once] [PID]
       plait --help | --version
`;

export const HELP: string = `${USAGE}
Calls a function of a module once for each input, on worker threads, and writes
the results to standard output.

  MODULE   path or file: URL of a JavaScript module
  EXPORT   which of its functions to call; its default export, if not given. The
           name is split at the last '#', unless a file has the whole name.
  FILES    the inputs: each is passed to the function as a string, unchanged.
           They need not be names of files.
  -        stands for the lines of standard input (UTF-8), each an input. The
           line's end, \\n or \\r\\n, is not part of it. An empty line is an input,
           too: the empty string. An empty rest after the last \\n is no line.

Options:
  --threads N    the number of workers; by default, the number of processors
  --timeout T    stop and report a call that runs longer: 500 or 500ms, 2s, 1m
  --retries N    run a call again, up to N times, if its worker exits
  --resume FILE  record finished inputs in FILE, and continue from it if it
                 exists: finished inputs are not run again, and their results
                 come from FILE, so standard output is complete. Failures are
                 finished, too. Needs the same inputs in the same order.
  --unordered    write results as they are ready, not in the order of the inputs
  --json         failures and a closing summary as JSON Lines on standard error;
                 no progress bar
  --help, -h     this text
  --version      the version
  --             ends the options: inputs may follow that begin with '-'

Standard output has one line of JSON for each input:
  {"input":"a.txt","output":42}
  {"input":"b.txt","error":{"name":"RangeError","message":"too far"}}
An error has its code and its cause, too, if it has any. In an output,
  undefined                         is  null
  a BigInt                          is  a string of its digits
  a Map                             is  an array of [key, value]
  a Set                             is  an array
  Uint8Array, ArrayBuffer, DataView are {"base64":"..."}
  another typed array               is  an array of its numbers
  an error                          is  an object as above
  a regular expression              is  a string
and all else is as in JSON.stringify: a Date in ISO form, NaN as null. A result
that contains itself is a failure.

The module's own output goes to standard error. So does a line for each failure,
and a progress bar if it is a terminal. With --json, standard error has, for
each failure and at the end,
  {"type":"failure","input":...,"error":{...,"stack":"..."}}
  {"type":"summary","done":...,"failed":...,"total":...,"stopped":...,
   "seconds":...}, on one line, or {"type":"fatal","message":...}

Ctrl-C stops the running calls, starts no more, and writes the results that are
complete. A second one ends at once.

plait run runs a program of WASI (wasm32-wasip1). It reaches the directories
that --dir gives it, by the name GUEST (by default HOST), and no other; with :ro
it cannot change them. Its environment is what --env says. Both can be repeated.
The exit status is the program's; 134 if it traps, 2 if it cannot be run.

plait top shows the pools of a running program, live: their queues, times and
workers. The program must have been started with PLAIT_TOP=1 in its environment.
PID selects one, if there are several; --once prints one snapshot, as JSON.

Exit status:
  0    success
  1    some input failed
  2    wrong usage, or the module or its function cannot be loaded
  130  stopped by Ctrl-C; 143 by SIGTERM

Example:
  find photos -name '*.jpg' | plait map ./thumbnail.js#make -
`;

const OPTIONS = {
  threads: { type: 'string' },
  timeout: { type: 'string' },
  retries: { type: 'string' },
  resume: { type: 'string' },
  once: { type: 'boolean' },
  unordered: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

const MOST_THREADS = 250;
const MOST_RETRIES = 1000;
const MOST_MILLISECONDS = 2 ** 31 - 1;
const UNITS = new Map([
  ['', 1],
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
]);

function isOption(name: string): name is keyof typeof OPTIONS {
  return Object.hasOwn(OPTIONS, name);
}

/** Whether errors are to be written as JSON; also works for arguments that have other errors. */
export function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end < 0 ? argv.length : end).includes('--json');
}

/** Parses the arguments. */
export function parseArguments(argv: readonly string[]): Command {
  if (argv[0] === 'run') {
    const options = parseRun(argv.slice(1));
    return options === undefined ? { name: 'help' } : { name: 'run', options };
  }
  // Not strict: parseArgs' own messages are long, and do not mention --help.
  const { tokens } = parseArgs({
    args: [...argv],
    options: OPTIONS,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const positionals: string[] = [];
  const flags = new Set<string>();
  let threads: number | undefined;
  let timeout: number | undefined;
  let retries = 0;
  let resume: string | undefined;
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName, value } = token;
    if (!isOption(name)) {
      const hint = positionals.length > 1 ? '; an input that begins with - goes after --' : '';
      throw new UsageError(`unknown option '${rawName}'${hint}; see plait --help`);
    }
    if (OPTIONS[name].type === 'boolean') {
      if (value !== undefined) throw new UsageError(`option '${rawName}' takes no value; see plait --help`);
      flags.add(name);
    } else if (name === 'threads') {
      threads = parseThreads(value);
    } else if (name === 'retries') {
      retries = parseRetries(value);
    } else if (name === 'resume') {
      if (!value) throw new UsageError('--resume needs the name of a file; see plait --help');
      resume = value;
    } else {
      timeout = parseTimeout(value);
    }
  }
  if (flags.has('help')) return { name: 'help' };
  if (flags.has('version')) return { name: 'version' };
  const [command, module, ...files] = positionals;
  if (command === undefined) {
    if (argv.length === 0) return { name: 'usage' };
    throw new UsageError('no command given; see plait --help');
  }
  if (command === 'top') return parseTop([module, ...files], flags);
  if (command !== 'map') throw new UsageError(`unknown command '${command}'; see plait --help`);
  if (module === undefined) throw new UsageError('map needs a module; see plait --help');
  if (files.length === 0) {
    throw new UsageError('map needs inputs: name them, or give - to read them from standard input; see plait --help');
  }
  if (files.indexOf('-') !== files.lastIndexOf('-')) {
    throw new UsageError('- can be given only once: there is one standard input; see plait --help');
  }
  return {
    name: 'map',
    options: {
      module,
      files,
      threads,
      timeout,
      retries,
      resume,
      ordered: !flags.has('unordered'),
      json: flags.has('json'),
    },
  };
}

function parseThreads(text: string | undefined): number {
  const threads = /^\d+$/.test(text ?? '') ? Number(text) : Number.NaN;
  if (threads >= 1 && threads <= MOST_THREADS) return threads;
  throw new UsageError(`--threads needs a whole number from 1 to ${MOST_THREADS}${butGot(text)}; see plait --help`);
}

function parseRetries(text: string | undefined): number {
  const retries = /^\d+$/.test(text ?? '') ? Number(text) : Number.NaN;
  if (retries <= MOST_RETRIES) return retries;
  throw new UsageError(`--retries needs a whole number from 0 to ${MOST_RETRIES}${butGot(text)}; see plait --help`);
}

function parseTop(positionals: readonly (string | undefined)[], flags: ReadonlySet<string>): Command {
  const [pid, extra] = positionals;
  if (extra !== undefined || (pid !== undefined && !/^[1-9]\d*$/.test(pid))) {
    throw new UsageError(`top takes the number of one process${butGot(extra ?? pid)}; see plait --help`);
  }
  return { name: 'top', pid: pid === undefined ? undefined : Number(pid), once: flags.has('once') };
}

function parseTimeout(text: string | undefined): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|)$/.exec(text ?? '');
  const timeout = match === null ? Number.NaN : Math.round(Number(match[1]) * UNITS.get(match[2]!)!);
  if (timeout >= 1 && timeout <= MOST_MILLISECONDS) return timeout;
  throw new UsageError(`--timeout needs a time such as 500ms, 2s or 1m${butGot(text)}; see plait --help`);
}

function butGot(text: string | undefined): string {
  return text === undefined ? '' : `, not '${text}'`;
}
