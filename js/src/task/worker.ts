/**
 * A worker: a thread that loads the user's module, then takes tasks from the pool's queue until it is told to stop.
 *
 * How it waits: when the queue is empty, it sleeps in the space, for the quickest wake-up: first for a millisecond, because
 * the next task is often near, then, after its event loop has turned, for a little longer. Then it parks in
 * `Atomics.waitAsync`, so that timers and messages of the user's module run.
 *
 * Invariant: a task that was taken is finished (its outcome written, then delivered by the next plait_task_next) before
 * another is taken.
 */

import { commonSpace, Role } from '../core/boot.ts';
import { PlaitError } from '../core/errors.ts';
import { host } from '../core/host.ts';
import { Next, Pool as P, Task, TaskStatus } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';
import { findExport, loadError, loadModule } from './module.ts';
import type { FromWorker, WorkerStart } from './protocol.ts';
import { Transport } from './transport.ts';
import { ValueWriter } from './value-writer.ts';

type TaskFunction = (input: unknown) => unknown;

/** How long an idle worker sleeps with its event loop standing still, before and after a turn of it. */
const FIRST_WAIT_MS = 1;
const SECOND_WAIT_MS = 20;
/** Looks at the queue before the first sleep: some 20 microseconds, about what falling asleep and waking would take. */
const SPINS = 15000;
/** How long a busy worker runs synchronous tasks before its event loop turns. */
const TURN_AFTER_MS = 10;

class Worker {
  readonly #space: Space;
  readonly #pool: number;
  readonly #module: string;
  readonly #namespace: Record<string, unknown>;
  readonly #functions = new Map<number, TaskFunction>();
  readonly #transport: Transport;

  constructor(space: Space, pool: number, module: string, namespace: Record<string, unknown>) {
    this.#space = space;
    this.#pool = pool;
    this.#module = module;
    this.#namespace = namespace;
    this.#transport = new Transport(space);
  }

  /** Runs tasks until the pool stops. */
  async work(): Promise<void> {
    const { core } = this.#space;
    let finished = 0;
    let busy = 0;
    let before = performance.now();
    let lastTurn = before;
    let idleSteps = 0;
    for (;;) {
      const task = core.plait_task_next(finished, busy) >>> 0;
      if (task === Next.STOP) return;
      if (task === Next.RETRY) continue;
      if (task !== Next.NONE) {
        idleSteps = 0;
        const pending = this.#run(task);
        if (pending !== undefined) await pending;
        const now = performance.now();
        busy = (now - before) * 1000;
        before = now;
        finished = task;
        if (now - lastTurn < TURN_AFTER_MS) continue;
        await host.turn();
        lastTurn = performance.now();
      } else {
        finished = 0;
        await this.#idle(idleSteps++);
      }
      before = performance.now();
      // Idling turns the event loop, too: the result of a task that comes now and then does not wait for another turn.
      if (idleSteps > 1) lastTurn = before;
    }
  }

  /** One step of waiting, further from the processor each time. */
  async #idle(step: number): Promise<void> {
    const { core } = this.#space;
    if (step === 0) core.plait_worker_wait(FIRST_WAIT_MS, SPINS);
    else if (step === 1) await host.turn();
    else if (step === 2) core.plait_worker_wait(SECOND_WAIT_MS, 0);
    else await this.#park();
  }

  async #park(): Promise<void> {
    const { core } = this.#space;
    const signal = core.plait_worker_sleep_begin();
    if (signal === 0) return;
    const wait = Atomics.waitAsync(this.#space.i32, (this.#pool + P.signal) >>> 2, signal);
    if (wait.async) await wait.value;
    core.plait_worker_sleep_end();
  }

  /** Runs one task and writes its outcome; a promise if the task's function returned one. */
  #run(task: number): Promise<void> | undefined {
    let value: unknown;
    try {
      this.#space.cover(task + Task.BYTES);
      const { u32 } = this.#space;
      const at = task >>> 2;
      const call = this.#functions.get(u32[at + (Task.name >>> 2)]!) ?? this.#find(u32[at + (Task.name >>> 2)]!);
      const input = this.#transport.read(
        u32[at + (Task.inputKind >>> 2)]!,
        u32[at + (Task.inputLow >>> 2)]!,
        u32[at + (Task.inputHigh >>> 2)]!,
      );
      value = call(input);
    } catch (error) {
      this.#write(task, TaskStatus.REJECTED, error);
      return undefined;
    }
    if (typeof (value as { then?: unknown } | null | undefined)?.then === 'function') return this.#settle(task, value);
    this.#write(task, TaskStatus.FULFILLED, value);
    return undefined;
  }

  async #settle(task: number, value: unknown): Promise<void> {
    try {
      this.#write(task, TaskStatus.FULFILLED, await value);
    } catch (error) {
      this.#write(task, TaskStatus.REJECTED, error);
    }
  }

  #find(nameRef: number): TaskFunction {
    const name = new TextDecoder().decode(this.#space.bytes(nameRef + 8, this.#space.load(nameRef + 4)).slice());
    const found = findExport(this.#namespace, name, this.#module);
    this.#functions.set(nameRef, found);
    return found;
  }

  #write(task: number, status: number, value: unknown): void {
    const transport = this.#transport;
    let size: number;
    try {
      size = transport.prepare(value, status === TaskStatus.FULFILLED ? 'output' : 'error');
    } catch (error) {
      if (!(error instanceof PlaitError)) throw error;
      status = TaskStatus.REJECTED;
      size = transport.prepare(error, 'error');
    }
    if (size >= 0) {
      const place = this.#space.core.plait_task_output(task, size) >>> 0;
      if (place === 0) status = TaskStatus.NO_MEMORY;
      else transport.fill(place, size);
    }
    const { u32 } = this.#space;
    const at = task >>> 2;
    u32[at + (Task.outputKind >>> 2)] = transport.kind;
    u32[at + (Task.outputLow >>> 2)] = transport.low;
    u32[at + (Task.outputHigh >>> 2)] = transport.high;
    u32[at + (Task.outputStatus >>> 2)] = status;
  }
}

function tell(message: FromWorker): void {
  host.postToStarter(message);
}

const start = (await host.firstMessage()) as WorkerStart;
host.bequeathSpace(start.space);
// The space that `import 'plait'` in the user's module gets, too; and from here on this thread is the pool's.
const space = commonSpace(Role.worker, start.pool);
let namespace: Record<string, unknown> | undefined;
try {
  namespace = await loadModule(start.module);
} catch (cause) {
  const error = loadError(start.module, cause);
  tell({ type: 'failed', error: new ValueWriter().write(error, 'error').slice() });
}
if (namespace === undefined) {
  // The message must be on its way before the thread ends.
  await host.turn();
  host.exitThread(1);
} else {
  host.listenToStarter(() => {}); // nothing is said; listening keeps a parked worker alive
  tell({ type: 'ready' });
  await new Worker(space, start.pool, start.module, namespace).work();
  host.exitThread(0);
}
