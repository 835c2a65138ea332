/**
 * The outcome that a worker writes into a task record: the result or error, or why it cannot be sent.
 *
 * Invariant: whatever the value does while it is read, the record has an outcome afterwards, its status last. A given
 * block belongs either to the task or still to its former owner.
 */

import { PlaitError } from '../../core/errors.ts';
import { Stop, Task, TaskStatus } from '../../core/layout.generated.ts';
import type { Space } from '../../core/space.ts';
import { ownedBlock, releaseOwnership } from '../../heap/owned.ts';
import { describeUnsendable } from '../../value/error-shape.ts';
import { detachAll, freeGiven, movedParts } from '../../value/transfer.ts';
import { Kind, type Transport } from '../../value/transport.ts';
import { TaskExecution } from '../task-execution.ts';
import { TaskRecords } from '../task-record.ts';

export class Outcomes {
  readonly #space: Space;
  readonly #transport: Transport;
  readonly #records: TaskRecords;

  constructor(space: Space, transport: Transport) {
    this.#space = space;
    this.#transport = transport;
    this.#records = new TaskRecords(space);
  }

  /** Makes the block of a view the task's output; the task owns it from the store on. */
  #giveOutput(task: number, view: Uint8Array): number {
    const block = ownedBlock(view, this.#space);
    if (block === undefined) {
      throw new PlaitError('ERR_PLAIT_CANNOT_SEND', 'output is not a view of heap.bytes(), or was freed or given away');
    }
    const { core, u32 } = this.#space;
    const word = (task + Task.outputBlock) >>> 2;
    const before = u32[word]!; // of a run whose worker exited
    u32[word] = block;
    releaseOwnership(view);
    if (before !== 0) core.plait_heap_free(before);
    return this.#transport.prepareGiven(view, block, Kind.givenBytes);
  }

  /** Prepares what a value's own code threw while it was read: a getter or a Proxy. That may be unreadable too. */
  #prepareError(error: unknown): number {
    try {
      return this.#transport.prepare(error, 'error');
    } catch (cause) {
      const readError = new PlaitError('ERR_PLAIT_CANNOT_SEND', `error cannot be read: ${describeUnsendable(cause)}`);
      return this.#transport.prepare(readError, 'error');
    }
  }

  /** Makes `value` the task's outcome; `status`: its result or an error. What cannot be sent becomes an error. */
  write(task: number, status: number, value: unknown): void {
    const transport = this.#transport;
    const { u32: words } = this.#space;
    if (((words[(task + Task.control) >>> 2] as number) & Stop.TIMEOUT) !== 0) {
      freeGiven(value);
      status = TaskStatus.REJECTED;
      value = new TaskExecution(this.#space, task).timeoutError();
    }
    const moved = movedParts(value);
    if (moved !== undefined) value = moved.value;
    let size: number;
    try {
      if (moved?.given === true && status === TaskStatus.FULFILLED) size = this.#giveOutput(task, value as Uint8Array);
      else size = transport.prepare(value, status === TaskStatus.FULFILLED ? 'output' : 'error');
    } catch (error) {
      status = TaskStatus.REJECTED;
      size = this.#prepareError(error);
    }
    if (!this.#records.setOutcome(task, status, transport, size)) {
      status = TaskStatus.NO_MEMORY;
      this.#records.setStatus(task, status);
    }
    if (moved !== undefined && status === TaskStatus.FULFILLED) detachAll(moved.buffers);
  }
}
