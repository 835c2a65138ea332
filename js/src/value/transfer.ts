/**
 * Transferring and giving bytes. A transferred ArrayBuffer is detached on the sender's side, as in `structuredClone`.
 *
 * Values travel through shared memory, so transferred bytes are still copied once. Therefore only ArrayBuffers can be
 * transferred, and no objects that belong to a thread (ports, streams).
 *
 * Bytes of heap.bytes() are in shared memory already: give() passes their block by reference.
 */

import { PlaitError } from '../core/errors.ts';
import { isArrayBuffer } from '../core/realms.ts';
import { freeOwned, type HeapBytes, isOwned } from '../heap/owned.ts';
import { isDetached } from './buffer-state.ts';
import { Moved, type MovedParts } from './moved.ts';

/**
 * Marks a task's result so that these buffers are detached in the worker once it is sent: `return transfer(bytes,
 * [bytes.buffer])`. The return value must be the whole result; as a part of a result it is refused.
 *
 * @throws {PlaitError} ERR_PLAIT_CANNOT_SEND for anything but an ArrayBuffer,
 *   or one that is detached or listed twice
 */
export function transfer<T>(value: T, buffers: readonly unknown[]): T {
  return new Moved(value, transferable(buffers), false) as never;
}

/**
 * Marks a task's result, a view from `heap.bytes()`, so that its block goes to the caller and nothing is copied:
 * `return give(bytes)`. The caller gets a view that owns the block, and frees it with `using` or `heap.free(view)`. If
 * no caller takes the result (its call was aborted, for example), Plait frees it. The task must not use its own view
 * any more. The return value must be the whole result; as a part of a result it is refused, and the task keeps the
 * bytes.
 *
 * @throws {TypeError} for anything but a view from heap.bytes() that was neither freed nor given away
 */
export function give(view: HeapBytes): HeapBytes {
  if (!isOwned(view)) throw new TypeError('only a view from heap.bytes() can be given, and only once');
  return new Moved(view, [], true) as never;
}

/** The value and the buffers of a result of transfer() or give(); undefined for anything else. */
export function movedParts(value: unknown): MovedParts | undefined {
  return Moved.parts(value);
}

/** Frees the block that a task has given, if its result is not needed any more. */
export function freeGiven(value: unknown): void {
  const parts = movedParts(value);
  if (parts?.given === true) freeOwned(parts.value as HeapBytes);
}

/** Checks a transfer list. */
export function transferable(list: readonly unknown[]): ArrayBuffer[] {
  if (!Array.isArray(list)) throw new TypeError(`what is to be transferred must be an array, not ${describe(list)}`);
  const seen = new Set<unknown>();
  for (const [index, item] of list.entries()) {
    let problem: string | undefined;
    if (!isArrayBuffer(item)) problem = `is ${describe(item)}; only an ArrayBuffer can be transferred`;
    else if (isDetached(item)) problem = 'is detached already';
    else if (seen.has(item)) problem = 'is listed twice';
    if (problem !== undefined) throw new PlaitError('ERR_PLAIT_CANNOT_SEND', `transfer[${index}] ${problem}`);
    seen.add(item);
  }
  return list as ArrayBuffer[];
}

function describe(item: unknown): string {
  if (typeof item !== 'object' || item === null) return `a ${item === null ? 'null' : typeof item}`;
  const name = (Object.getPrototypeOf(item) as { constructor?: { name?: string } } | null)?.constructor?.name;
  return `a ${name || 'object'}`;
}

/**
 * Detaches buffers whose bytes have been sent. A buffer that cannot be detached (a WebAssembly.Memory's) is unchanged.
 */
export function detachAll(buffers: readonly ArrayBuffer[]): void {
  for (const buffer of buffers) {
    try {
      structuredClone(buffer, { transfer: [buffer] });
    } catch {
      // Its bytes have arrived. That the sender still sees them does no harm.
    }
  }
}
