/** The contract of each function of the heap, on any host: the ordinary use, and errors for all other uses. */

import { type heap as commonHeap, Heap, openSpace, PlaitError } from 'plait';
import { alike, type Case, ok, random, same, thrown } from './check.ts';

interface Held {
  block: number;
  size: number;
  byte: number;
}

/** Sizes around every boundary between kinds of blocks. */
const SIZES = [0, 1, 16, 17, 512, 513, 2048, 2049, 10000, 65000, 65536, 65537, 300000];

function holds(heap: Heap, { block, size, byte }: Held, upTo = size): boolean {
  return heap.view(block, upTo).every((value) => value === byte);
}

function isPointerError(error: Error & Record<string, unknown>, message: RegExp, what: string): void {
  ok(error instanceof PlaitError, `${what} throws a PlaitError, not ${error}`);
  same(error.code, 'ERR_PLAIT_INVALID_POINTER', what);
  ok(message.test(error.message), `${what} says what it is: ${error.message}`);
}

function isRangeError(error: Error & Record<string, unknown>, what: string): void {
  ok(error instanceof RangeError, `${what} throws a RangeError, not ${error}`);
  same(error.code, 'ERR_OUT_OF_RANGE', what);
}

/** The same view as another thread would see it, whose SharedArrayBuffer is another object. */
async function sent(view: Uint8Array<SharedArrayBuffer>): Promise<Uint8Array<SharedArrayBuffer>> {
  const { port1, port2 } = new MessageChannel();
  const arrived = new Promise<MessageEvent>((resolve) => {
    port2.onmessage = resolve;
  });
  port1.postMessage(view);
  const { data } = await arrived;
  port1.close();
  port2.close();
  return data;
}

/** One step of the model: what is done to the heap is noted in `live`. */
function randomStep(heap: Heap, live: Map<number, Held>, next: (limit: number) => number): void {
  const kind = next(10);
  const size = next(12) === 0 ? next(200000) : next(4) === 0 ? next(9000) : next(600);
  const byte = next(256);
  const held = [...live.values()][next(Math.max(live.size, 1))];
  if (held !== undefined) ok(holds(heap, held), `block ${held.block} keeps its bytes`);
  if (held === undefined || (kind < 5 && live.size < 200)) {
    const alignment = kind === 0 ? 2 ** next(17) : 16;
    const zeroed = kind === 1;
    const block = kind < 2 ? heap.alloc(size, { alignment, zeroed }) : heap.alloc(size);
    same(block % alignment, 0, `alignment to ${alignment}`);
    if (zeroed) ok(holds(heap, { block, size, byte: 0 }), 'all bytes are zero');
    ok(!live.has(block), `block ${block} is given out once`);
    live.set(block, { block, size, byte });
  } else if (kind < 7) {
    const block = heap.realloc(held.block, size);
    ok(holds(heap, { ...held, block }, Math.min(size, held.size)), 'realloc() keeps the bytes');
    live.delete(held.block);
    live.set(block, { block, size, byte });
  } else {
    heap.free(held.block);
    live.delete(held.block);
    return;
  }
  const latest = [...live.values()].at(-1) as Held;
  ok(heap.size(latest.block) >= size, 'there is room for what was asked for');
  heap.view(latest.block, size).fill(byte);
}

/** Whether this is the debug build (core/heap/debug.c), which keeps some blocks that were freed. */
function isDebug(heap: Heap): boolean {
  const block = heap.alloc(5);
  const exact = heap.size(block) === 5;
  heap.free(block);
  return exact;
}

