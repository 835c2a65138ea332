/**
 * A space, as one thread sees it: the shared memory, this thread's instance of the core on it, and views.
 *
 * Invariant: the memory only grows and never moves, so a view stays valid for the bytes that it covers. A view may not
 * cover the newest bytes. So every access uses a method that renews the views if a reference is beyond them. This
 * thread's `memory.buffer` shows growth by another thread late; `memory.grow(0)` updates it.
 */

import { PlaitError } from './errors.ts';
import { Errno } from './layout.generated.ts';
import { makeOpaque, refuseCloning } from './opaque.ts';

/**
 * A shared `WebAssembly.Memory`. Declared here, because that name exists only in the types of browsers and of newer
 * versions of Node.
 */
export interface SharedMemory {
  readonly buffer: SharedArrayBuffer;
  grow(pages: number): number;
}

/** What another thread needs to attach to a space. It can be sent with postMessage. */
export interface SpaceHandle {
  readonly memory: SharedMemory;
  /** A `WebAssembly.Module`. */
  readonly module: object;
  readonly layoutVersion: number;
}

/** The core's exports (core/abi.txt). References are returned signed: convert them with `>>> 0`. */
export interface Core {
  readonly __stack_pointer: { value: number };
  readonly __tls_size: { readonly value: number };
  __wasm_init_tls(block: number): void;
  plait_heap_alloc(size: number): number;
  plait_heap_alloc_aligned(size: number, alignment: number): number;
  plait_heap_alloc_zeroed(size: number): number;
  plait_heap_free(block: number): number;
  plait_heap_place(block: number): number;
  plait_heap_realloc(block: number, size: number): number;
  plait_heap_size(block: number): number;
  plait_pool_create(): number;
  plait_pool_destroy(pool: number): number;
  plait_pool_cancel_queued(pool: number): number;
  plait_pool_end(pool: number, state: number): number;
  plait_name_create(size: number): number;
  plait_pool_intern(pool: number, name: number): number;
  plait_pool_release(pool: number): number;
  plait_pool_place(pool: number, index: number): number;
  plait_pool_signal_coordinator(pool: number): void;
  plait_pool_set_failure(pool: number, block: number, size: number): void;
  plait_client_create(pool: number): number;
  plait_client_drain(client: number): number;
  plait_client_close(client: number): number;
  plait_client_release(client: number): number;
  plait_task_create(client: number, capacity: number): number;
  plait_task_name(task: number, size: number): number;
  plait_task_discard(task: number): void;
  plait_task_submit(task: number): number;
  plait_task_next(finished: number, busyMicroseconds: number): number;
  plait_task_finish(task: number): number;
  plait_task_requeue(task: number): number;
  plait_task_abort(task: number): number;
  plait_task_emit(record: number): number;
  plait_task_help(client: number): number;
  plait_task_hold(): number;
  plait_task_detach(worker: number, all: number): number;
  plait_task_output(task: number, size: number): number;
  plait_task_free(task: number): void;
  plait_pool_wake_workers(pool: number): void;
  plait_worker_park_begin(): number;
  plait_worker_park_end(): void;
  plait_worker_wait(timeoutMilliseconds: number, spins: number): number;
  plait_worker_take_place(place: number): void;
  plait_worker_poll(thread: number, nowMilliseconds: number): number;
  plait_worker_drain(thread: number): number;
  plait_fs_enter(): number;
  plait_fs_open(length: number, flags: number, mode: number, now: number): number;
  plait_fs_close(fd: number): number;
  plait_fs_unmap(fd: number): number;
  plait_fs_read(fd: number, to: number, length: number, position: number): number;
  plait_fs_write(fd: number, from: number, length: number, position: number, now: number): number;
  plait_fs_read_file(target: number, to: number, length: number): number;
  plait_fs_write_file(
    length: number,
    flags: number,
    mode: number,
    from: number,
    size: number,
    given: number,
    now: number,
  ): number;
  plait_fs_tx_reserve(size: number): number;
  plait_fs_tx_unreserve(): void;
  plait_fs_stat(target: number, follow: number): number;
  plait_fs_access(length: number, mode: number): number;
  plait_fs_mkdir(length: number, mode: number, now: number): number;
  plait_fs_rmdir(length: number, now: number): number;
  plait_fs_unlink(length: number, now: number): number;
  plait_fs_rename(from: number, to: number, now: number): number;
  plait_fs_link(from: number, to: number, now: number): number;
  plait_fs_symlink(target: number, path: number, now: number): number;
  plait_fs_readlink(length: number): number;
  plait_fs_truncate(target: number, size: number, now: number): number;
  plait_fs_set(
    target: number,
    follow: number,
    mask: number,
    mode: number,
    uid: number,
    gid: number,
    atime: number,
    atimeNs: number,
    mtime: number,
    mtimeNs: number,
    now: number,
  ): number;
  plait_fs_list(target: number, cursor: number): number;
  plait_fs_usage(): number;
  plait_fs_limit(bytes: number, files: number): void;
  plait_fs_lock(fd: number, kind: number, start: number, end: number, timeout: number): number;
  plait_fs_map(fd: number): number;
  plait_fs_mount(length: number, text: number, readOnly: number): number;
  plait_fs_unmount(length: number): number;
  plait_fs_mount_buffer(): number;
  plait_fs_mount_text(index: number, to: number): number;
  plait_fs_empty(length: number, now: number): number;
  plait_fs_locate(length: number): number;
  plait_fs_real(length: number, byText: number): number;
  plait_fs_hold(length: number, follow: number): number;
  plait_fs_sync(fd: number, dataOnly: number): number;
  plait_fs_mounted(fd: number): number;
  plait_fs_watch(change: number): number;
  plait_fs_check(quiescent: number): number;
  plait_fs_fault(at: number): number;
  plait_abi_fs(): number;
  plait_abi_space(): number;
  plait_abi_heap_details(out: number): void;
  plait_abi_heap_fault(out: number): void;
  plait_abi_task_root(): number;
  plait_abi_init(maximumPages: number): number;
  plait_abi_attach(thread: number, mayBlock: number): number;
  plait_abi_claim(hostId: number, starter: number, pool: number, role: number): number;
  plait_abi_detach(): void;
  plait_abi_unwind(top: number): void;
  plait_abi_settle(task: number): number;
  plait_abi_recover(thread: number): number;
  plait_abi_sweep(): void;
  plait_abi_check(quiescent: number): number;
}

