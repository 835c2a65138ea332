/**
 * What a worker does: it takes tasks from the pool until it is told to stop.
 *
 * How it waits: idle-wait.ts. While promises of tasks are pending, it never blocks its event loop: it parks at once.
 *
 * Whose a step of asynchronous code is, the host's asynchronous context says, from when there can be several: with
 * `concurrency` above 1 from the beginning, else from when a task first asks for its pool.
 *
 * Several tasks: one whose promise is pending stays the slot's `running` as long as it is the only one; before another
 * is taken it is put aside (plait_task_hold). With as many pending as may be, only tasks that those wait for are taken:
 * of this thread's own client, and of its seat. So a task that awaits its sub-tasks never waits for a worker.
 *
 * Invariant: whenever this thread's event loop turns, slot.running is 0 or names `#alone`, the one pending task that is
 * not put aside, or `#finished`. Nothing is taken while it names one of them, or while something is undelivered, and
 * only then does this worker end. A lock that is stuck puts all of it off.
 */

import { clock, stampOf } from '../core/clock.ts';
import { host } from '../core/host.ts';
import { Client, Errno, Lock, Name, Next, Pool as P, Seat, Stop, Task, TaskStatus } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';
import { clearTimeout, setTimeout } from '../core/timers.ts';
import { bucketOf } from './histogram.ts';
import { IdleWait } from './idle-wait.ts';
import { decodeName, InlineFunctions, inlineForbidden } from './inline.ts';
import { findExport } from './module.ts';
import { Outcomes } from './outcome.ts';
import type { WorkerStart } from './protocol.ts';
import { Run, setWorkerContext, type WorkerContext } from './run.ts';
import type { Submitter } from './submitter.ts';
import { freeGiven, movedParts } from './transfer.ts';
import { Transport } from './transport.ts';

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
  readonly #seat: number;
  readonly #namespace: Record<string, unknown>;
  readonly #leaves: () => void;
  readonly #functions = new Map<number, TaskFunction>();
  #inlineFunctions: InlineFunctions | undefined;
  readonly #transport: Transport;
  readonly #outcomes: Outcomes;
  readonly #idle: IdleWait;
  #context: ReturnType<typeof host.newContext<Run>>;
  readonly #pending = new Set<Run>();
  readonly #shared: WorkerContext;
  /** The pending task that is not put aside. */
  #alone: Run | undefined;
  /** The task on this thread's stack, or else the one that is awaited, and its Run once somebody asked for it. */
  #task = 0;
  #run: Run | undefined;
  /** The one that was under way when the context was made, and has none. */
  #bare: Run | undefined;
  /** What is to be delivered with the next taking. */
  #finished = 0;
  /** Tasks that were put aside, have ended, and are still to be delivered. */
  readonly #undelivered: number[] = [];
  #busy = 0;
  #done = 0;
  #leaving = false;
  #sampled = 0;
  #busySince = 0;
  #resume: (() => void) | undefined;
  #changed = false;

  constructor(space: Space, start: WorkerStart, seat: number, namespace: Record<string, unknown>, leaves: () => void) {
    this.#space = space;
    this.#start = start;
    this.#seat = seat;
    this.#namespace = namespace;
    this.#leaves = leaves;
    this.#transport = new Transport(space);
    this.#outcomes = new Outcomes(space, this.#transport);
    this.#idle = new IdleWait(space, start.pool);
    this.#context = start.concurrency > 1 ? host.newContext<Run>() : undefined;
    space.f64[(seat + Seat.busy) / 8] = 0;
    space.u32[(seat + Seat.holding) >>> 2] = 0;
    // Of whoever sat here before. The first sample comes after the first task: asking Node costs a millisecond the
    // first time.
    space.f64[(seat + Seat.active) / 8] = 0;
    space.u32[(seat + Seat.memoryKib) >>> 2] = 0;
    this.#shared = {
      current: () => this.#current(),
      seat: start.seat,
      hostId: host.hostId,
      space,
      pool: start.pool,
      ends: new Set(),
      helps: (end) => {
        end.onSubmit = () => this.#wake();
        this.#shared.ends.add(end);
        this.#tellApart();
      },
    };
    setWorkerContext(this.#shared);
  }

  #current(): Run | undefined {
    return this.#context?.getStore() ?? this.#bare ?? (this.#task === 0 ? undefined : this.#ofTask());
  }

  /** The client of the task that runs now, or of one that it runs for; 0: none. */
  get clientNow(): number {
    const run = this.#current();
    if (run?.over) return 0; // left behind
    for (const { ref, over } of run === undefined ? this.#pending : [run, ...this.#pending]) {
      const client = over ? 0 : this.#space.load(ref + Task.client);
      // What this thread reads itself leads nowhere.
      if (client !== 0 && this.#space.load(client + Client.owner) !== this.#space.thread) return client;
    }
    return 0;
  }

  #ofTask(): Run {
    this.#run ??= new Run(this.#space, this.#task);
    return this.#run;
  }

  /** The task that is under way may have others run here while it awaits them. */
  #tellApart(): void {
    if (this.#context !== undefined) return;
    const bare = this.#current();
    this.#context = host.newContext<Run>();
    if (this.#context !== undefined) this.#bare = bare;
  }

  /** The coordinator says that a task has been told to stop. */
  readonly look = (): void => {
    for (const run of this.#pending) {
      if (run.control === 0) continue;
      run.look();
      // Alone on its worker, one that does not stop is stopped with it. Beside others it is left to itself.
      if (this.#start.concurrency > 1) setTimeout(() => this.#giveUp(run), this.#start.grace);
    }
  };

  #giveUp(run: Run): void {
    if (!this.#pending.has(run)) return;
    this.#end(run, TaskStatus.REJECTED, run.stopReason());
  }

  /** Runs tasks until the pool stops. */
  async work(): Promise<void> {
    const { core } = this.#space;
    const { concurrency } = this.#start;
    let before = clock();
    let lastTurn = before;
    let idleSteps = 0;
    const contests = this.#start.pool + P.lock + Lock.contests;
    let contested = this.#space.load(contests);
    for (;;) {
      let task: number = Next.NONE;
      const takesAny = !this.#leaving && this.#pending.size < concurrency;
      if ((this.#undelivered.length > 0 || !takesAny) && !this.#deliverAll()) {
        before = await this.#lockLater();
        continue;
      }
      if (!takesAny) {
        if (this.#leaving && this.#pending.size === 0) return;
        task = this.#help(); // what it still has may wait for tasks that nobody else can take
      } else {
        if (this.#alone !== undefined) this.#hold(this.#alone);
        // Where that one is named, no other can be taken.
        task = this.#alone !== undefined ? Next.RETRY : core.plait_task_next(this.#finished, this.#busy) >>> 0;
        if (task === Next.RETRY) {
          before = await this.#lockLater();
          continue;
        }
        this.#finished = 0;
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
        if (this.#finished === task) {
          this.#note(task, started, now);
          this.#busy = (now - started) * 1000;
        }
        if (now - lastTurn < TURN_AFTER_MS) continue;
        this.#deliverFinished(); // no caller waits for what the user's code does in the turn
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

  #hold(run: Run): void {
    if (this.#space.core.plait_task_hold() !== 0) return; // a stuck lock: another time
    run.held = true;
    this.#alone = undefined;
    this.#space.u32[(this.#seat + Seat.holding) >>> 2]!++;
  }

  /** This thread's ends of its pool that wait for tasks. */
  #awaited(): Submitter[] {
    return [...this.#shared.ends].filter(({ outstanding }) => outstanding > 0);
  }

  /** Takes a task that a pending one may wait for. */
  #help(): number {
    for (const { client } of this.#awaited()) {
      if (this.#alone !== undefined) this.#hold(this.#alone);
      if (this.#alone !== undefined) return Next.NONE;
      const task = this.#space.core.plait_task_help(client) >>> 0;
      if (task > Next.RETRY) return task;
    }
    return Next.NONE;
  }

  /** False: a stuck lock. */
  #deliver(task: number): boolean {
    return this.#space.core.plait_task_finish(task) !== -Errno.ETIMEDOUT;
  }

  #deliverFinished(): boolean {
    if (this.#finished !== 0 && !this.#deliver(this.#finished)) return false;
    this.#finished = 0;
    return true;
  }

  /** Delivers whatever has ended. What was put aside can be delivered only while slot.running names nothing. */
  #deliverAll(): boolean {
    if (!this.#deliverFinished()) return false;
    if (this.#undelivered.length === 0) return true;
    if (this.#alone !== undefined) this.#hold(this.#alone);
    if (this.#alone !== undefined) return false;
    for (const task of [...this.#undelivered]) {
      if (!this.#deliver(task)) return false;
      this.#undelivered.shift();
    }
    return true;
  }

  /** Runs one task: either it is `#finished` then, or its promise is pending. */
  #begin(task: number, started: number): void {
    this.#space.cover(task + Task.BYTES);
    const { u32 } = this.#space;
    const at = task >>> 2;
    if (u32[at + (Task.control >>> 2)] !== 0) {
      u32[at + (Task.outputStatus >>> 2)] = TaskStatus.STOPPED;
      this.#finished = task;
      return;
    }
    u32[at + (Task.startedMs >>> 2)] = stampOf(started);
    const outerTask = this.#task;
    const outerRun = this.#run;
    const outerBare = this.#bare;
    this.#task = task;
    this.#run = undefined;
    let value: unknown;
    let status: number = TaskStatus.FULFILLED;
    try {
      const call = this.#functions.get(u32[at + (Task.name >>> 2)]!) ?? this.#find(task);
      const input = this.#transport.read(
        u32[at + (Task.inputKind >>> 2)]!,
        u32[at + (Task.inputLow >>> 2)]!,
        u32[at + (Task.inputHigh >>> 2)]!,
      );
      value = this.#context === undefined ? call(input) : this.#context.run(this.#ofTask(), () => call(input));
      const moved = movedParts(value);
      if (moved === undefined && typeof (value as { then?: unknown } | null | undefined)?.then === 'function') {
        this.#await(this.#ofTask(), value as PromiseLike<unknown>);
        return;
      }
    } catch (error) {
      value = error;
      status = TaskStatus.REJECTED;
    }
    this.#outcomes.write(task, status, value);
    const run = this.#run as Run | undefined;
    if (run !== undefined) run.over = true; // a timer that it has left behind still finds it
    this.#finished = task;
    this.#task = outerTask;
    this.#run = outerRun;
    this.#bare = outerBare;
  }

  #await(run: Run, value: PromiseLike<unknown>): void {
    // The user's own `then` may throw, call back at once or twice, or yield another promise: a promise deals with that.
    const promise = Promise.resolve(value);
    if (this.#pending.size === 0) this.#busySince = clock();
    this.#pending.add(run);
    this.#alone = run;
    // Beside others it cannot stay where the next one is taken.
    if (this.#pending.size > 1) this.#hold(run);
    Promise.prototype.then.call(
      promise,
      (result) => this.#end(run, TaskStatus.FULFILLED, result),
      (error) => this.#end(run, TaskStatus.REJECTED, error),
    );
  }

  /** A pending task has ended, or is given up. */
  #end(run: Run, status: number, value: unknown): void {
    if (!this.#pending.delete(run)) {
      freeGiven(value);
      return;
    }
    const task = run.ref;
    this.#outcomes.write(task, status, value);
    run.over = true;
    const now = clock();
    const started = this.#startOf(task, now);
    this.#note(task, started, now, false);
    if (this.#pending.size === 0 && !this.#isGivenUp(task)) this.#addBusy(now - this.#busySince);
    if (run.held) {
      if (!this.#isGivenUp(task)) this.#space.u32[(this.#seat + Seat.holding) >>> 2]!--;
      this.#undelivered.push(task);
      this.#deliverAll();
    } else {
      this.#alone = undefined;
      this.#finished = task;
      this.#busy = (now - started) * 1000;
    }
    if (this.#bare === run) this.#bare = undefined;
    if (this.#task === task) this.#awaitAnother();
    this.#wake();
  }

  /** What a task has that goes on after one that ran on top of it, where no context tells. */
  #awaitAnother(): void {
    const rest = [...this.#pending];
    this.#run = this.#start.concurrency === 1 || rest.length === 1 ? rest.at(-1) : undefined;
    this.#task = this.#run?.ref ?? 0;
  }

  #startOf(task: number, now: number): number {
    const stamp = this.#space.u32[(task + Task.startedMs) >>> 2]!;
    const elapsed = (stampOf(now) - stamp) >>> 0;
    return now - elapsed;
  }

  /** Counts a task that has ended. */
  #note(task: number, started: number, now: number, isBusy = true): void {
    const { u32, f64 } = this.#space;
    const seat = this.#seat >>> 2;
    const status = u32[(task + Task.outputStatus) >>> 2]!;
    if (status === TaskStatus.STOPPED || this.#isGivenUp(task)) return;
    u32[seat + (status === TaskStatus.FULFILLED ? Seat.completed >>> 2 : Seat.failed >>> 2)]!++;
    const wait = (started - f64[(task + Task.submitted) / 8]!) * 1000;
    const run = (now - started) * 1000;
    u32[seat + (Seat.waits >>> 2) + bucketOf(wait)]!++;
    u32[seat + (Seat.runs >>> 2) + bucketOf(run)]!++;
    if (wait > u32[seat + (Seat.waitMax >>> 2)]!) u32[seat + (Seat.waitMax >>> 2)] = Math.min(wait, 0xffffffff);
    if (run > u32[seat + (Seat.runMax >>> 2)]!) u32[seat + (Seat.runMax >>> 2)] = Math.min(run, 0xffffffff);
    if (isBusy && this.#pending.size === 0) this.#addBusy(now - started);
    const { tasks } = this.#start.recycle;
    this.#done++;
    if (tasks !== 0 && this.#done >= tasks) this.#leave();
  }

  /**
   * The task has ended without this worker, and another may sit on its seat: the counters there are not its own any
   * more.
   */
  #isGivenUp(task: number): boolean {
    return (this.#space.load(task + Task.control) & Stop.GIVEN_UP) !== 0;
  }

  #addBusy(milliseconds: number): void {
    this.#space.f64[(this.#seat + Seat.busy) / 8]! += milliseconds;
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
    f64[(this.#seat + Seat.active) / 8] = host.activeTime();
    f64[(this.#seat + Seat.looked) / 8] = clock();
    u32[(this.#seat + Seat.memoryKib) >>> 2] = used / 1024;
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
