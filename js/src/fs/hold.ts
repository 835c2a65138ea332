/**
 * Operations of many steps, and how they stay where they began while somebody changes what they work on.
 *
 * Invariants
 * - A path leads into the mounts that its text says, whatever lies in them (mount-walk.ts). So an operation stays in
 *   its mounts if all its paths are the caller's own with names of `readdir` behind them. cp, glob, mkdir, mkdtemp,
 *   opendir, readdir, rm and watch use no others, and what a link says is a path for none of them. But a directory that
 *   becomes a link may lead them to another place in its mount, as in node:fs.
 * - What has to stay in one directory holds that open, here, and takes each step from there. Then no link leads out of
 *   it, and it does not matter what its path has become. Archives and rm do so.
 * - In memory nothing is held, and paths are the only means. Links there are made by threads of the space. Who may
 *   write in a mounted directory cannot make one, so for him a path in memory always leads to the same place.
 */

import { nativeRealPath } from './real-path.ts';
import type { SyncFs } from './sync.ts';
import { byteString, type PathLike } from './values.ts';

/** What a path has led to. */
export interface Hold {
  /** Its path without links, a byte string: what steps begin with. */
  readonly path: string;
  readonly isDirectory: boolean;
  /** Takes a step. What is no directory is reached by its name in the directory that it was found in. */
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
