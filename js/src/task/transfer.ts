/**
 * Giving bytes away instead of copying them, as far as that shows: an ArrayBuffer that is transferred is detached on the
 * side that sent it.
 *
 * Between threads, values go through shared memory, so the bytes are copied once into it whatever is asked for. What can be
 * transferred is therefore an ArrayBuffer, and nothing whose other end lives in a thread (ports, streams).
 */

import { PlaitError } from '../core/errors.ts';
import { threadWide } from '../core/thread-wide.ts';

/** A result together with the buffers that its sender gives away; see {@link transfer}. */
interface Moved {
  readonly value: unknown;
  readonly buffers: readonly ArrayBuffer[];
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
  const result: Moved = { value, buffers: transferable(buffers) };
  moved.add(result);
  return result as never;
}

/** The value and the buffers of what transfer() made; undefined for anything else. */
export function movedParts(value: unknown): Moved | undefined {
  return typeof value === 'object' && value !== null && moved.has(value) ? (value as Moved) : undefined;
}

/** Checks a transfer list. */
export function transferable(list: readonly unknown[]): ArrayBuffer[] {
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
