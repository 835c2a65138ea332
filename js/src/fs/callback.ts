/**
 * The callback API, made from the synchronous one. Wrong arguments are thrown at once; all other results go to the
 * callback, later.
 */

import type { CallbackFs } from './callback-types.ts';
import { completeLater, settle } from './completion.ts';
import { begin as beginCopy, copyAll } from './cp.ts';
import { checkAbort, wrongType } from './errors.ts';
import type { TreeFs } from './tree.ts';
import { isArgumentError, newBytes } from './values.ts';

type Callback = (error: Error | null, ...results: unknown[]) => void;
// biome-ignore lint/suspicious/noExplicitAny: the callers' types are in callback-types.ts
type Any = any;

/** What cp and others find only on the way; the type of a link is an argument. */
const LATER = /^ERR_FS_(?!INVALID_SYMLINK_TYPE)/;

function later(callback: Callback, ...results: [Error | null, ...unknown[]]): void {
  completeLater(() => callback(...results));
}

/** For a function whose callback is optional. */
function thrown(error: Error | null): void {
  if (error) throw error;
}

/** `pick`: the callback's arguments after the error. */
function callbackOf(
  action: (...args: Any[]) => unknown,
  pick: (result: Any, args: Any[]) => unknown[] = (result) => [result],
) {
  return (...args: Any[]): void => {
    const callback = args.pop();
    if (typeof callback !== 'function') throw wrongType('cb', 'of type function', callback);
    let results: unknown[];
    try {
      results = pick(action(...args), args);
    } catch (error) {
      if (isArgumentError(error) && !LATER.test((error as { code: string }).code)) throw error;
      later(callback, error as Error);
      return;
    }
    later(callback, null, ...results);
  };
}

/** The symbol under which Node's `util.promisify` finds the promise version of a function. */
const PROMISIFIED = Symbol.for('nodejs.util.promisify.custom');

function promisable<Call extends object>(call: Call, promised: (...args: Any[]) => Promise<unknown>): Call {
  return Object.defineProperty(call, PROMISIFIED, { value: promised });
}

/** For functions with several results: the promise resolves to an object with them. */
function promisableTo<Call extends (...args: Any[]) => void>(names: readonly [string, string], call: Call): Call {
  return promisable(
    call,
    (...args) =>
      new Promise((resolve, reject) => {
        call(...args, (error: Error | null, ...results: unknown[]) => {
          if (error === null) resolve(Object.fromEntries(names.map((name, i) => [name, results[i]])));
          else reject(error);
        });
      }),
  );
}

const NAMES = [
  'access',
  'appendFile',
  'chmod',
  'chown',
  'close',
  'copyFile',
  'fchmod',
  'fchown',
  'fdatasync',
  'fstat',
  'fsync',
  'ftruncate',
  'futimes',
  'glob',
  'lchown',
  'link',
  'lstat',
  'lutimes',
  'mkdir',
  'mkdtemp',
  'open',
  'opendir',
  'readdir',
  'readFile',
  'readlink',
  'rename',
  'rm',
  'rmdir',
  'stat',
  'statfs',
  'symlink',
  'truncate',
  'unlink',
  'utimes',
  'writeFile',
] as const;

/** Functions that take an AbortSignal, and the index of their options. */
const ABORTABLE = [
  ['appendFile', 2],
  ['readFile', 1],
  ['writeFile', 2],
] as const;

/** The callback API of `fs`. */
export function callbackFs(fs: TreeFs): CallbackFs {
  const made: Record<string, unknown> = {};
  for (const name of NAMES) {
    const action = fs[`${name}Sync`] as (...args: Any[]) => unknown;
    made[name] = callbackOf(action, (result) => (result === undefined ? [] : [result]));
  }
  for (const [name, place] of ABORTABLE) {
    const action = fs[`${name}Sync`] as (...args: Any[]) => unknown;
    made[name] = callbackOf(
      (...args) => {
        checkAbort(args[place]);
        return action(...args);
      },
      (result) => (result === undefined ? [] : [result]),
    );
  }
  const realpath = callbackOf(fs.realpathSync);
  const read = (fd: number, buffer: Any, ...rest: Any[]) => {
    if (rest[0] === null && rest.length > 1) rest[0] = 0; // here a null offset does not mean missing options
    if (ArrayBuffer.isView(buffer)) return { count: (fs.readSync as Any)(fd, buffer, ...rest), buffer };
    const options = buffer ?? {};
    const view = options.buffer ?? newBytes(16384).fill(0);
    return { count: fs.readSync(fd, view, options), buffer: view };
  };
  const write = (fd: number, data: Any, ...rest: Any[]): number => {
    if (rest[0] === null && rest.length > 1 && ArrayBuffer.isView(data)) rest[0] = 0;
    return fs.writeSync(fd, data as string, ...rest);
  };
  const close = made.close as (fd: Any, callback: Callback) => void;
  return Object.assign(made, {
    close: (fd: Any, callback: Callback = thrown): void => close(fd, callback),
    cp(src: string | URL, dest: string | URL, ...rest: Any[]): void {
      const callback = rest.pop();
      if (typeof callback !== 'function') throw wrongType('cb', 'of type function', callback);
      const steps = beginCopy(fs, src, dest, rest[0]);
      copyAll(steps).then(
        () => later(callback, null),
        (error) => later(callback, error),
      );
    },
    exists: promisable(
      (path: Any, callback: (exists: boolean) => void): void => {
        if (typeof callback !== 'function') throw wrongType('cb', 'of type function', callback);
        const there = fs.existsSync(path);
        completeLater(() => callback(there));
      },
      (path: Any) => settle(() => fs.existsSync(path)),
    ),
    read: promisableTo(
      ['bytesRead', 'buffer'],
      callbackOf(read, ({ count, buffer }) => [count, buffer]),
    ),
    write: promisableTo(
      ['bytesWritten', 'buffer'],
      callbackOf(write, (count, args) => [count, args[1]]),
    ),
    readv: promisableTo(
      ['bytesRead', 'buffers'],
      callbackOf(fs.readvSync as (...args: Any[]) => unknown, (count, args) => [count, args[1]]),
    ),
    writev: promisableTo(
      ['bytesWritten', 'buffer'], // as in Node
      callbackOf(fs.writevSync as (...args: Any[]) => unknown, (count, args) => [count, args[1]]),
    ),
    realpath: Object.assign(realpath, { native: callbackOf(fs.realpathSync.native) }),
  }) as unknown as CallbackFs;
}
