/**
 * The task to which the running code belongs, on a worker.
 *
 * If a worker runs several tasks at a time, the host's asynchronous context identifies them. The context exists from
 * the beginning if the pool allows several tasks. Otherwise it exists from when a task first asks for its pool, because
 * other tasks may then run here while it awaits them.
 *
 * Invariant: without a context, code belongs to the task on this thread's stack, or else to the awaited task.
 */

import { host } from '../../core/host.ts';
import type { Space } from '../../core/space.ts';
import { TaskExecution } from '../task-execution.ts';

/** The task that was current before another one began on top of it. */
export type Outer = readonly [task: number, execution: TaskExecution | undefined, bare: TaskExecution | undefined];

const NOTHING: Outer = [0, undefined, undefined];

export class CurrentTask {
  readonly #space: Space;
  #context: ReturnType<typeof host.newContext<TaskExecution>>;
  /** The task on the stack, or the awaited one; its TaskExecution once that was requested. */
  #task = 0;
  #execution: TaskExecution | undefined;
  /** The task that was running when the context was created, and has none. */
  #bare: TaskExecution | undefined;

  constructor(space: Space, isShared: boolean) {
    this.#space = space;
    if (isShared) this.#context = host.newContext<TaskExecution>();
  }

  /** The execution to which the calling code belongs. */
  get execution(): TaskExecution | undefined {
    return this.#context?.getStore() ?? this.#bare ?? (this.#task === 0 ? undefined : this.ofTask());
  }

  /** The execution of the task on the stack. */
  ofTask(): TaskExecution {
    this.#execution ??= new TaskExecution(this.#space, this.#task);
    return this.#execution;
  }

  /** The current task may have other tasks run here: from now on a context distinguishes them. */
  distinguish(): void {
    if (this.#context !== undefined) return;
    const bare = this.execution;
    this.#context = host.newContext<TaskExecution>();
    if (this.#context !== undefined) this.#bare = bare;
  }

  /** A task begins, on top of the awaited one. */
  enter(task: number): Outer {
    const isFirst = this.#task === 0 && this.#bare === undefined;
    const outer: Outer = isFirst ? NOTHING : [this.#task, this.#execution, this.#bare];
    this.#task = task;
    this.#execution = undefined;
    return outer;
  }

  /** Calls the task's function, in the task's context if contexts exist. */
  call(call: (input: unknown) => unknown, input: unknown): unknown {
    return this.#context === undefined ? call(input) : this.#context.run(this.ofTask(), () => call(input));
  }

  /** The task has ended within its call. A timer that it left behind still finds its execution. */
  leave([task, execution, bare]: Outer): void {
    if (this.#execution !== undefined) this.#execution.over = true;
    this.#task = task;
    this.#execution = execution;
    this.#bare = bare;
  }

  /** An awaited task has ended; `awaited` is the only other one, or the one on top of which it ran. */
  ended(ended: TaskExecution, awaited: TaskExecution | undefined): void {
    if (this.#bare === ended) this.#bare = undefined;
    if (this.#task !== ended.ref) return;
    this.#execution = awaited;
    this.#task = awaited?.ref ?? 0;
  }
}
