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
import { Run } from '../task-run.ts';

/** The task that was current before another one began on top of it. */
export type Outer = readonly [task: number, run: Run | undefined, bare: Run | undefined];

const NOTHING: Outer = [0, undefined, undefined];

export class CurrentTask {
  readonly #space: Space;
  #context: ReturnType<typeof host.newContext<Run>>;
  /** The task on the stack, or the awaited one; its Run once it was asked for. */
  #task = 0;
  #run: Run | undefined;
  /** The task that was running when the context was created, and has none. */
  #bare: Run | undefined;

  constructor(space: Space, isShared: boolean) {
    this.#space = space;
    if (isShared) this.#context = host.newContext<Run>();
  }

  /** The run to which the calling code belongs. */
  get run(): Run | undefined {
    return this.#context?.getStore() ?? this.#bare ?? (this.#task === 0 ? undefined : this.ofTask());
  }

  /** The run of the task on the stack. */
  ofTask(): Run {
    this.#run ??= new Run(this.#space, this.#task);
    return this.#run;
  }

  /** The current task may have other tasks run here: from now on a context tells them apart. */
  tellApart(): void {
    if (this.#context !== undefined) return;
    const bare = this.run;
    this.#context = host.newContext<Run>();
    if (this.#context !== undefined) this.#bare = bare;
  }

  /** A task begins, on top of the awaited one. */
  enter(task: number): Outer {
    const isFirst = this.#task === 0 && this.#bare === undefined;
    const outer: Outer = isFirst ? NOTHING : [this.#task, this.#run, this.#bare];
    this.#task = task;
    this.#run = undefined;
    return outer;
  }

  /** Calls the task's function, in the task's context if contexts exist. */
  call(call: (input: unknown) => unknown, input: unknown): unknown {
    return this.#context === undefined ? call(input) : this.#context.run(this.ofTask(), () => call(input));
  }

  /** The task has ended within its call. A timer that it left behind still finds its run. */
  leave([task, run, bare]: Outer): void {
    if (this.#run !== undefined) this.#run.over = true;
    this.#task = task;
    this.#run = run;
    this.#bare = bare;
  }

  /** An awaited task has ended; `awaited` is the only other one, or the one on top of which it ran. */
  ended(ended: Run, awaited: Run | undefined): void {
    if (this.#bare === ended) this.#bare = undefined;
    if (this.#task !== ended.ref) return;
    this.#run = awaited;
    this.#task = awaited?.ref ?? 0;
  }
}
