/**
 * `WASI`: the class of node:wasi, over the files of a space.
 *
 * Facts of node:wasi (nodejs.org/api/wasi.html) that are kept: the options and their defaults, the order of checks in
 * `start` and `initialize`, and the codes of errors.
 */

import { commonSpace } from '../core/boot.ts';
import { host } from '../core/host.ts';
import type { Space } from '../core/space.ts';
import { codedError, wrongType, wrongValue } from '../fs/errors.ts';
import { Program } from './program.ts';

/** Options of `new WASI()`. */
export interface WASIOptions {
  /** The version of WASI. */
  version: 'preview1';
  /** The program's arguments; the first one is its name. Default: none. */
  args?: readonly string[] | undefined;
  /** The program's environment. Default: empty. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
  /**
   * Which directories the program may use: its name for each, and the directory in the space. Directories of the host
   * are mounted there (`fs.mount`). Default: none.
   */
  preopens?: Readonly<Record<string, string>> | undefined;
  /** Whether `start` returns the status of proc_exit; false: the process exits with it. Default: true. */
  returnOnExit?: boolean | undefined;
  /** Descriptors of the host for the standard streams. Default: 0, 1 and 2. */
  stdin?: number | undefined;
  stdout?: number | undefined;
  stderr?: number | undefined;
  /** The space whose files the program sees. Default: the common space, that of plait/fs. */
  space?: Space | undefined;
}

/** Options of `finalizeBindings`. */
export interface FinalizeBindingsOptions {
  /** The program's memory. Default: what the instance exports as `memory`. */
  memory?: WebAssembly.Memory | undefined;
}

type Exports = Record<string, unknown>;

function strings(values: unknown, name: string): string[] {
  if (values === undefined) return [];
  if (!Array.isArray(values)) throw wrongType(name, 'an instance of Array', values);
  return values.map((value) => withoutNul(String(value), name));
}

function withoutNul(text: string, name: string): string {
  if (text.includes('\0')) throw wrongValue(name, 'must be strings without null bytes', text);
  return text;
}

function entries(values: unknown, name: string): [string, string][] {
  if (values === undefined) return [];
  if (typeof values !== 'object' || values === null) throw wrongType(name, 'of type object', values);
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [withoutNul(key, name), withoutNul(String(value), name)]);
}

function descriptor(value: unknown, usual: number, name: string): number {
  if (value === undefined) return usual;
  if (typeof value !== 'number') throw wrongType(name, 'of type number', value);
  if (!Number.isInteger(value) || value < 0 || value > 0x7fffffff) {
    throw codedError(
      RangeError,
      'ERR_OUT_OF_RANGE',
      `The value of "${name}" is out of range. It must be >= 0 && <= 2147483647. Received ${value}`,
    );
  }
  return value;
}

/** The API of node:wasi for one program, which runs on this thread. */
export class WASI {
  /** The functions of preview1: what the program imports as `wasi_snapshot_preview1`. */
  readonly wasiImport: Record<string, (...args: never[]) => unknown>;
  readonly #program: Program;
  readonly #returnOnExit: boolean;
  #started = false;

  /**
   * @throws {TypeError} ERR_INVALID_ARG_TYPE, ERR_INVALID_ARG_VALUE
   * @throws {FsError} ENOENT, ENOTDIR: a preopened directory is none
   * @throws {PlaitError} ERR_PLAIT_OUT_OF_MEMORY, ERR_PLAIT_TOO_MANY_THREADS
   */
  constructor(options: WASIOptions) {
    if (typeof options !== 'object' || options === null) throw wrongType('options', 'of type object', options);
    const { version, returnOnExit } = options;
    if (typeof version !== 'string') throw wrongType('options.version', 'of type string', version);
    if (version !== 'preview1') throw wrongValue('options.version', "must be 'preview1'", version);
    if (returnOnExit !== undefined && typeof returnOnExit !== 'boolean') {
      throw wrongType('options.returnOnExit', 'of type boolean', returnOnExit);
    }
    this.#returnOnExit = returnOnExit ?? true;
    this.#program = new Program(options.space ?? commonSpace(), {
      args: strings(options.args, 'options.args'),
      env: entries(options.env, 'options.env').map(([name, value]) => `${name}=${value}`),
      preopens: entries(options.preopens, 'options.preopens'),
      streams: [
        descriptor(options.stdin, 0, 'options.stdin'),
        descriptor(options.stdout, 1, 'options.stdout'),
        descriptor(options.stderr, 2, 'options.stderr'),
      ],
    });
    this.wasiImport = this.#program.imports;
  }

  /** What `new WebAssembly.Instance()` takes. */
  getImportObject(): { wasi_snapshot_preview1: WASI['wasiImport'] } {
    return { wasi_snapshot_preview1: this.wasiImport };
  }

  /**
   * Prepares the program's calls, without running anything. `start` and `initialize` do so, too.
   *
   * @throws {TypeError} ERR_INVALID_ARG_TYPE: there is no memory
   * @throws {Error} ERR_WASI_ALREADY_STARTED
   */
  finalizeBindings(instance: WebAssembly.Instance, options: FinalizeBindingsOptions = {}): void {
    if (this.#started) {
      throw codedError(Error, 'ERR_WASI_ALREADY_STARTED', 'WASI instance has already started');
    }
    if (typeof instance !== 'object' || instance === null) throw wrongType('instance', 'of type object', instance);
    const exports = exportsOf(instance);
    const memory = options.memory ?? exports.memory;
    if (!(memory instanceof WebAssembly.Memory)) {
      throw wrongType('instance.exports.memory', 'an instance of WebAssembly.Memory', memory);
    }
    this.#program.memory = memory;
    this.#started = true;
  }

  /**
   * Runs a program: calls `_start`, and returns its status. Afterwards all that it has opened is closed. A trap is
   * thrown as the engine throws it.
   *
   * @throws {TypeError} ERR_INVALID_ARG_TYPE: there is no `_start`, or an `_initialize`
   */
  start(instance: WebAssembly.Instance): number {
    this.finalizeBindings(instance);
    const { _start: start, _initialize: initialize } = exportsOf(instance);
    if (typeof start !== 'function') throw wrongType('instance.exports._start', 'of type function', start);
    if (initialize !== undefined) throw wrongType('instance.exports._initialize', 'undefined', initialize);
    let status = 0;
    try {
      start();
    } catch (error) {
      const own = this.#program.status;
      if (own === undefined) throw error;
      status = own;
    } finally {
      this.#program.end();
    }
    if (!this.#returnOnExit) (host.builtin('node:process') as typeof process | undefined)?.exit(status);
    return status;
  }

  /**
   * Makes a reactor ready: calls `_initialize`, if there is one. From then on its other exports can be called.
   *
   * @throws {TypeError} ERR_INVALID_ARG_TYPE: there is a `_start`, or `_initialize` is no function
   */
  initialize(instance: WebAssembly.Instance): void {
    this.finalizeBindings(instance);
    const { _start: start, _initialize: initialize } = exportsOf(instance);
    if (initialize !== undefined && typeof initialize !== 'function') {
      throw wrongType('instance.exports._initialize', 'of type function', initialize);
    }
    if (start !== undefined) throw wrongType('instance.exports._start', 'undefined', start);
    initialize?.();
  }
}

function exportsOf(instance: WebAssembly.Instance): Exports {
  const { exports } = instance;
  if (typeof exports !== 'object' || exports === null) throw wrongType('instance.exports', 'of type object', exports);
  return exports as Exports;
}
