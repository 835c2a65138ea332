/**
 * One thread's end of a pool: puts tasks into the queue, takes results out of the inbox, and settles promises.
 *
 * A ticket is an index into `#waiting`; free tickets are reused, the last one first.
 *
 * Invariant: while `outstanding` > 0, either a look at the inbox is scheduled, or this thread sleeps on the client's
 * signal with the value that it had before the last look. So no result is missed, whatever wakes and whenever.
 */

import { PlaitError } from '../core/errors.ts';
import { host } from '../core/host.ts';
import { Client, Errno, Pool as P, PoolState, Task, TaskStatus } from '../core/layout.generated.ts';
import { lockTimeout, outOfMemory, type Space } from '../core/space.ts';
import { disown } from '../heap/heap.ts';
import { Kind, Transport } from './transport.ts';

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

const NAME = Task.name >>> 2;
const NEXT = Task.next >>> 2;
const TICKET = Task.ticket >>> 2;
const INPUT_KIND = Task.inputKind >>> 2;
const INPUT_LOW = Task.inputLow >>> 2;
const INPUT_HIGH = Task.inputHigh >>> 2;
const INPUT_BLOCK = Task.inputBlock >>> 2;
const STATUS = Task.outputStatus >>> 2;
const OUTPUT_KIND = Task.outputKind >>> 2;
const OUTPUT_LOW = Task.outputLow >>> 2;
const OUTPUT_HIGH = Task.outputHigh >>> 2;

export class Submitter {
  /** Tasks submitted and not settled. */
  outstanding = 0;

  readonly #space: Space;
  readonly #pool: number;
  readonly #client: number;
  readonly #transport: Transport;
  readonly #busy: (busy: boolean) => void;
  readonly #names = new Map<string, number>();
  readonly #waiting: (Waiting | undefined)[] = [];
  readonly #freeTickets: number[] = [];
  #sleeping = false;
  #dead: PlaitError | undefined;

