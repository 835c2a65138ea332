/**
 * Writing for promises: a string, bytes, or the parts that an iterable or a stream yields.
 *
 * Invariant: a file that is opened here is closed here, even if the source of the parts throws. The parts before that
 * are written.
 */

import { settle } from './completion.ts';
import type { WriteFileOptions } from './contents.ts';
import { checkAbort, wrongType } from './errors.ts';
import type { TreeFs } from './tree.ts';
import { optionsOf, type PathLike } from './values.ts';

export type Part = string | ArrayBufferView;
export type Data = Part | Iterable<Part> | AsyncIterable<Part>;
export type Abortable = { signal?: AbortSignal | undefined };

/** Writes all data, to a descriptor from its file position on. `usual`: the flags, if the options have none. */
export async function writeData(
  fs: TreeFs,
  file: PathLike | number,
  data: Data,
  options: WriteFileOptions | undefined,
  usual: 'w' | 'a',
): Promise<void> {
  checkAbort(options);
  if (typeof data === 'string' || ArrayBuffer.isView(data)) {
    if (usual === 'a') fs.appendFileSync(file, data, options);
    else fs.writeFileSync(file, data, options);
    return;
  }
  if (!(Symbol.iterator in Object(data)) && !(Symbol.asyncIterator in Object(data)))
    throw wrongType('data', 'of type string or an instance of Buffer, TypedArray, or DataView', data);
  const { encoding, flag, mode } = optionsOf<{ encoding: 'utf8'; flag: string; mode: number }>(options);
  const target = typeof file === 'number' ? file : fs.openSync(file, flag ?? usual, mode);
  try {
    for await (const part of data) {
      checkAbort(options);
      await settle(() => fs.writeFileSync(target, part, encoding));
    }
  } finally {
    if (target !== file) fs.closeSync(target);
  }
}
