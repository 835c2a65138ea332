/**
 * The entry of the coordinator's thread: starts the first workers of a pool as soon as it is told to, and loads the rest of
 * itself meanwhile (coordination.ts). A new pool's first result waits for two threads to boot, one after the other, and for
 * nothing else.
 */

import { host } from '../core/host.ts';
import type { CoordinatorStart, OpenPool, ToCoordinator } from './protocol.ts';
import { type StartedThread, startWorker } from './start-worker.ts';

const { space: handle } = (await host.firstMessage()) as CoordinatorStart;

/** How long the rest waits for a worker, at most. */
const PATIENCE_MS = 60;

/** Threads that were started before coordination.ts was there, by pool. */
const early = new Map<number, StartedThread[]>();
const backlog: ToCoordinator[] = [];
let hurry = (): void => {};
let handleMessage = (message: ToCoordinator): void => {
  if (message.type === 'open') early.set(message.pool, startEarly(message));
  else hurry();
  backlog.push(message);
};

function startEarly(open: OpenPool): StartedThread[] {
  const threads: StartedThread[] = [];
  try {
    for (let seat = 0; seat < open.threads; seat++) {
      const started = startWorker(handle, open, seat, seat + 1, []);
      started.onWord = () => hurry();
      threads.push(started);
    }
  } catch {
    // Options that the host refuses: the pool finds out again, and says so.
  }
  return threads;
}

host.listenToStarter((message) => handleMessage(message as ToCoordinator));

// The first workers need the processors more than what comes next; nothing of it is due before one of them is there.
await new Promise<void>((resolve) => {
  hurry = resolve;
  setTimeout(resolve, PATIENCE_MS);
});

const { Coordination } = await import('./coordination.ts');
const coordination = new Coordination(handle, early);
handleMessage = (message) => coordination.handle(message);
for (const message of backlog.splice(0)) coordination.handle(message);
