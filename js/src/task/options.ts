/**
 * The options of calls, checked and with defaults filled in.
 *
 * Invariant: misuse (a wrong type or range) is a TypeError or RangeError that names the option.
 */

import { LANE_COUNT } from '../core/layout.generated.ts';
import { mustBeSignal } from './signals.ts';
import { type Ticketing, USUAL_LANE } from './submitter.ts';

/** Options that calls of every kind have. */
export interface CallOptions {
  /** Which of the module's exports to call; 'default', if not given. */
  readonly name?: string;
  /**
   * Lends a `Uint8Array` to the function instead of giving it a copy of its own: what the function gets is a view on
   * shared memory. It must not use the view after it has returned, or after its promise has settled.
   */
  readonly lend?: boolean;
  /** Milliseconds that the task may run, from its start; 0: as long as it likes; the pool's `timeout`, if not given. */
  readonly timeout?: number;
  /** From 3 (runs first) to -3; 0, if not given. Tasks of one priority run in the order in which they were submitted. */
  readonly priority?: number;
  /**
   * Tasks with the same key run on the same worker, one after the other in the order of submission (while that worker
   * lives; after it, on the one that takes its place).
   */
  readonly affinity?: string | number;
  /** How often the task is run again when its worker dies under it (not when it fails or is stopped); 0, if not given. */
  readonly retries?: number;
  /** Stops the task: its promise is rejected with the signal's reason at once; see docs/task.md for the rest. */
  readonly signal?: AbortSignal;
}

/** Options of `pool.run`. */
export interface RunOptions extends CallOptions {
  /**
   * Gives the bytes of a view from `heap.bytes()` away: nothing is copied, the function gets a view on them as if they
   * were lent, and they are freed when it has returned or its promise has settled. The caller must not use the view
   * again. If the task cannot be submitted, the view stays the caller's.
   */
  readonly give?: boolean;
  /** ArrayBuffers of the input that are detached here once they have been sent. */
  readonly transfer?: readonly unknown[];
  /** Hears what the task tells with `task.progress(value)`, in order, before the promise settles. */
  readonly onProgress?: (value: never) => void;
}

/** Options of `pool.runMany`. */
export interface RunManyOptions extends CallOptions {
  /** Hears what the tasks tell with `task.progress(value)`, with the index of the input. */
  readonly onProgress?: (value: never, index: number) => void;
}

/** Options of `pool.map` and `pool.mapSettled`. */
export interface MapOptions extends CallOptions {
  /** Whether results come in the order of the inputs (the default) or as they are ready. */
  readonly ordered?: boolean;
  /** The most inputs under way at once; eight for each worker and at least 256, if not given. */
  readonly concurrency?: number;
}

/** Options of `pool.broadcast`. */
export interface BroadcastOptions {
  readonly name?: string;
  readonly timeout?: number;
  readonly signal?: AbortSignal;
  /** Workers that are started later make the call too, before their first task; its result then is of no interest. */
  readonly later?: boolean;
}

export const MOST_MILLISECONDS: number = 2 ** 31 - 1;
const MOST_PRIORITY = (LANE_COUNT - 1) / 2;
const MOST_RETRIES = 1000;

/** Checks that a number is whole and in its range. */
export function wholeNumber(value: unknown, name: string, least: number, most: number): number {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return value as number;
  const text = typeof value === 'string' ? `'${value}'` : String(value);
  throw new RangeError(`options.${name} must be a whole number from ${least} to ${most}, not ${text}`);
}

/** The part of the options that says how a task is submitted. `timeout`, `seats`: the pool's. */
export function ticketing(
  options: (CallOptions & Pick<RunOptions, 'transfer'>) | undefined,
  timeout: number,
  seats: number,
): Ticketing {
  const name = options?.name ?? 'default';
  if (options === undefined)
    return { name, lend: false, transfer: undefined, timeout, lane: USUAL_LANE, seat: -1, retries: 0 };
  const { priority, affinity, retries, transfer } = options;
  mustBeSignal(options.signal);
  return {
    name,
    lend: options.lend === true,
    transfer,
    timeout: options.timeout === undefined ? timeout : wholeNumber(options.timeout, 'timeout', 0, MOST_MILLISECONDS),
    lane:
      priority === undefined
        ? USUAL_LANE
        : USUAL_LANE - wholeNumber(priority, 'priority', -MOST_PRIORITY, MOST_PRIORITY),
    seat: affinity === undefined ? -1 : seatOfKey(affinity, seats),
    retries: retries === undefined ? 0 : wholeNumber(retries, 'retries', 0, MOST_RETRIES),
  };
}

/** The seat that a key belongs to: always the same one. */
function seatOfKey(key: string | number, seats: number): number {
  if (typeof key !== 'string' && typeof key !== 'number') {
    throw new TypeError(`options.affinity must be a string or a number, not ${key === null ? 'null' : typeof key}`);
  }
  const text = String(key);
  let hash = 0x811c9dc5; // FNV-1a
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 15;
  return (hash >>> 0) % seats;
}
