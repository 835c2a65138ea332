/**
 * A clock that all threads of a process or page share.
 *
 * Invariant: it never goes back, even if the system time is changed.
 */

import { host } from './host.ts';

/** Milliseconds, with a fraction, since a moment that is the same for all threads. */
export const clock: () => number = host.clock;

/** A time of clock() as a word of a task record: it wraps after 49 days, and is never 0. */
export function stampOf(moment: number): number {
  return moment >>> 0 || 1;
}
