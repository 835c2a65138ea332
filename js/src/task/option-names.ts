/**
 * Names of options that nobody knows: refused, with what was probably meant.
 *
 * Invariant: for an object whose names are all known, checking costs one look at each of them; what makes the message
 * is run only to fail. Names that an object inherits may be strangers': they do not count.
 */

/** The options that a function takes, and what it is called in messages. */
export interface KnownOptions {
  readonly owner: string;
  readonly names: ReadonlySet<string>;
  /** What to say of names that other libraries have for such a thing, or that are another function's. */
  readonly hints: Readonly<Record<string, string>>;
}

export function knownOptions(
  owner: string,
  names: readonly string[],
  hints: Readonly<Record<string, string>> = {},
): KnownOptions {
  return { owner, names: new Set(names), hints };
}

/** Throws for options that are no object, or have a name that is not known. `path`: what they are called. */
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

/** An option that is true or false; false, if it is not given. */
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

/** The known name that differs least, if that is little: a third of its letters at most. */
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

/** How many letters must be changed, added, removed or swapped with the next one to make one text the other. */
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
