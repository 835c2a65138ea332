/**
 * What a worker writes to its standard output and standard error, on its way to the thread that writes it out.
 *
 * Each piece is a record of its own in a client's inbox, as progress is: it lies there before the call returns that
 * wrote it, so before the task's result, whatever becomes of the worker. It goes to the task's client, so that a task
 * writes where its caller does; what no task writes (while the module loads, in timers that were left behind, at the
 * thread's end) goes to the client of the pool's owner. That one writes it out before it settles what comes after it,
 * and at the latest when its process or thread ends (submitter.ts).
 *
 * It is never dropped. While too much of it lies there unread, or the pool's lock is stuck, the worker waits. What
 * cannot be sent (nobody is there to read it any more, or the space is full) goes the host's own way, by messages, and
 * may be lost at the end of the process.
 *
 * Invariant: the worker never waits for a client of its own thread.
 */

import { Client, Errno, TaskStatus } from '../../core/layout.generated.ts';
import type { Space } from '../../core/space.ts';
import { TaskRecords } from '../task-record.ts';

/** A client that has died wakes nobody. */
const POLL_MS = 50;

export class WorkerOutput {
  /** The client of the task that writes now; 0: none does. */
  clientNow = (): number => 0;

  readonly #space: Space;
  readonly #owners: number;
  readonly #records: TaskRecords;

  /** `owners`: the client of the pool's owner. */
  constructor(space: Space, owners: number) {
    this.#space = space;
    this.#owners = owners;
    this.#records = new TaskRecords(space);
  }

  /** Sends a piece of output; false: nobody could be sent it. */
  readonly take = (descriptor: number, bytes: Uint8Array): boolean => {
    if (bytes.length === 0) return true;
    const client = this.clientNow();
    return (client !== 0 && this.#send(client, descriptor, bytes)) || this.#send(this.#owners, descriptor, bytes);
  };

  #send(client: number, descriptor: number, bytes: Uint8Array): boolean {
    const space = this.#space;
    const { core } = space;
    space.cover(client + Client.BYTES);
    for (;;) {
      const owner = space.load(client + Client.owner);
      if (owner === 0 || owner === space.thread) return false;
      const unread = space.load(client + Client.messageBytes);
      const record = this.#records.create(client, bytes.length);
      if (record === 0) return false;
      space.bytes(this.#records.inputPlace(record), bytes.length).set(bytes);
      this.#records.setMessage(record, TaskStatus.OUTPUT, descriptor, 0);
      const rc = core.plait_task_emit(record);
      if (rc === 0) return true;
      core.plait_task_discard(record);
      if (rc === -Errno.EPIPE) return false; // else there is no room, or a lock is stuck
      Atomics.wait(space.i32, (client + Client.messageBytes) >>> 2, unread | 0, POLL_MS);
    }
  }
}
