/**
 * The job of the demo and of the benchmark: many files, each to be read and hashed with SHA-256.
 *
 * The contents come from a seed, so that every run and every machine has the same digests.
 * Invariant: the folder is removed when the process exits, also after Ctrl-C.
 */

import { hash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const FIRST_SEED = 0x9e3779b9;

/**
 * Makes the files. pre: `size` is a multiple of 4.
 *
 * @param {{ files: number, size: number }} job
 */
export function makeFiles({ files, size }) {
  const folder = mkdtempSync(join(tmpdir(), 'plait-job-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ]) {
    process.once(signal, () => process.exit(code));
  }
  const words = new Uint32Array(size / 4);
  const paths = pathsIn(folder, files);
  let seed = FIRST_SEED;
  for (const path of paths) {
    seed = fill(words, seed);
    writeFileSync(path, words);
  }
  return { folder, paths };
}

/** The paths of the files that {@link makeFiles} made. */
export function pathsIn(folder, files) {
  return Array.from({ length: files }, (_, i) => join(folder, `${String(i).padStart(6, '0')}.bin`));
}

/** Fills the words by Marsaglia's xorshift32. Returns the seed for the next file. */
function fill(words, seed) {
  let x = seed;
  for (let i = 0; i < words.length; i++) {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    words[i] = x;
  }
  return x;
}

/**
 * The job on this thread alone, as fast as possible: the best of several runs of reading and of hashing, in
 * milliseconds, and the digests in the order of the paths.
 */
export function measureAlone(paths, runs) {
  let read = Number.POSITIVE_INFINITY;
  let hashing = Number.POSITIVE_INFINITY;
  let digests = [];
  for (let i = 0; i < runs; i++) {
    // Reading is measured twice: the allocator determines whether it is faster to release the contents or to keep them.
    read = Math.min(
      read,
      time(() => {
        for (const path of paths) readFileSync(path);
      }),
    );
    let contents = [];
    read = Math.min(
      read,
      time(() => {
        contents = paths.map((path) => readFileSync(path));
      }),
    );
    hashing = Math.min(
      hashing,
      time(() => {
        digests = contents.map((bytes) => hash('sha256', bytes));
      }),
    );
  }
  return { read, hash: hashing, digests };
}

function time(work) {
  const start = performance.now();
  work();
  return performance.now() - start;
}

/**
 * The reference time: what one thread takes to read everything, or the workers to hash everything, or all of them to do
 * both on `cores` cores, whichever is longest. It is no limit, because reading and hashing may be faster in a pool.
 */
export function reference({ read, hash, workers, cores }) {
  return Math.max(read, hash / workers, (read + hash) / Math.min(cores, workers + 1));
}
