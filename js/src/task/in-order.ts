/**
 * A queue in which values may be put ahead of their turn: each has a position, and they are taken in the order of
 * those. A ring that grows by doubling.
 *
 * Invariant: what has position p lies in slot p % capacity; no position that lies in it, or is still to be put, is
 * below `#first`, and none that lies in it is `capacity` or more above. A slot in which nothing lies is undefined.
 */

const LEAST_CAPACITY = 64;

export class InOrder<T extends object> {
  /** How many lie in it. */
  size = 0;

  #slots: (T | undefined)[] = new Array(LEAST_CAPACITY).fill(undefined);
  #first = 0;

  /** pre: each position is put once, and all below it are put, too, sooner or later. */
  put(position: number, value: T): void {
    while (position - this.#first >= this.#slots.length) this.#grow();
    this.#slots[position & (this.#slots.length - 1)] = value;
    this.size++;
  }

  /** What is to be taken next, if it is there already. */
  peek(): T | undefined {
    return this.#slots[this.#first & (this.#slots.length - 1)];
  }

  /** Takes what peek() has returned. */
  take(): void {
    this.#slots[this.#first & (this.#slots.length - 1)] = undefined;
    this.#first++;
    this.size--;
  }

  /** Takes out whatever lies in it, in its order. Nothing is to be put into it any more. */
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
