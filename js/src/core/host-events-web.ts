/**
 * Events of an object in a browser: an EventTarget, with the methods of Node's EventEmitter beside. Those pass a
 * listener the detail; `addEventListener` passes it a CustomEvent that has it.
 *
 * Invariant: it has what EventBase (host-types.ts) says. `#added` holds exactly the listeners that the methods of
 * EventEmitter have added, oldest first.
 */

type Listener = (detail: never) => void;

interface Added {
  readonly name: string;
  readonly listener: Listener;
  readonly wrapped: (event: Event) => void;
}

export class WebEvents extends EventTarget {
  readonly #added: Added[] = [];

  on(name: string, listener: Listener): this {
    return this.#add(name, listener, false);
  }

  once(name: string, listener: Listener): this {
    return this.#add(name, listener, true);
  }

  #add(name: string, listener: Listener, isOnce: boolean): this {
    if (typeof listener !== 'function') throw new TypeError(`a listener must be a function, not ${typeof listener}`);
    const added: Added = {
      name,
      listener,
      wrapped: (event) => {
        if (isOnce) this.#remove(added);
        listener.call(this, (event as CustomEvent).detail as never);
      },
    };
    this.#added.push(added);
    this.addEventListener(name, added.wrapped);
    return this;
  }

  #remove(added: Added): void {
    const at = this.#added.indexOf(added);
    if (at < 0) return;
    this.#added.splice(at, 1);
    this.removeEventListener(added.name, added.wrapped);
  }

  off(name: string, listener: Listener): this {
    const added = this.#added.findLast((one) => one.name === name && one.listener === listener);
    if (added !== undefined) this.#remove(added);
    return this;
  }

  addListener(name: string, listener: Listener): this {
    return this.on(name, listener);
  }

  removeListener(name: string, listener: Listener): this {
    return this.off(name, listener);
  }

  removeAllListeners(name?: string): this {
    for (const added of [...this.#added]) if (name === undefined || added.name === name) this.#remove(added);
    return this;
  }

  listeners(name: string): Listener[] {
    return this.#added.filter((added) => added.name === name).map(({ listener }) => listener);
  }

  listenerCount(name: string): number {
    return this.listeners(name).length;
  }

  eventNames(): string[] {
    return [...new Set(this.#added.map(({ name }) => name))];
  }

  emit(name: string, detail: unknown): boolean {
    const had = this.listenerCount(name) > 0;
    this.dispatchEvent(new CustomEvent(name, { detail }));
    return had;
  }
}
