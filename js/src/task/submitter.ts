/**
 * One thread's end of a pool: puts tasks into the queue, takes results out of the inbox, and tells the calls.
 *
 * A ticket is an index into `#calls`, `#indices` and `#tasks`; free tickets are reused, the last one first. A call may
 * have many tickets, told apart by an index of its own. A ticket whose call wants to hear no more stays taken until its
 * task has come back. The task of a worker that was given up comes back twice: as its surrogate, which is its end, and
 * as DISCARDED.
 *
 * Invariant: while a ticket is taken, either a look at the inbox is scheduled (for the next turn of the event loop, or
 * for the next millisecond: result-wait.ts says when), or this thread sleeps on the client's signal with the value that
 * it had before the last look. So no result is missed, whatever wakes and whenever. A task's record is this thread's to
 * look at (and its `control` to write) from submit to drain.
 *
 * What workers write comes the same way, also while no ticket is taken: then this thread sleeps on that signal, too, or
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
import { Names } from './names.ts';
import { OutputReader } from './output-reader.ts';
import { isPool } from './registry.ts';
import { ResultWait } from './result-wait.ts';
import { noteTimeout } from './shortest-timeout.ts';
import { TaskRecords } from './task-record.ts';

/** Who waits for one or more tasks. */
export interface Call {
  /** The task of that index has ended. */
  settle(index: number, fulfilled: boolean, value: unknown): void;
  /** What an error calls the input that is being submitted; 'input' where there is only one. */
  readonly root?: (() => string) | undefined;
  /** It says something meanwhile. */
  readonly progress?: ((index: number, value: unknown) => void) | undefined;
}

/**
 * So long after the last result the thread lies down for what workers write meanwhile: a wake-up for each result would
 * cost more.
 */
const REST_MS = 20;

/** How a task is submitted, as the submitter takes it: checked, with defaults filled in. */
export interface SubmitOptions {
  /** The name of an export, or with `inline` the source of a function. */
  readonly name: string;
  readonly inline: boolean;
  readonly lend: boolean;
  readonly transfer: readonly unknown[] | undefined;
  /** Milliseconds; 0: none. */
  readonly timeout: number;
  /** 0: the most urgent. */
  readonly priority: number;
  /** Index of the seat, or -1. */
  readonly workerIndex: number;
  readonly retries: number;
}

/** The lane of a task without a priority. */
export const USUAL_PRIORITY: number = (PRIORITY_COUNT - 1) / 2;

/** How long a blocked thread waits before it asks whether the coordinator lives, and how many times it asks in vain. */
const DOUBT_MS = 1000;
const MOST_UNANSWERED = 10;
const NO_ANSWER = 'the coordinator thread has not answered for ten seconds; it has ended, and its workers with it';

const IGNORED: Call = { settle() {} };

export class Submitter {
  /** Tasks submitted whose call waits for them. */
  outstanding = 0;
  /** What is to be done about a full queue. */
  readonly backPressure: BackPressure;
  /** Called after each submission; a worker that waits for its own tasks listens. */
  onSubmit: (() => void) | undefined;

  readonly #space: Space;
  readonly #pool: number;
  readonly #client: number;
  readonly #transport: Transport;
  readonly #records: TaskRecords;
  readonly #busy: (busy: boolean) => void;
  readonly #names: Names;
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
   * What was drained and is still to be told of, the oldest first; or 0. A listener that blocks this thread goes on
   * from here.
   */
  #drained = 0;
  /** It waits for output that is still to be written. */
  #isHeld = false;
  #abandonedWith: PlaitError | undefined;
  /**
   * Why a closed or failed pool gives tasks back: one for all of them, for making an error takes longer than the rest.
   */
  #forced: PlaitError | undefined;
  #failed: unknown;
  /** The last error with which the pool refused a task for good. */
  #refused: unknown;

  /** `busy` hears whether tasks are outstanding, at each change. */
  constructor(space: Space, pool: number, busy: (busy: boolean) => void) {
    this.#space = space;
    this.#pool = pool;
    this.#busy = busy;
    this.backPressure = new BackPressure(space, pool);
    this.#transport = new Transport(space);
    this.#records = new TaskRecords(space);
    this.#names = new Names(space, pool);
    this.#wait = new ResultWait(space, pool);
    this.#client = space.core.plait_client_create(pool) >>> 0;
    if (this.#client === 0) {
      if (isPool(space, pool)) throw outOfMemory(Client.BYTES);
      throw new PlaitError('ERR_PLAIT_POOL_CLOSED', 'the pool is not there: it was closed, or is in another space');
    }
    this.#output = new OutputReader(space, this.#client);
    this.#rest();
  }

