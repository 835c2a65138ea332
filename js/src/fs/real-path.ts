/**
 * realpath, in both of Node's forms.
 *
 * Invariant: links in a mount are followed in one walk of the core and nowhere else, so a real path is in the mounts that
 * the path leads into. Only links in memory are followed here by their text: the program itself has created them.
 */

import { Errno, FsKind } from '../core/layout.generated.ts';
import { decode, fromByteString, normalize, type PathLike, pathOf, pathText } from './values.ts';
import type { Volume } from './volume.ts';

function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '');
}

/** The text of a link in memory. Undefined: another thread has mounted something there. */
function linkText(volume: Volume, path: PathLike): Uint8Array | undefined {
  const rc = volume.space.core.plait_fs_readlink(volume.first(path));
  if (volume.mount !== 0) return undefined;
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
  const isLast = !way.winds || (way.rc < 0 && way.inLink);
  const { rc, real, inMemory, reached, inLink } = isLast ? way : volume.mounts.realPath(text, true);
  if (rc < 0 && reached !== '') throw volume.error(rc, inLink ? 'stat' : 'lstat', fromByteString(reached));
  if (rc < 0) return throughMemory(volume, text, volume.error(rc, 'lstat', text));
  return inMemory ? throughMemory(volume, text) : decode(fromByteString(real), 'utf8');
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
    const isThere = target === 0 && volume.mount !== 0;
    const said = isLink && target === 0 && !isThere ? linkText(volume, next) : null;
    if (isThere || said === undefined) {
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
  const { rc, real } = volume.mounts.realPath(pathOf(path), false);
  if (rc < 0) throw volume.error(rc, 'realpath', path);
  return fromByteString(real);
}
