/**
 * Chooses how an array is written.
 *
 * Invariant: the choice loses nothing, whatever the array holds. Only an array without named properties is plain. The
 * choice does not examine each key, which would cost more than writing the elements.
 */

import { TAG } from './tags.ts';

/** Which of the three forms of an array suits. */
export function arrayTag(array: unknown[]): number {
  // Counting own values is many times faster than listing keys, for which the engine makes a string of every index.
  const count = Object.values(array).length;
  if (count === array.length && !array.includes(undefined)) return TAG.Array;
  const keys = Object.keys(array);
  if (array.length > 16 + 4 * keys.length) return TAG.SparseArray;
  return keys.every(isIndex) ? TAG.Array : TAG.ArrayWithExtras;
}

/** Whether a key of an array names an element. */
export function isIndex(key: string): boolean {
  const index = Number(key);
  return index >>> 0 === index && index !== 0xffffffff && String(index) === key;
}
