/** Task module for `plait map`: the SHA-256 of a file, read by the worker itself. */

import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** @param {string} path */
export default function hashFile(path) {
  return hash('sha256', readFileSync(path));
}
