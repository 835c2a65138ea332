/**
 * The few assertions that the shared cases need, without Node's modules: the cases run in browsers too.
 */

/** One case of a contract; `skip` says why it does not run here. */
export interface Case {
  readonly name: string;
  readonly run: () => void | Promise<void>;
  readonly skip?: string | false;
}

/** Fails unless the two are the same value. */
export function same(actual: unknown, expected: unknown, what = 'value'): void {
  if (!Object.is(actual, expected)) throw new Error(`${what}: expected ${show(expected)}, got ${show(actual)}`);
}

/** Fails unless the two look alike: same classes, keys and values, to any depth. */
export function alike(actual: unknown, expected: unknown, what = 'value'): void {
  if (Object.is(actual, expected)) return;
  if (typeof actual !== 'object' || typeof expected !== 'object' || actual === null || expected === null) {
    throw new Error(`${what}: expected ${show(expected)}, got ${show(actual)}`);
  }
  same(Object.getPrototypeOf(actual), Object.getPrototypeOf(expected), `${what}, prototype`);
  if (actual instanceof Date) same(actual.getTime(), (expected as Date).getTime(), what);
  if (actual instanceof RegExp) same(String(actual), String(expected), what);
  if (actual instanceof Map || actual instanceof Set) {
    alike([...actual], [...(expected as Iterable<unknown>)], `${what}, entries`);
    return;
  }
  const keys = Object.keys(expected);
  same(Object.keys(actual).join(), keys.join(), `${what}, keys`);
  for (const key of keys) {
    alike((actual as Record<string, unknown>)[key], (expected as Record<string, unknown>)[key], `${what}.${key}`);
  }
}

/** Fails unless the condition holds. */
export function ok(condition: unknown, what: string): asserts condition {
  if (!condition) throw new Error(`does not hold: ${what}`);
}

/** The error that a promise is rejected with. */
export async function rejection(promise: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    return error as Error & Record<string, unknown>;
  }
  throw new Error(`expected a rejection, got ${show(value)}`);
}

/** The error that a call throws. */
export function thrown(call: () => unknown): Error & Record<string, unknown> {
  let value: unknown;
  try {
    value = call();
  } catch (error) {
    return error as Error & Record<string, unknown>;
  }
  throw new Error(`expected an error, got ${show(value)}`);
}

function show(value: unknown): string {
  if (typeof value === 'object' && value !== null) {
    try {
      return JSON.stringify(value);
    } catch {
      return Object.prototype.toString.call(value);
    }
  }
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

/** A small seeded generator (xorshift32) of numbers from 0 up to `limit`, excluded. */
export function random(seed: number): (limit: number) => number {
  let state = seed >>> 0 || 1;
  return (limit) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % limit;
  };
}
