/**
 * One thread's connection to a pool: it queues tasks, drains the inbox, and settles the calls.
 *
 * A ticket is an index into `#calls`, `#indices` and `#tasks`; free tickets are reused, the last one first. A call may
 * have many tickets, each with an index of its own. If a call no longer wants its result, the ticket stays taken until
 * the task has come back. A task of a detached worker comes back twice: as its surrogate, which is its end, and as
 * DISCARDED.
 *
 * Invariant: while a ticket is taken, either a poll of the inbox is scheduled (for the next turn of the event loop, or
 * the next millisecond: see result-wait.ts), or this thread sleeps on the client's signal with the value from before
 * the last poll. So no result is missed, whatever wakes and whenever. From submit to drain this thread may read a task
 * record and write its `control`.
 *
 * Output of workers comes the same way, also while no ticket is taken: then this thread sleeps on that signal too, or
 * will within REST_MS.
 */

import { clock } from '../core/clock.ts';
import { PlaitError } from '../core/errors.ts';
import { host } from '../core/host.ts';
import {
  Client,
  Errno,
  Pool as P,
  PoolState,
  PRIORITY_COUNT,
  Task,
  TaskStatus,
  WorkerPlace,
} from '../core/layout.generated.ts';
import { lockTimeout, outOfMemory, type Space } from '../core/space.ts';
import { releaseOwnership } from '../heap/owned.ts';
import type { Root } from '../value/kinds.ts';
import { detachAll, transferable } from '../value/transfer.ts';
import { Kind, Transport } from '../value/transport.ts';
import { BackPressure } from './back-pressure.ts';
import type { NameForm } from './function-name.ts';
import { Names } from './names.ts';
import { OutputReader } from './output-reader.ts';
import { isPool } from './registry.ts';
import { ResultWait } from './result-wait.ts';
import { noteTimeout } from './shortest-timeout.ts';
import { TaskRecords } from './task-record.ts';
import { Waiter } from './waiter.ts';

/** A call that waits for one or more tasks. */
export interface Call {
  /** The task of that index has ended. */
  settle(index: number, fulfilled: boolean, value: unknown): void;
  /** The name of the input in errors while it is submitted; 'input' if there is only one. */
  readonly root?: (() => string) | undefined;
  /** A progress value of the task. */
  readonly progress?: ((index: number, value: unknown) => void) | undefined;
}

/**
 * How long after the last result the thread goes to sleep for output of workers: a wake-up for each result would cost
 * more.
 */
const REST_MS = 20;

/** How a task is submitted: checked options, with defaults filled in. */
export interface SubmitOptions {
  /** The function to call; `form` says what it means. */
  readonly name: string;
  readonly form: NameForm;
  readonly lend: boolean;
  readonly transfer: readonly unknown[] | undefined;
  /** Milliseconds; 0: none. */
  readonly timeout: number;
  /** 0: the most urgent. */
  readonly priority: number;
  /** From the affinity; -1: any worker. */
  readonly workerIndex: number;
  readonly retries: number;
}

/** The priority of a task without the option. */
export const USUAL_PRIORITY: number = (PRIORITY_COUNT - 1) / 2;

/** How long a blocked thread waits before it checks that the coordinator lives, and how many such checks may fail. */
const DOUBT_MS = 1000;
const MOST_WITHOUT_REPLY = 10;
const NO_REPLY = 'the coordinator thread has not responded for ten seconds; it has ended, and its workers with it';

const IGNORED: Call = { settle() {} };

export class Submitter {
  /** Submitted tasks whose call waits for them. */
  outstanding = 0;
  /** Waits while the queue is full. */
  readonly backPressure: BackPressure;
  /** Called after each submission; a worker that awaits its own tasks listens. */
  onSubmit: (() => void) | undefined;

