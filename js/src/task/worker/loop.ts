/**
 * The worker's loop: it takes tasks from the pool until it is to stop.
 *
 * How it waits: see worker/idle-wait.ts. While promises of tasks are pending, it never blocks its event loop: it parks
 * at once.
 *
 * When as many tasks are pending as allowed, it takes only tasks that those await: of this thread's own client, and of
 * its worker queue. So a task that awaits its subtasks never waits for a worker.
 *
 * Invariant: the worker takes nothing while an outcome is undelivered (worker/pending-tasks.ts), and does not end
 * before all are delivered.
 */

import { clock, stampOf } from '../../core/clock.ts';
import { host } from '../../core/host.ts';
import { clearTimeout, setTimeout } from '../../core/host-timers.ts';
import {
  Client,
  Lock,
  Name,
  Next,
  Pool as P,
  Stop,
  Task,
  TaskStatus,
  WorkerPlace,
} from '../../core/layout.generated.ts';
import type { Space } from '../../core/space.ts';
import { freeGiven, movedParts } from '../../value/transfer.ts';
import { Transport } from '../../value/transport.ts';
import { decodeName } from '../function-name.ts';
import { InlineFunctions, inlineForbidden } from '../inline.ts';
import { noteTimes } from '../place-times.ts';
import type { WorkerStart } from '../protocol.ts';
import type { Submitter } from '../submitter.ts';
import { setWorkerContext, type TaskExecution, type WorkerContext } from '../task-execution.ts';
import { TaskRecords } from '../task-record.ts';
import { CurrentTask } from './current-task.ts';
import { IdleWait } from './idle-wait.ts';
import type { Modules } from './module.ts';
import { Outcomes } from './outcome.ts';
import { PendingTasks } from './pending-tasks.ts';

type TaskFunction = (input: unknown) => unknown;

/** How long a busy worker runs synchronous tasks before its event loop turns. */
const TURN_AFTER_MS = 10;
/** How often a worker samples its memory. */
const SAMPLE_MS = 50;
/** How often a worker that awaits its own tasks polls its worker queue. */
const RETRY_MS = 20;

export class Worker {
  readonly #space: Space;
  readonly #start: WorkerStart;
  readonly #place: number;
  readonly #modules: Modules;
  readonly #leaves: () => void;
  readonly #functions = new Map<number, TaskFunction>();
  #inlineFunctions: InlineFunctions | undefined;
  readonly #transport: Transport;
  readonly #records: TaskRecords;
  readonly #outcomes: Outcomes;
  readonly #idle: IdleWait;
  readonly #current: CurrentTask;
  readonly #pending: PendingTasks;
  readonly #shared: WorkerContext;
  #busy = 0;
  #done = 0;
  #leaving = false;
  #sampled = 0;
  #busySince = 0;
  #resume: (() => void) | undefined;
  #changed = false;

  constructor(space: Space, start: WorkerStart, place: number, modules: Modules, leaves: () => void) {
    this.#space = space;
    this.#start = start;
    this.#place = place;
    this.#modules = modules;
    this.#leaves = leaves;
    this.#transport = new Transport(space);
    this.#records = new TaskRecords(space);
    this.#outcomes = new Outcomes(space, this.#transport);
    this.#idle = new IdleWait(space, start.pool);
    this.#current = new CurrentTask(space, start.concurrency > 1);
    this.#pending = new PendingTasks(space, place);
    space.f64[(place + WorkerPlace.busy) / 8] = 0;
    space.u32[(place + WorkerPlace.holding) >>> 2] = 0;
    // Clears the previous worker's values. The first sample comes after the first task, because the first query of Node
    // takes a millisecond.
    space.f64[(place + WorkerPlace.active) / 8] = 0;
    space.u32[(place + WorkerPlace.memoryKib) >>> 2] = 0;
    this.#shared = {
      current: () => this.#current.execution,
      index: start.index,
      hostId: host.hostId,
      space,
      pool: start.pool,
      submitters: new Set(),
      addSubmitter: (submitter) => {
        submitter.onSubmit = () => this.#wake();
        this.#shared.submitters.add(submitter);
        this.#current.distinguish();
      },
    };
    setWorkerContext(this.#shared);
  }

