/**
 * The time that all threads of a process or page agree on.
 *
 * Invariant: it counts as `performance.now()` does, from a moment that is the same in all of them. No thread's `timeOrigin`
 * is: that says when the thread began by the wall clock, which may have been set since another one began.
 */

import { host } from './host.ts';

const zero = host.clockZero();

/** Milliseconds, with a fraction. */
export function clock(): number {
  return zero + performance.now();
}

/** What clock() was when `performance.now()` was that, in this thread. */
export function clockAt(now: number): number {
  return zero + now;
}

/** A moment of clock() as a word of a task: it wraps after 49 days, and is never 0. */
export function stampOf(moment: number): number {
  return moment >>> 0 || 1;
}
