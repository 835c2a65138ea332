/**
 * The host's timers, as they were when Plait was loaded, for everything that Plait does with time.
 *
 * Invariant: they do not depend on a clock that a test installs later. In Node they also do not depend on one that a
 * runner has installed as globals before (`mock.timers` of node:test, fake timers of other runners). Such a clock
 * stands still, and results would wait for it.
 */

type Timers = Pick<typeof globalThis, 'setTimeout' | 'clearTimeout' | 'setInterval' | 'clearInterval'>;

const timers: Timers =
  (globalThis.process?.getBuiltinModule?.('node:timers') as Timers | undefined) ?? (globalThis as Timers);

export const setTimeout: Timers['setTimeout'] = timers.setTimeout;
export const clearTimeout: Timers['clearTimeout'] = timers.clearTimeout;
export const setInterval: Timers['setInterval'] = timers.setInterval;
export const clearInterval: Timers['clearInterval'] = timers.clearInterval;