  /** The client of the current task, or of one that it runs for; 0: none. */
  get clientNow(): number {
    const { execution } = this.#current;
    if (execution?.over) return 0; // left behind by a task
    for (const { ref, over } of execution === undefined ? this.#pending : [execution, ...this.#pending]) {
      const client = over ? 0 : this.#space.load(ref + Task.client);
      // Output must not go to a client that this thread itself reads.
      if (client !== 0 && this.#space.load(client + Client.owner) !== this.#space.thread) return client;
    }
    return 0;
  }

  /** The coordinator has requested a stop from a task. */
  readonly checkStops = (): void => {
    for (const execution of this.#pending) {
      if (execution.control === 0) continue;
      execution.checkStop();
      // A task alone on its worker is stopped with the worker. Beside others it is abandoned.
      if (this.#start.concurrency > 1) setTimeout(() => this.#abandon(execution), this.#start.grace);
    }
  };

  #abandon(execution: TaskExecution): void {
    if (!this.#pending.has(execution)) return;
    this.#end(execution, TaskStatus.REJECTED, execution.stopReason());
  }

  /** Runs tasks until the pool stops. */
  async work(): Promise<void> {
    const { concurrency } = this.#start;
    let before = clock();
    let lastTurn = before;
    let idleSteps = 0;
    const contests = this.#start.pool + P.lock + Lock.contests;
    let contested = this.#space.load(contests);
    for (;;) {
      this.#space.core.plait_abi_unwind(this.#space.stackTop);
      let task: number = Next.NONE;
      const takesAny = !this.#leaving && this.#pending.size < concurrency;
      if ((this.#pending.hasUndelivered || !takesAny) && !this.#pending.deliverAll()) {
        before = await this.#lockLater();
        continue;
      }
      if (!takesAny) {
        if (this.#leaving && this.#pending.size === 0) return;
        task = this.#help(); // its own tasks may await tasks that no other worker can take
      } else {
        task = this.#pending.take(this.#busy);
        if (task === Next.RETRY) {
          before = await this.#lockLater();
          continue;
        }
        if (task === Next.STOP) {
          this.#leaving = true;
          continue;
        }
      }
      if (task > Next.RETRY) {
        idleSteps = 0;
        const waits = this.#space.load(contests);
        if (waits !== contested) before = clock(); // it waited for the lock: the task has not run meanwhile
        contested = waits;
        const started = before;
        this.#begin(task, started);
        const now = clock();
        before = now;
        if (this.#pending.finished === task) {
          this.#note(task, started, now);
          this.#busy = (now - started) * 1000;
        }
        if (now - lastTurn < TURN_AFTER_MS) continue;
        this.#pending.deliverFinished(); // no caller waits for the user's code in that turn
        this.#sample(now);
        await host.turn();
        lastTurn = clock();
      } else if (this.#pending.size > 0) {
        await this.#wait(this.#pending.size < concurrency && !this.#leaving);
        lastTurn = clock();
      } else {
        this.#sample(before);
        // A worker that leaves takes nothing: it must not look as if it waited for a task.
        const turn = this.#leaving ? undefined : this.#idle.step(idleSteps++);
        if (turn !== undefined) await turn;
      }
      before = clock();
      // Idling turns the event loop too: the result of an occasional task does not wait for another turn.
      if (idleSteps > 1) lastTurn = before;
    }
  }

  /** A lock is stuck: retries after a turn, and returns the time, before which no task begins. */
  async #lockLater(): Promise<number> {
    await host.turn();
    return clock();
  }

  /**
   * Waits until a pending task has ended or this thread has submitted one; with `more`, also until a task is queued.
   */
  async #wait(more: boolean): Promise<void> {
    if (this.#changed) {
      this.#changed = false;
      return;
    }
    const change = new Promise<void>((resolve) => {
      this.#resume = resolve;
    });
    if (more) {
      const { core } = this.#space;
      const signal = core.plait_worker_park_begin();
      if (signal !== 0) {
        await Promise.race([change, this.#idle.parking(signal)]);
        core.plait_worker_park_end();
      }
    } else if (this.#awaited().length > 0) {
      const timer = setTimeout(() => this.#wake(), RETRY_MS);
      await change;
      clearTimeout(timer);
    } else {
      await change;
    }
    this.#resume = undefined;
    this.#changed = false;
  }

  #wake(): void {
    this.#changed = true;
    this.#resume?.();
  }

  /** This thread's connections to its pool that wait for tasks. */
  #awaited(): Submitter[] {
    return [...this.#shared.submitters].filter(({ outstanding }) => outstanding > 0);
  }

  /** Takes a task that a pending one may await. */
  #help(): number {
    for (const { client } of this.#awaited()) {
      const task = this.#pending.takeOf(client);
      if (task > Next.RETRY) return task;
    }
    return Next.NONE;
  }

  /** Runs one task. Afterwards it has ended, or its promise is pending. */
  #begin(task: number, started: number): void {
    this.#space.cover(task + Task.BYTES);
    const { u32 } = this.#space;
    const at = task >>> 2;
    if (u32[at + (Task.control >>> 2)] !== 0) {
      u32[at + (Task.outputStatus >>> 2)] = TaskStatus.STOPPED;
      this.#pending.finish(task);
      return;
    }
    u32[at + (Task.startedMs >>> 2)] = stampOf(started);
    const outer = this.#current.enter(task);
    let value: unknown;
    let status: number = TaskStatus.FULFILLED;
    try {
      const call = this.#functions.get(u32[at + (Task.name >>> 2)]!) ?? this.#find(task);
      const input = this.#records.readInput(task, this.#transport);
      value = this.#current.call(call, input);
      const moved = movedParts(value);
      if (moved === undefined && typeof (value as { then?: unknown } | null | undefined)?.then === 'function') {
        this.#await(this.#current.ofTask(), value as PromiseLike<unknown>);
        return;
      }
    } catch (error) {
      value = error;
      status = TaskStatus.REJECTED;
    }
    this.#outcomes.write(task, status, value);
    this.#current.leave(outer);
    this.#pending.finish(task);
  }

  #await(execution: TaskExecution, value: PromiseLike<unknown>): void {
    // A `then` of the user may throw, call back at once or twice, or yield another promise. A real promise handles
    // that.
    const promise = Promise.resolve(value);
    if (this.#pending.size === 0) this.#busySince = clock();
    this.#pending.add(execution);
    Promise.prototype.then.call(
      promise,
      (result) => this.#end(execution, TaskStatus.FULFILLED, result),
      (error) => this.#end(execution, TaskStatus.REJECTED, error),
    );
  }

  /** A pending task has ended, or is abandoned. */
  #end(execution: TaskExecution, status: number, value: unknown): void {
    if (!this.#pending.remove(execution)) {
      freeGiven(value);
      return;
    }
    const task = execution.ref;
    this.#outcomes.write(task, status, value);
    execution.over = true;
    const now = clock();
    const started = this.#startOf(task, now);
    this.#note(task, started, now, false);
    const isOwn = !this.#isDetached(task);
    if (this.#pending.size === 0 && isOwn) this.#addBusy(now - this.#busySince);
    if (!execution.held) this.#busy = (now - started) * 1000;
    this.#pending.end(execution, isOwn);
    this.#current.ended(execution, this.#awaitedExecution());
    this.#wake();
  }

  /** The task that continues after one that ran on top of it, if no context identifies it. */
  #awaitedExecution(): TaskExecution | undefined {
    const rest = [...this.#pending];
    return this.#start.concurrency === 1 || rest.length === 1 ? rest.at(-1) : undefined;
  }

  #startOf(task: number, now: number): number {
    const stamp = this.#space.u32[(task + Task.startedMs) >>> 2]!;
    const elapsed = (stampOf(now) - stamp) >>> 0;
    return now - elapsed;
  }

  /** Counts a task that has ended. */
  #note(task: number, started: number, now: number, isBusy = true): void {
    const { u32, f64 } = this.#space;
    const place = this.#place >>> 2;
    const status = u32[(task + Task.outputStatus) >>> 2]!;
    if (status === TaskStatus.STOPPED || this.#isDetached(task)) return;
    u32[place + (status === TaskStatus.FULFILLED ? WorkerPlace.completed >>> 2 : WorkerPlace.failed >>> 2)]!++;
    const wait = started - f64[(task + Task.submitted) / 8]!;
    noteTimes(this.#space, this.#start.pool, this.#place, wait, now - started);
    if (isBusy && this.#pending.size === 0) this.#addBusy(now - started);
    const { tasks } = this.#start.recycle;
    this.#done++;
    if (tasks !== 0 && this.#done >= tasks) this.#leave();
  }

  /**
   * Whether a surrogate has completed the task. Another worker may have this index then, and its counters are not ours.
   */
  #isDetached(task: number): boolean {
    return (this.#space.load(task + Task.control) & Stop.DETACHED) !== 0;
  }

  #addBusy(milliseconds: number): void {
    this.#space.f64[(this.#place + WorkerPlace.busy) / 8]! += milliseconds;
  }

  /** Ends the worker when its tasks have ended. */
  #leave(): void {
    if (this.#leaving) return;
    this.#leaving = true;
    this.#leaves();
  }

  /** Samples what only this thread can know of itself. */
  #sample(now: number): void {
    if (now - this.#sampled < SAMPLE_MS) return;
    this.#sampled = now;
    const used = host.heapUsed();
    const { f64, u32 } = this.#space;
    f64[(this.#place + WorkerPlace.active) / 8] = host.activeTime();
    f64[(this.#place + WorkerPlace.sampledAt) / 8] = clock();
    u32[(this.#place + WorkerPlace.memoryKib) >>> 2] = used / 1024;
    const { bytes } = this.#start.recycle;
    // Replacing a worker that has run nothing would change nothing.
    if (bytes !== 0 && used > bytes && this.#done > 0) this.#leave();
  }

  #find(task: number): TaskFunction {
    const ref = this.#space.load(task + Task.name);
    const size = this.#space.load(ref + Name.size);
    const { name, form } = decodeName(this.#space.bytes(ref + Name.BYTES, size).slice());
    const found = form === 'source' ? this.#inline(name) : this.#modules.find(name, form);
    if (found === undefined) return async (input) => (await this.#modules.load(name, form))(input);
    // otherwise the block is soon reused
    if (this.#space.load(task + Task.nameBlock) === 0) this.#functions.set(ref, found);
    return found;
  }

  #inline(source: string): TaskFunction {
    if (!this.#start.inline) throw inlineForbidden();
    this.#inlineFunctions ??= new InlineFunctions(this.#start.module);
    return this.#inlineFunctions.make(source);
  }
}
