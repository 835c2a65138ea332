/**
 * Task module of both pools: the SHA-256 of bytes.
 *
 * workerData is an Int32Array in shared memory: [0] counts the workers that are ready, [1 + n] the microseconds that
 * worker n was busy. Each worker writes to its own place only.
 */

import { hash } from 'node:crypto';
import { workerData } from 'node:worker_threads';

const place = 1 + Atomics.add(workerData, 0, 1);

/** @param {Uint8Array} bytes */
export default function hashBytes(bytes) {
  const start = performance.now();
  const digest = hash('sha256', bytes);
  Atomics.add(workerData, place, Math.round((performance.now() - start) * 1000));
  return digest;
}
