/**
 * A pool's word for its shortest timeout: how often the coordinator must poll running tasks.
 *
 * Invariant: a thread that notes a timeout leaves the word at that value or below, whatever others note meanwhile. Only
 * the coordinator raises it, to 0, when there is nothing to time, and notes again what it then finds
 * (coordinator/late-tasks.ts).
 */

/** Notes a timeout in milliseconds; false: the word was as low already. Any thread. */
export function noteTimeout(words: Uint32Array, index: number, timeout: number): boolean {
  let least = Atomics.load(words, index);
  // Each further iteration means that another thread has noted a timeout meanwhile, or the coordinator has polled.
  while (least === 0 || least > timeout) {
    const seen = Atomics.compareExchange(words, index, least, timeout);
    if (seen === least) return true;
    least = seen;
  }
  return false;
}
