/**
 * Room on the thread's own stack, for structures that the core fills in.
 *
 * Invariant: the stack pointer is as before when a call returns, whatever it throws. The core works below it meanwhile.
 */

import type { Space } from '../core/space.ts';

/** Calls `use` with the reference of `size` bytes that are the caller's until it returns. */
export function withFrame<Result>(space: Space, size: number, use: (frame: number) => Result): Result {
  const stack = space.core.__stack_pointer;
  const top = stack.value;
  const frame = ((top >>> 0) - size) & ~15;
  stack.value = frame;
  try {
    return use(frame >>> 0);
  } finally {
    stack.value = top;
  }
}
