/** The results of give() and transfer(). Separate from value/transfer.ts, because the codec needs the class, too. */

import { threadWide } from '../core/thread-wide.ts';

/**
 * A task's result together with what its sender gives away. It must be the whole result: as a part of one, it is
 * refused. All copies of Plait in a thread share the class.
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

      /** The parts of an object that this constructor made; undefined for anything else. */
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

/** The parts of a moved result. */
export interface MovedParts {
  readonly value: unknown;
  /** The buffers that are detached on the sender's side. */
  readonly buffers: readonly ArrayBuffer[];
  /** The value is a view whose block goes to the receiver. */
  readonly given: boolean;
}
