/**
 * What takes the place of codec.ts in the scripts of Node's threads: the codec is a script of its own, which is
 * evaluated when it is needed, or when a worker has nothing to do. It is a third of all code, and the first task of a
 * new pool, which may need none of it, does not wait for it to be parsed.
 *
 * Invariant: it shares no object with the rest of the thread but what is thread-wide (core/thread-wide.ts).
 */

import { host } from '../core/host.ts';
import type * as codec from './codec.ts';
import type { Root } from './value-kinds.ts';
import type { PartApart } from './value-sink.ts';

let loaded: typeof codec | undefined;

function load(): typeof codec {
  loaded ??= host.runPart() as typeof codec;
  return loaded;
}

/** Makes the next use quick. */
export function ready(): void {
  load();
}

/** As in value-reader.ts. */
export function readValue(bytes: Uint8Array): unknown {
  return load().readValue(bytes);
}

/** As in value-writer.ts. */
export class ValueWriter {
  #writer: codec.ValueWriter | undefined;

  write(value: unknown, root: Root, apart?: PartApart[]): Uint8Array {
    this.#writer ??= new (load().ValueWriter)();
    return this.#writer.write(value, root, apart);
  }
}
