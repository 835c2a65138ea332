/**
 * glob: paths that match patterns of `*`, `?`, `[a-z]`, `{a,b}` and `**`. A leading dot has to be matched by a dot.
 */

import type { Dirent } from './stats.ts';
import type { TreeFs } from './tree.ts';

export interface GlobOptions {
  /** Where relative patterns start; the root. */
  cwd?: string | undefined;
  /** What to leave out: directories that it leaves out are not looked into. */
  exclude?: ((path: string) => boolean) | readonly string[] | undefined;
  withFileTypes?: boolean | undefined;
}

/** `a{b,c}d` as `abd`, `acd`. */
function expand(pattern: string): string[] {
  const open = pattern.search(/(?<!\\)\{/);
  if (open < 0) return [pattern];
  let depth = 0;
  const cuts = [open];
  for (let i = open; i < pattern.length; i++) {
    const char = pattern[i];
    if (char === '\\') i++;
    else if (char === '{') depth++;
    else if (char === ',' && depth === 1) cuts.push(i);
    else if (char === '}' && --depth === 0) {
      cuts.push(i);
      const head = pattern.slice(0, open);
      const tails = expand(pattern.slice(i + 1));
      if (cuts.length === 2) return tails.map((tail) => pattern.slice(0, i + 1).replace(/[{}]/g, '\\$&') + tail);
      return cuts
        .slice(1)
        .flatMap((cut, k) => expand(head + pattern.slice((cuts[k] as number) + 1, cut)))
        .flatMap((start) => tails.map((tail) => start + tail));
    }
  }
  return [pattern.slice(0, open) + pattern.slice(open).replace(/\{/g, '\\{')];
}

/** One part of a path as a regular expression. */
function partPattern(part: string): RegExp {
  let source = '';
  for (let i = 0; i < part.length; i++) {
    const char = part[i] as string;
    const close = part.indexOf(']', i + 2);
    if (char === '*') source += '[^/]*';
    else if (char === '?') source += '[^/]';
    else if (char === '[' && close > 0) {
      const set = part.slice(i + 1, close).replace(/\\/g, '\\\\');
      source += `[${set.replace(/^[!^]/, '^')}]`;
      i = close;
    } else {
      source += (char === '\\' && i + 1 < part.length ? (part[++i] as string) : char).replace(
        /[$()*+.?[\\\]^{|}]/g,
        '\\$&',
      );
    }
  }
  return new RegExp(`^${/^[*?[]/.test(part) ? '(?!\\.)' : ''}${source}$`, 'u');
}

const MAGIC = /[*?[\\]/;

type Found = Map<string, Dirent | undefined>;

class Glob {
  readonly #fs: TreeFs;
  readonly #top: string;
  readonly #skip: (path: string) => boolean;
  readonly found: Found = new Map();

  constructor(fs: TreeFs, top: string, skip: (path: string) => boolean) {
    this.#fs = fs;
    this.#top = top;
    this.#skip = skip;
  }

  #full(path: string): string {
    return path.startsWith('/') ? path : path === '' ? this.#top || '/' : `${this.#top}/${path}`;
  }

  #entries(path: string): Dirent[] {
    try {
      return this.#fs.entries(this.#full(path));
    } catch {
      return []; // no directory, or gone
    }
  }

  walk(path: string, parts: readonly string[]): void {
    const [part, ...rest] = parts;
    if (part === undefined) return;
    const at = (name: string): string => (path === '' || path === '/' ? path + name : `${path}/${name}`);
    if (part === '**') {
      if (rest.length === 0) this.#add(path === '' ? '.' : path, undefined);
      else this.walk(path, rest);
      for (const entry of this.#entries(path)) {
        if (entry.name.startsWith('.') || this.#skip(at(entry.name))) continue;
        if (entry.isDirectory()) this.walk(at(entry.name), parts);
        else if (rest.length === 0) this.#add(at(entry.name), entry);
      }
      return;
    }
    if (!MAGIC.test(part)) {
      const next = at(part);
      if (this.#skip(next) || !this.#fs.existsSync(this.#full(next))) return;
      if (rest.length === 0) this.#add(next, undefined);
      else this.walk(next, rest);
      return;
    }
    const pattern = partPattern(part);
    for (const entry of this.#entries(path)) {
      const next = at(entry.name);
      if (!pattern.test(entry.name) || this.#skip(next)) continue;
      if (rest.length === 0) this.#add(next, entry);
      else if (entry.isDirectory() || entry.isSymbolicLink()) this.walk(next, rest);
    }
  }

  #add(path: string, entry: Dirent | undefined): void {
    if (!this.found.has(path)) this.found.set(path, entry);
  }

  entry(path: string): Dirent | undefined {
    const full = this.#full(path === '.' ? '' : path);
    const cut = full.lastIndexOf('/');
    return this.#fs.entries(cut <= 0 ? '/' : full.slice(0, cut)).find(({ name }) => name === full.slice(cut + 1));
  }
}

/** All paths that match. */
export function globSync(
  fs: TreeFs,
  pattern: string | readonly string[],
  options: GlobOptions = {},
): string[] | Dirent[] {
  const patterns = typeof pattern === 'string' ? [pattern] : pattern;
  const { exclude } = options;
  const excluded = typeof exclude === 'function' ? exclude : undefined;
  const left = typeof exclude === 'object' ? exclude.flatMap(expand).map((text) => text.split('/').map(partOf)) : [];
  const skip = (path: string): boolean =>
    excluded !== undefined ? excluded(path) : left.some((parts) => matches(path.split('/'), parts));
  const glob = new Glob(fs, (options.cwd ?? '/').replace(/\/+$/, ''), skip);
  for (const one of patterns.flatMap(expand)) {
    const absolute = one.startsWith('/');
    glob.walk(
      absolute ? '/' : '',
      one.split('/').filter((part) => part !== '' && part !== '.'),
    );
  }
  if (!options.withFileTypes) return [...glob.found.keys()];
  return [...glob.found].map(([path, entry]) => entry ?? glob.entry(path)).filter((entry) => entry !== undefined);
}

function partOf(part: string): RegExp | undefined {
  return part === '**' ? undefined : partPattern(part);
}

function matches(path: readonly string[], parts: readonly (RegExp | undefined)[]): boolean {
  if (parts.length === 0) return path.length === 0;
  const [first, ...rest] = parts;
  if (first === undefined) return matches(path, rest) || (path.length > 0 && matches(path.slice(1), parts));
  return path.length > 0 && first.test(path[0] as string) && matches(path.slice(1), rest);
}
