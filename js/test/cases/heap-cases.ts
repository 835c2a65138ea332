/** The contract of the heap, on any host. `module(name)` gives the URL of a fixture. */

import { type heap as commonHeap, Heap, openSpace } from 'plait';
import { type Case, ok, random, same, thrown } from './check.ts';
import { heapApiCases } from './heap-api-cases.ts';
import { heapLimitCases } from './heap-limit-cases.ts';
import { heapTaskCases } from './heap-task-cases.ts';

export function heapCases(heap: typeof commonHeap, seed: number, module: (name: string) => string): Case[] {
  return [...basicCases(heap, seed), ...heapApiCases(heap, seed), ...heapLimitCases(), ...heapTaskCases(module)];
}

function basicCases(heap: typeof commonHeap, seed: number): Case[] {
  return [
    {
      name: 'blocks are aligned, apart, and keep their bytes',
      run() {
        const blocks = Array.from({ length: 500 }, (_, i) => {
          const size = (i * 37) % 9000;
          const block = heap.alloc(size);
          same(block % 16, 0, 'alignment');
          heap.view(block, size).fill(i & 255);
          return { block, size, byte: i & 255 };
        });
        for (const { block, size, byte } of blocks) {
          ok(
            heap.view(block, size).every((value) => value === byte),
            `block ${block} keeps its bytes`,
          );
          heap.free(block);
        }
      },
    },
    {
      name: `random allocating and freeing leaves nothing (seed ${seed})`,
      run() {
        const next = random(seed);
        const before = heap.stats().liveBlocks;
        const live: { block: number; size: number; byte: number }[] = [];
        for (let i = 0; i < 20000; i++) {
          if (live.length > 0 && next(100) < 48) {
            const [gone] = live.splice(next(live.length), 1);
            const view = heap.view(gone!.block, gone!.size);
            ok(view.length === 0 || (view[0] === gone!.byte && view.at(-1) === gone!.byte), 'ends keep their bytes');
            heap.free(gone!.block);
          } else {
            const size = next(10) === 0 ? next(200000) : next(600);
            const block = heap.alloc(size);
            const byte = next(256);
            heap.view(block, size).fill(byte);
            live.push({ block, size, byte });
          }
        }
        for (const { block } of live) heap.free(block);
        same(heap.stats().liveBlocks, before, 'live blocks');
        heap.check();
      },
    },
    {
      name: 'a full space is an error, and allocation works again after a free',
      run() {
        const space = openSpace({ maximum: 4 * 2 ** 20 });
        const small = new Heap(() => space);
        const blocks: number[] = [];
        const error = thrown(() => {
          for (;;) blocks.push(small.alloc(100000));
        });
        same(error.code, 'ERR_PLAIT_OUT_OF_MEMORY', 'code');
        ok(blocks.length > 20, `most of the space was given out, not ${blocks.length} blocks`);
        ok(small.stats().failed > 0, 'the failure is counted');
        for (const block of blocks.splice(0, 10)) small.free(block);
        blocks.push(small.alloc(900000)); // the ten neighbours have become one
        for (const block of blocks) small.free(block);
        small.check({ quiescent: true });
        same(small.stats().liveBlocks, 1, 'live blocks: the stack of this thread');
      },
    },
    {
      name: 'views made before the memory grows stay right',
      run() {
        const space = openSpace({ maximum: 64 * 2 ** 20 });
        const own = new Heap(() => space);
        const block = own.alloc(64);
        const view = own.view(block, 64);
        const grown = own.alloc(20 * 2 ** 20);
        view.fill(7);
        same(own.view(block, 64)[63], 7, 'a byte through the old view');
        own.view(grown, 20 * 2 ** 20)[20 * 2 ** 20 - 1] = 9;
        same(own.view(grown, 20 * 2 ** 20).at(-1), 9, 'the last of the new bytes');
      },
    },
    {
      name: 'openSpace refuses invalid limits',
      run() {
        for (const maximum of [0, -1, 1000, 2 ** 32 + 1, 1.5e6 + 0.5, Number.NaN]) {
          ok(thrown(() => openSpace({ maximum })) instanceof RangeError, `maximum ${maximum}`);
        }
      },
    },
  ];
}
