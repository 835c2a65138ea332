/**
 * Reads a file of the host directly into a block of the heap, where every thread sees the bytes without a copy.
 *
 * Invariant: whatever is thrown, the file is closed and the block is freed.
 */

import { PlaitError } from '../core/errors.ts';
import { host } from '../core/host.ts';
import { outOfRange } from './faults.ts';

/** The part of node:fs that is used. */
interface NodeFiles {
  openSync(path: string | URL | Uint8Array): number;
  fstatSync(file: number): { readonly size: number };
  readSync(file: number, target: Uint8Array, offset: number, length: number): number;
  closeSync(file: number): void;
}

/** A block that grows: the part of the heap's bytes() that reading needs. */
export interface Target<View extends Uint8Array> {
  make(size: number): View;
  resize(view: View, size: number): View;
  free(view: View): void;
}

/** Bytes for the first read of a file that does not report its size (a pipe, /proc). */
const CHUNK = 65536;
/** Node accepts a length as a signed 32-bit number. */
const LARGEST_READ = 2 ** 30;

let files: NodeFiles | undefined;

function nodeFiles(): NodeFiles {
  files ??= host.builtin('node:fs') as NodeFiles | undefined;
  if (files !== undefined) return files;
  throw new PlaitError('ERR_PLAIT_UNSUPPORTED', 'heap.readFileSync reads files of the host, and a browser has none');
}

/** The contents of the file. A file that does not report its size is read to its end. */
export function readInto<View extends Uint8Array>(path: string | URL | Uint8Array, target: Target<View>): View {
  const fs = nodeFiles();
  const file = fs.openSync(path);
  let view: View | undefined;
  try {
    const { size } = fs.fstatSync(file);
    if (size > 2 ** 32) throw outOfRange(`the file has ${size} bytes, more than a space can hold`);
    view = target.make(size > 0 ? size : CHUNK);
    let done = 0;
    for (;;) {
      const count = fs.readSync(file, view, done, Math.min(view.length - done, LARGEST_READ));
      done += count;
      if (count === 0 || (size > 0 && done === size)) break;
      if (done === view.length) view = target.resize(view, done * 2);
    }
    return done === view.length ? view : target.resize(view, done);
  } catch (error) {
    if (view !== undefined) target.free(view);
    throw error;
  } finally {
    fs.closeSync(file);
  }
}
