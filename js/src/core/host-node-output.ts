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

/** Hands on what it is given. Errors are told by the real stream, to those that listen there. */
function standInFor(name: Name, make: Getter): Writable {
  const { Writable } = process.getBuiltinModule('node:stream');
  const stream: Writable = new Writable({
    write(chunk, _encoding, done) {
      const now: Writable = process[name];
      const real = now === stream ? make() : now;
      // Nothing more is asked of it than a pipe does: a program's own `write` may know of a chunk only.
      if (real.write(chunk) === false) real.once('drain', () => done());
      else done();
    },
  });
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
