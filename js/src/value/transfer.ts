/**
 * Giving bytes away instead of copying them, as far as that shows: an ArrayBuffer that is transferred is detached on
 * the side that sent it.
 *
 * Between threads, values go through shared memory, so the bytes are copied once into it whatever is asked for. What
 * can be transferred is therefore an ArrayBuffer, and nothing whose other end lives in a thread (ports, streams).
 *
 * Bytes of heap.bytes() lie in shared memory already: give() hands over their block by reference.
 */

import { PlaitError } from '../core/errors.ts';
import { isArrayBuffer } from '../core/realms.ts';
import { freeOwned, type HeapBytes, isOwned } from '../heap/owned.ts';
import { isDetached } from './buffer-state.ts';
import { Moved, type MovedParts } from './moved.ts';

/**
 * Marks a task's result so that these buffers are detached in the worker once it is sent: `return transfer(bytes,
 * [bytes.buffer])`. What it returns stands for the whole result, and is refused as a part of one.
 *
 * @throws {PlaitError} ERR_PLAIT_CANNOT_SEND for what is no ArrayBuffer, is detached or listed twice
 */
export function transfer<T>(value: T, buffers: readonly unknown[]): T {
  return new Moved(value, transferable(buffers), false) as never;
}

/**
 * Marks a task's result, a view from `heap.bytes()`, so that its block goes to the caller and nothing is copied:
 * `return give(bytes)`. The caller gets such a view, and frees it: with `using`, or `heap.free(view)`. A result that
 * nobody takes (its call was aborted, say) is freed by itself. The task's own view stands for nothing any more. What
 * give() returns stands for the whole result: as a part of one it is refused, and the bytes stay the task's.
 *
 * @throws {TypeError} for anything but a view from heap.bytes() that was neither freed nor given away
 */
export function give(view: HeapBytes): HeapBytes {
  if (!isOwned(view)) throw new TypeError('only a view from heap.bytes() can be given, and only once');
  return new Moved(view, [], true) as never;
}

/** The value and the buffers of what transfer() or give() made; undefined for anything else. */
export function movedParts(value: unknown): MovedParts | undefined {
  return Moved.parts(value);
}

/** Frees what a task gave for nothing: its result is wanted no more. */
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
 * Detaches buffers whose bytes have been sent. One that cannot be detached (a WebAssembly.Memory's) is left as it is.
 */
export function detachAll(buffers: readonly ArrayBuffer[]): void {
  for (const buffer of buffers) {
    try {
      structuredClone(buffer, { transfer: [buffer] });
    } catch {
      // Its bytes have arrived; that its sender can still see them harms nobody.
    }
  }
}
