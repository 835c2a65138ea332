/**
 * Where a path leads behind a mount point: one name after the other, in steps of the backend that follow no link.
 *
 * Invariants
 * - A link is put in place of its name as text, and walked as the rest was. What comes from a link's text never goes
 *   above the root of the mount that the link lies in (EPERM); only what the user's own path says does, into memory or
 *   the mount above. An absolute link is one of the space: it has to name a place in its mount.
 * - A text, the user's own path or a link's, leaves a mount only where it does so by itself. A link in it that ends
 *   elsewhere than its name turns no `..` behind it into a way out (EPERM), neither sooner nor later than the text
 *   says. So which mounts a text can lead into depends on it, and not on what lies in them.
 * - A walk may start at a directory that is held instead of the mount's root. Nothing leads above that.
 * - `..` goes back to the directory that the walk has come from: the backend is never asked what lies above.
 * - Directories that were entered are left again: by `leave()`, which who has walked calls, or by the walk if it fails.
 */

import { FS_LINK_DEPTH, FS_PATH_MAX, FsKind } from '../core/layout.generated.ts';
import { type Backend, BackendError, type BackendStats } from './backend.ts';

/** A mount as this thread knows it. */
export interface Mount {
  readonly number: number;
  /** Its path in the space, which stays true. A byte string without a slash at the end; '' for the root. */
  readonly place: string;
  /** Number of the mount that it lies in, 0: memory. */
  readonly above: number;
  readonly readOnly: boolean;
  readonly backend: Backend;
}

/** What is meant: the bits of `how`. The first two are the core's (enum plait__fs_walk). */
export const How = { FOLLOW: 1, NAME: 4, MAKE: 8 } as const;

/** Where a path leads. */
export interface Place {
  readonly mount: Mount;
  readonly directory: unknown;
  /** The last name in it; '' for the directory itself. */
  readonly name: string;
  /** The path ends in a slash: it must be a directory. */
  readonly slash: boolean;
  /** As in the core: 1 it ends in `.`, 2 in `..`, 3 it is a mount's root. */
  readonly dots: 0 | 1 | 2 | 3;
  /** With FOLLOW: what is there, never a link; nothing: there is nothing. */
  readonly stats: BackendStats | undefined;
  /** The last name is that of a mount point (with NAME). */
  readonly covered: boolean;
  /** Its path in the space, without links. */
  readonly path: string;
  leave(): void;
}

/** The path leads out again: to this one. */
export class Out {
  readonly way: string;
  constructor(way: string) {
    this.way = way;
  }
}

/** The user's own path, or what a link says, while it is walked. */
interface Text {
  /** The step above which it may not lead, -1 for the user's own. */
  readonly floor: number;
  /** What names the link. */
  readonly within: Text | undefined;
  /** How many of its names it has gone down. */
  depth: number;
}

/** One directory on the way down. */
interface Step {
  readonly mount: Mount;
  readonly directory: unknown;
  readonly path: string;
  /** The root of its mount: how far down each text was that has led there. */
  readonly top: ReadonlyMap<Text, number> | undefined;
}

/** A directory that stands for the mount's root. */
export interface Start {
  readonly directory: unknown;
  /** Its path in the space, without links. */
  readonly path: string;
}

/**
 * How far a walk has come, for errors; and how links are read, for `realpathSync`, which takes `x/..` in a link's text
 * for nothing.
 */
export interface Trace {
  /** The last name of the user's own path, behind directories that are no links; by the text: of a link's, too. */
  path: string;
  /** The walk is in what that name says as a link. */
  inLink: boolean;
  /** Links go by their text. */
  byText: boolean;
  /** There was a link for which that may differ. */
  winds: boolean;
}

export function newTrace(byText = false): Trace {
  return { path: '', inLink: false, byText, winds: false };
}

/** A link's text without `x/..`. */
function unwound(text: string): string {
  const parts: string[] = [];
  for (const part of text.split('/')) {
    const { length } = parts;
    if (part === '..' && length > 0 && parts[length - 1] !== '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `${text.startsWith('/') ? '/' : ''}${parts.join('/')}`;
}

/** A name that is still to be walked. */
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
 * Walks what is left of a path behind a mount point.
 *
 * @param mountAt the mount whose place is that path, if there is one
 * @param start where it starts; the mount's root
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

  /** What the link says comes next. `within`: what names it. */
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
      else inside += '.'; // it has to be a directory for itself, not only for what comes behind
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
        else parts.unshift(part); // it is something else by now
        continue;
      }
      if (stats !== undefined && slash && stats.kind !== FsKind.DIRECTORY) throw new BackendError('ENOTDIR');
      return place(name, 0, slash, stats);
    }
  } catch (error) {
    leave();
    // It is the name behind what is no directory that cannot be looked up.
    if ((error as { code?: string }).code === 'ENOTDIR' && parts[0]?.text.floor === -1) {
      trace.path = `${now}/${parts[0].name}`;
      trace.inLink = false;
    }
    throw error;
  }
}