  readonly #space: Space;
  readonly #pool: number;
  readonly #client: number;
  readonly #transport: Transport;
  readonly #records: TaskRecords;
  readonly #busy: (busy: boolean) => void;
  readonly #names: Names;
  readonly #waiter: Waiter;
  readonly #wait: ResultWait;
  readonly #output: OutputReader;
  readonly #places: number[] = [];
  readonly #calls: (Call | undefined)[] = [];
  readonly #indices: number[] = [];
  readonly #tasks: number[] = [];
  readonly #freeTickets: number[] = [];
  #away = 0;
  #sleeping = false;
  #resting = false;
  /**
   * The first drained task that has not been dispatched, oldest first; or 0. A listener that blocks this thread goes on
   * from here.
   */
  #drained = 0;
  /** It waits for output that is still to be written. */
  #isHeld = false;
  #abandonedWith: PlaitError | undefined;
  /**
   * Why a closed or failed pool returns tasks: one error for all, because creating an error takes longer than the rest.
   */
  #forced: PlaitError | undefined;
  #failed: unknown;
  /** The last error with which the pool refused a task for good. */
  #refused: unknown;

  /** `busy` is called with whether tasks are outstanding, at each change. */
  constructor(space: Space, pool: number, busy: (busy: boolean) => void) {
    this.#space = space;
    this.#pool = pool;
    this.#busy = busy;
    this.backPressure = new BackPressure(space, pool);
    this.#transport = new Transport(space);
    this.#records = new TaskRecords(space);
    this.#names = new Names(space, pool);
    this.#client = space.core.plait_client_create(pool) >>> 0;
    if (this.#client === 0) {
      if (isPool(space, pool)) throw outOfMemory(Client.BYTES);
      throw new PlaitError('ERR_PLAIT_POOL_CLOSED', 'the pool is not there: it was closed, or is in another space');
    }
    // The first wait is without spinning, because workers are starting.
    this.#waiter = new Waiter(space, this.#client + Client.signal, 1);
    this.#wait = new ResultWait(space, pool, this.#waiter);
    this.#output = new OutputReader(space, this.#client);
    this.#rest();
  }

  /** The client's reference in the space. */
  get client(): number {
    return this.#client;
  }

