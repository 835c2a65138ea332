/**
 * One pool as its coordinator sees it: the workers, their deaths, the timeout.
 *
 * A worker is `loading` until it says ready, then takes tasks. One that ends is recovered and, while the pool needs it,
 * replaced. One that ends while loading is not: a module that cannot be loaded would end them all, for ever. When no
 * worker is left that is ready or loading, the pool has failed, and every task gets the reason.
 *
 * Invariant: `#workers` holds exactly the threads that were started and whose end has not been heard.
 */

import { slotOf, threadsOfHost } from '../core/boot.ts';
import { PlaitError } from '../core/errors.ts';
import { type HostThread, host } from '../core/host.ts';
import { Errno, Pool as P, PoolState, Slot, Task, TaskStatus } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';
import type { FromWorker, OpenPool, WorkerStart } from './protocol.ts';
import { Transport } from './transport.ts';
import { ValueWriter } from './value-writer.ts';

interface WorkerRecord {
  readonly thread: HostThread;
  state: 'loading' | 'ready' | 'failed';
  /** Why we stop it, if we do. */
  stopping: 'timeout' | 'force' | undefined;
  /** What it said or threw last. */
  error: unknown;
  hasError: boolean;
  /** For the timeout: the run that was going on at the last look, and when it was first seen. */
  takes: number;
  since: number;
}

/** How often the timeout is looked at: often enough to be at most a fifth late, seldom enough to cost nothing. */
function tickOf(timeout: number): number {
  return Math.min(Math.max(timeout / 5, 1), 50);
}

/** How often a lock whose owner is stuck is asked for again. */
const RETRY_MS = 20;

export class CoordinatedPool {
  readonly #space: Space;
  readonly #options: OpenPool;
  readonly #closed: () => void;
  readonly #workers = new Set<WorkerRecord>();
  readonly #ticker: ReturnType<typeof setInterval> | undefined;
  #closing = false;
  #started = 0;
  #loadError: unknown;

  constructor(space: Space, options: OpenPool, closed: () => void) {
    this.#space = space;
    this.#options = options;
    this.#closed = closed;
    const { timeout, threads } = options;
    if (timeout !== undefined) this.#ticker = setInterval(() => this.#tick(timeout), tickOf(timeout));
    for (let i = 0; i < threads; i++) this.#start();
  }

