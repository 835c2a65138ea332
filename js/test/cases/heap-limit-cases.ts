/**
 * The contract of the heap when memory ends, on any host: each way of allocating is made to fail, in spaces that are
 * full or nearly full. A failure has a code, changes nothing and loses nothing.
 */

import { attach, Heap, openSpace, PlaitError } from 'plait';
import { type Case, ok, same, thrown } from './check.ts';

interface Held {
  block: number;
  size: number;
}

/** A heap, and what was done to it. */
interface Model {
  readonly heap: Heap;
  readonly held: Held[];
}

const MAXIMUM = 4 * 2 ** 20;

function byteOf(index: number): number {
  return (index * 37 + 11) & 255;
}

function note(model: Model, index: number, block: number, size: number): void {
  model.held[index] = { block, size };
  model.heap.view(block, size).fill(byteOf(index));
}

/** Each step can fail for want of memory; those that make a block larger name the one that they need. */
const STEPS: ((model: Model, index: number) => void)[] = [
  ...[1, 100, 512, 2500, 10000, 20000, 60000, 70000, 300000].map((size) => (model: Model, index: number) => {
    note(model, index, model.heap.alloc(size), size);
  }),
  ...[10, 400, 9000, 19000, 200000].map((size) => (model: Model, index: number) => {
    note(model, index, model.heap.alloc(size, { zeroed: true }), size);
  }),
  ...[64, 512, 4096, 65536, 2 ** 18].map((alignment) => (model: Model, index: number) => {
    note(model, index, model.heap.alloc(200, { alignment }), 200);
  }),
  (model, index) => note(model, index, model.heap.offset(model.heap.bytes(50)), 50),
  ...[0, 1, 3, 4, 6, 7].map((from) => (model: Model) => {
    const { block, size } = model.held[from] as Held;
    const larger = size * 3 + 100000;
    note(model, from, model.heap.realloc(block, larger), larger);
  }),
];

/** Allocates until nothing is left, from large blocks to small ones. */
function fill(heap: Heap): number[] {
  const blocks: number[] = [];
  const small = heap
    .stats()
    .classes.map(({ size }) => size)
    .reverse();
  for (const size of [65537, 60000, 20000, 10000, 3000, (small[0] as number) + 1, ...small]) {
    const error = thrown(() => {
      for (;;) blocks.push(heap.alloc(size));
    });
    same(error.code, 'ERR_PLAIT_OUT_OF_MEMORY', `the code when ${size} bytes are too many`);
  }
  return blocks;
}

function checkHeld({ heap, held }: Model): void {
  for (const [index, { block, size }] of held.entries()) {
    ok(
      heap.view(block, size).every((byte) => byte === byteOf(index)),
      `block ${index} keeps its bytes`,
    );
  }
}

/** Runs all steps, the one with number `failing` first in a space that is full but for some blocks of two slices. */
function runWithFailure(failing: number, spared: number): boolean {
  const space = openSpace({ maximum: MAXIMUM });
  const heap = new Heap(() => space);
  const model: Model = { heap, held: [] };
  const before = heap.stats().liveBlocks;
  let failed = false;
  for (const [index, step] of STEPS.entries()) {
    if (index === failing) {
      const filler = fill(heap);
      for (const block of filler.splice(0, spared)) heap.free(block);
      const count = model.held.length;
      try {
        step(model, index);
      } catch (error) {
        ok(
          error instanceof PlaitError && error.code === 'ERR_PLAIT_OUT_OF_MEMORY',
          `the error of step ${index}: ${error}`,
        );
        same(model.held.length, count, 'blocks after the failure');
        failed = true;
      }
      checkHeld(model);
      heap.check({ quiescent: true });
      same(heap.stats().liveBlocks, before + model.held.length + filler.length, 'live blocks of the full space');
      for (const block of filler) heap.free(block);
      if (!failed) continue;
    }
    step(model, index);
  }
  checkHeld(model);
  for (const { block } of model.held) heap.free(block);
  same(heap.stats().liveBlocks, before, 'live blocks at the end');
  heap.check({ quiescent: true });
  ok(heap.alloc(2 * 2 ** 20) > 0, 'half of the space is free, in one piece');
  return failed;
}

export function heapLimitCases(): Case[] {
  return [
    {
      name: 'every allocation fails in turn, with a code, and nothing is lost',
      run() {
        for (const failing of STEPS.keys()) {
          ok(runWithFailure(failing, 0), `step ${failing} fails in a full space`);
        }
      },
    },
    {
      name: 'with little memory left, every allocation succeeds, or fails and loses nothing',
      run() {
        for (const spared of [1, 2, 4]) for (const failing of STEPS.keys()) runWithFailure(failing, spared);
      },
    },
    {
      name: 'realloc() leaves the block unchanged if there is no memory',
      run() {
        const space = openSpace({ maximum: MAXIMUM });
        const heap = new Heap(() => space);
        const view = heap.bytes(1000).fill(6);
        const reference = heap.offset(view);
        const filler = fill(heap);
        same(thrown(() => heap.realloc(view, 200000)).code, 'ERR_PLAIT_OUT_OF_MEMORY', 'code');
        same(heap.offset(view), reference, 'place');
        ok(
          view.every((byte) => byte === 6),
          'its bytes',
        );
        for (const block of filler) heap.free(block);
        heap.free(heap.realloc(view, 200000));
        heap.check({ quiescent: true });
      },
    },
    {
      name: 'a thread that finds no memory gets an error, and can attach later',
      run() {
        const space = openSpace({ maximum: MAXIMUM });
        const heap = new Heap(() => space);
        const filler = fill(heap);
        const error = thrown(() => {
          for (;;) void attach(space.handle).thread; // blocks leave some room for threads
        });
        same(error.code, 'ERR_PLAIT_OUT_OF_MEMORY', 'code of the first');
        for (let i = 0; i < 20; i++) {
          same(thrown(() => attach(space.handle)).code, 'ERR_PLAIT_OUT_OF_MEMORY', 'code');
          heap.check({ quiescent: true });
        }
        for (const block of filler) heap.free(block);
        const other = attach(space.handle);
        const block = new Heap(() => other).alloc(5000);
        heap.free(block);
        heap.check({ quiescent: true });
      },
    },
  ];
}
