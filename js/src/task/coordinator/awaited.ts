/**
 * What the owner of a pool waits for: that no task is queued or running, and that certain workers have ended.
 *
 * Invariant: while it waits for either, another poll is scheduled, or the exit of a worker follows, which polls, too.
 */

import { slotOf, threadsOfHost } from '../../core/boot.ts';
import { Pool as P, Slot } from '../../core/layout.generated.ts';
import type { Space } from '../../core/space.ts';
import type { WorkerRecord } from './worker-record.ts';

/** How often to look whether a pool is idle: finished tasks send no signal. */
const TICK_MS = 5;

/** The pool's part. */
export interface AwaitedListener {
  done(id: number): void;
  pollIn(milliseconds: number): void;
}

export class Awaited {
  readonly #space: Space;
  readonly #pool: number;
  readonly #listener: AwaitedListener;
  /** Ids of those who wait until the pool is idle. */
  #idle: number[] = [];
  /** The workers that are to end, by id. */
  readonly #ends = new Map<number, Set<WorkerRecord>>();

  constructor(space: Space, pool: number, listener: AwaitedListener) {
    this.#space = space;
    this.#pool = pool;
    this.#listener = listener;
  }

  idle(id: number): void {
    this.#idle.push(id);
  }

  ends(id: number, workers: readonly WorkerRecord[]): void {
    this.#ends.set(id, new Set(workers));
    this.#answerEnds();
  }

  ended(worker: WorkerRecord): void {
    for (const workers of this.#ends.values()) workers.delete(worker);
    this.#answerEnds();
  }

  #answerEnds(): void {
    for (const [id, workers] of this.#ends) {
      if (workers.size > 0) continue;
      this.#ends.delete(id);
      this.#listener.done(id);
    }
  }

  /** `workers`: all whose exit has not been received; `isSettled`: no task of another one is still to be delivered. */
  poll(workers: Iterable<WorkerRecord>, isSettled: boolean): void {
    if (this.#idle.length === 0) return;
    if (!isSettled || !this.#isIdle([...workers])) {
      this.#listener.pollIn(TICK_MS);
      return;
    }
    for (const id of this.#idle) this.#listener.done(id);
    this.#idle = [];
  }

  /**
   * A task that is queued later than we look, by one that ends before we look at its worker, is not missed: the other
   * one raises `finished` in between.
   */
  #isIdle(workers: readonly WorkerRecord[]): boolean {
    const load = (word: number): number => this.#space.load(this.#pool + word);
    const finished = load(P.finished);
    return load(P.queued) === 0 && !workers.some((worker) => this.#runs(worker)) && load(P.finished) === finished;
  }

  #runs(worker: WorkerRecord): boolean {
    return threadsOfHost(this.#space, worker.thread.hostId).some((thread) => {
      const slot = slotOf(this.#space, thread);
      return this.#space.load(slot + Slot.running) !== 0 || this.#space.load(slot + Slot.holding) !== 0;
    });
  }
}
