/**
 * Giving bytes away instead of copying them, as far as that shows: an ArrayBuffer that is transferred is detached on the
 * side that sent it.
 *
 * Between threads, values go through shared memory, so the bytes are copied once into it whatever is asked for. What can be
 * transferred is therefore an ArrayBuffer, and nothing whose other end lives in a thread (ports, streams).
 *
 * Bytes of heap.bytes() lie in shared memory already: give() hands over their block by reference.
 */

import { PlaitError } from '../core/errors.ts';
import { threadWide } from '../core/thread-wide.ts';
import { type HeapBytes, isOwned, release } from '../heap/owned.ts';

/** A result together with the buffers that its sender gives away; see {@link transfer}. */
interface Moved {
  readonly value: unknown;
  readonly buffers: readonly ArrayBuffer[];
  /** The value is a view whose block goes with it. */
  readonly given: boolean;
}

/** What transfer() made, in whichever copy of Plait. */
const moved = threadWide('moved results', () => new WeakSet<object>());

/**
 * Marks a task's result so that these buffers are detached in the worker once it is sent:
 * `return transfer(bytes, [bytes.buffer])`.
 *
 * @throws {PlaitError} ERR_PLAIT_CANNOT_SEND for what is no ArrayBuffer, is detached or listed twice
 */
export function transfer<T>(value: T, buffers: readonly unknown[]): T {
  return mark({ value, buffers: transferable(buffers), given: false }) as never;
}

/**
 * Marks a task's result, a view from `heap.bytes()`, so that its block goes to the caller and nothing is copied:
 * `return give(bytes)`. The caller gets such a view, and frees it: with `using`, or `heap.free(view)`. A result that nobody
 * takes (its call was aborted, say) is freed by itself. The task's own view stands for nothing any more.
 *
 * @throws {TypeError} for anything but a view from heap.bytes() that was neither freed nor given away
 */
export function give(view: HeapBytes): HeapBytes {
  if (!isOwned(view)) throw new TypeError('only a view from heap.bytes() can be given, and only once');
  return mark({ value: view, buffers: [], given: true }) as never;
}

function mark(result: Moved): Moved {
  moved.add(result);
  return result;
}

/** The value and the buffers of what transfer() or give() made; undefined for anything else. */
export function movedParts(value: unknown): Moved | undefined {
  return typeof value === 'object' && value !== null && moved.has(value) ? (value as Moved) : undefined;
}

/** Frees what a task gave for nothing: its result is wanted no more. */
export function freeGiven(value: unknown): void {
  const parts = movedParts(value);
  if (parts?.given === true) release(parts.value as HeapBytes);
}

/** Checks a transfer list. */
export function transferable(list: readonly unknown[]): ArrayBuffer[] {
  if (!Array.isArray(list)) throw new TypeError(`what is to be transferred must be an array, not ${describe(list)}`);
  const seen = new Set<unknown>();
  for (const [index, item] of list.entries()) {
    let problem: string | undefined;
    if (!(item instanceof ArrayBuffer)) problem = `is ${describe(item)}; only an ArrayBuffer can be transferred`;
    else if ((item as { detached?: boolean }).detached === true) problem = 'is detached already';
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

/** Detaches buffers whose bytes have been sent. One that cannot be detached (a WebAssembly.Memory's) is left as it is. */
export function detachAll(buffers: readonly ArrayBuffer[]): void {
  for (const buffer of buffers) {
    try {
      structuredClone(buffer, { transfer: [buffer] });
    } catch {
      // Its bytes have arrived; that its sender can still see them harms nobody.
    }
  }
}