  /** The client's reference in the space. */
  get client(): number {
    return this.#client;
  }

  /** Throws the reason for which nothing can be submitted any more, if there is one. */
  mustWork(): void {
    if (this.#abandonedWith !== undefined) throw this.#abandonedWith;
  }

  /** Likewise, and if the pool has failed or is closed. */
  mustBeOpen(): void {
    this.mustWork();
    if (this.#space.load(this.#pool + P.state) !== PoolState.OPEN) throw this.#refusal();
  }

  /** Whether `error` was thrown by submit() because the pool takes no tasks any more, whatever they are. */
  isEnd(error: unknown): boolean {
    return error !== undefined && (error === this.#abandonedWith || error === this.#refused);
  }

  /** Whether tasks of this thread wait in the queue. */
  get hasQueued(): boolean {
    return this.#space.load(this.#client + Client.mask) !== 0;
  }

  /**
   * Submits one task and returns its ticket; what cannot be submitted is thrown, and nothing has happened.
   * `given`: the block that is the input, from now on the task's; 0: the input is copied.
   */
  submit(call: Call, index: number, input: unknown, how: SubmitOptions, given = 0, now: number = clock()): number {
    // Taken before anything else: a getter in the input may submit, too.
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
    const transport = this.#transport;
    const nameRef = this.#names.refOf(how.name, how.inline);
    const place = how.workerIndex < 0 ? 0 : this.#placeOf(how.workerIndex);
    const buffers = how.transfer === undefined ? undefined : transferable(how.transfer);
    const size =
      given === 0
        ? transport.prepare(input, root, how.lend)
        : transport.prepareGiven(input as Uint8Array, given, Kind.lentBytes);
    this.mustWork(); // a getter in the input may have let go of the client
    const task = this.#records.create(this.#client, size);
    if (task === 0) throw outOfMemory(size + Task.BYTES);
    this.#records.setInput(task, transport, size);
    if (nameRef === 0) this.#names.give(task, how.name, how.inline);
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
    if (given !== 0) this.#records.setInputBlock(task, 0); // it stays the caller's
    core.plait_task_discard(task);
    if (rc === -Errno.ENOMEM) throw outOfMemory(size + Task.BYTES);
    if (rc === -Errno.EPIPE) {
      this.#refused = this.#refusal();
      throw this.#refused;
    }
    if (rc === -Errno.EAGAIN) throw this.#queueFull();
    throw lockTimeout();
  }

  /** Lets the coordinator know that there are tasks with a timeout, and how often it must look. */
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
   * The call of a ticket wants to hear no more, and its task is told to stop, or leaves the queue. Does nothing if the
   * ticket is not the call's any more. `tell`: also have the coordinator look, which stops the worker if the task does
   * not stop.
   */
  abort(ticket: number, call: Call, signals = true): void {
    if (this.#calls[ticket] !== call || this.#abandonedWith !== undefined) return;
    this.#calls[ticket] = IGNORED;
    const task = this.#tasks[ticket]!;
    if (task !== 0) this.#space.core.plait_task_abort(task); // a stuck lock: it is told, and stays in the queue
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

  /** The coordinator is to look. */
  #signalCoordinator(): void {
    this.#space.core.plait_pool_signal_coordinator(this.#pool);
  }

  /**
   * Tells the calls of all that lies in the inbox. With `waits`, the rest comes later if output has still to be
   * written.
   */
  drain(waits = false): void {
    if (this.#drained !== 0) this.#dispatch(waits);
    if (this.#abandonedWith !== undefined || this.#drained !== 0 || (waits && !this.#output.isWritten)) return;
    this.#drained = this.#space.core.plait_client_drain(this.#client) >>> 0;
    this.#dispatch(waits);
  }

  /** Tells of what was drained. */
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
      if (this.#abandonedWith !== undefined) return; // a listener has let go of the client, and freed what it had
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
      // A listener's error is nobody's result.
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
        this.#forced ??= new PlaitError(
          'ERR_PLAIT_POOL_CLOSED',
          'the pool was closed by force while the task was queued',
        );
        return this.#forced;
      case TaskStatus.POOL_FAILED:
        return this.#failure();
      default:
        return new PlaitError('ERR_PLAIT_WORKER_DIED', 'the worker that ran the task ended before the task did');
    }
  }

  /** Whether there is something to do that no signal tells of. */
  get #mustPoll(): boolean {
    return this.#isHeld || !this.#output.isWritten;
  }

  readonly #poll = (): void => {
    this.#sleeping = false;
    if (this.#abandonedWith !== undefined) return; // the client's memory may be another's by now
    this.drain(true);
    if (this.#abandonedWith !== undefined || this.#sleeping) return;
    if (this.#away > 0 || this.#mustPoll) this.#sleep();
    else this.#rest();
  };

  /** Schedules that this thread sleeps on the signal while no task is out, beside the looks for those that come. */
  #rest(): void {
    if (this.#resting || !host.threadsSendOutput) return;
    this.#resting = true;
    host.later(REST_MS, () => {
      const end = (): void => {
        this.#resting = false;
        if (!this.#sleeping) this.#poll(); // else it begins again after the last task
      };
      if (this.#abandonedWith !== undefined || this.#sleeping) {
        end();
        return;
      }
      const space = this.#space;
      const signal = space.load(this.#client + Client.signal);
      const wait =
        space.load(this.#client + Client.inbox) === 0
          ? Atomics.waitAsync(space.i32, (this.#client + Client.signal) >>> 2, signal | 0)
          : undefined;
      if (wait?.async) void wait.value.then(end);
      else end();
    });
  }

  /** Schedules a look at the inbox for when something arrives there. */
  #sleep(): void {
    this.#sleeping = true;
    if (this.#mustPoll) {
      host.soon?.(this.#poll);
      return;
    }
    const space = this.#space;
    const signal = space.load(this.#client + Client.signal);
    if (space.load(this.#client + Client.inbox) !== 0) {
      // A turn of the event loop in between: results that keep coming must not starve timers and I/O.
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
    const wait = Atomics.waitAsync(space.i32, (this.#client + Client.signal) >>> 2, signal | 0);
    if (wait.async) void wait.value.then(this.#poll);
    else void host.turn().then(this.#poll);
  }

  /**
   * Blocks this thread until `isDone`, telling calls meanwhile. pre: the thread may block.
   *
   * A blocked thread hears of no thread's end, and without a coordinator nobody would settle what a dead worker ran. So
   * it asks, once a second, whether somebody still attends to the pool.
   *
   * @throws {PlaitError} ERR_PLAIT_COORDINATOR_DIED if nobody has answered for ten seconds
   */
  block(isDone: () => boolean): void {
    const space = this.#space;
    let asked: number | undefined;
    let unanswered = 0;
    while (!isDone() && this.#abandonedWith === undefined) {
      const signal = space.load(this.#client + Client.signal);
      this.drain();
      if (isDone()) return;
      if (space.load(this.#client + Client.inbox) !== 0) continue;
      const woken = Atomics.wait(space.i32, (this.#client + Client.signal) >>> 2, signal | 0, DOUBT_MS);
      if (woken !== 'timed-out') continue;
      const answered = asked === undefined || ((space.load(this.#pool + P.heartbeat) - asked) | 0) >= 0;
      unanswered = answered ? 0 : unanswered + 1;
      if (unanswered >= MOST_UNANSWERED) throw new PlaitError('ERR_PLAIT_COORDINATOR_DIED', NO_ANSWER);
      if (!answered) continue;
      space.core.plait_pool_signal_coordinator(this.#pool);
      asked = space.load(this.#pool + P.coordinatorSignal);
    }
  }

  /** Tells of all that lies in the inbox, as the output before it is written; leaves the rest when it `hurries`. */
  async finish(hurries: () => boolean): Promise<void> {
    for (;;) {
      this.drain(true);
      if (this.#abandonedWith !== undefined || !this.#mustPoll || hurries()) return;
      await new Promise<void>((resolve) => host.soon?.(resolve));
    }
  }

  /**
   * Rejects all that is outstanding, now and from now on: nobody is left who could settle it. The client is not looked
   * at again, so it may be let go of.
   */
  abandon(error: PlaitError): void {
    if (this.#abandonedWith === undefined) {
      this.#space.core.plait_client_close(this.#client); // what workers write from now on goes to the pool's owner
      this.drain();
      // Whoever sleeps there must not lie in wait where some other word may be soon.
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
