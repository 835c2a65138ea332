/** The event listeners of a pool in one thread. */

export class Listeners<Events extends object> {
  readonly #byName = new Map<keyof Events, Set<(detail: never) => void>>();

  /** @throws {TypeError} if `listener` is no function */
  add<Name extends keyof Events>(name: Name, listener: (detail: Events[Name]) => void): void {
    if (typeof listener !== 'function') throw new TypeError(`a listener must be a function, not ${typeof listener}`);
    let listeners = this.#byName.get(name);
    if (listeners === undefined) {
      listeners = new Set();
      this.#byName.set(name, listeners);
    }
    listeners.add(listener as never);
  }

  remove<Name extends keyof Events>(name: Name, listener: (detail: Events[Name]) => void): void {
    this.#byName.get(name)?.delete(listener as never);
  }

  has(name: keyof Events): boolean {
    return (this.#byName.get(name)?.size ?? 0) > 0;
  }

  /** Calls the present listeners. What they throw becomes an uncaught error. */
  emit<Name extends keyof Events>(name: Name, detail: Events[Name]): void {
    for (const listener of [...(this.#byName.get(name) ?? [])]) {
      try {
        (listener as (detail: Events[Name]) => void)(detail);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
