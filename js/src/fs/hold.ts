/**
 * Holds: how operations of many steps stay in their directory while others change it.
 *
 * Invariants
 * - A path leads into the mounts that its text names, whatever they contain (core/fs/mount_walk.c). So an operation stays in
 *   its mounts if all its paths are the caller's own, extended by names from `readdir`. cp, glob, mkdir, mkdtemp,
 *   opendir, readdir, rm and watch use only such paths, and none of them uses the text of a link as a path. But a
 *   directory that becomes a link may lead them to another place in its mount, as in node:fs.
 * - An operation that must stay in one directory holds that directory open, and takes each step from there. Then no
 *   link leads out of it, and later changes of its path do not matter. Archives and rm do so.
 * - In memory nothing is held, and paths are the only means. Only threads of the space create links there. A program
 *   that can write in a mounted directory cannot create one, so it cannot change where a path in memory leads.
 */

import { nativeRealPath } from './real-path.ts';
import type { SyncFs } from './sync.ts';
import { byteString, type PathLike } from './values.ts';

/** The file or directory that a path has led to. */
export interface Hold {
  /** Its path without links, a byte string. The paths of all steps start with it. */
  readonly path: string;
  readonly isDirectory: boolean;
  /** Performs a step. A file is reached by its name in the directory that it was found in. */
  within<Result>(step: () => Result): Result;
  leave(): void;
}

export function hold(fs: SyncFs, path: PathLike): Hold {
  const { volume } = fs;
  const held = volume.mounts.hold(path, true);
  if (held !== undefined) {
    const { found, isDirectory, leave } = held;
    return { path: found, isDirectory, within: (step) => volume.mounts.within(held, step), leave };
  }
  const real = nativeRealPath(volume, path);
  const isDirectory = fs.statSync(real).isDirectory();
  return { path: byteString(real), isDirectory, within: (step) => step(), leave: () => {} };
}
