/** The time that all threads of a process or page agree on. */

const { timeOrigin } = performance;

/** Milliseconds, with a fraction. */
export function clock(): number {
  return timeOrigin + performance.now();
}

/** A moment of clock() as a word of a task: it wraps after 49 days, and is never 0. */
export function stampOf(moment: number): number {
  return moment >>> 0 || 1;
}
