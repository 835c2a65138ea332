/**
 * Events like those of Node's streams, for hosts without Node. Listeners are called in the order in which they were
 * added. An 'error' without a listener is thrown from the event loop, so that it is not lost.
 */

import { setTimeout } from '../core/host-timers.ts';

// biome-ignore lint/suspicious/noExplicitAny: what an event carries depends on its name
type Listener = (...values: any[]) => void;

type Listeners = Map<string, { call: Listener; given: Listener }[]>;

/**
 * The property that holds the listeners. As with Node's, objects that inherit from an emitter, or wrap it, find them.
 */
const LISTENERS = Symbol('listeners');

function listenersOf(emitter: unknown): Listeners {
  return (emitter as { [LISTENERS]: Listeners })[LISTENERS];
}

function add<Self extends object>(emitter: Self, event: string, call: Listener, given: Listener): Self {
  const listeners = listenersOf(emitter);
  listeners.set(event, [...(listeners.get(event) ?? []), { call, given }]);
  return emitter;
}

/**
 * Throws from the event loop. It ends the program, as a listener's error does in Node, but does not interrupt the
 * caller.
 */
export function throwLater(error: unknown): void {
  setTimeout(() => {
    throw error;
  });
}

export class Emitter {
  constructor() {
    Object.defineProperty(this, LISTENERS, { value: new Map() });
  }

  on(event: string, listener: Listener): this {
    return add(this, event, listener, listener);
  }

  once(event: string, listener: Listener): this {
    const call: Listener = (...values) => {
      this.off(event, listener);
      listener.apply(this, values);
    };
    return add(this, event, call, listener);
  }

  off(event: string, listener: Listener): this {
    const all = listenersOf(this).get(event) ?? [];
    const at = all.findLastIndex(({ given }) => given === listener);
    if (at >= 0) listenersOf(this).set(event, all.toSpliced(at, 1));
    return this;
  }

  addListener(event: string, listener: Listener): this {
    return this.on(event, listener);
  }

  removeListener(event: string, listener: Listener): this {
    return this.off(event, listener);
  }

  removeAllListeners(event?: string): this {
    if (event === undefined) listenersOf(this).clear();
    else listenersOf(this).delete(event);
    return this;
  }

  listenerCount(event: string): number {
    return listenersOf(this).get(event)?.length ?? 0;
  }

  /** Returns whether there was a listener. */
  emit(event: string, ...values: unknown[]): boolean {
    const all = listenersOf(this).get(event) ?? [];
    if (all.length === 0 && event === 'error') throwLater(values[0]);
    for (const { call } of all) call.apply(this, values);
    return all.length > 0;
  }
}
