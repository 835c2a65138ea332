/**
 * The heap under several threads in Node. Some are terminated while they allocate, free blocks of other threads, or
 * grow the memory. Shared words list the blocks of each thread. An exit may lose only a block that was being moved to
 * or from these words.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Heap, openSpace, type PlaitError, type Space } from 'plait';
import { owned } from './owned.ts';
import { rounds, seed } from './seed.ts';
import './terminates.ts';

const fixture = (name: string): URL => new URL(`../../js/test/fixtures/${name}`, import.meta.url);
const DEADLINE_MS = 30000;

/** What the fixture exports. */
interface Model {
  run(heap: Heap, table: Int32Array, seed: number, steps: number): void;
  take(table: Int32Array, cell: number): { block: number } | undefined;
}

test(`threads that exchange blocks behave as their models (seed ${seed})`, { timeout: 60000 * rounds }, async (t) => {
  const { run, take } = (await import(fixture('heap-model.js').href)) as Model;
  for (let round = 0; round < rounds; round++) {
    const space = openSpace({ maximum: 2 ** 28 });
    const heap = new Heap(() => space);
    const before = heap.stats().liveBlocks;
    const table = new Int32Array(new SharedArrayBuffer(64 * 16));
    const workers = [1, 2, 3].map((n) => {
      const workerData = { model: space.handle, table, seed: seed + round * 10 + n, steps: 4000 };
      return owned(t, new Worker(fixture('heap-model.js'), { workerData }));
    });
    const ends = Promise.all(workers.map((worker) => once(worker, 'exit')));
    await Promise.all(workers.map((worker) => once(worker, 'online')));
    run(heap, table, seed + round * 10, 4000);
    for (const [code] of await ends) assert.equal(code, 0, 'the model holds in the Worker');
    for (let cell = 0; cell < 64; cell++) {
      const found = take(table, cell);
      if (found !== undefined) heap.free(found.block);
    }
    heap.check({ quiescent: true });
    assert.equal(heap.stats().liveBlocks, before, 'every block was freed once');
  }
});

const WORKERS = 4;
const CELLS = 256;
/** Terminations with one space; then a new one, whose memory has still to grow. */
const DEATHS_IN_A_SPACE = 10;

/** Workers that share a space and a table, and what is known of them. */
class Churn {
  readonly space: Space = openSpace({ maximum: 2 ** 29 });
  readonly heap: Heap = new Heap(() => this.space);
  readonly #table = new Int32Array(new SharedArrayBuffer(CELLS * 4));
  /** What each Worker has in its hands. */
  readonly #hands = new Int32Array(new SharedArrayBuffer((WORKERS + 1) * 4));
  /** Blocks that exited threads were using, unless they had just freed them or put them into the table. */
  readonly #left = new Set<number>();
  /** Word 0 stops all; then how far each Worker is. */
  readonly #steps = new Int32Array(new SharedArrayBuffer((WORKERS + 1) * 4));
  readonly #workers: Worker[] = [];
  readonly #ballast: number[] = [];
  readonly #errors: unknown[] = [];
  readonly #next: (limit: number) => number;
  readonly #test: TestContext;

  constructor(test: TestContext, next: (limit: number) => number) {
    this.#test = test;
    this.#next = next;
  }

