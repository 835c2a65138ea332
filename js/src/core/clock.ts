/**
 * The time that all threads of a process or page agree on.
 *
 * Invariant: it never goes back, whatever is done to the clock of the day.
 */

import { host } from './host.ts';

/** Milliseconds, with a fraction, since some moment that is the same for all threads. */
export const clock: () => number = host.clock;

/** A moment of clock() as a word of a task: it wraps after 49 days, and is never 0. */
export function stampOf(moment: number): number {
  return moment >>> 0 || 1;
}
