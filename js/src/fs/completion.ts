/**
 * When asynchronous calls answer. Memory has nothing to wait for: the work is done at once, and only the answer comes
 * later.
 *
 * Invariants
 * - As with node:fs, a program that awaits one call after the other lets its event loop turn: timers, messages and
 *   signals come through. In Node each answer comes in a later turn. A browser's turn is dear, up to 4 ms where timers
 *   have to stand in for messages: there one is taken when the last one is `EVERY_MS` ago.
 * - Answers come in the order in which the calls were made, each in the asynchronous context of its call. What one of
 *   them throws keeps no other from coming.
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

/** Calls back later. */
export const completeLater: (listener: () => void) => void = host.turnsAreCheap ? host.nextTurn : completeInBrowser;

/** Does it now; the promise settles later. */
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

/** The same for work that takes its time, and need not have let the event loop turn meanwhile. */
export async function settleAsync<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } finally {
    await settle(() => {});
  }
}
