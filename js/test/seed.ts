/**
 * The seed of random tests. PLAIT_SEED sets it (`make test-random` takes a new one each time), and PLAIT_ROUNDS makes
 * the tests longer. Without them every run is the same.
 */

export const seed = Number(process.env.PLAIT_SEED ?? 1);
export const rounds = Number(process.env.PLAIT_ROUNDS ?? 1);
