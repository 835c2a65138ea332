/**
 * Standard output and standard error of a worker, on the way to the thread that writes them out.
 *
 * Each piece is a message in a client's inbox, as progress is. It is there before the writing call returns, so before
 * the task's result, whatever becomes of the worker. It goes to the task's client, so that a task writes where its
 * caller does. What no task writes (while the module loads, in timers left behind, at the thread's end) goes to the
 * pool owner's client. A client writes it out before it settles what comes later, and at the latest when its process or
 * thread ends (output-reader.ts).
 *
 * It is never discarded. The worker waits while too much of it is unread, or while the pool's lock is stuck. What
 * cannot be sent goes the host's own way, by messages, and may be lost at the end of the process. This happens if no
 * reader is left or the space is full.
 *
 * Invariant: the worker never waits for a client of its own thread.
 */

import { Client, Errno, TaskStatus } from '../../core/layout.generated.ts';
import type { Space } from '../../core/space.ts';
import { TaskRecords } from '../task-record.ts';

/** If its client has exited, it wakes no thread. */
const POLL_MS = 50;

export class WorkerOutput {
  /** The client of the task that writes now; 0: no task does. */
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

  /** Sends a piece of output; false: no client takes it. */
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
      if (rc === -Errno.EPIPE) return false; // otherwise there is no memory, or a lock is stuck
      Atomics.wait(space.i32, (client + Client.messageBytes) >>> 2, unread | 0, POLL_MS);
    }
  }
}
