/**
 * Patterns of glob: `*`, `?`, `[a-z]`, `{a,b}` and `**`, expanded and matched.
 *
 * Invariant: the time for a pattern is at most proportional to its length times the name's length, even for a hostile
 * pattern. So matching goes back only to the last star, and braces that expand to too many patterns are refused.
 */

import { wrongValue } from './errors.ts';

/** The maximum length, as in minimatch. */
const LONGEST = 65536;
/** The maximum number of patterns after the expansion of braces, and of their characters together. */
const MOST = 10000;
const MOST_LENGTH = 2 ** 22;

type Accepts = (char: string) => boolean;
/** One part of a pattern: what each character may be. A star matches any number of characters. */
type Token = string | Accepts | typeof STAR;

const STAR: unique symbol = Symbol('*');
const ANY: Accepts = () => true;

// ---- braces ----

/** For each opening brace, the index of its closing one. Unclosed braces are literal. */
function bracePairs(pattern: string): Map<number, number> {
  const pairs = new Map<number, number>();
  const open: number[] = [];
  for (let i = 0; i < pattern.length; i++) {
    const char = pattern[i];
    if (char === '\\') i++;
    else if (char === '{') open.push(i);
    else if (char === '}' && open.length > 0) pairs.set(open.pop() as number, i);
  }
  return pairs;
}

/** Expands `a{b,c}d` to `abd`, `acd`. ERR_INVALID_ARG_VALUE: too many patterns. */
export function expand(pattern: string): string[] {
  const fail = (): never => {
    throw wrongValue(
      'pattern',
      `must stand for no more than ${MOST} patterns of reasonable length`,
      pattern.slice(0, 64),
    );
  };
  if (pattern.length > LONGEST) fail();
  const pairs = bracePairs(pattern);
  const limited = (all: string[]): string[] => {
    if (all.length > MOST || all.length * (all[0] as string).length > MOST_LENGTH) fail();
    return all;
  };
  /** Each text of the first list, followed by each of the second. */
  const product = (heads: string[], tails: string[]): string[] => {
    if (heads.length * tails.length > MOST) fail();
    return limited(heads.flatMap((head) => tails.map((tail) => head + tail)));
  };
  const between = (from: number, to: number, depth: number): string[] => {
    if (depth > 100) fail();
    let all = [''];
    let start = from;
    for (let i = from; i < to; i++) {
      const close = pattern[i] === '{' ? pairs.get(i) : undefined;
      if (pattern[i] === '\\') i++;
      if (close === undefined) continue;
      all = product(all, [pattern.slice(start, i)]);
      all = product(all, group(i, close, depth + 1));
      i = close;
      start = close + 1;
    }
    return product(all, [pattern.slice(start, to)]);
  };
  const group = (open: number, close: number, depth: number): string[] => {
    const cuts = [open];
    for (let i = open + 1; i < close; i++) {
      if (pattern[i] === '\\') i++;
      else if (pattern[i] === '{') i = pairs.get(i) ?? i;
      else if (pattern[i] === ',') cuts.push(i);
    }
    const ends = [...cuts.slice(1), close];
    const parts: string[] = [];
    for (const [k, cut] of cuts.entries()) {
      for (const part of between(cut + 1, ends[k] as number, depth)) parts.push(part);
      if (parts.length > MOST) fail();
    }
    return cuts.length > 1 ? parts : parts.map((part) => `{${part}}`); // braces with one alternative are literal
  };
  return between(0, pattern.length, 0);
}

// ---- one part ----

