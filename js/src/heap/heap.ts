/**
 * heap: memory of the common space, for any thread.
 *
 * A reference names a block: a number that means the same to every thread. The block lives until a thread frees it.
 * JavaScript's garbage collector does not know it.
 *
 * Invariant: a refused call has changed nothing.
 */
import { commonSpace } from '../core/boot.ts';
import { PlaitError } from '../core/errors.ts';
import { Errno, PAGE_SIZE } from '../core/layout.generated.ts';
import { isMemoryOf } from '../core/memory.ts';
import { makeOpaque, refuseCloning } from '../core/opaque.ts';
import { lockTimeout, noRoomToCheck, type Space } from '../core/space.ts';
import { corrupt, invalidPointer, outOfRange, refused } from './faults.ts';
import { claimOwnership, freeBlock, type HeapBytes, isReference, ownedBlock, releaseOwnership } from './owned.ts';
import { readInto } from './read-file.ts';
import { type HeapStats, readStats } from './stats.ts';

/** Options of {@link Heap.alloc} and {@link Heap.bytes}. */
export interface AllocOptions {
  /** The reference is a multiple of this power of two, up to 2147483648. The default is 16. */
  readonly alignment?: number | undefined;
  /** Whether all bytes are zero. If not, the contents are unspecified. */
  readonly zeroed?: boolean | undefined;
}

const LARGEST = 2 ** 32 - 1 - PAGE_SIZE;
const LARGEST_ALIGNMENT = 2 ** 31;

function checkSize(size: number): void {
  if (Number.isInteger(size) && size >= 0 && size <= LARGEST) return;
  throw outOfRange(`size must be a whole number from 0 to ${LARGEST}, not ${size}`);
}

/** The heap of one space. Every thread that is attached to the space may call all methods. */
export class Heap {
  readonly #space: () => Space;

  static {
    const instead = 'import it there: all threads have the same';
    makeOpaque(Heap, { name: 'Heap', instead }, (heap) => {
      const { used, reserved, liveBlocks } = heap.stats();
      return { used, reserved, liveBlocks };
    });
  }

  constructor(space: () => Space) {
    this.#space = space;
    refuseCloning(this);
  }

  /**
   * Allocates a block of `size` bytes, aligned to 16, with unspecified contents.
   *
   * @throws {RangeError} ERR_OUT_OF_RANGE if `size` is not a whole number from 0 to 4294901759, or the alignment is no
   *   power of two
   * @throws {PlaitError} ERR_PLAIT_OUT_OF_MEMORY
   */
  alloc(size: number, options?: AllocOptions): number {
    checkSize(size);
    const space = this.#space();
    const block =
      (options === undefined ? space.core.plait_heap_alloc(size) : allocSpecial(space, size, options)) >>> 0;
    if (block === 0) throw refused(space, size);
    return block;
  }

  /**
   * Makes a block larger or smaller and returns its new reference. That is the old one if the block could stay in
   * place. The bytes up to the smaller of both sizes are kept. Given a view from {@link bytes}, it returns the view
   * that replaces it.
   *
   * @throws {RangeError} as {@link alloc}
   * @throws {PlaitError} ERR_PLAIT_OUT_OF_MEMORY: the block is unchanged. ERR_PLAIT_INVALID_POINTER, as {@link free}
   */
  realloc(block: number, size: number): number;
  realloc(view: HeapBytes, size: number): HeapBytes;
  realloc(block: number | HeapBytes, size: number): number | HeapBytes {
    checkSize(size);
    const space = this.#space();
    const from = typeof block === 'number' ? block : this.#blockOf(block);
    if (!isReference(from)) throw invalidPointer(space, from);
    const to = space.core.plait_heap_realloc(from, size) >>> 0;
    if (to === 0) throw space.core.plait_heap_size(from) === 0 ? invalidPointer(space, from) : refused(space, size);
    if (typeof block === 'number') return to;
    releaseOwnership(block);
    return claimOwnership(space, to, size);
  }

