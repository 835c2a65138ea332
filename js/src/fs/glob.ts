/**
 * glob: paths that match patterns (glob-pattern.ts).
 *
 * Invariant: each place of a pattern is tried once for each path. So the time is proportional to the number of files
 * times the length of the pattern, however many `**` it contains.
 */

import { expand, GLOBSTAR, matchesPath, type Part, partsOf } from './glob-pattern.ts';
import type { Dirent } from './stats.ts';
import type { SyncFs } from './sync.ts';
import { withoutSlashes } from './values.ts';

export interface GlobOptions {
  /** The directory where relative patterns start. Default: the root. */
  cwd?: string | undefined;
  /** Paths to exclude. Excluded directories are not searched. */
  exclude?: ((path: string) => boolean) | readonly string[] | undefined;
  withFileTypes?: boolean | undefined;
}

type Found = Map<string, Dirent | undefined>;

class Glob {
  readonly #fs: SyncFs;
  readonly #top: string;
  readonly #skip: (path: string) => boolean;
  readonly found: Found = new Map();
  #parts: readonly Part[] = [];
  /** The pattern ends in a slash, so only directories match. */
  #directories = false;
  /** Paths that were searched, for each index in the pattern. */
  #walked: Set<string>[] = [];

  constructor(fs: SyncFs, top: string, skip: (path: string) => boolean) {
    this.#fs = fs;
    this.#top = top;
    this.#skip = skip;
  }

  run(pattern: string): void {
    this.#parts = partsOf(pattern);
    this.#directories = pattern.endsWith('/');
    this.#walked = this.#parts.map(() => new Set());
    this.#walk(pattern.startsWith('/') ? '/' : '', 0);
  }

  #full(path: string): string {
    return path.startsWith('/') ? path : path === '' ? this.#top || '/' : `${this.#top}/${path}`;
  }

  #entries(path: string): Dirent[] {
    try {
      return this.#fs.entries(this.#full(path));
    } catch {
      return []; // not a directory, or removed
    }
  }

  /** Paths in a directory that match the parts from `index` on. */
  #walk(path: string, index: number): void {
    const part = this.#parts[index];
    const walked = this.#walked[index];
    if (part === undefined || walked === undefined || walked.has(path)) return;
    walked.add(path);
    const last = index === this.#parts.length - 1;
    const at = (name: string): string => (path === '' || path === '/' ? path + name : `${path}/${name}`);
    if (part === GLOBSTAR) {
      if (last && this.#leadsToDirectory(path)) this.#add(path === '' ? '.' : path, undefined);
      if (!last) this.#walk(path, index + 1);
      for (const entry of this.#entries(path)) {
        const next = at(entry.name);
        if (entry.name.startsWith('.') || this.#skip(next)) continue;
        if (entry.isDirectory()) this.#walk(next, index);
        else if (last) this.#add(next, entry);
      }
      return;
    }
    if (typeof part === 'string') {
      const next = at(part);
      if (this.#skip(next) || !this.#fs.existsSync(this.#full(next))) return;
      if (last) this.#add(next, undefined);
      else this.#walk(next, index + 1);
      return;
    }
    for (const entry of this.#entries(path)) {
      const next = at(entry.name);
      if (!part.test(entry.name) || this.#skip(next)) continue;
      if (last) this.#add(next, entry);
      else if (entry.isDirectory() || entry.isSymbolicLink()) this.#walk(next, index + 1);
    }
  }

  #add(path: string, entry: Dirent | undefined): void {
    if (this.found.has(path)) return;
    if (this.#directories && !this.#isDirectory(path, entry)) return;
    this.found.set(path, entry);
  }

  #leadsToDirectory(path: string): boolean {
    return this.#fs.statSync(this.#full(path), { throwIfNoEntry: false })?.isDirectory() === true;
  }

  #isDirectory(path: string, entry: Dirent | undefined): boolean {
    return (entry ?? this.#fs.lstatSync(this.#full(path === '.' ? '' : path))).isDirectory();
  }

  entry(path: string): Dirent | undefined {
    const full = this.#full(path === '.' ? '' : path);
    const cut = full.lastIndexOf('/');
    return this.#fs.entries(cut <= 0 ? '/' : full.slice(0, cut)).find(({ name }) => name === full.slice(cut + 1));
  }
}

/** All matching paths. */
export function globSync(
  fs: SyncFs,
  pattern: string | readonly string[],
  options: GlobOptions = {},
): string[] | Dirent[] {
  const patterns = typeof pattern === 'string' ? [pattern] : pattern;
  const { exclude } = options;
  const excluded = typeof exclude === 'function' ? exclude : undefined;
  const left = new Set(typeof exclude === 'object' ? exclude.flatMap(expand) : []);
  const leftParts = [...left].map((one) => ({ absolute: one.startsWith('/'), parts: partsOf(one) }));
  const skip = (path: string): boolean => {
    if (excluded !== undefined) return excluded(path);
    return leftParts.some(({ absolute, parts }) => path.startsWith('/') === absolute && matchesPath(path, parts));
  };
  const cwd = options.cwd ?? '';
  const glob = new Glob(fs, cwd === '' ? '' : withoutSlashes(cwd).replace(/^\/$/, ''), skip);
  for (const one of new Set(patterns.flatMap(expand))) glob.run(one);
  if (!options.withFileTypes) return [...glob.found.keys()];
  return [...glob.found].map(([path, entry]) => entry ?? glob.entry(path)).filter((entry) => entry !== undefined);
}