/** The characters in brackets; undefined if the bracket is not closed. */
function setAt(part: readonly string[], open: number): { accepts: Accepts; close: number } | undefined {
  const negated = part[open + 1] === '!' || part[open + 1] === '^';
  const first = open + (negated ? 2 : 1);
  const ranges: [string, string][] = [];
  const code = (char: string): number => char.codePointAt(0) as number;
  let i = first;
  const next = (): string => {
    if (part[i] === '\\' && i + 1 < part.length) i++;
    return part[i++] as string;
  };
  while (i < part.length && (part[i] !== ']' || i === first)) {
    const from = next();
    if (part[i] !== '-' || part[i + 1] === ']' || i + 1 >= part.length) {
      ranges.push([from, from]);
      continue;
    }
    i++;
    ranges.push([from, next()]);
  }
  if (i >= part.length) return undefined;
  const accepts = (char: string): boolean =>
    ranges.some(([from, to]) => code(from) <= code(char) && code(char) <= code(to)) !== negated;
  return { accepts, close: i };
}

/** Matches names against one part of a pattern. Only a dot matches a leading dot. */
export class PartPattern {
  readonly #tokens: Token[] = [];
  readonly #leadingDot: boolean;
  readonly #least: number;

  constructor(part: string) {
    const chars = [...part];
    const lastClose = chars.lastIndexOf(']');
    for (let i = 0; i < chars.length; i++) {
      const char = chars[i] as string;
      const set = char === '[' && i < lastClose ? setAt(chars, i) : undefined;
      if (set !== undefined) {
        this.#tokens.push(set.accepts);
        i = set.close;
      } else if (char === '*') {
        if (this.#tokens.at(-1) !== STAR) this.#tokens.push(STAR);
      } else if (char === '?') {
        this.#tokens.push(ANY);
      } else {
        this.#tokens.push(char === '\\' && i + 1 < chars.length ? (chars[++i] as string) : char);
      }
    }
    this.#leadingDot = this.#tokens[0] === '.';
    this.#least = this.#tokens.filter((token) => token !== STAR).length;
  }

  test(name: string): boolean {
    if (this.#least > name.length || (name.startsWith('.') && !this.#leadingDot)) return false;
    const tokens = this.#tokens;
    return matchStars(
      [...name],
      tokens,
      (token) => token === STAR,
      (char, token) => (typeof token === 'function' ? token(char) : token === char),
    );
  }
}

/**
 * Whether the items match a pattern with stars. After a mismatch only the last star is extended: the earlier ones
 * already match as little as possible.
 */
function matchStars<Item, Pattern>(
  items: readonly Item[],
  pattern: readonly Pattern[],
  isStar: (part: Pattern) => boolean,
  matches: (item: Item, part: Pattern) => boolean,
): boolean {
  let [i, k, star, taken] = [0, 0, -1, 0];
  while (i < items.length) {
    if (k < pattern.length && isStar(pattern[k] as Pattern)) {
      star = k++;
      taken = i;
    } else if (k < pattern.length && matches(items[i] as Item, pattern[k] as Pattern)) {
      i++;
      k++;
    } else if (star >= 0) {
      k = star + 1;
      i = ++taken;
    } else {
      return false;
    }
  }
  while (k < pattern.length && isStar(pattern[k] as Pattern)) k++;
  return k === pattern.length;
}

// ---- whole patterns ----

export const GLOBSTAR: unique symbol = Symbol('**');
/** A literal name, a pattern, or any number of directories. */
export type Part = string | PartPattern | typeof GLOBSTAR;

const MAGIC = /[*?[\\]/;

function partOf(part: string): Part {
  if (part === '**') return GLOBSTAR;
  return MAGIC.test(part) ? new PartPattern(part) : part;
}

/** The parts of a pattern; consecutive `**` are merged. */
export function partsOf(pattern: string): Part[] {
  return pattern
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .map(partOf)
    .filter((part, i, all) => part !== GLOBSTAR || all[i - 1] !== GLOBSTAR);
}

/** Whether a path matches the pattern. */
export function matchesPath(path: string, parts: readonly Part[]): boolean {
  return matchStars(
    path.split('/').filter((name) => name !== ''),
    parts,
    (part) => part === GLOBSTAR,
    (name, part) => (part instanceof PartPattern ? part.test(name) : part === name),
  );
}
