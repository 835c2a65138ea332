/**
 * cp: copies a file, a link, or a directory with its contents, as node:fs does.
 *
 * Invariants
 * - The steps are the same whether the caller waits for them or not. They pause only to ask the filter, which may be
 *   slow in the asynchronous APIs.
 * - Nothing is copied into itself, whatever links lead there: a directory is never read while a copy is made in it.
 */

import { Errno } from '../core/layout.generated.ts';
import { codedError, copyError, type FsError, systemError, wrongType } from './errors.ts';
import type { Stats } from './stats.ts';
import type { SyncFs } from './sync.ts';
import { checkInteger, join, normalize, parentOf, pathOf, pathText } from './values.ts';

export interface CopyOptions {
  dereference?: boolean | undefined;
  errorOnExist?: boolean | undefined;
  filter?: ((source: string, destination: string) => boolean) | undefined;
  force?: boolean | undefined;
  mode?: number | undefined;
  preserveTimestamps?: boolean | undefined;
  recursive?: boolean | undefined;
  verbatimSymlinks?: boolean | undefined;
}
/** The same for asynchronous calls, whose filter may return a promise. */
export type AsyncCopyOptions = Omit<CopyOptions, 'filter'> & {
  filter?: ((source: string, destination: string) => boolean | Promise<boolean>) | undefined;
};

/** Yields the filter's result, and receives whether it means yes. */
type Steps<Result> = Generator<unknown, Result, boolean>;
interface Found {
  readonly source: Stats;
  readonly there: Stats | undefined;
}

const FLAGS = ['dereference', 'errorOnExist', 'force', 'preserveTimestamps', 'recursive', 'verbatimSymlinks'] as const;

/** What copying needs of the files (tree.ts has all of it). */
interface Files extends SyncFs {
  mkdirSync(path: string, options?: { recursive: boolean }): unknown;
  realpathSync(path: string): string;
  copyFileSync(src: string, dest: string, how?: number): void;
}

/** Copies synchronously. */
export function copyTreeSync(fs: Files, src: string | URL, dest: string | URL, options?: CopyOptions): void {
  const steps = begin(fs, src, dest, options);
  for (let step = steps.next(); !step.done; step = steps.next(Boolean(step.value))) {
    if (typeof (step.value as PromiseLike<unknown> | undefined)?.then !== 'function') continue;
    const message = 'Expected boolean to be returned from the "filter" function but got an instance of Promise.';
    throw codedError(TypeError, 'ERR_INVALID_RETURN_VALUE', message);
  }
}

/** Copies asynchronously, and waits for the filter. Wrong arguments are thrown at once. */
export async function copyTree(
  fs: Files,
  src: string | URL,
  dest: string | URL,
  options?: AsyncCopyOptions,
): Promise<void> {
  await copyAll(begin(fs, src, dest, options));
}

/** Continues steps that have begun, and waits for the filter. */
export async function copyAll(steps: Steps<void>): Promise<void> {
  for (let step = steps.next(); !step.done; ) step = steps.next(Boolean(await step.value));
}

/** Checks the arguments and returns the steps, of which none is done yet. */
export function begin(
  fs: Files,
  src: string | URL,
  dest: string | URL,
  options: CopyOptions | AsyncCopyOptions = {},
): Steps<void> {
  checkOptions(options);
  const from = pathText(pathOf(src, 'src'));
  const to = pathText(pathOf(dest, 'dest'));
  return new Copy(fs, options).copy(from, to);
}

function checkOptions(options: CopyOptions | AsyncCopyOptions): void {
  if (typeof options !== 'object' || options === null) throw wrongType('options', 'of type object', options);
  for (const name of FLAGS) {
    const value = options[name];
    if (value !== undefined && typeof value !== 'boolean') throw wrongType(`options.${name}`, 'of type boolean', value);
  }
  checkInteger(options.mode ?? 0, 'mode', 0, 7);
  if (options.filter !== undefined && typeof options.filter !== 'function')
    throw wrongType('options.filter', 'of type function', options.filter);
  if (options.dereference && options.verbatimSymlinks) {
    const message = 'Option "dereference" cannot be used in combination with option "verbatimSymlinks"';
    throw codedError(TypeError, 'ERR_INCOMPATIBLE_OPTION_PAIR', message);
  }
}

class Copy {
  readonly #fs: Files;
  readonly #options: CopyOptions | AsyncCopyOptions;

  constructor(fs: Files, options: CopyOptions | AsyncCopyOptions) {
    this.#fs = fs;
    this.#options = options;
  }

  *copy(from: string, to: string): Steps<void> {
    const found = yield* this.#inspect(from, to);
    if (found === undefined) return;
    let above = parentOf(normalize(to));
    const missing = above;
    while (!this.#fs.existsSync(above)) above = parentOf(above);
    const around = this.#around(above);
    if (found.source.isDirectory() && around.has(idOf(found.source))) throw intoItself(from, to);
    if (above !== missing) this.#fs.mkdirSync(missing, { recursive: true });
    yield* this.#copyOne(from, to, found, around);
  }

  #stat(path: string): Stats {
    return this.#options.dereference ? this.#fs.statSync(path) : this.#fs.lstatSync(path);
  }

