/**
 * What a worker does: it takes tasks from the pool until it is told to stop.
 *
 * How it waits: worker/idle-wait.ts. While promises of tasks are pending, it never blocks its event loop: it parks at once.
 *
 * With as many tasks pending as may be, only tasks that those wait for are taken: of this thread's own client, and of
 * its seat. So a task that awaits its sub-tasks never waits for a worker.
 *
 * Invariant: nothing is taken while something is undelivered (worker/pending-tasks.ts), and only then does this worker end.
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
import { bucketOf } from '../histogram.ts';
import { decodeName, InlineFunctions, inlineForbidden } from '../inline.ts';
import type { WorkerStart } from '../protocol.ts';
import type { Submitter } from '../submitter.ts';
import { TaskRecords } from '../task-record.ts';
import { type Run, setWorkerContext, type WorkerContext } from '../task-run.ts';
import { CurrentTask } from './current-task.ts';
import { IdleWait } from './idle-wait.ts';
import { findExport } from './module.ts';
import { Outcomes } from './outcome.ts';
import { PendingTasks } from './pending-tasks.ts';

type TaskFunction = (input: unknown) => unknown;

/** How long a busy worker runs synchronous tasks before its event loop turns. */
const TURN_AFTER_MS = 10;
/** How often a worker notes how much memory it has. */
const SAMPLE_MS = 50;
/** How often a worker that waits for its own tasks looks at its seat. */
const RETRY_MS = 20;

export class Worker {
  readonly #space: Space;
  readonly #start: WorkerStart;
  readonly #place: number;
  readonly #namespace: Record<string, unknown>;
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

  constructor(space: Space, start: WorkerStart, place: number, namespace: Record<string, unknown>, leaves: () => void) {
    this.#space = space;
    this.#start = start;
    this.#place = place;
    this.#namespace = namespace;
    this.#leaves = leaves;
    this.#transport = new Transport(space);
    this.#records = new TaskRecords(space);
    this.#outcomes = new Outcomes(space, this.#transport);
    this.#idle = new IdleWait(space, start.pool);
    this.#current = new CurrentTask(space, start.concurrency > 1);
    this.#pending = new PendingTasks(space, place);
    space.f64[(place + WorkerPlace.busy) / 8] = 0;
    space.u32[(place + WorkerPlace.holding) >>> 2] = 0;
    // Of whoever sat here before. The first sample comes after the first task: asking Node costs a millisecond the
    // first time.
    space.f64[(place + WorkerPlace.active) / 8] = 0;
    space.u32[(place + WorkerPlace.memoryKib) >>> 2] = 0;
    this.#shared = {
      current: () => this.#current.run,
      index: start.index,
      hostId: host.hostId,
      space,
      pool: start.pool,
      submitters: new Set(),
      addSubmitter: (submitter) => {
        submitter.onSubmit = () => this.#wake();
        this.#shared.submitters.add(submitter);
        this.#current.tellApart();
      },
    };
    setWorkerContext(this.#shared);
  }

