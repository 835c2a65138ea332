/**
 * Walks along paths in mounts: one name after the other, in steps of the backend that follow no link.
 *
 * Invariants
 * - A link's text replaces its name, and is walked like the rest. Names from a link's text never lead above the root of
 *   the mount that contains the link (EPERM). Only the user's own path does, into memory or the mount above. An
 *   absolute link is a path of the space: it has to name a place in its mount.
 * - A text (the user's own path or a link's) leaves a mount only where the text itself does. A link in the text may end
 *   elsewhere than its name. That never makes a later `..` lead out (EPERM), neither sooner nor later than the text
 *   says. So the mounts that a text can lead into depend on the text, and not on what the mounts contain.
 * - A walk may start at a held directory instead of the mount's root. Nothing leads above that.
 * - `..` returns to the directory that the walk has come from. The backend is never asked for a parent.
 * - Directories that were entered are left again: by `leave()`, which the caller of the walk calls, or by the walk if
 *   it fails.
 */

import { FS_LINK_DEPTH, FS_PATH_MAX, FsKind } from '../core/layout.generated.ts';
import { type Backend, BackendError, type BackendStats } from './backend.ts';

/** A mount, as this thread knows it. */
export interface Mount {
  readonly number: number;
  /** Its path in the space, which never changes. A byte string without a trailing slash; '' for the root. */
  readonly place: string;
  /** Number of the mount that contains it; 0: memory. */
  readonly above: number;
  readonly readOnly: boolean;
  readonly backend: Backend;
}

/** The bits of `how`, which are the core's (enum plait__fs_walk). */
export const How = { FOLLOW: 1, NAME: 4, MAKE: 8 } as const;

/** The place that a path leads to. */
export interface Place {
  readonly mount: Mount;
  readonly directory: unknown;
  /** The last name in the directory; '' for the directory itself. */
  readonly name: string;
  /** The path ends in a slash, so it must be a directory. */
  readonly slash: boolean;
  /** As in the core: 1 the path ends in `.`, 2 in `..`, 3 it is the root of a mount. */
  readonly dots: 0 | 1 | 2 | 3;
  /** With FOLLOW: attributes of the file, never of a link; undefined: there is none. */
  readonly stats: BackendStats | undefined;
  /** With NAME: the last name is that of a mount point. */
  readonly covered: boolean;
  /** Its path in the space, without links. */
  readonly path: string;
  leave(): void;
}

/** The path leads out of the mount again, to this path. */
export class Out {
  readonly way: string;
  constructor(way: string) {
    this.way = way;
  }
}

/** A text that is walked: the user's own path, or that of a link. */
interface Text {
  /** The step above which the text may not lead; -1 for the user's own path. */
  readonly floor: number;
  /** The text that names the link. */
  readonly within: Text | undefined;
  /** How many of its names the walk has descended. */
  depth: number;
}

/** One directory on the way. */
interface Step {
  readonly mount: Mount;
  readonly directory: unknown;
  readonly path: string;
  /** For the root of a mount: how far each text that led there had descended. */
  readonly top: ReadonlyMap<Text, number> | undefined;
}

/** A directory where a walk starts instead of the mount's root. */
export interface Start {
  readonly directory: unknown;
  /** Its path in the space, without links. */
  readonly path: string;
}

/** How far a walk has come, for errors; and how it reads links: `realpathSync` ignores `x/..` in a link's text. */
export interface Trace {
  /** The last name of the user's own path that was reached without links; with `byText`, of a link's text, too. */
  path: string;
  /** The walk is inside the text of that name, which is a link. */
  inLink: boolean;
  /** Links are resolved by their text. */
  byText: boolean;
  /** There was a link for which that may make a difference. */
  winds: boolean;
}

export function newTrace(byText = false): Trace {
  return { path: '', inLink: false, byText, winds: false };
}

