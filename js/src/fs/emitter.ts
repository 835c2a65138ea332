/**
 * Events as Node's streams have them, for places without Node. Listeners are called in the order in which they were added;
 * an 'error' that nobody listens to is thrown from the event loop, so that it is not lost.
 */

import { setTimeout } from '../core/timers.ts';

// biome-ignore lint/suspicious/noExplicitAny: what an event carries depends on its name
type Listener = (...values: any[]) => void;

export class Emitter {
  readonly #listeners = new Map<string, { call: Listener; given: Listener }[]>();

  on(event: string, listener: Listener): this {
    return this.#add(event, listener, listener);
  }

  once(event: string, listener: Listener): this {
    const call: Listener = (...values) => {
      this.off(event, listener);
      listener.apply(this, values);
    };
    return this.#add(event, call, listener);
  }

  #add(event: string, call: Listener, given: Listener): this {
    this.#listeners.set(event, [...(this.#listeners.get(event) ?? []), { call, given }]);
    return this;
  }

  off(event: string, listener: Listener): this {
    const all = this.#listeners.get(event) ?? [];
    const at = all.findLastIndex(({ given }) => given === listener);
    if (at >= 0) this.#listeners.set(event, all.toSpliced(at, 1));
    return this;
  }

  addListener(event: string, listener: Listener): this {
    return this.on(event, listener);
  }

  removeListener(event: string, listener: Listener): this {
    return this.off(event, listener);
  }

  removeAllListeners(event?: string): this {
    if (event === undefined) this.#listeners.clear();
    else this.#listeners.delete(event);
    return this;
  }

  listenerCount(event: string): number {
    return this.#listeners.get(event)?.length ?? 0;
  }

  /** Whether anybody listened. */
  emit(event: string, ...values: unknown[]): boolean {
    const all = this.#listeners.get(event) ?? [];
    if (all.length === 0 && event === 'error') {
      setTimeout(() => {
        throw values[0];
      });
    }
    for (const { call } of all) call.apply(this, values);
    return all.length > 0;
  }
}
