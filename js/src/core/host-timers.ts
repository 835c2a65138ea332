/**
 * The host's timers, as they were when Plait was loaded, for all that it does in time.
 *
 * Invariant: that does not depend on a clock that a test puts in their place later, or, in Node, that a runner has put
 * in the place of the global ones before (`mock.timers` of node:test, fake timers of other runners): such a clock
 * stands still, and results would wait for it.
 */

type Timers = Pick<typeof globalThis, 'setTimeout' | 'clearTimeout' | 'setInterval' | 'clearInterval'>;

const timers: Timers =
  (globalThis.process?.getBuiltinModule?.('node:timers') as Timers | undefined) ?? (globalThis as Timers);

export const setTimeout: Timers['setTimeout'] = timers.setTimeout;
export const clearTimeout: Timers['clearTimeout'] = timers.clearTimeout;
export const setInterval: Timers['setInterval'] = timers.setInterval;
export const clearInterval: Timers['clearInterval'] = timers.clearInterval;
