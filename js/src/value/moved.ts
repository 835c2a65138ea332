/** What give() and transfer() return, apart from value/transfer.ts: the codec knows it too. */

import { threadWide } from '../core/thread-wide.ts';

/**
 * A task's result together with what its sender gives away. It stands for the whole result: within one, it is refused.
 * The same class in all copies of Plait.
 */
export const Moved: MovedClass = threadWide<MovedClass>(
  'moved results',
  () =>
    class {
      readonly #value: unknown;
      readonly #buffers: readonly ArrayBuffer[];
      readonly #given: boolean;

      constructor(value: unknown, buffers: readonly ArrayBuffer[], given: boolean) {
        this.#value = value;
        this.#buffers = buffers;
        this.#given = given;
      }

      /** What was made by this constructor; undefined for anything else. */
      static parts(value: unknown): MovedParts | undefined {
        if (typeof value !== 'object' || value === null || !(#value in value)) return undefined;
        return { value: value.#value, buffers: value.#buffers, given: value.#given };
      }
    },
);

interface MovedClass {
  readonly prototype: object;
  new (value: unknown, buffers: readonly ArrayBuffer[], given: boolean): object;
  parts(value: unknown): MovedParts | undefined;
}

/** What a task's result is made of. */
export interface MovedParts {
  readonly value: unknown;
  /** What is detached on the sender's side. */
  readonly buffers: readonly ArrayBuffer[];
  /** The value is a view whose block goes with it. */
  readonly given: boolean;
}
