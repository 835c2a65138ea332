/**
 * The bridge from an instance of the core to the memory of the program that it serves (core/wasi/guest.h).
 *
 * Invariant: it copies, and does nothing else. The core has checked every address of the program, against the size that
 * `pages` or `observe` has told. A memory that grows detaches its old view, which then tells 0, so the core observes.
 */

import type { GuestImports } from '../core/program-imports.ts';
import type { Space } from '../core/space.ts';

/** Up to this many bytes, a loop is faster than a view and a call. */
const FEW = 32;

export class Bridge {
  /** The instance of the core, once it is attached. */
  space: Space | undefined;
  #memory: WebAssembly.Memory | undefined;
  #bytes: Uint8Array = new Uint8Array(0);
  #view = new DataView(new ArrayBuffer(0));

  /** The program's memory. Until it is known, no address is in it. */
  set memory(memory: WebAssembly.Memory) {
    this.#memory = memory;
    this.#observe();
  }

  #observe(): number {
    if (this.#memory === undefined) return 0;
    const { buffer } = this.#memory;
    if (buffer !== this.#bytes.buffer || buffer.byteLength !== this.#bytes.length) {
      this.#bytes = new Uint8Array(buffer);
      this.#view = new DataView(buffer);
    }
    return this.#bytes.length >>> 16;
  }

  #ours(at: number, length: number): Uint8Array {
    return (this.space as Space).bytes(at >>> 0, length);
  }

  readonly imports: GuestImports = {
    pages: () => this.#bytes.length >>> 16,
    observe: () => this.#observe(),
    load: (at) => this.#view.getUint32(at >>> 0, true),
    store: (at, value) => this.#view.setUint32(at >>> 0, value, true),
    store64: (at, value) => this.#view.setBigUint64(at >>> 0, value, true),
    get: (to, at, length) => {
      const from = at >>> 0;
      this.#ours(to, length >>> 0).set(this.#bytes.subarray(from, from + (length >>> 0)));
    },
    put: (at, from, length) => {
      const [to, size] = [at >>> 0, length >>> 0];
      const bytes = this.#ours(from, size);
      if (size > FEW) this.#bytes.set(bytes, to);
      else for (let i = 0; i < size; i++) this.#bytes[to + i] = bytes[i] as number;
    },
    zero: (at, length) => {
      this.#bytes.fill(0, at >>> 0, (at >>> 0) + (length >>> 0));
    },
  };
}