  /** What is at both paths; undefined if the filter refuses the copy. */
  *#inspect(from: string, to: string): Steps<Found | undefined> {
    const { filter } = this.#options;
    if (filter !== undefined && !(yield filter(from, to))) return undefined;
    const source = this.#stat(from);
    const there = unlessMissing(() => this.#stat(to));
    if (there !== undefined) {
      if (idOf(source) === idOf(there)) throw copyError('EINVAL', 22, 'src and dest cannot be the same', to);
      if (source.isDirectory() && !there.isDirectory())
        throw copyError('DIR_TO_NON_DIR', 21, `cannot overwrite non-directory ${to} with directory ${from}`, to);
      if (!source.isDirectory() && there.isDirectory())
        throw copyError('NON_DIR_TO_DIR', 20, `cannot overwrite directory ${to} with non-directory ${from}`, to);
    }
    if (source.isDirectory() && isWithin(to, from)) throw intoItself(from, to);
    return { source, there };
  }

  /** The ids of a directory and of all its ancestors, without links. */
  #around(path: string): Set<string> {
    const all = new Set<string>();
    for (let at = this.#fs.realpathSync(path); ; at = parentOf(at)) {
      all.add(idOf(this.#fs.lstatSync(at)));
      if (at === '/') return all;
    }
  }

  /** @param around the directories that the copy is made in */
  *#copyOne(from: string, to: string, found: Found, around: Set<string>): Steps<void> {
    const { source } = found;
    if (source.isDirectory()) {
      if (!this.#options.recursive) throw notRecursive(from);
      yield* this.#copyDirectory(from, to, found, around);
    } else if (source.isSymbolicLink()) this.#copyLink(from, to, found.there);
    else if (source.isSocket()) throw copyError('SOCKET', 22, `cannot copy a socket file: ${to}`, to);
    else if (source.isFIFO()) throw copyError('FIFO_PIPE', 22, `cannot copy a FIFO pipe: ${to}`, to);
    else this.#copyFile(from, to, found);
  }

  *#copyDirectory(from: string, to: string, { source, there }: Found, around: Set<string>): Steps<void> {
    const fs = this.#fs;
    if (around.has(idOf(source))) throw intoItself(from, to);
    if (there === undefined) fs.mkdirSync(to);
    // The target may be a link to a directory; then the copy is made in other directories.
    const inside = fs.lstatSync(to).isSymbolicLink() ? this.#around(to) : new Set([...around, idOf(fs.statSync(to))]);
    for (const { name } of fs.entries(from)) {
      const [part, goal] = [join(from, name), join(to, name)];
      const found = yield* this.#inspect(part, goal);
      if (found !== undefined) yield* this.#copyOne(part, goal, found, inside);
    }
    if (there === undefined) fs.chmodSync(to, source.mode & 0o7777);
  }

  #copyFile(from: string, to: string, { source, there }: Found): void {
    const fs = this.#fs;
    const { force = true, errorOnExist, mode, preserveTimestamps } = this.#options;
    if (there !== undefined && !force) {
      if (errorOnExist) throw copyError('EEXIST', 17, `${to} already exists`, to);
      return;
    }
    if (there !== undefined) fs.unlinkSync(to);
    fs.copyFileSync(from, to, mode);
    fs.chmodSync(to, source.mode & 0o7777);
    if (!preserveTimestamps) return;
    const { atimeMs, mtimeMs } = fs.statSync(from); // in a mount, reading may have changed it
    fs.utimesSync(to, atimeMs / 1000, mtimeMs / 1000);
  }

  /** A link may replace a link, but nothing else. */
  #copyLink(from: string, to: string, there: Stats | undefined): void {
    const fs = this.#fs;
    const text = fs.readlinkSync(from);
    const target = this.#options.verbatimSymlinks ? text : absolute(from, text);
    if (there?.isSymbolicLink()) {
      const old = absolute(to, fs.readlinkSync(to));
      if (fs.statSync(from).isDirectory()) {
        if (isWithin(old, target)) throw intoItself(target, old);
        if (isWithin(target, old))
          throw copyError('SYMLINK_TO_SUBDIRECTORY', 22, `cannot overwrite ${old} with ${target}`, to);
      }
      fs.unlinkSync(to);
    }
    fs.symlinkSync(target, to);
  }
}

function absolute(link: string, text: string): string {
  return text.startsWith('/') ? text : normalize(join(parentOf(normalize(link)), text));
}

function isWithin(path: string, directory: string): boolean {
  const top = normalize(directory);
  return `${normalize(path)}/`.startsWith(top === '/' ? top : `${top}/`);
}

function idOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

function unlessMissing<Result>(action: () => Result): Result | undefined {
  try {
    return action();
  } catch (error) {
    if ((error as FsError).errno === -Errno.ENOENT) return undefined;
    throw error;
  }
}

function intoItself(from: string, to: string): Error {
  return copyError('EINVAL', 22, `cannot copy ${from} to a subdirectory of self ${to}`, to);
}

function notRecursive(path: string): Error {
  const message = `Recursive option not enabled, cannot copy a directory: cp returned EISDIR`;
  return systemError('ERR_FS_EISDIR', `${message} (${path} is a directory (not copied)) ${path}`, 21, 'cp', path);
}
