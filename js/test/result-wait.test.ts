/**
 * When a thread spins for a result and when it sleeps, with a clock of the test's own: the speed of the machine does
 * not matter.
 */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ResultWait } from '../../dist/task/result-wait.js';
import { Waiter } from '../../dist/task/waiter.js';

const POOL = 64;
/** Milliseconds. Spinning lasts 0.2. */
const SHORT = 0.1;
const LONG = 5;

/** A thread that waits for one result at a time. */
class Thread {
  #time = 1000;
  /** How long it takes to prefault the buffer for the next result; undefined: none is needed. */
  making: number | undefined;
  /** How often that was done, and undone. */
  made = 0;
  dropped = 0;
  readonly #wait = new ResultWait(
    { load: () => 0 },
    POOL,
    new Waiter({ i32: new Int32Array(new SharedArrayBuffer(4)) }, 0, 1),
    () => this.#time,
    {
      prepare: () => {
        if (this.making === undefined) return false;
        this.#time += this.making;
        this.making = undefined;
        this.made++;
        return true;
      },
      drop: () => void this.dropped++,
    },
  );
  /** None, so that a processor is left for this thread on any machine. */
  away = 0;

  /**
   * Waits for a result that comes after so many milliseconds. Returns whether the thread spun, and whether that was in
   * vain.
   */
  waits(milliseconds: number): 'slept' | 'found' | 'spun in vain' {
    let answer: ReturnType<Thread['waits']> = 'slept';
    const end = this.#time + milliseconds;
    for (; this.#time < end; this.#time += 0.05) {
      const how = this.#wait.next(this.away);
      if (how === 'turn') answer = 'found';
      else {
        if (answer === 'found') answer = 'spun in vain';
        break;
      }
    }
    this.#time = Math.max(this.#time, end);
    this.#wait.received(1);
    return answer;
  }

  /** How many waits of that length pass without spinning. */
  slept(milliseconds: number): number {
    for (let count = 0; count < 100; count++) if (this.waits(milliseconds) !== 'slept') return count;
    return Number.POSITIVE_INFINITY;
  }
}

describe('ResultWait', () => {
  test('a caller spins for a result, but not for the first', () => {
    const thread = new Thread();
    assert.equal(thread.waits(SHORT), 'slept', 'workers are starting');
    assert.equal(thread.waits(SHORT), 'found');
    assert.equal(thread.waits(SHORT), 'found');
  });

  test('a fruitless spin skips one wait, and several in a row skip up to 31', () => {
    const thread = new Thread();
    thread.waits(SHORT);
    const counts = [];
    assert.equal(thread.waits(LONG), 'spun in vain');
    for (let i = 0; i < 7; i++) counts.push(thread.slept(LONG));
    assert.deepEqual(counts, [1, 3, 7, 15, 31, 31, 31]);
  });

  test('spinning that found its result resets the back-off', () => {
    const thread = new Thread();
    thread.waits(SHORT);
    for (const count of [0, 1, 3, 7]) assert.equal(thread.slept(LONG), count);
    assert.equal(thread.slept(SHORT), 15);
    assert.equal(thread.waits(LONG), 'spun in vain');
    assert.equal(thread.slept(SHORT), 1);
  });

  test('a caller does not spin while each processor may have a task', () => {
    const thread = new Thread();
    thread.away = 1e6;
    assert.equal(thread.slept(SHORT), Number.POSITIVE_INFINITY);
  });

  test('prefaulting does not count as spinning, which continues afterwards', () => {
    const thread = new Thread();
    thread.waits(SHORT);
    thread.making = LONG;
    assert.equal(thread.waits(LONG + 2 * SHORT), 'found');
    assert.equal(thread.made, 1);
  });

  test('without spinning no buffer is made, and an unused one is dropped', () => {
    const thread = new Thread();
    thread.making = SHORT;
    assert.equal(thread.waits(SHORT), 'slept');
    assert.deepEqual([thread.made, thread.dropped], [0, 1]);
  });
});