/** The steps of backends that the core calls in this thread: see core/fs/backend.h. */
export interface Backends {
  steps: Record<string, (...args: number[]) => number> | undefined;
}

/**
 * A space, as one thread sees it. Created by `openSpace()` and `attach()`; it belongs to the thread that created it.
 *
 * Its properties are not enumerable. Otherwise logging a space, or converting it to JSON, would write all of the
 * memory. They are defined that way from the start, because an object whose properties are hidden later is slow.
 */
export class Space {
  /** The handle that other threads need to attach. */
  declare readonly handle: SpaceHandle;
  /** The core's functions, which run on this thread's own stack. */
  declare readonly core: Core;
  /** This thread's id in the space. */
  declare readonly thread: number;
  declare readonly backends: Backends;
  /**
   * Where this thread's stack in the space starts for the next call into the core: at its top, or in a step of a backend
   * below the frames of the core that called the step. An engine whose own stack overflows in the core leaves frames
   * behind. So those that call the core often pass this to `plait_abi_unwind` first.
   */
  declare stackTop: number;
  /**
   * All bytes that this thread has observed. Read this property again after each call into the core, which may renew
   * it.
   */
  declare u8: Uint8Array<SharedArrayBuffer>;
  /** The same as 32-bit words, indexed by reference >>> 2. */
  declare u32: Uint32Array<SharedArrayBuffer>;
  declare i32: Int32Array<SharedArrayBuffer>;
  /** The same as doubles, indexed by reference / 8. */
  declare f64: Float64Array<SharedArrayBuffer>;