/** The text of a link without `x/..`. */
function unwound(text: string): string {
  const parts: string[] = [];
  for (const part of text.split('/')) {
    const { length } = parts;
    if (part === '..' && length > 0 && parts[length - 1] !== '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `${text.startsWith('/') ? '/' : ''}${parts.join('/')}`;
}

/** A name that has not been walked yet. */
interface Part {
  readonly name: string;
  readonly text: Text;
}

function partsOf(path: string, text: Text): Part[] {
  return path
    .split('/')
    .filter((name) => name !== '')
    .map((name) => ({ name, text }));
}

function depthsOf(text: Text): ReadonlyMap<Text, number> {
  const depths = new Map<Text, number>();
  for (let each: Text | undefined = text; each !== undefined; each = each.within) depths.set(each, each.depth);
  return depths;
}

function readLink(backend: Backend, directory: unknown, name: string): string | undefined {
  try {
    return backend.readlink(directory, name);
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'EINVAL' || code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Walks the rest of a path in a mount.
 *
 * @param mountAt returns the mount with that path, if there is one
 *
 * @param start where the walk starts; default: the mount's root
 */
export function walk(
  mount: Mount,
  rest: string,
  how: number,
  mountAt: (path: string) => Mount | undefined,
  start?: Start,
  trace: Trace = newTrace(),
): Place | Out {
  const { directory = mount.backend.root, path = mount.place } = start ?? {};
  const given: Text = { floor: start === undefined ? -1 : 0, within: undefined, depth: 0 };
  const steps: Step[] = [{ mount, directory, path, top: depthsOf(given) }];
  const top = (): Step => steps[steps.length - 1] as Step;
  const pop = (): void => {
    const step = steps.pop() as Step;
    if (step.top === undefined) step.mount.backend.leave(step.directory);
  };
  const leave = (): void => {
    while (steps.length > 0) pop();
  };
  const place = (name: string, dots: Place['dots'], slash: boolean, stats?: BackendStats, covered = false): Place => {
    const { mount, directory, path } = top();
    const found = name === '' && how & How.FOLLOW ? mount.backend.stat(directory, '') : stats;
    const full = name === '' ? path || '/' : `${path}/${name}`;
    return { mount, directory, name, slash, dots, stats: found, covered, path: full, leave };
  };
  let parts = partsOf(rest, given);
  let slash = rest.endsWith('/');
  let links = 0;
  let now = '';

  /** Continues with the text of a link. `within`: the text that names it. */
  const putLink = (said: string, within: Text): void => {
    const text = trace.byText ? unwound(said) : said;
    trace.inLink = true;
    trace.winds ||= said.includes('/..');
    if (++links > FS_LINK_DEPTH) throw new BackendError('ELOOP');
    const floor = steps.findLastIndex((step) => step.top !== undefined);
    let inside = text;
    if (text.startsWith('/')) {
      const prefix = `${(steps[floor] as Step).path}/`;
      if (!`${text}/`.startsWith(prefix)) throw new BackendError('EPERM');
      while (steps.length - 1 > floor) pop();
      inside = text.slice(prefix.length);
    }
    if (text.endsWith('/')) {
      if (parts.length === 0) slash = true;
      else inside += '.'; // it must be a directory itself, not only because of the names after it
    }
    parts = [...partsOf(inside, { floor, within, depth: 0 }), ...parts];
    if (parts.reduce((sum, { name }) => sum + name.length + 1, 0) > FS_PATH_MAX) throw new BackendError('ENAMETOOLONG');
  };

  try {
    for (;;) {
      const part = parts.shift();
      if (part === undefined) return place('', 3, true);
      const { name, text } = part;
      const own = text.floor === -1;
      const last = parts.length === 0;
      if (name === '.') {
        if (last) return place('', 1, true);
        continue;
      }
      if (name === '..') {
        if (steps.length - 1 === text.floor) throw new BackendError('EPERM');
        const entered = top().top;
        if (entered !== undefined && entered.get(text) !== text.depth) throw new BackendError('EPERM');
        text.depth--;
        if (steps.length === 1) {
          const above = mount.place.slice(0, mount.place.lastIndexOf('/') + 1);
          leave();
          return new Out(
            `${above}${parts.map((next) => next.name).join('/')}${slash && parts.length > 0 ? '/' : ''}` || '/',
          );
        }
        pop();
        if (last) return place('', 2, true);
        continue;
      }
      const { mount: here, directory, path } = top();
      now = `${path}/${name}`;
      text.depth++;
      if (own || trace.byText) {
        trace.path = now;
        trace.inLink = false;
      }
      const over = mountAt(now);
      if (over !== undefined) {
        if (last && how & How.NAME) return place(name, 0, slash, undefined, true);
        steps.push({ mount: over, directory: over.backend.root, path: over.place, top: depthsOf(text) });
        continue;
      }
      if (!last) {
        const next = here.backend.enter(directory, name);
        if (typeof next === 'string') putLink(next, text);
        else steps.push({ mount: here, directory: next, path: now, top: undefined });
        continue;
      }
      if (slash && how & How.MAKE) throw new BackendError('EISDIR');
      if (!(how & How.FOLLOW) && !(slash && !(how & How.NAME))) return place(name, 0, slash);
      const stats = here.backend.stat(directory, name);
      if (stats?.kind === FsKind.SYMLINK) {
        const said = readLink(here.backend, directory, name);
        if (said !== undefined) putLink(said, text);
        else if (++links > FS_LINK_DEPTH) throw new BackendError('ELOOP');
        else parts.unshift(part); // it is no directory any more
        continue;
      }
      if (stats !== undefined && slash && stats.kind !== FsKind.DIRECTORY) throw new BackendError('ENOTDIR');
      return place(name, 0, slash, stats);
    }
  } catch (error) {
    leave();
    // The name that cannot be looked up is the one after the file that is no directory.
    if ((error as { code?: string }).code === 'ENOTDIR' && parts[0]?.text.floor === -1) {
      trace.path = `${now}/${parts[0].name}`;
      trace.inLink = false;
    }
    throw error;
  }
}
