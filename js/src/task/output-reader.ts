/**
 * Output of workers (worker/output.ts), in the thread whose inbox receives it and which writes it out.
 *
 * Results that come after it wait until the host has passed it on (`isWritten`). So a program that has the result may
 * exit, and a slow reader slows the workers down instead of filling memory. In a Worker this is limited
 * (host-node-output.ts). When the thread or the process ends, the inbox's output is written out then.
 *
 * Invariant: each piece is written out once.
 */

import { host } from '../core/host.ts';
import { Client, Task, TaskStatus } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';

const STATUS = Task.outputStatus >>> 2;
const PLACE = Task.inputLow >>> 2;
const SIZE = Task.inputHigh >>> 2;

/** The readers of this thread. */
const readers = new Set<OutputReader>();
let listens = false;

function listenForEnd(): void {
  if (listens) return;
  listens = true;
  host.onExit(() => {
    for (const reader of readers) reader.writeAll();
  });
}

export class OutputReader {
  readonly #space: Space;
  readonly #client: number;
  /** By descriptor: whether the last piece has been passed on. */
  readonly #written = new Map<number, () => boolean>();

  constructor(space: Space, client: number) {
    this.#space = space;
    this.#client = client;
    readers.add(this);
    listenForEnd();
  }

  /** Whether the system has received all that was written out. */
  get isWritten(): boolean {
    if (this.#written.size === 0) return true;
    for (const [descriptor, isWritten] of this.#written) if (isWritten()) this.#written.delete(descriptor);
    return this.#written.size === 0;
  }

  /** Writes out the piece in a record, unless it was written already. */
  write(record: number): void {
    const at = record >>> 2;
    const { u32 } = this.#space;
    const size = u32[at + SIZE]!;
    if (size === 0) return;
    const bytes = this.#space.bytes(u32[at + PLACE]!, size).slice();
    const descriptor = u32[at + (Task.ticket >>> 2)]!;
    u32[at + SIZE] = 0;
    try {
      this.#written.set(descriptor, host.writeOutput(descriptor, bytes));
    } catch (error) {
      // The program's own `write` has thrown; no result may be affected.
      queueMicrotask(() => {
        throw error;
      });
    }
  }

  /** Writes out all pieces in the inbox, and leaves their records there. */
  writeAll(): void {
    // A drain in progress holds the older pieces: the program ends in a listener.
    const older = this.#piecesIn(Client.drained, Task.link);
    const newer = this.#piecesIn(Client.inbox, Task.next).reverse();
    for (const record of [...older, ...newer]) this.write(record);
  }

  /** The pieces in one of the client's lists, from which only this thread takes. */
  #piecesIn(list: number, next: number): number[] {
    const space = this.#space;
    const pieces: number[] = [];
    for (let record = space.load(this.#client + list); record !== 0; record = space.load(record + next)) {
      space.cover(record + Task.BYTES);
      if (space.u32[(record >>> 2) + STATUS] === TaskStatus.OUTPUT) pieces.push(record);
    }
    return pieces;
  }

  /** Stops reading. */
  close(): void {
    readers.delete(this);
  }
}
