/**
 * The mounts, as one thread knows them. The list is read from the space after it has changed.
 *
 * Invariant: a number names one mount forever, so an instance of a backend is valid as long as its number is in the
 * list. `mount_changes` is read before the list, so an outdated list is read again.
 */

import { Errno, FS_MOUNT_MAX, FsResult, Fs as FsRoot, FsThread } from '../core/layout.generated.ts';
import { isUrl } from '../core/realms.ts';
import { outOfMemory, type Space } from '../core/space.ts';
import { type Backend, BackendError, errorNumber } from './backend.ts';
import { fsError, wrongType, wrongValue } from './errors.ts';
import { HostBackend, type HostWords, hostWords } from './host-backend.ts';
import { encode, type PathLike, pathOf, pathText } from './values.ts';

/** A mount, as this thread knows it. */
export interface Mount {
  readonly number: number;
  /** Its path in the space, which never changes: a byte string. */
  readonly place: string;
  readonly words: HostWords;
  readonly backend: Backend;
}

/** What to mount. */
export interface MountOptions {
  /** A directory of the host, in Node. */
  type: 'host';
  directory: string | URL;
  /** Every change fails with EROFS. Default: false. */
  readOnly?: boolean | undefined;
}

/** A mount, as `fs.mounts()` returns it. */
export interface MountInfo {
  /** The path of the mount. */
  path: string;
  type: 'host';
  /** The mounted directory: its path on the host, without links. */
  directory: string;
  readOnly: boolean;
}

/** Converts text to a byte string, and back. */
export function byteString(text: string): string {
  return String.fromCharCode(...encode(text));
}
export function textOf(bytes: string): string {
  return pathText(Uint8Array.from(bytes, (char) => char.charCodeAt(0)));
}

/** A value that the count of changes never has. */
const UNKNOWN = -1;

export class MountTable {
  readonly #space: Space;
  readonly #threadRecord: number;
  /** All mounts, the newest first. */
  #mounts: Mount[] = [];
  #changes = 0;
  /** Backends, created when they are first needed. */
  readonly #backends = new Map<number, HostBackend>();

  constructor(space: Space, threadRecord: number) {
    this.#space = space;
    this.#threadRecord = threadRecord;
  }

  #refresh(): void {
    const { core } = this.#space;
    const word = ((core.plait_abi_fs() >>> 0) + FsRoot.mountChanges) >>> 2;
    const changes = Atomics.load(this.#space.u32, word);
    if (changes === this.#changes) return;
    const mounts: Mount[] = [];
    // Not the scratch block, which may hold data to be written. If the thread exits here, this block is lost.
    const block = core.plait_fs_mount_buffer() >>> 0;
    if (block === 0) throw outOfMemory(FS_MOUNT_MAX);
    try {
      for (let i = 0; ; i++) {
        const number = core.plait_fs_mount_text(i, block);
        if (number === -Errno.ENOENT) break;
        if (number < 0) throw new BackendError('ETIMEDOUT');
        mounts.push(this.#known(number, block));
      }
    } finally {
      core.plait_heap_free(block);
    }
    // The list may change between two calls; then it is read again.
    if (Atomics.load(this.#space.u32, word) !== changes) {
      this.#refresh();
      return;
    }
    this.#mounts = mounts;
    this.#changes = changes;
    for (const [number, backend] of this.#backends) {
      if (mounts.some((mount) => mount.number === number)) continue;
      this.#backends.delete(number);
      backend.end();
    }
  }

  /** The mount whose text is in the block. */
  #known(number: number, block: number): Mount {
    const space = this.#space;
    const result = this.#threadRecord + FsThread.result;
    const [place, length] = [FsResult.bytes, FsResult.size].map((at) => space.load(result + at)) as [number, number];
    const bytes = Uint8Array.from(space.bytes(block, length));
    const path = String.fromCharCode(...bytes.subarray(0, place));
    const words = JSON.parse(pathText(bytes.subarray(place))) as HostWords;
    const backends = this.#backends;
    // A known backend stays: files that are open in a removed mount are closed by the threads that opened them.
    let own = backends.get(number);
    return {
      number,
      words,
      place: path,
      get backend() {
        if (own === undefined) {
          own = backends.get(number) ?? new HostBackend(words);
          backends.set(number, own);
        }
        return own;
      },
    };
  }

  /** The mount with a number that the core has returned; undefined if it was removed. */
  get(number: number): Mount | undefined {
    const find = (): Mount | undefined => this.#mounts.find((mount) => mount.number === number);
    this.#refresh();
    const known = find();
    if (known !== undefined) return known;
    // Or the thread that mounts it has not yet counted the change, and may have exited. Reading the list takes the
    // lock, and that recovers the journal.
    this.#changes = UNKNOWN;
    this.#refresh();
    return find();
  }

  list(): MountInfo[] {
    this.#refresh();
    return this.#mounts
      .map(({ place, words: { type, directory, readOnly } }) => ({
        path: textOf(place),
        type,
        directory,
        readOnly,
      }))
      .reverse();
  }

  /**
   * Mounts over an existing directory. `path`: without links, dots and extra slashes. `put`: puts it where the core
   * reads it.
   */
  mount(path: string, options: MountOptions, put: (path: string) => number): void {
    if (typeof options !== 'object' || options === null) throw wrongType('options', 'of type object', options);
    if (options.type !== 'host') throw wrongValue('options.type', "must be 'host'", options.type);
    if (options.readOnly !== undefined && typeof options.readOnly !== 'boolean') {
      throw wrongType('options.readOnly', 'of type boolean', options.readOnly);
    }
    const { directory } = options;
    if (typeof directory !== 'string' && !isUrl(directory)) {
      throw wrongType('options.directory', 'of type string or an instance of URL', directory);
    }
    let words: HostWords;
    let backend: HostBackend;
    try {
      words = hostWords(directory, options.readOnly === true);
      // Stays open here, so that no other directory of the host gets its number.
      backend = new HostBackend(words);
    } catch (error) {
      throw fsError(errorNumber(error), 'mount', String(directory), path);
    }
    const text = encode(JSON.stringify(words));
    const length = put(path);
    const scratch = this.#space.load(this.#threadRecord + FsThread.scratch);
    this.#space.bytes(scratch, text.length).set(text);
    const rc = this.#space.core.plait_fs_mount(length, text.length, words.readOnly ? 1 : 0);
    if (rc > 0) {
      this.#backends.set(rc, backend);
      return;
    }
    backend.end();
    throw fsError(rc, 'mount', path);
  }

  unmount(path: PathLike, put: (path: string) => number): void {
    const text = pathText(pathOf(path));
    const rc = this.#space.core.plait_fs_unmount(put(text));
    if (rc < 0) throw fsError(rc, 'unmount', text);
    this.#refresh();
  }
}
