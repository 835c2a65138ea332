/**
 * Names of functions in a thread that submits. The pool keeps blocks with names for all its threads. When it keeps as
 * many as it may, tasks carry blocks of their own.
 */

import { Name } from '../core/layout.generated.ts';
import { outOfMemory, type Space } from '../core/space.ts';
import { encodeName, type NameForm } from './function-name.ts';

export class Names {
  readonly #space: Space;
  readonly #pool: number;
  /** Names that the pool keeps and this thread has used, by form. */
  readonly #kept: Readonly<Record<NameForm, Map<string, number>>> = {
    export: new Map(),
    module: new Map(),
    source: new Map(),
  };
  /**
   * Length of the shortest name that the pool had no space for. The space only shrinks, so longer names are not tried.
   */
  #refused = Number.POSITIVE_INFINITY;

  constructor(space: Space, pool: number) {
    this.#space = space;
    this.#pool = pool;
  }

  /** The pool's block for a name; 0: the pool does not keep it. */
  refOf(name: string, form: NameForm): number {
    return this.#kept[form].get(name) ?? this.#intern(name, form);
  }

  #intern(name: string, form: NameForm): number {
    if (name.length >= this.#refused) return 0;
    const { core } = this.#space;
    const text = encodeName(name, form);
    const own = this.#written(core.plait_name_create(text.length) >>> 0, text);
    if (own === 0) throw outOfMemory(text.length);
    const ref = core.plait_pool_intern(this.#pool, own) >>> 0;
    if (ref === 0) this.#refused = name.length;
    else this.#kept[form].set(name, ref);
    return ref;
  }

  /** Gives an unsubmitted task a name of its own. Without memory it discards the task and throws. */
  give(task: number, name: string, form: NameForm): void {
    const { core } = this.#space;
    const text = encodeName(name, form);
    if (this.#written(core.plait_task_name(task, text.length) >>> 0, text) !== 0) return;
    core.plait_task_discard(task);
    throw outOfMemory(text.length);
  }

  #written(ref: number, text: Uint8Array): number {
    if (ref !== 0) this.#space.bytes(ref + Name.BYTES, text.length).set(text);
    return ref;
  }
}
