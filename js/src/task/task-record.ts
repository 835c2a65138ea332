/**
 * The task record in the space (`struct plait_task`, core/task/layout.h), as JavaScript reads and writes it.
 *
 * Invariant: only a record's owner writes it, and the status of an outcome last. Nothing here keeps a view of the
 * space: reading a value runs the user's code, which may make the memory grow.
 */

import { Task } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';
import { Kind, type Transport } from '../value/transport.ts';

/** How a task is run. */
export interface Submission {
  /** 0 is the most urgent. */
  readonly priority: number;
  /** Milliseconds; 0: none. */
  readonly timeout: number;
  readonly retries: number;
}

export class TaskRecords {
  readonly #space: Space;

  constructor(space: Space) {
    this.#space = space;
  }

  /** Creates a record with room for an input of `size` bytes (-1: none); 0: no memory. */
  create(client: number, size: number): number {
    const record = this.#space.core.plait_task_create(client, Math.max(size, 0)) >>> 0;
    if (record !== 0) this.#space.cover(record + Task.BYTES);
    return record;
  }

  /** Where the input's bytes of a new record go. */
  inputPlace(ref: number): number {
    return this.#space.u32[(ref + Task.inputLow) >>> 2]!;
  }

  /** Makes the value prepared by `transport` the record's input, and writes its `size` bytes (-1: none). */
  setInput(ref: number, transport: Transport, size: number): void {
    if (size >= 0) transport.fill(this.inputPlace(ref), size);
    const { u32 } = this.#space;
    const at = ref >>> 2;
    u32[at + (Task.inputKind >>> 2)] = transport.kind;
    u32[at + (Task.inputLow >>> 2)] = transport.low;
    u32[at + (Task.inputHigh >>> 2)] = transport.high;
  }

  readInput(ref: number, transport: Transport): unknown {
    const { u32 } = this.#space;
    const at = ref >>> 2;
    return transport.read(
      u32[at + (Task.inputKind >>> 2)]!,
      u32[at + (Task.inputLow >>> 2)]!,
      u32[at + (Task.inputHigh >>> 2)]!,
    );
  }

  /** The block of the caller that goes with the task as its input; 0: none. */
  setInputBlock(ref: number, block: number): void {
    this.#space.u32[(ref + Task.inputBlock) >>> 2] = block;
  }

  /**
   * Sets how a task is submitted. `name`: the pool's block, or 0 if the task has its own; `place`: 0 for any worker.
   */
  setSubmission(
    ref: number,
    ticket: number,
    name: number,
    { priority, timeout, retries }: Submission,
    place: number,
    now: number,
  ): void {
    const { u32, f64 } = this.#space;
    const at = ref >>> 2;
    if (name !== 0) u32[at + (Task.name >>> 2)] = name;
    u32[at + (Task.ticket >>> 2)] = ticket;
    u32[at + (Task.priority >>> 2)] = priority;
    u32[at + (Task.place >>> 2)] = place;
    u32[at + (Task.timeoutMs >>> 2)] = timeout;
    u32[at + (Task.retries >>> 2)] = retries;
    f64[(ref + Task.submitted) / 8] = now;
  }

  /** Makes the record a message of a worker. `task`: the task that sends it; 0: none. */
  setMessage(ref: number, status: number, ticket: number, task: number): void {
    const { u32 } = this.#space;
    const at = ref >>> 2;
    u32[at + (Task.ticket >>> 2)] = ticket;
    u32[at + (Task.link >>> 2)] = task;
    u32[at + (Task.outputStatus >>> 2)] = status;
  }

  /**
   * Makes the value prepared by `transport` the task's outcome, and writes its `size` bytes (-1: none). Returns false
   * without memory; then there is no outcome yet.
   */
  setOutcome(ref: number, status: number, transport: Transport, size: number): boolean {
    if (size >= 0) {
      const place = this.#space.core.plait_task_output(ref, size) >>> 0;
      if (place === 0) return false;
      transport.fill(place, size);
    }
    const { u32 } = this.#space;
    const at = ref >>> 2;
    u32[at + (Task.outputKind >>> 2)] = transport.kind;
    u32[at + (Task.outputLow >>> 2)] = transport.low;
    u32[at + (Task.outputHigh >>> 2)] = transport.high;
    u32[at + (Task.outputStatus >>> 2)] = status;
    return true;
  }

  /** Sets an outcome without a value. */
  setStatus(ref: number, status: number): void {
    this.#space.u32[(ref + Task.outputStatus) >>> 2] = status;
  }

  /** The result or error. The reader owns given bytes from here on: freeing the task leaves them alone. */
  takeOutcome(ref: number, transport: Transport): unknown {
    const { u32 } = this.#space;
    const at = ref >>> 2;
    const kind = u32[at + (Task.outputKind >>> 2)]!;
    if (kind === Kind.givenBytes) u32[at + (Task.outputBlock >>> 2)] = 0;
    return transport.read(kind, u32[at + (Task.outputLow >>> 2)]!, u32[at + (Task.outputHigh >>> 2)]!);
  }
}
