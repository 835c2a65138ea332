/**
 * The callback face, made from the synchronous one: wrong arguments are thrown at once, all else goes to the callback, later.
 */

import { checkAbort, wrongType } from './errors.ts';
import type { TreeFs } from './tree.ts';
import { isArgumentError } from './values.ts';

type Callback = (error: Error | null, ...results: unknown[]) => void;
// biome-ignore lint/suspicious/noExplicitAny: the callers' types are in CallbackFs
type Any = any;

/** The arguments of a function without those that may be left out at its end are not known; the last is the callback. */
type WithCallback<Sync> = Sync extends (...args: infer Arguments) => infer Result
  ? (...args: [...Partial<Arguments>, callback: (error: Error | null, result: Result) => void] | Any[]) => void
  : never;

/** What cp and others find only on the way; the type of a link is an argument. */
const LATER = /^ERR_FS_(?!INVALID_SYMLINK_TYPE)/;

function later(callback: Callback, ...results: [Error | null, ...unknown[]]): void {
  queueMicrotask(() => callback(...results));
}

/** `pick`: what is handed to the callback behind the error. */
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

const NAMES = [
  'access',
  'appendFile',
  'chmod',
  'chown',
  'close',
  'copyFile',
  'cp',
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

/** Those that take an AbortSignal, and where their options are. */
const ABORTABLE = [
  ['appendFile', 2],
  ['readFile', 1],
  ['writeFile', 2],
] as const;

type Name = (typeof NAMES)[number];

/** The callback functions of node:fs. */
export type CallbackFs = { [Key in Name]: WithCallback<TreeFs[`${Key}Sync`]> } & {
  exists(path: unknown, callback: (exists: boolean) => void): void;
  read(...args: Any[]): void;
  write(...args: Any[]): void;
  readv(...args: Any[]): void;
  writev(...args: Any[]): void;
  realpath: WithCallback<TreeFs['realpathSync']> & { native: WithCallback<TreeFs['realpathSync']> };
};

/** The callback face of `fs`. */
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
  return Object.assign(made, {
    exists(path: Any, callback: (exists: boolean) => void): void {
      if (typeof callback !== 'function') throw wrongType('cb', 'of type function', callback);
      const there = fs.existsSync(path);
      queueMicrotask(() => callback(there));
    },
    read: callbackOf(
      (fd: number, buffer: Any, ...rest: Any[]) => {
        if (rest[0] === null && rest.length > 1) rest[0] = 0; // here no offset is not no options
        if (ArrayBuffer.isView(buffer)) return { count: (fs.readSync as Any)(fd, buffer, ...rest), buffer };
        const options = buffer ?? {};
        const view = options.buffer ?? new Uint8Array(16384);
        return { count: fs.readSync(fd, view, options), buffer: view };
      },
      ({ count, buffer }) => [count, buffer],
    ),
    write: callbackOf(
      (fd: number, data: Any, ...rest: Any[]) => {
        if (rest[0] === null && rest.length > 1 && ArrayBuffer.isView(data)) rest[0] = 0;
        return fs.writeSync(fd, data as string, ...rest);
      },
      (count, args) => [count, args[1]],
    ),
    readv: callbackOf(fs.readvSync as (...args: Any[]) => unknown, (count, args) => [count, args[1]]),
    writev: callbackOf(fs.writevSync as (...args: Any[]) => unknown, (count, args) => [count, args[1]]),
    realpath: Object.assign(realpath, { native: callbackOf(fs.realpathSync.native) }),
  }) as unknown as CallbackFs;
}