  #state(): number {
    return this.#space.load(this.#options.pool + P.state);
  }

  #queued(): number {
    const { pool } = this.#options;
    return (this.#space.load(pool + P.tail) - this.#space.load(pool + P.head)) >>> 0;
  }

  #start(): void {
    const { pool, module, workerData, env, execArgv, resourceLimits } = this.#options;
    let thread: HostThread;
    try {
      thread = host.startThread({
        name: `plait worker ${++this.#started}`,
        workerData,
        ...(env && { env }),
        ...(execArgv && { execArgv }),
        ...(resourceLimits && { resourceLimits }),
      });
    } catch (cause) {
      // Options that the host refuses: no worker will ever start.
      const message = `cannot start a worker of ${module}: ${(cause as Error)?.message ?? cause}`;
      const error = new PlaitError('ERR_PLAIT_MODULE_LOAD', message, { cause });
      this.#loadError = new ValueWriter().write(error, 'error').slice();
      if (this.#workers.size === 0) this.#fail();
      return;
    }
    const worker: WorkerRecord = {
      thread,
      state: 'loading',
      stopping: undefined,
      error: undefined,
      hasError: false,
      takes: 0,
      since: 0,
    };
    this.#workers.add(worker);
    thread.onMessage = (data) => {
      const message = data as FromWorker;
      if (message.type === 'ready') {
        worker.state = 'ready';
      } else if (message.type === 'failed') {
        worker.state = 'failed';
        this.#loadError = message.error;
      }
    };
    thread.onError = (error) => {
      worker.error = error;
      worker.hasError = true;
    };
    thread.onExit = (code) => this.#ended(worker, code);
    thread.post({ role: 'worker', space: this.#space.handle, pool, module } satisfies WorkerStart);
  }

  #ended(worker: WorkerRecord, code: number): void {
    this.#recover(worker, code);
    this.#workers.delete(worker);
    if (worker.state === 'loading' && worker.stopping === undefined) {
      worker.state = 'failed';
      this.#loadError = this.#encodeLoadError(worker, code);
    }
    if (this.#needsReplacement(worker)) this.#start();
    else this.#settle(worker);
  }

  #recover(worker: WorkerRecord, code: number): void {
    const { hostId } = worker.thread;
    for (const thread of threadsOfHost(this.#space, hostId)) {
      const task = this.#space.core.plait_abi_recover(thread) >>> 0;
      if (task !== 0) this.#deliver(task, this.#whyDied(worker, code));
    }
    // A thread that is left stands behind a lock whose owner does not move.
    if (threadsOfHost(this.#space, hostId).length > 0) setTimeout(() => this.#recover(worker, code), RETRY_MS);
  }

  #needsReplacement(worker: WorkerRecord): boolean {
    if (worker.state === 'failed') return false;
    const state = this.#state();
    if (state === PoolState.OPEN) return true;
    // Closing: what is queued still wants to be run, by whoever is left.
    return state === PoolState.CLOSING && this.#queued() > 0 && this.#workers.size === 0;
  }

  /** After a death without a replacement: has the pool failed, or is it closed? */
  #settle(worker: WorkerRecord): void {
    if (this.#workers.size > 0) return;
    if (worker.state === 'failed') this.#fail();
    if (this.#closing) {
      clearInterval(this.#ticker);
      this.#closed();
    }
  }

  /** Why a worker's task will never end by itself. */
  #whyDied(worker: WorkerRecord, code: number): PlaitError {
    const { module, timeout } = this.#options;
    if (worker.stopping === 'timeout') {
      return new PlaitError(
        'ERR_PLAIT_TASK_TIMEOUT',
        `the task ran for longer than the pool's timeout of ${timeout} ms`,
      );
    }
    if (worker.stopping === 'force') {
      return new PlaitError('ERR_PLAIT_POOL_CLOSED', 'the pool was closed by force while the task was running');
    }
    const cause = worker.hasError ? { cause: worker.error } : undefined;
    if ((worker.error as { code?: unknown } | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY') {
      return new PlaitError(
        'ERR_PLAIT_WORKER_OUT_OF_MEMORY',
        `a worker of ${module} reached its JavaScript memory limit and ended; see the option resourceLimits`,
        cause,
      );
    }
    const how = worker.hasError ? 'after an error that nothing in it caught' : `with code ${code}`;
    return new PlaitError('ERR_PLAIT_WORKER_DIED', `a worker of ${module} ended ${how} before its task did`, cause);
  }

  /** Delivers a dead worker's task, which this thread has adopted, as an error. */
  #deliver(task: number, error: unknown): void {
    const { core } = this.#space;
    const transport = new Transport(this.#space);
    const size = transport.prepare(error, 'error');
    const place = core.plait_task_output(task, size) >>> 0;
    if (place !== 0) {
      transport.fill(place, size);
      this.#space.cover(task + Task.BYTES);
      const { u32 } = this.#space;
      u32[(task + Task.outputKind) >>> 2] = transport.kind;
      u32[(task + Task.outputLow) >>> 2] = transport.low;
      u32[(task + Task.outputHigh) >>> 2] = transport.high;
      u32[(task + Task.outputStatus) >>> 2] = TaskStatus.REJECTED;
    }
    this.#finish(task);
  }

  #finish(task: number): void {
    if (this.#space.core.plait_task_finish(task) === -Errno.ETIMEDOUT) setTimeout(() => this.#finish(task), RETRY_MS);
  }

  #encodeLoadError(worker: WorkerRecord, code: number): Uint8Array {
    const { module } = this.#options;
    const message = worker.hasError
      ? `cannot load ${module}: ${(worker.error as Error)?.message ?? worker.error}`
      : `cannot load ${module}: the worker ended with code ${code} while loading it`;
    const error = new PlaitError(
      'ERR_PLAIT_MODULE_LOAD',
      message,
      worker.hasError ? { cause: worker.error } : undefined,
    );
    return new ValueWriter().write(error, 'error').slice();
  }

  /** No worker is left: every task of the pool, now and later, gets the reason. */
  #fail(): void {
    const { core } = this.#space;
    const { pool } = this.#options;
    const error = this.#loadError as Uint8Array;
    const block = core.plait_heap_alloc(error.length) >>> 0;
    if (block !== 0) {
      this.#space.bytes(block, error.length).set(error);
      core.plait_pool_set_failure(pool, block, error.length);
    }
    const end = (): void => {
      if (core.plait_pool_end(pool, PoolState.FAILED) === -Errno.ETIMEDOUT) setTimeout(end, RETRY_MS);
    };
    end();
  }

  #tick(timeout: number): void {
    const now = performance.now();
    for (const worker of this.#workers) {
      const [thread] = threadsOfHost(this.#space, worker.thread.hostId);
      if (thread === undefined || worker.stopping !== undefined) continue;
      const slot = slotOf(this.#space, thread);
      const takes = this.#space.load(slot + Slot.takes);
      if (this.#space.load(slot + Slot.running) === 0 || takes !== worker.takes) {
        worker.takes = takes;
        worker.since = now;
      } else if (now - worker.since >= timeout && this.#space.core.plait_worker_condemn(thread, takes) === 1) {
        // From here on it takes no other task: what we stop is the late one, or nothing.
        worker.stopping = 'timeout';
        worker.thread.terminate();
      }
    }
  }

  /** The pool's state has been changed by its owner; ends when the last worker has. */
  close(force: boolean): void {
    this.#closing = true;
    if (force) {
      for (const worker of this.#workers) {
        if (worker.stopping !== undefined) continue;
        worker.stopping = 'force';
        worker.thread.terminate();
      }
    }
    if (this.#workers.size === 0) {
      clearInterval(this.#ticker);
      this.#closed();
    }
  }
}
