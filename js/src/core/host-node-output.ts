/**
 * Where the output of threads goes, in the thread that starts them.
 *
 * Node pipes it to `process.stdout` and `process.stderr`, and so makes both before it starts the thread: 2 to 3 ms, in a
 * program that has written nothing yet. Here they are made when there is something to write.
 *
 * As with Node's pipes, what a thread writes is dropped once the program has ended its stream. That is heard of by whoever
 * listens when it happens, and leaves no trace afterwards: Node's own streams look whole again then. So one that the program
 * has made before the thread starts is listened to from the start on, any other from its first chunk on.
 *
 * Invariant: once `withLateStreams` has returned, `process` is as it was before.
 */

import type { Writable } from 'node:stream';
import { threadWide } from './thread-wide.ts';

type Name = 'stdout' | 'stderr';
type Getter = () => Writable;

interface StandIn {
  readonly stream: Writable;
  /** Listens to the real one from here on, which is made if it is not there. */
  watch(): void;
}

const DESCRIPTORS = { stdout: 1, stderr: 2 };

/** Whether the program has made its stream, as far as Node tells. A file has no handle; what comes after its end is written. */
function isMade(name: Name): boolean {
  const { _getActiveHandles: handles } = process as { _getActiveHandles?: () => { readonly fd?: unknown }[] };
  return handles?.call(process).some(({ fd }) => fd === DESCRIPTORS[name]) === true;
}

/**
 * As much of a stream as a pipe asks for. Errors are told by the real one, to those that listen there. It is asked for no more
 * than a pipe does, either: a program's own `write` may know of a chunk only. However many threads wait for the real one,
 * one listener does: Node warns of more than ten.
 */
function standInFor(name: Name, make: Getter): StandIn {
  const { EventEmitter } = process.getBuiltinModule('node:events');
  const stream = new EventEmitter() as Writable;
  stream.setMaxListeners(0);
  /** The real ones that we have seen, and whether the program has ended them. */
  const seen = new WeakMap<Writable, boolean>();
  let awaited: Writable | undefined;
  const note = (real: Writable): void => {
    if (seen.has(real)) return;
    seen.set(real, false);
    real.once?.('finish', () => seen.set(real, true));
  };
  stream.write = (...args: unknown[]): boolean => {
    const now: Writable = process[name];
    const real = now === stream ? make() : now;
    note(real);
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
  return { stream, watch: () => note(make()) };
}

const standIns = threadWide('output', () => new Map<Name, StandIn>());

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
      const standIn = standIns.get(name) ?? standInFor(name, descriptor.get.bind(process));
      standIns.set(name, standIn);
      if (isMade(name)) standIn.watch();
      Object.defineProperty(process, name, { value: standIn.stream, configurable: true });
      own.push([name, descriptor]);
    }
    return use();
  } finally {
    for (const [name, descriptor] of own) Object.defineProperty(process, name, descriptor);
  }
}