  /** The client of the task that runs now, or of one that it runs for; 0: none. */
  get clientNow(): number {
    const { run } = this.#current;
    if (run?.over) return 0; // left behind
    for (const { ref, over } of run === undefined ? this.#pending : [run, ...this.#pending]) {
      const client = over ? 0 : this.#space.load(ref + Task.client);
      // What this thread reads itself leads nowhere.
      if (client !== 0 && this.#space.load(client + Client.owner) !== this.#space.thread) return client;
    }
    return 0;
  }

  /** The coordinator says that a task has been told to stop. */
  readonly checkStops = (): void => {
    for (const run of this.#pending) {
      if (run.control === 0) continue;
      run.checkStop();
      // Alone on its worker, one that does not stop is stopped with it. Beside others it is left to itself.
      if (this.#start.concurrency > 1) setTimeout(() => this.#abandon(run), this.#start.grace);
    }
  };

  #abandon(run: Run): void {
    if (!this.#pending.has(run)) return;
    this.#end(run, TaskStatus.REJECTED, run.stopReason());
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
      let task: number = Next.NONE;
      const takesAny = !this.#leaving && this.#pending.size < concurrency;
      if ((this.#pending.hasUndelivered || !takesAny) && !this.#pending.deliverAll()) {
        before = await this.#lockLater();
        continue;
      }
      if (!takesAny) {
        if (this.#leaving && this.#pending.size === 0) return;
        task = this.#help(); // what it still has may wait for tasks that nobody else can take
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
        if (waits !== contested) before = clock(); // whoever has waited for the lock: the task has not run meanwhile
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
        this.#pending.deliverFinished(); // no caller waits for what the user's code does in the turn
        this.#sample(now);
        await host.turn();
        lastTurn = clock();
      } else if (this.#pending.size > 0) {
        await this.#wait(this.#pending.size < concurrency && !this.#leaving);
        lastTurn = clock();
      } else {
        this.#sample(before);
        // One that is to leave takes nothing: it must not look as if it waited for a task.
        const turn = this.#leaving ? undefined : this.#idle.step(idleSteps++);
        if (turn !== undefined) await turn;
      }
      before = clock();
      // Idling turns the event loop, too: the result of a task that comes now and then does not wait for another turn.
      if (idleSteps > 1) lastTurn = before;
    }
  }

  /** A lock is stuck: another time, which it returns. The next task does not begin before that. */
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

  /** This thread's ends of its pool that wait for tasks. */
  #awaited(): Submitter[] {
    return [...this.#shared.submitters].filter(({ outstanding }) => outstanding > 0);
  }

  /** Takes a task that a pending one may wait for. */
  #help(): number {
    for (const { client } of this.#awaited()) {
      const task = this.#pending.takeOf(client);
      if (task > Next.RETRY) return task;
    }
    return Next.NONE;
  }

  /** Runs one task: either it has ended then, or its promise is pending. */
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

  #await(run: Run, value: PromiseLike<unknown>): void {
    // The user's own `then` may throw, call back at once or twice, or yield another promise: a promise deals with that.
    const promise = Promise.resolve(value);
    if (this.#pending.size === 0) this.#busySince = clock();
    this.#pending.add(run);
    Promise.prototype.then.call(
      promise,
      (result) => this.#end(run, TaskStatus.FULFILLED, result),
      (error) => this.#end(run, TaskStatus.REJECTED, error),
    );
  }

  /** A pending task has ended, or is given up. */
  #end(run: Run, status: number, value: unknown): void {
    if (!this.#pending.remove(run)) {
      freeGiven(value);
      return;
    }
    const task = run.ref;
    this.#outcomes.write(task, status, value);
    run.over = true;
    const now = clock();
    const started = this.#startOf(task, now);
    this.#note(task, started, now, false);
    const isOwn = !this.#isDetached(task);
    if (this.#pending.size === 0 && isOwn) this.#addBusy(now - this.#busySince);
    if (!run.held) this.#busy = (now - started) * 1000;
    this.#pending.end(run, isOwn);
    this.#current.ended(run, this.#awaitedRun());
    this.#wake();
  }

  /** The task that goes on after one that ran on top of it, where no context tells. */
  #awaitedRun(): Run | undefined {
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
    const wait = (started - f64[(task + Task.submitted) / 8]!) * 1000;
    const run = (now - started) * 1000;
    u32[place + (WorkerPlace.waits >>> 2) + bucketOf(wait)]!++;
    u32[place + (WorkerPlace.runs >>> 2) + bucketOf(run)]!++;
    if (wait > u32[place + (WorkerPlace.waitMax >>> 2)]!)
      u32[place + (WorkerPlace.waitMax >>> 2)] = Math.min(wait, 0xffffffff);
    if (run > u32[place + (WorkerPlace.runMax >>> 2)]!)
      u32[place + (WorkerPlace.runMax >>> 2)] = Math.min(run, 0xffffffff);
    if (isBusy && this.#pending.size === 0) this.#addBusy(now - started);
    const { tasks } = this.#start.recycle;
    this.#done++;
    if (tasks !== 0 && this.#done >= tasks) this.#leave();
  }

  /**
   * The task has ended without this worker, and another may sit on its seat: the counters there are not its own any
   * more.
   */
  #isDetached(task: number): boolean {
    return (this.#space.load(task + Task.control) & Stop.DETACHED) !== 0;
  }

  #addBusy(milliseconds: number): void {
    this.#space.f64[(this.#place + WorkerPlace.busy) / 8]! += milliseconds;
  }

  /** Ends when what is under way has ended. */
  #leave(): void {
    if (this.#leaving) return;
    this.#leaving = true;
    this.#leaves();
  }

  /** Notes what only this thread can know of itself. */
  #sample(now: number): void {
    if (now - this.#sampled < SAMPLE_MS) return;
    this.#sampled = now;
    const used = host.heapUsed();
    const { f64, u32 } = this.#space;
    f64[(this.#place + WorkerPlace.active) / 8] = host.activeTime();
    f64[(this.#place + WorkerPlace.sampledAt) / 8] = clock();
    u32[(this.#place + WorkerPlace.memoryKib) >>> 2] = used / 1024;
    const { bytes } = this.#start.recycle;
    // One that has done nothing yet is as fresh as the one in its place would be.
    if (bytes !== 0 && used > bytes && this.#done > 0) this.#leave();
  }

  #find(task: number): TaskFunction {
    const ref = this.#space.load(task + Task.name);
    const size = this.#space.load(ref + Name.size);
    const { name, inline } = decodeName(this.#space.bytes(ref + Name.BYTES, size).slice());
    const found = inline ? this.#inline(name) : findExport(this.#namespace, name, this.#start.module);
    // else the block is soon another's
    if (this.#space.load(task + Task.nameBlock) === 0) this.#functions.set(ref, found);
    return found;
  }

  #inline(source: string): TaskFunction {
    if (!this.#start.inline) throw inlineForbidden();
    this.#inlineFunctions ??= new InlineFunctions(this.#start.module);
    return this.#inlineFunctions.make(source);
  }
}
