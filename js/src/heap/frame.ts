/**
 * Space on the thread's own stack for structures that the core fills in.
 *
 * Invariant: when a call returns or throws, the stack pointer is as before. Until then the core works below the
 * structure.
 */

import type { Space } from '../core/space.ts';

/** Calls `use` with the reference of `size` bytes. They belong to the caller until `use` returns. */
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