export function heapApiCases(heap: typeof commonHeap, seed: number): Case[] {
  return [
    {
      name: `random use of every function behaves as the model (seed ${seed})`,
      run() {
        const next = random(seed);
        const live = new Map<number, Held>();
        const before = heap.stats().liveBlocks;
        for (let i = 0; i < 6000; i++) randomStep(heap, live, next);
        same(heap.stats().liveBlocks, before + live.size, 'live blocks');
        for (const held of live.values()) {
          ok(holds(heap, held), `block ${held.block} keeps its bytes`);
          heap.free(held.block);
        }
        same(heap.stats().liveBlocks, before, 'live blocks');
        heap.check();
      },
    },
    {
      name: 'realloc() makes blocks of all kinds larger and smaller',
      run() {
        for (const from of SIZES) {
          for (const to of SIZES) {
            const held = { block: heap.alloc(from), size: from, byte: 7 };
            heap.view(held.block, from).fill(7);
            held.block = heap.realloc(held.block, to);
            ok(holds(heap, held, Math.min(from, to)), `from ${from} to ${to} bytes`);
            ok(heap.size(held.block) >= to, `room for ${to} bytes`);
            heap.free(held.block);
          }
        }
      },
    },
    {
      name: 'alignment and zeroes are as requested',
      run() {
        for (const size of SIZES) {
          for (const alignment of [1, 2, 16, 32, 64, 256, 4096, 65536, 2 ** 20]) {
            const dirty = heap.alloc(size, { alignment });
            heap.view(dirty, size).fill(255);
            heap.free(dirty);
            const block = heap.alloc(size, { alignment, zeroed: true });
            same(block % alignment, 0, `${size} bytes aligned to ${alignment}`);
            ok(holds(heap, { block, size, byte: 0 }), `${size} zeroes aligned to ${alignment}`);
            heap.free(block);
          }
        }
        const bytes = heap.bytes(1000, { alignment: 128, zeroed: true });
        same(heap.offset(bytes) % 128, 0, 'alignment of bytes()');
        ok(
          bytes.every((byte) => byte === 0),
          'zeroes of bytes()',
        );
        heap.free(bytes);
        for (const alignment of [0, -16, 3, 48, 1.5, 2 ** 32, Number.NaN, '16' as unknown as number]) {
          isRangeError(
            thrown(() => heap.alloc(16, { alignment })),
            `alignment ${alignment}`,
          );
        }
      },
    },
    {
      name: 'wrong sizes are refused',
      run() {
        const block = heap.alloc(10);
        for (const size of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 32, '8' as unknown as number]) {
          isRangeError(
            thrown(() => heap.alloc(size)),
            `alloc(${size})`,
          );
          isRangeError(
            thrown(() => heap.bytes(size)),
            `bytes(${size})`,
          );
          isRangeError(
            thrown(() => heap.realloc(block, size)),
            `realloc(block, ${size})`,
          );
        }
        for (const [at, length] of [
          [-1, 1],
          [block, -1],
          [0.5, 1],
          [block, 2 ** 33],
          [2 ** 40, 1],
          [block, Number.NaN],
        ] as const) {
          isRangeError(
            thrown(() => heap.view(at, length)),
            `view(${at}, ${length})`,
          );
        }
        heap.free(block);
      },
    },
    {
      name: 'wrong pointers are errors that describe the pointer, and change nothing',
      run() {
        const blocks = [100, 10000, 300000].map((size) => ({ block: heap.alloc(size), size, byte: 3 }));
        for (const { block, size } of blocks) heap.view(block, size).fill(3);
        const before = heap.stats().liveBlocks;
        const calls = {
          free: (wrong: number) => heap.free(wrong),
          realloc: (wrong: number) => heap.realloc(wrong, 200),
          size: (wrong: number) => heap.size(wrong),
        };
        for (const [name, call] of Object.entries(calls)) {
          for (const wrong of [0, -16, 1.5, Number.NaN, 2 ** 32, '16' as unknown as number]) {
            if (typeof wrong === 'string' && name !== 'size') continue; // taken for a view
            isPointerError(
              thrown(() => call(wrong)),
              /is no reference/,
              `${name}(${wrong})`,
            );
          }
          for (const { block } of blocks) {
            for (const inside of [block + 1, block + 16, block + 48]) {
              isPointerError(
                thrown(() => call(inside)),
                /inside a live block/,
                `${name} inside`,
              );
            }
          }
          for (const outside of [16, 4294967280]) {
            isPointerError(
              thrown(() => call(outside)),
              /outside of the heap/,
              `${name}(${outside})`,
            );
          }
        }
        same(heap.stats().liveBlocks, before, 'live blocks');
        for (const held of blocks) {
          ok(holds(heap, held), 'the blocks are as they were');
          heap.free(held.block);
          for (const [name, call] of Object.entries(calls)) {
            isPointerError(
              thrown(() => call(held.block)),
              /freed (already|before)/,
              `${name} after free()`,
            );
          }
        }
        heap.check();
      },
    },
    {
      name: 'bytes() returns an ordinary Uint8Array',
      run() {
        const view = heap.bytes(100).fill(9);
        same(Object.getPrototypeOf(view), Uint8Array.prototype, 'prototype');
        same(Object.keys(view).length, 100, 'keys: one for each byte');
        alike(view, new Uint8Array(100).fill(9));
        ok(view.buffer instanceof SharedArrayBuffer, 'they are shared');
        ok(!(view.slice().buffer instanceof SharedArrayBuffer) && !(Symbol.dispose in view.slice()), 'a slice is not');
        heap.free(view);
        same(heap.bytes(0).length, 0, 'none are possible');
      },
    },
    {
      name: 'bytes() are freed once: by the first call of free() or dispose',
      run() {
        const before = heap.stats().liveBlocks;
        const view = heap.bytes(10);
        same(heap.stats().liveBlocks, before + 1, 'live blocks');
        isPointerError(
          thrown(() => heap.free(view.subarray(1))),
          /does not come from bytes/,
          'free() of a part',
        );
        isPointerError(
          thrown(() => heap.free(heap.view(heap.offset(view), 10))),
          /does not come from bytes/,
          'free() of another view',
        );
        heap.free(view);
        isPointerError(
          thrown(() => heap.free(view)),
          /was freed/,
          'a double free',
        );
        if (Symbol.dispose === undefined) return;
        view[Symbol.dispose]();
        const other = heap.bytes(10);
        const reference = heap.offset(other);
        other[Symbol.dispose]();
        other[Symbol.dispose]();
        isPointerError(
          thrown(() => heap.free(other)),
          /was freed/,
          'free() after dispose',
        );
        ok(!/live/.test(thrown(() => heap.size(reference)).message), 'it is free');
        const wrong = heap.bytes(10);
        heap.free(heap.offset(wrong)); // behind the view's back
        isPointerError(
          thrown(() => wrong[Symbol.dispose]()),
          /freed/,
          'dispose after free(reference)',
        );
        wrong[Symbol.dispose]();
        same(heap.stats().liveBlocks, before, 'live blocks');
      },
    },
    {
      name: 'a using declaration frees its bytes, also if an error ends the scope',
      run() {
        if (Symbol.dispose === undefined) return;
        const before = heap.stats().liveBlocks;
        const error = thrown(() => {
          using first = heap.bytes(1000);
          using second = heap.bytes(2, { zeroed: true });
          same(heap.stats().liveBlocks, before + 2, 'live blocks inside');
          heap.free(first);
          throw new TypeError(`the bytes are ${second}`);
        });
        same(error.message, 'the bytes are 0,0');
        same(heap.stats().liveBlocks, before, 'live blocks');
      },
    },
    {
      name: 'realloc() of bytes() returns the view that replaces them',
      run() {
        const before = heap.stats().liveBlocks;
        const view = heap.bytes(100).fill(5);
        const larger = heap.realloc(view, 100000);
        same(larger.length, 100000, 'length');
        ok(
          larger.subarray(0, 100).every((byte) => byte === 5),
          'the bytes are kept',
        );
        isPointerError(
          thrown(() => heap.realloc(view, 10)),
          /was freed/,
          'the former view',
        );
        heap.free(heap.realloc(larger, 10));
        same(heap.stats().liveBlocks, before, 'live blocks');
      },
    },
    {
      name: 'offset() finds a view’s bytes, whichever object represents the memory',
      async run() {
        const space = openSpace({ maximum: 2 ** 28 });
        const own = new Heap(() => space);
        const view = own.bytes(1000);
        const before = own.offset(view);
        same(before, view.byteOffset, 'reference');
        same(own.offset(view.subarray(10, 20)), before + 10, 'reference of a part');
        same(own.offset(new DataView(view.buffer, view.byteOffset + 4, 8)), before + 4, 'reference of a DataView');
        const large = own.alloc(100 * 2 ** 20); // the memory is another object now
        own.view(large + 99 * 2 ** 20, 10);
        ok(view.buffer !== own.view(before, 1).buffer, 'the object has changed');
        same(own.offset(view), before, 'reference of an old view');
        const other = await sent(view);
        ok(other.buffer !== view.buffer, 'another object');
        same(own.offset(other), before, 'reference of a view that was sent');
        other[5] = 77;
        same(own.view(own.offset(other), 6)[5], 77, 'a byte through it');
        own.free(view);
        isPointerError(
          thrown(() => own.free(view)),
          /was freed/,
          'a double free',
        );
        for (const foreign of [
          new Uint8Array(4),
          new Uint8Array(new SharedArrayBuffer(2 ** 21)),
          heap.view(heap.offset(heap.bytes(1)), 1),
          5 as unknown as Uint8Array,
        ]) {
          isPointerError(
            thrown(() => own.offset(foreign)),
            /does not lie in this heap/,
            'foreign bytes',
          );
        }
        isPointerError(
          thrown(() => own.free(heap.bytes(5))),
          /of this heap/,
          'bytes of another heap',
        );
      },
    },
    {
      name: 'stats() counts by size, by thread and by kind',
      run() {
        const space = openSpace({ maximum: 2 ** 26 });
        const own = new Heap(() => space);
        const before = own.stats();
        const small = Array.from({ length: 1000 }, () => own.alloc(100));
        const medium = Array.from({ length: 20 }, () => own.alloc(20000));
        const large = own.alloc(1000000);
        const stats = own.stats();
        same(stats.liveBlocks, before.liveBlocks + 1021, 'live blocks');
        // A thread's first few small blocks lie beside the medium ones.
        const ofSize = stats.classes.find(({ size, used }) => size >= 100 && used >= 980);
        ok(ofSize !== undefined && ofSize.used <= 1000, 'small blocks in use');
        ok(ofSize.pages > 0 && ofSize.used + ofSize.free <= ofSize.pages * 256, 'pages');
        same(stats.large.blocks, before.large.blocks + 1, 'large blocks');
        same(stats.large.bytes, before.large.bytes + 16 * 65536, 'bytes in large blocks');
        same(stats.threads.length, 1, 'threads');
        const [mine] = stats.threads;
        ok(mine?.thread === space.thread, 'whose');
        same(mine.mediumBlocks, (before.threads[0]?.mediumBlocks ?? 0) + 1020 - ofSize.used, 'medium blocks');
        ok(mine.regionBytes >= 20 * 20000 && mine.pages > 0, 'what is owned');
        const { slices } = stats;
        same(slices.used, slices.pages + slices.regions + slices.large + slices.bookkeeping, 'slices in use');
        same(slices.used * 65536, stats.used, 'bytes in use');
        same(slices.regions * 65536, mine.regionBytes, 'regions');
        ok(stats.reserved >= stats.peak && stats.peak >= stats.used, 'the order of the totals');
        for (const block of [...small, ...medium, large]) own.free(block);
        const after = own.stats();
        same(after.liveBlocks, before.liveBlocks, 'live blocks at the end');
        ok(isDebug(own) || after.classes.every(({ used }) => used === 0), 'nothing is in use');
        same(after.peak, stats.peak, 'the peak stays');
        thrown(() => own.alloc(2 ** 27));
        ok(own.stats().failed > before.failed, 'the failure is counted');
        own.check({ quiescent: true });
      },
    },
    {
      name: 'check() reports what is wrong, and where',
      run() {
        const space = openSpace({ maximum: 2 ** 24 });
        const own = new Heap(() => space);
        const blocks = [own.alloc(20000), own.alloc(20000)];
        for (const block of blocks) {
          const header = own.view(block - 16, 16);
          const kept = header.slice();
          for (let byte = 0; byte < 16; byte++) {
            if (byte >= 4 && byte < 8) continue; // a word that live blocks do not use
            header[byte] = (kept[byte] as number) ^ 0x55;
            const error = thrown(() => own.check({ quiescent: true }));
            same(error.code, 'ERR_PLAIT_CORRUPT', 'code');
            // A wrong length may show only at the place that it leads to.
            const place = byte >= 8 && byte < 12 ? '\\d+' : String(block - 16);
            ok(new RegExp(`header of a block, at ${place}, was written over`).test(error.message), error.message);
            header.set(kept);
          }
        }
        own.check({ quiescent: true });
        for (const block of blocks) own.free(block);
        own.check({ quiescent: true });
      },
    },
  ];
}
