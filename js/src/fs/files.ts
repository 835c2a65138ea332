/**
 * All APIs of the files of one space, in one object.
 */

import { PlaitError } from '../core/errors.ts';
import { Errno, FsFaultKind as Kind } from '../core/layout.generated.ts';
import { noRoomToCheck, type Space } from '../core/space.ts';
import { threadWide } from '../core/thread-wide.ts';
import type { ApiType } from './api-type.ts';
import { callbackFs } from './callback.ts';
import type { CallbackFs } from './callback-types.ts';
import { constants } from './constants.ts';
import { Dir } from './dir.ts';
import { FileHandle } from './handle.ts';
import type { MountInfo, MountOptions } from './mount-table.ts';
import { FsPromises } from './promises.ts';
import { StatWatchers } from './stat-watchers.ts';
import { BigIntStats, Dirent, Stats } from './stats.ts';
import { type ReadStreamClass, Streams, type WriteStreamClass } from './streams.ts';
import { type ExportTarOptions, exportTar } from './tar-export.ts';
import { type ImportTarOptions, type ImportTarResult, importTar, type TarSource } from './tar-import.ts';
import { TreeFs } from './tree.ts';
import { type FsEncoding, normalize, type PathLike, pathOf, pathText } from './values.ts';
import { Volume } from './volume.ts';
import { type FsWatcher, type WatchOptions, watch } from './watch.ts';

type Changed = (event: 'rename' | 'change', name: string) => void;

interface Rest {
  readonly promises: FsPromises;
  readonly constants: typeof constants;
  readonly createReadStream: Streams['createReadStream'];
  readonly createWriteStream: Streams['createWriteStream'];
  readonly ReadStream: ReadStreamClass;
  readonly WriteStream: WriteStreamClass;
  watch(path: PathLike, listener?: Changed): FsWatcher;
  watch(
    path: PathLike,
    options: WatchOptions | FsEncoding | 'buffer' | null | undefined,
    listener?: Changed,
  ): FsWatcher;
  watchFile: StatWatchers['watch'];
  unwatchFile: StatWatchers['unwatch'];
  /**
   * Mounts a backend over a directory, for every thread of the space at once. The contents of the directory are hidden
   * until `unmount`. A missing directory is created in memory; in another mount it is ENOENT. EBUSY: the directory is a
   * mount already. docs/reference/node-fs.md lists the rules in a mount.
   */
  mount(path: PathLike, options: MountOptions): void;
  /** Removes a mount. EBUSY: it contains open descriptors or other mounts. EINVAL: nothing is mounted there. */
  unmount(path: PathLike): void;
  /** All mounts, the oldest first. */
  mounts(): MountInfo[];
  /**
   * Exports a directory with its contents, or a file, as a tar archive (POSIX pax). Pieces are produced on demand. Each
   * file has the contents of one instant.
   */
  exportTar(path: PathLike, options?: ExportTarOptions): Generator<Uint8Array<ArrayBuffer>, void, undefined>;
  /**
   * Creates the contents of a tar archive in a directory, and the directory if it is missing. Nothing outside of the
   * directory is changed, whatever the archive contains. Throws ERR_PLAIT_TAR for a bad archive, or the errors of
   * node:fs; `imported` of the error says what was done before. `fs.promises.importTar` takes streams.
   */
  importTar(source: TarSource, path: PathLike, options?: ImportTarOptions): ImportTarResult;
  /**
   * Checks all structures, for tests and bug reports, and throws for the first fault. pre: no other thread uses the
   * files.
   */
  check(): void;
  readonly F_OK: 0;
  readonly R_OK: 4;
  readonly W_OK: 2;
  readonly X_OK: 1;
  readonly Stats: typeof Stats;
  readonly BigIntStats: typeof BigIntStats;
  readonly Dirent: typeof Dirent;
  readonly Dir: typeof Dir;
  readonly FileHandle: typeof FileHandle;
}

/** The API of `node:fs` over the files of a space. */
export type Fs = ApiType<TreeFs & CallbackFs & Rest>;

/**
 * One Volume for each space. A thread has one record in a space, and the Volume remembers the path in it. Calls of a
 * second Volume would overwrite that path unnoticed.
 */
const volumes = threadWide('volumes', () => new WeakMap<Space, Volume>());

function volumeOf(space: Space): Volume {
  const known = volumes.get(space);
  if (known !== undefined) return known;
  const volume = new Volume(space);
  volumes.set(space, volume);
  return volume;
}

