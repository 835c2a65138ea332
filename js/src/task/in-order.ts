/**
 * A queue in which values may be put before their turn: each has a position, and values are taken in the order of their
 * positions. A ring that grows by doubling.
 *
 * Invariant: the value of position p is in slot p % capacity. No position in the queue, or still to be put, is below
 * `#first`; no position in the queue is `#first` + capacity or above. An empty slot is undefined.
 */

const LEAST_CAPACITY = 64;

export class InOrder<T extends object> {
  /** Number of values. */
  size = 0;

  #slots: (T | undefined)[] = new Array(LEAST_CAPACITY).fill(undefined);
  #first = 0;

  /** pre: each position is put once, and sooner or later all positions below it are put too. */
  put(position: number, value: T): void {
    while (position - this.#first >= this.#slots.length) this.#grow();
    this.#slots[position & (this.#slots.length - 1)] = value;
    this.size++;
  }

  /** The next value, if it has been put. */
  peek(): T | undefined {
    return this.#slots[this.#first & (this.#slots.length - 1)];
  }

  /** Takes what peek() has returned. */
  take(): void {
    this.#slots[this.#first & (this.#slots.length - 1)] = undefined;
    this.#first++;
    this.size--;
  }

  /** Removes all values and returns them in order. Nothing may be put afterwards. */
  empty(): T[] {
    const all: T[] = [];
    for (let left = this.size; left > 0; this.#first++) {
      const value = this.peek();
      if (value === undefined) continue;
      all.push(value);
      left--;
    }
    this.#slots.fill(undefined);
    this.size = 0;
    return all;
  }

  #grow(): void {
    const slots = this.#slots;
    const capacity = slots.length;
    const larger: (T | undefined)[] = new Array(capacity * 2).fill(undefined);
    for (let position = this.#first; position < this.#first + capacity; position++) {
      larger[position & (capacity * 2 - 1)] = slots[position & (capacity - 1)];
    }
    this.#slots = larger;
  }
}
