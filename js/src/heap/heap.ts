/**
 * heap: memory of the common space, for any thread.
 *
 * A block is named by its reference, a number that means the same to every thread. It lives until somebody frees it,
 * on whatever thread; JavaScript's garbage collector knows nothing of it.
 */

import { commonSpace } from '../core/boot.ts';
import { PlaitError } from '../core/errors.ts';
import { HeapStats as Layout, PAGE_SIZE } from '../core/layout.generated.ts';
import { outOfMemory, type Space } from '../core/space.ts';

/** Counters of a heap. */
export interface HeapStats {
  /** Bytes that the heap covers: what it has taken from the system and not given back. */
  readonly reserved: number;
  /** Bytes in use, in units of 64 KiB: pages of small blocks, regions, large blocks, bookkeeping. */
  readonly used: number;
  /** The most that `used` has been. */
  readonly peak: number;
  /** Blocks that are allocated and not freed. */
  readonly liveBlocks: number;
  /** Allocations that found no room. */
  readonly failed: number;
}

const LARGEST = 2 ** 32 - 1 - PAGE_SIZE;

/** A block that a view from `bytes()` stands for. */
interface Owned {
  readonly space: Space;
  readonly block: number;
}

/** The views that own their block: in here from bytes() until free() or until they are given away. */
const owned = new WeakMap<Uint8Array, Owned>();

/** The block that a view owns in a space, or undefined if it owns none there. */
export function ownedBlock(view: unknown, space: Space): number | undefined {
  const found = view instanceof Uint8Array ? owned.get(view) : undefined;
  return found?.space === space ? found.block : undefined;
}

/** A view owns its block no longer: somebody else frees it. */
export function disown(view: Uint8Array): void {
  owned.delete(view);
}

/** The heap of one space. All methods may be called on any thread that is attached to the space. */
export class Heap {
  readonly #space: () => Space;

  constructor(space: () => Space) {
    this.#space = space;
  }

  /**
   * A block of `size` bytes with unspecified contents, aligned to 16.
   *
   * @throws {RangeError} if `size` is not a whole number from 0 to 4294901759
   * @throws {PlaitError} ERR_PLAIT_OUT_OF_MEMORY
   */
  alloc(size: number): number {
    if (!Number.isInteger(size) || size < 0 || size > LARGEST) {
      throw new RangeError(`size must be a whole number from 0 to ${LARGEST}, not ${size}`);
    }
    const block = this.#space().core.plait_heap_alloc(size) >>> 0;
    if (block === 0) throw outOfMemory(size);
    return block;
  }

  /**
   * `size` bytes of shared memory as a `Uint8Array` that stands for its block: free it with `free(view)`, or give it to a
   * task with `pool.run(view, { give: true })`, which copies nothing. The garbage collector does not free it.
   *
   * @throws as {@link alloc}
   */
  bytes(size: number): Uint8Array<SharedArrayBuffer> {
    const block = this.alloc(size);
    const view = this.view(block, size);
    owned.set(view, { space: this.#space(), block });
    return view;
  }

  /**
   * Gives a block back, by its reference or by the view that `bytes()` returned.
   *
   * @throws {PlaitError} ERR_PLAIT_INVALID_POINTER for anything but a live block; nothing changes then
   */
  free(block: number | Uint8Array): void {
    if (typeof block !== 'number') {
      const reference = ownedBlock(block, this.#space());
      if (reference === undefined) {
        throw new PlaitError(
          'ERR_PLAIT_INVALID_POINTER',
          'the view does not come from bytes(), or was freed or given away',
        );
      }
      disown(block);
      this.free(reference);
      return;
    }
    const valid = Number.isInteger(block) && block > 0 && block < 2 ** 32;
    if (valid && this.#space().core.plait_heap_free(block) === 0) return;
    throw new PlaitError(
      'ERR_PLAIT_INVALID_POINTER',
      `${block} is not the start of a live block: it was freed before, or never came from alloc()`,
    );
  }

  /** The bytes from `block` on as a view on shared memory: no copy. The view does not keep the block alive. */
  view(block: number, length: number): Uint8Array<SharedArrayBuffer> {
    return this.#space().bytes(block, length);
  }

  /** Counters, each exact and read one after another. Cheap, on any thread, at any time. */
  stats(): HeapStats {
    const space = this.#space();
    const stack = space.core.__stack_pointer;
    const frame = (stack.value >>> 0) - Layout.BYTES;
    stack.value = frame; // a frame of our own: the core works below it
    space.core.plait_abi_heap_stats(frame);
    stack.value = frame + Layout.BYTES;
    const bytes = (field: number) => space.load(frame + field) + space.load(frame + field + 4) * 2 ** 32;
    return {
      reserved: bytes(Layout.reservedBytes),
      used: bytes(Layout.usedBytes),
      peak: bytes(Layout.peakBytes),
      liveBlocks: space.load(frame + Layout.liveBlocks),
      failed: space.load(frame + Layout.failed),
    };
  }

  /**
   * Walks the whole space, for tests and bug reports. `quiescent` says that no other thread is inside, and checks more.
   *
   * @throws {PlaitError} ERR_PLAIT_CORRUPT
   */
  check(options: { readonly quiescent?: boolean } = {}): void {
    this.#space().check(options.quiescent === true);
  }
}

/** The heap of the common space. */
export const heap: Heap = new Heap(commonSpace);
