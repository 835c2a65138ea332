/**
 * plait/wasi: programs of WASI (preview1) over the files of a space.
 */

export { PlaitError, type PlaitErrorCode } from '../core/errors.ts';
export type { FsError } from '../fs/errors.ts';
export { type FinalizeBindingsOptions, WASI, type WASIOptions } from './wasi.ts';
