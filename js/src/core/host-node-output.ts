/**
 * Where the output of threads goes, in the thread that starts them.
 *
 * Node pipes it to `process.stdout` and `process.stderr`, and so makes both before it starts the thread: 2 to 3 ms, in a
 * program that has written nothing yet. Here they are made when there is something to write.
 *
 * Invariant: once `withLateStreams` has returned, `process` is as it was before.
 */

import type { Writable } from 'node:stream';
import { threadWide } from './thread-wide.ts';

type Name = 'stdout' | 'stderr';
type Getter = () => Writable;

/**
 * As much of a stream as a pipe asks for. Errors are told by the real one, to those that listen there. It is asked for no more
 * than a pipe does, either: a program's own `write` may know of a chunk only. However many threads wait for the real one,
 * one listener does: Node warns of more than ten.
 */
function standInFor(name: Name, make: Getter): Writable {
  const { EventEmitter } = process.getBuiltinModule('node:events');
  const stream = new EventEmitter() as Writable;
  stream.setMaxListeners(0);
  /** The real ones that we have seen, and whether the program has ended them. */
  const seen = new WeakMap<Writable, boolean>();
  let awaited: Writable | undefined;
  stream.write = (...args: unknown[]): boolean => {
    const now: Writable = process[name];
    const real = now === stream ? make() : now;
    if (!seen.has(real)) {
      seen.set(real, false);
      real.once?.('finish', () => seen.set(real, true));
    }
    // A pipe lets go of a stream that is ended, and so what comes is dropped. The process's own streams look whole then.
    if (seen.get(real) || real.writable === false) return true;
    const flows = real.write(...(args as [unknown]));
    if (flows === false && awaited !== real) {
      awaited = real;
      real.once('drain', () => {
        awaited = undefined;
        stream.emit('drain');
      });
    }
    return flows;
  };
  return stream;
}

const standIns = threadWide('output', () => new Map<Name, Writable>());

/**
 * What `use` gives, which starts a thread and finds other streams as the process's own. What it calls of the program's (a
 * getter in `workerData`) may write to them.
 */
export function withLateStreams<T>(use: () => T): T {
  const own: [Name, PropertyDescriptor][] = [];
  try {
    for (const name of ['stdout', 'stderr'] as const) {
      const descriptor = Object.getOwnPropertyDescriptor(process, name);
      // One without a getter has been put there by somebody, and costs nothing.
      if (descriptor?.get === undefined || descriptor.configurable !== true) continue;
      const value = standIns.get(name) ?? standInFor(name, descriptor.get.bind(process));
      standIns.set(name, value);
      Object.defineProperty(process, name, { value, configurable: true });
      own.push([name, descriptor]);
    }
    return use();
  } finally {
    for (const [name, descriptor] of own) Object.defineProperty(process, name, descriptor);
  }
}