  static {
    const instead = 'send space.handle, and call attach(handle) there';
    makeOpaque(Space, { name: 'Space', instead }, ({ u8, thread }) => ({ bytes: u8.length, thread }));
  }

  constructor(handle: SpaceHandle, core: Core, thread: number, backends: Backends) {
    const { buffer } = handle.memory;
    const hidden = (value: unknown): PropertyDescriptor => ({ value, writable: true });
    Object.defineProperties(this, {
      handle: hidden(handle),
      core: hidden(core),
      thread: hidden(thread),
      backends: hidden(backends),
      stackTop: hidden(core.__stack_pointer.value),
      u8: hidden(new Uint8Array(buffer)),
      u32: hidden(new Uint32Array(buffer)),
      i32: hidden(new Int32Array(buffer)),
      f64: hidden(new Float64Array(buffer, 0, Math.floor(buffer.byteLength / 8))),
    });
    refuseCloning(this);
  }

  /** Makes sure that the views cover every byte below `end`. */
  cover(end: number): void {
    if (end > this.u8.length) this.#renew(end);
  }

  #renew(end: number): void {
    const { memory } = this.handle;
    let { buffer } = memory;
    if (buffer.byteLength < end) {
      memory.grow(0);
      buffer = memory.buffer;
    }
    if (buffer.byteLength < end) {
      throw new PlaitError('ERR_PLAIT_CORRUPT', `a reference to byte ${end} of a space of ${buffer.byteLength} bytes`);
    }
    this.u8 = new Uint8Array(buffer);
    this.u32 = new Uint32Array(buffer);
    this.i32 = new Int32Array(buffer);
    this.f64 = new Float64Array(buffer, 0, Math.floor(buffer.byteLength / 8));
  }

  /** The word at a reference, read atomically. */
  load(ref: number): number {
    this.cover(ref + 4);
    return Atomics.load(this.u32, ref >>> 2);
  }

  /** A view of `length` bytes at a reference. */
  bytes(ref: number, length: number): Uint8Array<SharedArrayBuffer> {
    this.cover(ref + length);
    return this.u8.subarray(ref, ref + length);
  }

  /**
   * Checks all structures, and throws ERR_PLAIT_CORRUPT for a fault. With `quiescent` it checks more; then no other
   * thread may use the space.
   */
  check(quiescent = false): void {
    const rc = this.core.plait_abi_check(quiescent ? 1 : 0);
    if (rc === 0) return;
    if (rc === -Errno.ETIMEDOUT) throw lockTimeout();
    if (rc === -Errno.ENOMEM) throw noRoomToCheck();
    throw new PlaitError('ERR_PLAIT_CORRUPT', 'a structure in the space breaks its invariant');
  }
}

/** The error for a lock whose owner makes no progress and is not known to have exited. */
export function lockTimeout(): PlaitError {
  return new PlaitError(
    'ERR_PLAIT_LOCK_TIMEOUT',
    'a lock was held for over a second by a thread that is not known to have exited. If you stop Workers of your own ' +
      'with terminate(), start them with workerOptions(), so that their end is noticed at once',
  );
}

/** The error for a space that has no `size` bytes left. */
export function outOfMemory(size: number): PlaitError {
  return new PlaitError(
    'ERR_PLAIT_OUT_OF_MEMORY',
    `the space cannot give ${size} bytes: free some, send less at once, or open it with a larger maximum`,
  );
}

/** The error for a check without memory: it needs a few bytes for each file. */
export function noRoomToCheck(): PlaitError {
  return new PlaitError('ERR_PLAIT_OUT_OF_MEMORY', 'the space has no room for the check to count in: free some');
}
