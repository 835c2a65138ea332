/**
 * The entry of the coordinator's thread: starts the first workers of a pool as soon as it is told to, and attaches when
 * one of them is there (coordination.ts). The very first worker boots before it: see coordinator-thread.ts.
 */

import { host } from '../core/host.ts';
import { setTimeout } from '../core/timers.ts';
import { Coordination } from './coordination.ts';
import type { CoordinatorStart, OpenPool, SealedOpen, ToCoordinator } from './protocol.ts';
import { adoptWorker, type StartedThread, startWorker } from './start-worker.ts';

/** How long the rest waits for a worker, at most. */
const PATIENCE_MS = 30;

/** Runs until this thread ends. */
export async function coordinate(start: CoordinatorStart): Promise<void> {
  /** Threads that were started before this one is attached, by pool. */
  const early = new Map<number, StartedThread[]>();
  const backlog: ToCoordinator[] = [];
  let hurry = (): void => {};
  let handleMessage = (message: ToCoordinator): void => {
    if (message.type === 'open')
      early.set(
        message.pool,
        startEarly(start, message, () => hurry()),
      );
    else hurry();
    backlog.push(message);
  };
  const { open } = start;
  if (open !== undefined) handleMessage({ ...open, workerData: host.workerData });
  host.listenToStarter((data) => {
    const message = data as ToCoordinator | SealedOpen;
    handleMessage(message.type === 'sealed' ? (host.openSealed(message.sealed) as OpenPool) : message);
  });

  // The first workers need the processors more than what comes next; nothing of it is due before one of them is there.
  await new Promise<void>((resolve) => {
    hurry = resolve;
    setTimeout(resolve, PATIENCE_MS);
  });

  const coordination = new Coordination(start, early);
  handleMessage = (message) => coordination.handle(message);
  for (const message of backlog.splice(0)) coordination.handle(message);
}

function startEarly(start: CoordinatorStart, open: OpenPool, hurry: () => void): StartedThread[] {
  const threads: StartedThread[] = [];
  const adopted = adoptWorker(open);
  if (adopted !== undefined) {
    // The others follow when it has come to its first word: the first result does not wait for their share of the
    // processors.
    threads.push(adopted);
  } else {
    try {
      for (let seat = 0; seat < open.threads; seat++) threads.push(startWorker(start, open, seat, seat + 1, []));
    } catch {
      // Options that the host refuses: the pool finds out again, and says so.
    }
  }
  for (const started of threads) started.onWord = hurry;
  return threads;
}