  /** Throws the error for which nothing can be submitted any more, if there is one. */
  mustWork(): void {
    if (this.#abandonedWith !== undefined) throw this.#abandonedWith;
  }

  /** As mustWork(), and throws if the pool has failed or is closed. */
  mustBeOpen(): void {
    this.mustWork();
    if (this.#space.load(this.#pool + P.state) !== PoolState.OPEN) throw this.#refusal();
  }

  /** Whether submit() threw `error` because the pool takes no more tasks at all. */
  isEnd(error: unknown): boolean {
    return error !== undefined && (error === this.#abandonedWith || error === this.#refused);
  }

  /** Whether no thread is left to settle anything. */
  get isAbandoned(): boolean {
    return this.#abandonedWith !== undefined;
  }

  /** Whether tasks of this thread are queued. */
  get hasQueued(): boolean {
    return this.#space.load(this.#client + Client.mask) !== 0;
  }

  /**
   * Submits one task and returns its ticket. If it throws, nothing was submitted. `given`: the block that is the input,
   * from now on owned by the task; 0: the input is copied.
   */
  submit(call: Call, index: number, input: unknown, how: SubmitOptions, given = 0, now: number = clock()): number {
    // Taken first: a getter in the input may submit too.
    const ticket = this.#freeTickets.pop() ?? this.#calls.push(undefined) - 1;
    try {
      this.mustWork();
      this.#tasks[ticket] = this.#put(input, how, given, ticket, now, call.root ?? 'input');
    } catch (error) {
      this.#freeTickets.push(ticket);
      throw error;
    }
    this.#calls[ticket] = call;
    this.#indices[ticket] = index;
    this.#away++;
    if (this.outstanding++ === 0) this.#busy(true);
    if (!this.#sleeping) this.#sleep();
    this.onSubmit?.();
    return ticket;
  }

  #put(input: unknown, how: SubmitOptions, given: number, ticket: number, now: number, root: Root): number {
    const space = this.#space;
    const { core } = space;
    core.plait_abi_unwind(space.stackTop);
    const transport = this.#transport;
    const nameRef = this.#names.refOf(how.name, how.form);
    const place = how.workerIndex < 0 ? 0 : this.#placeOf(how.workerIndex);
    const buffers = how.transfer === undefined ? undefined : transferable(how.transfer);
    const size =
      given === 0
        ? transport.prepare(input, root, how.lend)
        : transport.prepareGiven(input as Uint8Array, given, Kind.lentBytes);
    this.mustWork(); // a getter in the input may have released the client
    const task = this.#records.create(this.#client, size);
    if (task === 0) throw outOfMemory(size + Task.BYTES);
    this.#records.setInput(task, transport, size);
    if (nameRef === 0) this.#names.give(task, how.name, how.form);
    this.#records.setSubmission(task, ticket, nameRef, how, place, now);
    if (given !== 0) this.#records.setInputBlock(task, given);
    const rc = core.plait_task_submit(task);
    if (rc === 0) {
      if (given !== 0) releaseOwnership(input as Uint8Array);
      if (buffers !== undefined) detachAll(buffers);
      if (how.timeout !== 0) this.#noteTimeout(how.timeout);
      if (place !== 0 && space.load(place + WorkerPlace.thread) === 0) core.plait_pool_signal_coordinator(this.#pool);
      return task;
    }
    if (given !== 0) this.#records.setInputBlock(task, 0); // the caller keeps it
    core.plait_task_discard(task);
    if (rc === -Errno.ENOMEM) throw outOfMemory(size + Task.BYTES);
    if (rc === -Errno.EPIPE) {
      this.#refused = this.#refusal();
      throw this.#refused;
    }
    if (rc === -Errno.EAGAIN) throw this.#queueFull();
    throw lockTimeout();
  }

  /** Informs the coordinator that there are tasks with a timeout, and how often it must poll. */
  #noteTimeout(timeout: number): void {
    const word = (this.#pool + P.timeoutMs) >>> 2;
    if (noteTimeout(this.#space.u32, word, timeout)) this.#space.core.plait_pool_signal_coordinator(this.#pool);
  }

  #placeOf(index: number): number {
    const known = this.#places[index];
    if (known !== undefined) return known;
    const place = this.#space.core.plait_pool_place(this.#pool, index) >>> 0;
    if (place === 0) throw outOfMemory(WorkerPlace.BYTES);
    this.#places[index] = place;
    return place;
  }

  /** Why the pool takes no more tasks. */
  #refusal(): unknown {
    if (this.#space.load(this.#pool + P.state) === PoolState.FAILED) return this.#failure();
    return new PlaitError('ERR_PLAIT_POOL_CLOSED', 'the pool is closed and takes no more tasks');
  }

  #queueFull(): PlaitError {
    this.backPressure.noteFull();
    return new PlaitError(
      'ERR_PLAIT_QUEUE_FULL',
      `the pool's queue is full: maxQueue is ${this.backPressure.limit}; wait for 'drain', or use map(), which waits by itself`,
    );
  }

  /** The error with which the module could not be loaded. */
  #failure(): unknown {
    const block = this.#space.load(this.#pool + P.failure);
    if (block === 0) return new PlaitError('ERR_PLAIT_MODULE_LOAD', 'no worker could load the module');
    this.#failed ??= this.#transport.read(Kind.graph, block, this.#space.load(this.#pool + P.failureSize));
    return this.#failed;
  }

  /**
   * The call of a ticket no longer wants the result. Its task leaves the queue, or is requested to stop. Does nothing
   * if the ticket is not the call's any more. `signals`: also has the coordinator poll, which stops the worker if the
   * task does not stop.
   */
  abort(ticket: number, call: Call, signals = true): void {
    if (this.#calls[ticket] !== call || this.#abandonedWith !== undefined) return;
    this.#calls[ticket] = IGNORED;
    const task = this.#tasks[ticket]!;
    // If the lock is stuck, the stop is requested, and the task stays in the queue.
    if (task !== 0) this.#space.core.plait_task_abort(task);
    if (signals) this.#signalCoordinator();
    if (--this.outstanding === 0) this.#busy(false);
  }

  /** As abort(), for all tickets of a call. */
  abortAll(call: Call): void {
    let some = false;
    for (let ticket = 0; ticket < this.#calls.length; ticket++) {
      if (this.#calls[ticket] !== call) continue;
      some = true;
      this.abort(ticket, call, false);
    }
    if (some) this.#signalCoordinator();
  }

  /** Has the coordinator poll the pool. */
  #signalCoordinator(): void {
    this.#space.core.plait_pool_signal_coordinator(this.#pool);
  }

  /**
   * Dispatches all that is in the inbox to the calls. With `waits`, the rest comes later while output is still to be
   * written.
   */
  drain(waits = false): void {
    if (this.#drained !== 0) this.#dispatch(waits);
    if (this.#abandonedWith !== undefined || this.#drained !== 0 || (waits && !this.#output.isWritten)) return;
    this.#drained = this.#space.core.plait_client_drain(this.#client) >>> 0;
    this.#dispatch(waits);
  }

  /** Dispatches what was drained. */
  #dispatch(waits: boolean): void {
    const space = this.#space;
    let received = 0;
    while (this.#drained !== 0) {
      const task = this.#drained;
      space.cover(task + Task.BYTES);
      const at = task >>> 2;
      const ticket = space.u32[at + (Task.ticket >>> 2)]!;
      const call = this.#calls[ticket];
      const status = space.u32[at + (Task.outputStatus >>> 2)]!;
      this.#isHeld = waits && status !== TaskStatus.OUTPUT && !this.#output.isWritten;
      if (this.#isHeld) break;
      this.#drained = space.u32[at + (Task.next >>> 2)]!;
      if (status === TaskStatus.OUTPUT) {
        this.#output.write(task);
      } else if (status === TaskStatus.PROGRESS) {
        if (call?.progress !== undefined) this.#dispatchProgress(call, ticket, task);
      } else if (status === TaskStatus.DISCARDED) {
        // Its surrogate may still be on its way, and the ticket taken.
        if (this.#tasks[ticket] === task) this.#tasks[ticket] = 0;
      } else if (call !== undefined) {
        this.#calls[ticket] = undefined;
        this.#freeTickets.push(ticket);
        this.#away--;
        received++;
        if (call !== IGNORED) {
          this.outstanding--;
          this.#settle(call, this.#indices[ticket]!, task, status);
        }
      }
      if (this.#abandonedWith !== undefined) return; // a listener has released the client, which freed its tasks
      space.core.plait_task_free(task);
    }
    if (received !== 0) this.#wait.received(received);
    this.backPressure.poll();
    if (this.outstanding === 0) this.#busy(false);
  }

  #dispatchProgress(call: Call, ticket: number, record: number): void {
    try {
      const value = this.#records.readInput(record, this.#transport);
      call.progress?.(this.#indices[ticket]!, value);
    } catch (error) {
      // A listener's error does not affect the result.
      queueMicrotask(() => {
        throw error;
      });
    }
  }

  #settle(call: Call, index: number, task: number, status: number): void {
    let value: unknown;
    let fulfilled = status === TaskStatus.FULFILLED;
    try {
      value =
        fulfilled || status === TaskStatus.REJECTED
          ? this.#records.takeOutcome(task, this.#transport)
          : this.#lost(status);
    } catch (error) {
      fulfilled = false;
      value = error;
    }
    call.settle(index, fulfilled, value);
  }

  #lost(status: number): unknown {
    switch (status) {
      case TaskStatus.NO_MEMORY:
        return new PlaitError('ERR_PLAIT_OUT_OF_MEMORY', 'the space has no room for the result of the task');
      case TaskStatus.POOL_CLOSED:
        this.#forced ??= new PlaitError('ERR_PLAIT_POOL_CLOSED', 'the pool was closed while the task was queued');
        return this.#forced;
      case TaskStatus.POOL_FAILED:
        return this.#failure();
      case TaskStatus.STOPPED: // by another call than its own, which would not want the reason
        return new DOMException('the task was cancelled while it was queued', 'AbortError');
      default:
        return new PlaitError('ERR_PLAIT_WORKER_DIED', 'the worker that ran the task ended before the task did');
    }
  }

  /** Whether there is something to do that no signal announces. */
  get #mustPoll(): boolean {
    return this.#isHeld || !this.#output.isWritten;
  }

  readonly #poll = (): void => {
    this.#sleeping = false;
    if (this.#abandonedWith !== undefined) return; // another thread may own the client by now
    this.drain(true);
    if (this.#abandonedWith !== undefined || this.#sleeping) return;
    if (this.#away > 0 || this.#mustPoll) this.#sleep();
    else this.#rest();
  };

  /** Sleeps on the signal, after REST_MS, while no task is outstanding; polls for outstanding tasks are separate. */
  #rest(): void {
    if (this.#resting || !host.threadsSendOutput) return;
    this.#resting = true;
    host.later(REST_MS, () => {
      const end = (): void => {
        this.#resting = false;
        if (!this.#sleeping) this.#poll(); // otherwise it begins again after the last task
      };
      if (this.#abandonedWith !== undefined || this.#sleeping) {
        end();
        return;
      }
      const signal = this.#space.load(this.#client + Client.signal);
      const sleep = this.#space.load(this.#client + Client.inbox) === 0 ? this.#waiter.sleep(signal) : undefined;
      if (sleep !== undefined) void sleep.then(end);
      else end();
    });
  }

  /** Schedules a poll of the inbox for when something arrives there. */
  #sleep(): void {
    this.#sleeping = true;
    if (this.#mustPoll) {
      host.soon?.(this.#poll);
      return;
    }
    const space = this.#space;
    const signal = space.load(this.#client + Client.signal);
    if (space.load(this.#client + Client.inbox) !== 0) {
      // With a turn of the event loop in between: a stream of results must not starve timers and I/O.
      void host.turn().then(this.#poll);
      return;
    }
    const how = this.#wait.next(this.#away);
    if (how === 'soon') {
      host.soon?.(this.#poll);
      return;
    }
    if (how === 'turn') {
      void host.turn().then(this.#poll);
      return;
    }
    void (this.#waiter.sleep(signal) ?? host.turn()).then(this.#poll);
  }

  /**
   * Blocks this thread until `isDone`, and settles calls meanwhile. pre: the thread may block.
   *
   * A blocked thread does not notice the exit of any thread. Without a coordinator, no thread would settle the tasks of
   * an exited worker. So once a second it checks the coordinator's heartbeat.
   *
   * @throws {PlaitError} ERR_PLAIT_COORDINATOR_DIED if there was no heartbeat for ten seconds
   */
  block(isDone: () => boolean): void {
    const space = this.#space;
    let asked: number | undefined;
    let withoutReply = 0;
    while (!isDone() && this.#abandonedWith === undefined) {
      const signal = space.load(this.#client + Client.signal);
      this.drain();
      if (isDone()) return;
      if (space.load(this.#client + Client.inbox) !== 0) continue;
      const woken = Atomics.wait(space.i32, (this.#client + Client.signal) >>> 2, signal | 0, DOUBT_MS);
      if (woken !== 'timed-out') continue;
      const responded = asked === undefined || ((space.load(this.#pool + P.heartbeat) - asked) | 0) >= 0;
      withoutReply = responded ? 0 : withoutReply + 1;
      if (withoutReply >= MOST_WITHOUT_REPLY) throw new PlaitError('ERR_PLAIT_COORDINATOR_DIED', NO_REPLY);
      if (!responded) continue;
      space.core.plait_pool_signal_coordinator(this.#pool);
      asked = space.load(this.#pool + P.coordinatorSignal);
    }
  }

  /** Dispatches all that is in the inbox, and writes its output; leaves the rest if `hurries`. */
  async finish(hurries: () => boolean): Promise<void> {
    for (;;) {
      this.drain(true);
      if (this.#abandonedWith !== undefined || !this.#mustPoll || hurries()) return;
      await new Promise<void>((resolve) => host.soon?.(resolve));
    }
  }

  /**
   * Rejects all outstanding tasks, now and from now on, because no thread is left to settle them. The client is not
   * read again, so it may be released.
   */
  abandon(error: PlaitError): void {
    if (this.#abandonedWith === undefined) {
      this.#space.core.plait_client_close(this.#client); // output of workers from now on goes to the pool's owner
      this.drain();
      // The sleep on this word must end, because the memory may be reused.
      if (this.#sleeping || this.#resting) Atomics.notify(this.#space.i32, (this.#client + Client.signal) >>> 2);
    }
    this.#abandonedWith = error;
    this.#output.close();
    this.backPressure.end();
    for (const [ticket, call] of this.#calls.entries()) {
      this.#calls[ticket] = undefined;
      if (call === undefined || call === IGNORED) continue;
      this.outstanding--;
      call.settle(this.#indices[ticket]!, false, error);
    }
    this.#busy(false);
  }
}
