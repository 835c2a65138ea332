/**
 * The functions that every peer's workers run; the same module for all.
 *
 * workerData is an Int32Array in shared memory: [DONE] counts tasks that ended, [ARRIVED] serves meet().
 */

import { hash as digest } from 'node:crypto';
import { workerData } from 'node:worker_threads';

export const DONE = 0;
export const ARRIVED = 1;
const NEVER = 2;
const COUNTERS = 3;
const MEETING_MS = 20_000;

/** tinypool's workers find [tinypool's own, the user's] there. */
const counters = Array.isArray(workerData) ? workerData.at(-1) : workerData;

export const makeCounters = () => new Int32Array(new SharedArrayBuffer(4 * COUNTERS));

/** The no-op: a number in, the same number out, so that answers can be checked. */
export function echo(input) {
  return input;
}

/** The same for values that are not numbers. */
export function echoBytes(input) {
  return input;
}

/** @param {Uint8Array} bytes */
export function hash(bytes) {
  return digest('sha256', bytes);
}

/** Returns once `count` workers are in it at the same time: so each of them has run a task. */
export function meet(count) {
  if (Atomics.add(counters, ARRIVED, 1) + 1 === count) Atomics.notify(counters, ARRIVED);
  for (;;) {
    const arrived = Atomics.load(counters, ARRIVED);
    if (arrived >= count) return true;
    if (Atomics.wait(counters, ARRIVED, arrived, MEETING_MS) === 'timed-out') throw new Error('a worker is missing');
  }
}

/** A task that waits, as for a disk. */
export function sleep(milliseconds) {
  Atomics.wait(counters, NEVER, 0, milliseconds);
  Atomics.add(counters, DONE, 1);
}

/** Microseconds that all threads agree on, of 18 minutes. */
export const microseconds = () => Number((process.hrtime.bigint() / 1000n) & 0x3fffffffn);

/** A task that ends its worker. */
export function exit() {
  Atomics.store(counters, DONE, microseconds());
  process.exit(1);
}

/** A task that computes. */
export function spin(milliseconds) {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
  Atomics.add(counters, DONE, 1);
}
