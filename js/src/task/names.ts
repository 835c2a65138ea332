/**
 * The names of functions, as a thread that submits uses them: blocks that the pool keeps, for all its threads, or, from
 * when it keeps as many as it may, blocks that a task brings along.
 */

import { Name } from '../core/layout.generated.ts';
import { outOfMemory, type Space } from '../core/space.ts';
import { encodeName } from './inline.ts';

export class Names {
  readonly #space: Space;
  readonly #pool: number;
  /** Those that the pool keeps, as far as this thread has used them. */
  readonly #kept = new Map<string, number>();
  /** Likewise, of inline functions: their sources. */
  readonly #sources = new Map<string, number>();
  /** What the pool had no room for. It has less and less, so what is as long is not tried. */
  #refused = Number.POSITIVE_INFINITY;

  constructor(space: Space, pool: number) {
    this.#space = space;
    this.#pool = pool;
  }

  /** The pool's block for a name; 0: it keeps no more. */
  refOf(name: string, inline: boolean): number {
    return (inline ? this.#sources : this.#kept).get(name) ?? this.#intern(name, inline);
  }

  #intern(name: string, inline: boolean): number {
    if (name.length >= this.#refused) return 0;
    const { core } = this.#space;
    const text = encodeName(name, inline);
    const own = this.#written(core.plait_name_create(text.length) >>> 0, text);
    if (own === 0) throw outOfMemory(text.length);
    const ref = core.plait_pool_intern(this.#pool, own) >>> 0;
    if (ref === 0) this.#refused = name.length;
    else (inline ? this.#sources : this.#kept).set(name, ref);
    return ref;
  }

  /** Gives a task that is not submitted yet a name of its own; if that cannot be, there is no task any more. */
  give(task: number, name: string, inline: boolean): void {
    const { core } = this.#space;
    const text = encodeName(name, inline);
    if (this.#written(core.plait_task_name(task, text.length) >>> 0, text) !== 0) return;
    core.plait_task_discard(task);
    throw outOfMemory(text.length);
  }

  #written(ref: number, text: Uint8Array): number {
    if (ref !== 0) this.#space.bytes(ref + Name.BYTES, text.length).set(text);
    return ref;
  }
}
