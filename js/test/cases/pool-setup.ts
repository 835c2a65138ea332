/** Opens a pool of the fixtures' tasks for one case, and waits for its events. On any host. */

import { openSpace, Pool, type PoolOptions, type Space } from 'plait';
import { ok } from './check.ts';

export const isNode: boolean =
  typeof (globalThis as { process?: { getBuiltinModule?: unknown } }).process?.getBuiltinModule === 'function';

/** Resolves when `what` holds; a test waits for states, never for times. */
export async function until(what: () => boolean, why = `in vain: ${what}`): Promise<void> {
  const end = performance.now() + 20000;
  while (!what()) {
    ok(performance.now() < end, why);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

const pools = new Set<Pool>();

/** A pool that {@link runCase} ends with the case, if the case does not. */
export function opened(pool: Pool): Pool {
  pools.add(pool);
  return pool;
}

/** Runs a case and ends the pools that it has opened, also after a failed assertion. */
export async function runCase(run: () => void | Promise<void>): Promise<void> {
  try {
    await run();
  } finally {
    const left = [...pools];
    pools.clear();
    await Promise.allSettled(left.map((pool) => pool.close({ force: true })));
  }
}

export type WithPool = (options: PoolOptions, body: (pool: Pool, space: Space) => Promise<void>) => Promise<void>;

/**
 * Gives the body a pool of the module in a space of its own, with so many threads unless the options say; afterwards
 * nothing may be wrong there.
 */
export function poolsOf(tasks: string | URL, threads = 2): WithPool {
  return async (options, body) => {
    const space = openSpace({ maximum: 2 ** 27 });
    const pool = new Pool(tasks, { ...(options.maxThreads === undefined && { threads }), space, ...options });
    try {
      await body(pool, space);
    } finally {
      await pool.close({ force: true });
    }
    space.check();
  };
}

/** Runs a task and resolves when it has begun. */
export async function begun(pool: Pool, name: string, options: object = {}): Promise<{ end: Promise<unknown> }> {
  let end: Promise<unknown> = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    end = pool.run(0, { name, onProgress: () => resolve(), ...options });
    end.catch(reject);
  });
  end.catch(() => {});
  return { end };
}
