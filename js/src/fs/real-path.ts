/**
 * realpath, in both of Node's forms.
 *
 * Invariant: links in a mount are followed in one walk of mount-walk.ts and nowhere else, so a real path is in the
 * mounts that the path leads into. Only links in memory are followed here by their text: the program itself has created
 * them.
 */

import { Errno, FS_LINK_DEPTH, FsKind } from '../core/layout.generated.ts';
import { decode, encode, normalize, type PathLike, pathOf, pathText } from './values.ts';
import type { Volume } from './volume.ts';

const REMOTE = -Errno.EREMOTE;

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '');
}

/** Converts a byte string to bytes. */
function bytesOf(text: string): Uint8Array {
  return encode(text, 'latin1');
}

/** The text of a link in memory; undefined: another thread has mounted something there. */
function linkText(volume: Volume, path: PathLike): Uint8Array | undefined {
  const rc = volume.space.core.plait_fs_readlink(volume.first(path));
  if (rc === REMOTE) return undefined;
  if (rc < 0) throw volume.error(rc, 'readlink', path);
  return volume.copyScratch(rc);
}

/** As `realpathSync`: dots are resolved by the text, and an error names the place where the walk failed. */
export function realPath(volume: Volume, path: PathLike): string {
  volume.first(path); // refuses an invalid path
  const text = normalize(pathText(pathOf(path)));
  // As in Node, the target of each link has to exist; after that, dots in its text are resolved by the text, too. If
  // there are such links, that is another walk.
  const way = volume.mounts.realPath(text, false);
  const isLast = !way.trace.winds || (way.rc < 0 && way.trace.inLink);
  const { rc, real, inMemory, trace } = isLast ? way : volume.mounts.realPath(text, true);
  if (rc < 0 && trace.path !== '') throw volume.error(rc, trace.inLink ? 'stat' : 'lstat', bytesOf(trace.path));
  if (rc < 0) return throughMemory(volume, text, volume.error(rc, 'lstat', text));
  const known = decode(bytesOf(real), 'utf8');
  return inMemory ? throughMemory(volume, known) : known;
}

/** Name by name. `failed`: what it comes to if this leads into a mount. */
function throughMemory(volume: Volume, path: string, failed?: Error): string {
  const { core } = volume.space;
  let rest = namesOf(path);
  let real = '';
  while (rest.length > 0) {
    const next = `${real}/${rest[0]}`;
    const rc = core.plait_fs_stat(-1 - volume.first(next), 0);
    const isLink = rc === 0 && volume.kind === FsKind.SYMLINK;
    const target = isLink ? core.plait_fs_stat(-1 - volume.first(next), 1) : rc;
    const said = isLink && target === 0 ? linkText(volume, next) : null;
    if (target === REMOTE || said === undefined) {
      if (failed !== undefined) throw failed;
      return realPath(volume, `${real}/${rest.join('/')}`); // another thread has mounted something there
    }
    if (target < 0) throw volume.error(target, isLink ? 'stat' : 'lstat', next);
    rest = rest.slice(1);
    if (said !== null) {
      const text = decode(said, 'utf8');
      rest = [...namesOf(normalize(text.startsWith('/') ? text : `${real}/${text}`)), ...rest];
      real = '';
    } else {
      if (rest.length > 0 && volume.kind !== FsKind.DIRECTORY) {
        throw volume.error(-Errno.ENOTDIR, 'lstat', `${next}/${rest[0]}`);
      }
      real = next;
    }
  }
  return real === '' ? '/' : real;
}

/**
 * As the kernel resolves paths: `..` leads up from the target of a link, and an error names the whole path. Names need
 * not be UTF-8.
 */
export function nativeRealPath(volume: Volume, path: PathLike): Uint8Array {
  volume.first(path); // refuses an invalid path
  const { core } = volume.space;
  const { rc, real: known, inMemory } = volume.mounts.realPath(pathOf(path), false);
  if (rc < 0) throw volume.error(rc, 'realpath', path);
  if (!inMemory) return bytesOf(known);
  let rest = namesOf(known);
  let real = '';
  for (let links = 0; rest.length > 0; ) {
    const name = rest.shift() as string;
    if (name === '.') continue;
    if (name === '..') {
      real = real.slice(0, Math.max(0, real.lastIndexOf('/')));
      continue;
    }
    const next = `${real}/${name}`;
    const found = core.plait_fs_stat(-1 - volume.first(bytesOf(next)), 0);
    if (found === REMOTE) return nativeRealPath(volume, bytesOf([next, ...rest].join('/'))); // mounted meanwhile
    if (found < 0) throw volume.error(found, 'realpath', path); // removed meanwhile
    if (volume.kind !== FsKind.SYMLINK) {
      real = next;
      continue;
    }
    if (++links > FS_LINK_DEPTH) throw volume.error(-Errno.ELOOP, 'realpath', path);
    const said = linkText(volume, bytesOf(next));
    if (said === undefined) return nativeRealPath(volume, bytesOf([next, ...rest].join('/')));
    const text = decode(said, 'latin1');
    if (text.startsWith('/')) real = '';
    rest = [...namesOf(text), ...rest];
  }
  return bytesOf(real === '' ? '/' : real);
}