  /** Starts a Worker in a place and resolves when it is at work. */
  async start(place: number): Promise<void> {
    const workerData = {
      handle: this.space.handle,
      table: this.#table,
      hands: this.#hands,
      steps: this.#steps,
      index: place + 1,
      seed: this.#next(2 ** 31),
    };
    const worker = owned(this.#test, new Worker(fixture('heap-churn.js'), { workerData }));
    worker.on('error', (error) => this.#errors.push(error));
    this.#workers[place] = worker;
    await once(worker, 'message');
  }

  /** Allocates what is free in large pieces, so that the next large block makes the memory grow. */
  load(): void {
    const { reserved } = this.heap.stats();
    while (this.heap.stats().reserved === reserved && reserved < 2 ** 28) this.#ballast.push(this.heap.alloc(2 ** 20));
  }

  /** Terminates some Workers at once; resolves when they are gone, and recovered. */
  async kill(places: number[]): Promise<void> {
    await Promise.all(places.map((place) => (this.#workers[place] as Worker).terminate()));
    for (const place of places) this.#left.add(Atomics.exchange(this.#hands, place + 1, 0) >>> 0);
  }

  /** Resolves when the Workers in all places have gone on from where they are now. */
  async progress(places: number[], more: number): Promise<void> {
    const end = performance.now() + DEADLINE_MS;
    for (const place of places) {
      const goal = Atomics.load(this.#steps, place + 1) + more;
      while (Atomics.load(this.#steps, place + 1) < goal) {
        assert.deepEqual(this.#errors, []);
        assert.ok(performance.now() < end, `Worker ${place} goes on`);
        await setTimeout(1);
      }
    }
  }

  /**
   * Ends all threads and frees the known blocks. Returns how many exited threads held, how many are lost, and the bytes
   * in use.
   */
  async end(): Promise<{ inHand: number; lost: number; used: number }> {
    const ends = this.#workers.map((worker) => once(worker, 'exit'));
    Atomics.store(this.#steps, 0, 1);
    await Promise.all(ends);
    assert.deepEqual(this.#errors, []);
    this.heap.check({ quiescent: true });
    for (const block of [...this.#table].filter((word) => word !== 0)) this.heap.free(block >>> 0);
    for (const block of this.#ballast) this.heap.free(block);
    const { liveBlocks } = this.heap.stats();
    for (const block of this.#left) {
      try {
        this.heap.free(block);
      } catch (error) {
        assert.equal((error as PlaitError).code, 'ERR_PLAIT_INVALID_POINTER');
      }
    }
    this.heap.check({ quiescent: true });
    const after = this.heap.stats();
    // One is the stack of this thread.
    return { inHand: liveBlocks - after.liveBlocks, lost: after.liveBlocks - 1, used: after.used };
  }
}

test(`terminated Workers leave the heap consistent, and the others continue (seed ${seed})`, {
  timeout: 120000 * rounds,
}, async (t) => {
  let state = seed >>> 0 || 1;
  const next = (limit: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % limit;
  };
  const all = Array.from({ length: WORKERS }, (_, place) => place);
  let exits = 0;
  let lost = 0;
  let inHand = 0;
  let growths = 0;
  while (exits < 30 * rounds) {
    const churn = new Churn(t, next);
    await Promise.all(all.map((place) => churn.start(place)));
    for (let killed = 0; killed < DEATHS_IN_A_SPACE; ) {
      if (next(2) === 0) churn.load();
      const { reserved } = churn.heap.stats();
      const first = next(WORKERS);
      const victims = next(4) === 0 ? [first, (first + 1) % WORKERS] : [first];
      await churn.progress(victims, next(60));
      await churn.kill(victims);
      await churn.progress(
        all.filter((place) => !victims.includes(place)),
        5,
      );
      churn.heap.check();
      assert.ok(churn.heap.stats().liveBlocks < 2 * CELLS + 1000, 'counters are plausible while others work');
      if (churn.heap.stats().reserved > reserved) growths++;
      await Promise.all(victims.map((place) => churn.start(place)));
      killed += victims.length;
      exits += victims.length;
    }
    const left = await churn.end();
    lost += left.lost;
    inHand += left.inHand;
    // What threads keep for themselves is a page of each size, and a region; what was lost is at most 2 MB each.
    assert.ok(
      left.used <= 16 * 2 ** 20 + left.lost * 2 * 2 ** 20,
      `${left.used} bytes are in use, ${left.lost} blocks lost`,
    );
  }
  assert.ok(lost <= exits, `${lost} blocks are lost by ${exits} exits`);
  t.diagnostic(
    `${exits} terminations, ${growths} with growing memory; ${inHand} blocks held by exited threads, ${lost} lost`,
  );
});
