/**
 * The host's timers, as they were when Plait was loaded, for all that a pool does in time.
 *
 * Invariant: that does not depend on a clock that a test puts in their place later (`mock.timers` of node:test, fake
 * timers of other runners): such a clock stands still, and results would wait for it.
 */

export const setTimeout: typeof globalThis.setTimeout = globalThis.setTimeout;
export const clearTimeout: typeof globalThis.clearTimeout = globalThis.clearTimeout;
export const setInterval: typeof globalThis.setInterval = globalThis.setInterval;
export const clearInterval: typeof globalThis.clearInterval = globalThis.clearInterval;
