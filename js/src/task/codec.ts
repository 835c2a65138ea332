/**
 * The codec of values, as threads use it that have it from the start. Node's own threads have codec-later.ts instead.
 */

export { readValue } from './value-reader.ts';
export { ValueWriter } from './value-writer.ts';

/** Makes the next use quick. */
export function ready(): void {}
