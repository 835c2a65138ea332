/**
 * When asynchronous calls complete. Memory needs no waiting: the work is done at once, and only the completion is
 * later.
 *
 * Invariants
 * - As with node:fs, a program that awaits one call after the other lets its event loop turn, so timers, messages and
 *   signals are served. In Node each call completes in a later turn. In a browser a turn costs up to 4 ms where timers
 *   must replace messages. There a turn is taken only if the last one was `EVERY_MS` ago.
 * - Calls complete in the order in which they were made, each in its own asynchronous context. An exception in one
 *   completion does not prevent the others.
 */

import { clock } from '../core/clock.ts';
import { host } from '../core/host.ts';

const EVERY_MS = 4;

const waiting: (() => void)[] = [];
let turned = 0;

function completeInBrowser(listener: () => void): void {
  if (waiting.length === 0 && clock() - turned < EVERY_MS) {
    queueMicrotask(listener);
    return;
  }
  waiting.push(listener);
  if (waiting.length === 1) host.nextTurn(completeAll);
}

function completeAll(): void {
  turned = clock();
  for (const listener of waiting.splice(0)) queueMicrotask(listener);
}

/** Calls the listener in a later turn or microtask. */
export const completeLater: (listener: () => void) => void = host.turnsAreCheap ? host.nextTurn : completeInBrowser;

/** Performs the action now; the promise settles later. */
export function settle<Result>(action: () => Result): Promise<Result> {
  return new Promise((resolve, reject) => {
    try {
      const result = action();
      completeLater(() => resolve(result));
    } catch (error) {
      completeLater(() => reject(error));
    }
  });
}

/** The same for asynchronous work, which may not have let the event loop turn. */
export async function settleAsync<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } finally {
    await settle(() => {});
  }
}
