/** The pools in a space, of all threads. */

import { POOL_LIMIT } from '../core/layout.generated.ts';
import type { Space } from '../core/space.ts';

/** Whether the pool is in the space. */
export function isPool(space: Space, pool: number): boolean {
  return placeOf(space, pool) !== undefined;
}

/** Whether the space's table of pools is full. */
export function isFullOfPools(space: Space): boolean {
  return placeOf(space, 0) === undefined;
}

function placeOf(space: Space, pool: number): number | undefined {
  const pools = space.core.plait_abi_task_root() >>> 0;
  for (let index = 0; index < POOL_LIMIT; index++) {
    if (space.load(pools + index * 4) === pool) return index;
  }
  return undefined;
}
