/**
 * Unknown option names: refused, with a suggestion.
 *
 * Invariant: if all names of an object are known, checking costs one lookup for each. The code that composes the
 * message runs only to fail. Inherited names may be someone else's: they are ignored.
 */

/** The options that a function takes, and its name in messages. */
export interface KnownOptions {
  readonly owner: string;
  readonly names: ReadonlySet<string>;
  /** Hints for names that other libraries use for the same thing, or that belong to another function. */
  readonly hints: Readonly<Record<string, string>>;
}

export function knownOptions(
  owner: string,
  names: readonly string[],
  hints: Readonly<Record<string, string>> = {},
): KnownOptions {
  return { owner, names: new Set(names), hints };
}

/** Throws for options that are not an object or have an unknown name. `path`: their name in messages. */
export function checkOptions(options: unknown, known: KnownOptions, path = 'options'): void {
  if (options === undefined) return;
  if (typeof options !== 'object' || options === null) throw wrongOption(path, 'an object', options);
  for (const name in options) {
    if (!known.names.has(name) && Object.hasOwn(options, name)) throw unknownOption(name, known, path);
  }
}

/** The error for an option of the wrong kind. */
export function wrongOption(path: string, expected: string, value: unknown): TypeError {
  return new TypeError(`${path} must be ${expected}, not ${shown(value)}`);
}

/** A value as a message shows it. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  return String(value);
}

/** A Boolean option; default: false. */
export function flag(value: unknown, name: string): boolean {
  if (value === undefined) return false;
  if (typeof value !== 'boolean') throw wrongOption(`options.${name}`, 'true or false', value);
  return value;
}

function unknownOption(name: string, { owner, names, hints }: KnownOptions, path: string): TypeError {
  const hint = Object.hasOwn(hints, name) ? hints[name] : undefined;
  const near = hint === undefined ? nearest(name, names) : undefined;
  const meant = near === undefined ? '' : `; is ${near} meant?`;
  return new TypeError(`${path}.${name} is no option of ${owner}${hint === undefined ? meant : `: ${hint}`}`);
}

/** The most similar known name, if at most a third of its letters differ. */
function nearest(name: string, names: ReadonlySet<string>): string | undefined {
  let found: string | undefined;
  let least = Math.ceil(name.length / 3) + 1;
  for (const candidate of names) {
    if (Math.abs(candidate.length - name.length) >= least) continue; // it cannot be nearer, however long it is
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < least) {
      least = distance;
      found = candidate;
    }
  }
  return found;
}

/** Edit distance: how many letters must be changed, added, removed or swapped with the next one. */
function editDistance(a: string, b: string): number {
  let older: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      row[j] = Math.min(row[j - 1]! + 1, last[j]! + 1, last[j - 1]! + change);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        row[j] = Math.min(row[j]!, older[j - 2]! + 1);
    }
    older = last;
    last = row;
  }
  return last[b.length]!;
}