  /**
   * Allocates `size` bytes of shared memory and returns a `Uint8Array` that owns the block. Free it with `free(view)`
   * or `using view`. Or give it to a task with `pool.run(view, { give: true })`, which copies nothing. The garbage
   * collector does not free it.
   *
   * @throws as {@link alloc}
   */
  bytes(size: number, options?: AllocOptions): HeapBytes {
    const block = this.alloc(size, options);
    return claimOwnership(this.#space(), block, size);
  }

  /**
   * Reads a file of the host directly into shared memory, like `readFileSync` of `node:fs`. The result is a view as
   * from {@link bytes}, so it can be given to a task without a copy. Node only; blocks the thread while it reads.
   *
   * @throws what `node:fs` throws for the path, and as {@link alloc}; then nothing stays open or allocated
   * @throws {PlaitError} ERR_PLAIT_UNSUPPORTED in browsers
   */
  readFileSync(path: string | URL | Uint8Array): HeapBytes {
    return readInto<HeapBytes>(path, {
      make: (size) => this.bytes(size),
      resize: (view, size) => this.realloc(view, size),
      free: (view) => this.free(view),
    });
  }

  /**
   * Frees a block, named by its reference or by the view that `bytes()` returned.
   *
   * @throws {PlaitError} ERR_PLAIT_INVALID_POINTER for anything but a live block; the message says what it is, and
   *   nothing changes
   */
  free(block: number | Uint8Array): void {
    const space = this.#space();
    if (typeof block === 'number') {
      freeBlock(space, block);
      return;
    }
    freeBlock(space, this.#blockOf(block));
    releaseOwnership(block);
  }

  #blockOf(view: Uint8Array): number {
    const block = ownedBlock(view, this.#space());
    if (block !== undefined) return block;
    throw new PlaitError(
      'ERR_PLAIT_INVALID_POINTER',
      'the view does not come from bytes() of this heap, or was freed or given away',
    );
  }

  /**
   * How many bytes a live block has room for: the requested size, or somewhat more. The caller may use all of it.
   *
   * @throws {PlaitError} ERR_PLAIT_INVALID_POINTER, as {@link free}
   */
  size(block: number): number {
    const space = this.#space();
    const size = isReference(block) ? space.core.plait_heap_size(block) >>> 0 : 0;
    if (size === 0) throw invalidPointer(space, block);
    return size;
  }

  /**
   * The bytes from `block` on as a view on shared memory, without a copy. The view does not keep the block alive, and
   * the heap does not check that there is one.
   *
   * @throws {RangeError} ERR_OUT_OF_RANGE for numbers that are no place in the memory
   */
  view(block: number, length: number): Uint8Array<SharedArrayBuffer> {
    if (!Number.isInteger(block) || !Number.isInteger(length) || block < 0 || length < 0) {
      throw outOfRange(`block and length must be whole numbers from 0 on, not ${block} and ${length}`);
    }
    try {
      return this.#space().bytes(block, length);
    } catch {
      throw outOfRange(`the bytes from ${block} to ${block + length} lie outside of the memory`);
    }
  }

  /**
   * The reference of a view's first byte. Another thread passes it to its own `view()` to see the same bytes. The view
   * may come from `bytes()` or `view()`, may be a part of such a view, or may have come from another thread by
   * `postMessage`.
   *
   * @throws {PlaitError} ERR_PLAIT_INVALID_POINTER if it lies in other memory
   */
  offset(view: ArrayBufferView): number {
    if (ArrayBuffer.isView(view) && isMemoryOf(this.#space(), view.buffer)) return view.byteOffset;
    throw new PlaitError('ERR_PLAIT_INVALID_POINTER', "the view does not lie in this heap's memory");
  }

  /**
   * Counters. Each is right at some instant, but they are read one after another. Any thread may call this at any time;
   * it never blocks.
   */
  stats(): HeapStats {
    return readStats(this.#space());
  }

  /**
   * Walks the whole space, for tests and bug reports. `quiescent` says that no other thread is inside; then more is
   * checked.
   *
   * @throws {PlaitError} ERR_PLAIT_CORRUPT; the message says what is wrong and where. ERR_PLAIT_OUT_OF_MEMORY: the
   *   check has no memory for its counters
   */
  check(options: { readonly quiescent?: boolean | undefined } = {}): void {
    const space = this.#space();
    const rc = space.core.plait_abi_check(options.quiescent === true ? 1 : 0);
    if (rc === -Errno.ETIMEDOUT) throw lockTimeout();
    if (rc === -Errno.ENOMEM) throw noRoomToCheck();
    if (rc !== 0) throw corrupt(space);
  }
}

function allocSpecial(space: Space, size: number, { alignment = 16, zeroed = false }: AllocOptions): number {
  if (!Number.isInteger(alignment) || alignment < 1 || alignment > LARGEST_ALIGNMENT || !isPowerOfTwo(alignment)) {
    throw outOfRange(`options.alignment must be a power of two from 1 to ${LARGEST_ALIGNMENT}, not ${alignment}`);
  }
  if (alignment <= 16) return zeroed ? space.core.plait_heap_alloc_zeroed(size) : space.core.plait_heap_alloc(size);
  const block = space.core.plait_heap_alloc_aligned(size, alignment) >>> 0;
  if (zeroed && block !== 0) space.bytes(block, size).fill(0);
  return block;
}

function isPowerOfTwo(number: number): boolean {
  return (number & (number - 1)) === 0;
}

/** The heap of the common space. */
export const heap: Heap = new Heap(commonSpace);