  /** `busy` hears whether tasks are outstanding, at each change. */
  constructor(space: Space, pool: number, busy: (busy: boolean) => void) {
    this.#space = space;
    this.#pool = pool;
    this.#busy = busy;
    this.#transport = new Transport(space);
    this.#client = space.core.plait_client_create(pool) >>> 0;
    if (this.#client === 0) throw outOfMemory(Client.BYTES);
  }

  /**
   * Submits one call. The promise settles as the call does; what cannot be submitted rejects it.
   * `lend`: see RunOptions. `given`: the block that is the input, from now on the task's; 0: the input is copied.
   */
  submit(name: string, input: unknown, lend: boolean, given = 0): Promise<unknown> {
    return new Promise((resolve, reject) => {
      // Taken before anything else: a getter in the input may submit, too.
      const ticket = this.#freeTickets.pop() ?? this.#waiting.push(undefined) - 1;
      try {
        if (this.#dead !== undefined) throw this.#dead;
        this.#put(name, input, lend, given, ticket);
      } catch (error) {
        this.#freeTickets.push(ticket);
        reject(error);
        return;
      }
      this.#waiting[ticket] = { resolve, reject };
      if (this.outstanding++ === 0) this.#busy(true);
      if (!this.#sleeping) this.#sleep();
    });
  }

  #put(name: string, input: unknown, lend: boolean, given: number, ticket: number): void {
    const space = this.#space;
    const { core } = space;
    const transport = this.#transport;
    const nameRef = this.#names.get(name) ?? this.#intern(name);
    const size =
      given === 0 ? transport.prepare(input, 'input', lend) : transport.prepareGiven(input as Uint8Array, given);
    const task = core.plait_task_create(this.#client, Math.max(size, 0)) >>> 0;
    if (task === 0) throw outOfMemory(size + Task.BYTES);
    space.cover(task + Task.BYTES);
    const at = task >>> 2;
    if (size >= 0) transport.fill(space.u32[at + INPUT_LOW]!, size);
    const { u32 } = space;
    u32[at + TICKET] = ticket;
    u32[at + NAME] = nameRef;
    u32[at + INPUT_KIND] = transport.kind;
    u32[at + INPUT_LOW] = transport.low;
    u32[at + INPUT_HIGH] = transport.high;
    if (given !== 0) u32[at + INPUT_BLOCK] = given;
    const rc = core.plait_task_submit(task);
    if (rc === 0) {
      if (given !== 0) disown(input as Uint8Array);
      return;
    }
    if (given !== 0) u32[at + INPUT_BLOCK] = 0; // it stays the caller's
    core.plait_task_discard(task);
    if (rc === -Errno.ENOMEM) throw outOfMemory(size + Task.BYTES);
    if (rc === -Errno.EPIPE) throw this.#refusal();
    throw lockTimeout();
  }

  #intern(name: string): number {
    const text = new TextEncoder().encode(name);
    const ref = this.#space.core.plait_pool_intern(this.#pool, text.length) >>> 0;
    if (ref === 0) throw outOfMemory(text.length);
    this.#space.bytes(ref + 8, text.length).set(text);
    this.#names.set(name, ref);
    return ref;
  }

  /** Why the pool takes no more tasks. */
  #refusal(): unknown {
    if (this.#space.load(this.#pool + P.state) === PoolState.FAILED) return this.#failure();
    return new PlaitError('ERR_PLAIT_POOL_CLOSED', 'the pool is closed and takes no more tasks');
  }

  /** The error with which the module could not be loaded. */
  #failure(): unknown {
    const block = this.#space.load(this.#pool + P.failure);
    if (block === 0) return new PlaitError('ERR_PLAIT_MODULE_LOAD', 'no worker could load the module');
    return this.#transport.read(Kind.graph, block, this.#space.load(this.#pool + P.failureSize));
  }

  /** Settles all that lies in the inbox. */
  drain(): void {
    const space = this.#space;
    let task = space.core.plait_client_drain(this.#client) >>> 0;
    while (task !== 0) {
      space.cover(task + Task.BYTES);
      const at = task >>> 2;
      const { u32 } = space;
      const next = u32[at + NEXT]!;
      const ticket = u32[at + TICKET]!;
      const waiting = this.#waiting[ticket];
      this.#waiting[ticket] = undefined;
      this.#freeTickets.push(ticket);
      if (waiting !== undefined) {
        this.outstanding--;
        this.#settle(waiting, at);
      }
      space.core.plait_task_free(task);
      task = next;
    }
    if (this.outstanding === 0) this.#busy(false);
  }

  #settle(waiting: Waiting, at: number): void {
    const { u32 } = this.#space;
    const status = u32[at + STATUS]!;
    try {
      if (status === TaskStatus.FULFILLED || status === TaskStatus.REJECTED) {
        const value = this.#transport.read(u32[at + OUTPUT_KIND]!, u32[at + OUTPUT_LOW]!, u32[at + OUTPUT_HIGH]!);
        if (status === TaskStatus.FULFILLED) waiting.resolve(value);
        else waiting.reject(value);
      } else {
        waiting.reject(this.#lost(status));
      }
    } catch (error) {
      waiting.reject(error);
    }
  }

  #lost(status: number): unknown {
    switch (status) {
      case TaskStatus.NO_MEMORY:
        return new PlaitError('ERR_PLAIT_OUT_OF_MEMORY', 'the space has no room for the result of the task');
      case TaskStatus.POOL_CLOSED:
        return new PlaitError('ERR_PLAIT_POOL_CLOSED', 'the pool was closed by force while the task was queued');
      case TaskStatus.POOL_FAILED:
        return this.#failure();
      default:
        return new PlaitError('ERR_PLAIT_WORKER_DIED', 'the worker that ran the task ended before the task did');
    }
  }

  readonly #look = (): void => {
    this.#sleeping = false;
    if (this.#dead !== undefined) return; // the client's memory may be another's by now
    this.drain();
    if (this.outstanding > 0) this.#sleep();
  };

  /** Schedules a look at the inbox for when something arrives there. */
  #sleep(): void {
    this.#sleeping = true;
    const space = this.#space;
    const signal = space.load(this.#client + Client.signal);
    if (space.load(this.#client + Client.inbox) !== 0) {
      // A turn of the event loop in between: results that keep coming must not starve timers and I/O.
      void host.turn().then(this.#look);
      return;
    }
    const wait = Atomics.waitAsync(space.i32, (this.#client + Client.signal) >>> 2, signal | 0);
    if (wait.async) void wait.value.then(this.#look);
    else void host.turn().then(this.#look);
  }

  /**
   * Rejects all that is outstanding, now and from now on: nobody is left who could settle it. The client is not looked
   * at again, so its pool may be destroyed.
   */
  abandon(error: PlaitError): void {
    this.#dead = error;
    this.drain();
    for (const [ticket, waiting] of this.#waiting.entries()) {
      this.#waiting[ticket] = undefined;
      if (waiting === undefined) continue;
      waiting.reject(error);
      this.outstanding--;
    }
    this.#busy(false);
  }
}