/**
 * The files of a space, for the calling thread. `plait/fs` itself is `createFs(commonSpace)`.
 *
 * @param space called once, at the first use
 */
export function createFs(space: () => Space): Fs {
  const tree = new TreeFs(() => volumeOf(space()));
  const callbacks = callbackFs(tree);
  const streams = new Streams(tree, () => callbacks);
  const watchers = new StatWatchers(tree);
  const rest: Rest = {
    promises: new FsPromises(tree, streams),
    constants,
    createReadStream: streams.createReadStream,
    createWriteStream: streams.createWriteStream,
    ReadStream: streams.ReadStream,
    WriteStream: streams.WriteStream,
    watch: (path: PathLike, ...rest: unknown[]) => watch(tree, path, ...(rest as [])),
    watchFile: (path, options, listener) => watchers.watch(path, options, listener),
    unwatchFile: (path, listener) => watchers.unwatch(path, listener),
    mount: (path, options) => mount(tree, path, options),
    unmount: (path) => tree.volume.mounts.unmount(placeOf(tree, path)),
    mounts: () => tree.volume.mounts.list(),
    exportTar: (path, options) => exportTar(tree, path, options),
    importTar: (source, path, options) => importTar(tree, source, path, options),
    check: () => check(tree),
    F_OK: 0,
    R_OK: 4,
    W_OK: 2,
    X_OK: 1,
    Stats,
    BigIntStats,
    Dirent,
    Dir,
    FileHandle,
  };
  return Object.assign(tree, callbacks, rest) as unknown as Fs;
}

/**
 * The path without links, or unchanged if that fails: a mount must be removable even if its directory is missing.
 */
function placeOf(fs: TreeFs, path: PathLike): string {
  try {
    return fs.realpathSync(path);
  } catch {
    return normalize(pathText(pathOf(path)));
  }
}

/** Removes the directories from `path` up to `top`, as long as they are empty. */
function unmake(fs: TreeFs, path: string, top: string): void {
  for (let at = path; at.length >= top.length; at = at.slice(0, at.lastIndexOf('/'))) {
    try {
      fs.rmdirSync(at);
    } catch {
      return;
    }
  }
}

function mount(fs: TreeFs, path: PathLike, options: MountOptions): void {
  const { mounts } = fs.volume;
  const text = pathText(pathOf(path));
  const isMissing = !fs.existsSync(path) && !mounts.leadsInto(text);
  const made = isMissing ? fs.mkdirSync(path, { recursive: true }) : undefined;
  if (!fs.statSync(path).isDirectory()) throw fs.volume.error(-Errno.ENOTDIR, 'mount', path);
  const place = fs.realpathSync(path);
  try {
    mounts.mount(place, options);
  } catch (error) {
    if (made !== undefined) unmake(fs, place, fs.realpathSync(made));
    throw error;
  }
}

const FAULTS: Record<number, string> = {
  [Kind.FAULT_INODE]: 'an inode cannot be what it says',
  [Kind.FAULT_LINKS]: "an inode's count of names is wrong",
  [Kind.FAULT_OPENS]: "an inode's count of descriptors is wrong",
  [Kind.FAULT_TABLE]: "a directory's table is wrong",
  [Kind.FAULT_ENTRY]: 'a name does not name a live inode, or is not found',
  [Kind.FAULT_EXTENT]: 'an extent of a file is no live block, or overlaps another',
  [Kind.FAULT_LOST]: 'an inode has no name and is not open',
  [Kind.FAULT_HELD]: 'the count of bytes or of files is wrong',
  [Kind.FAULT_JOURNAL]: 'a journal is not empty',
  [Kind.FAULT_DESCRIPTOR]: 'a descriptor names no live inode, or no living thread has it',
  [Kind.FAULT_RANGE]: 'a lock belongs to a descriptor that is not open on the file',
  [Kind.FAULT_MOUNT]: 'a mount covers no live directory, or is not in the list',
};

function check(fs: TreeFs): void {
  const { core, scratch, space } = fs.volume;
  const rc = core.plait_fs_check(1);
  if (rc === 0) return;
  if (rc === -Errno.ENOMEM) throw noRoomToCheck();
  const kind = core.plait_fs_fault(scratch);
  throw new PlaitError('ERR_PLAIT_CORRUPT', `${FAULTS[kind] ?? 'something is wrong'}, at ${space.load(scratch)}`);
}
