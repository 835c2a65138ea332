/** Sends values through the codec, for its tests. */
import assert from 'node:assert/strict';
import { readValue } from '../../dist/value/reader.js';
import { ValueWriter } from '../../dist/value/writer.js';

export const writer = new ValueWriter();

export function encode(value: unknown): Uint8Array {
  return writer.write(value, 'input').slice();
}

export function send<T>(value: T): T {
  return readValue(encode(value)) as T;
}

export function isBadMessage(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'ERR_PLAIT_BAD_MESSAGE';
}

/** What is thrown for `value`, which must be our own error. */
export function refusal(value: unknown): string {
  try {
    writer.write(value, 'input');
  } catch (error) {
    assert.equal((error as { code?: unknown }).code, 'ERR_PLAIT_CANNOT_SEND', String(error));
    return (error as Error).message;
  }
  return assert.fail('it was sent');
}

export function withExtras(array: unknown[], extras: object): unknown[] {
  return Object.assign(array, extras);
}

export function sparse(length: number, elements: Record<number, unknown>): unknown[] {
  const array: unknown[] = [];
  array.length = length;
  return Object.assign(array, elements);
}

/** A generator of numbers that is the same for the same seed on every machine. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}
