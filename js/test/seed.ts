/**
 * What random tests follow from. PLAIT_SEED sets the seed (`make test-random` takes a new one each time), PLAIT_ROUNDS
 * makes them longer. Without them every run is the same.
 */

export const seed = Number(process.env.PLAIT_SEED ?? 1);
export const rounds = Number(process.env.PLAIT_ROUNDS ?? 1);
