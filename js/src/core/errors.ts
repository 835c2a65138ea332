/**
 * The errors that Plait itself throws.
 *
 * Invariant: every error of ours is a {@link PlaitError} with a `code` from {@link ERROR_CODES}; codes never change
 * their meaning once released, messages may. Misuse (a wrong type or range of an argument) is a plain TypeError or
 * RangeError instead, thrown at once.
 */

import { threadWide } from './thread-wide.ts';

/** All error codes, which are stable. The text says when the error occurs. */
export const ERROR_CODES = {
  ERR_PLAIT_OUT_OF_MEMORY:
    'The space has reached its maximum, or a part that is reserved for other uses; or the host refused more memory.',
  ERR_PLAIT_TOO_MANY_THREADS: 'Every thread slot of the space is taken.',
  ERR_PLAIT_LOCK_TIMEOUT: 'A lock was held for over a second by a thread that is not known to have exited.',
  ERR_PLAIT_CORRUPT: 'A structure in the space breaks its invariant, or a pointer does not name a live block.',
  ERR_PLAIT_INVALID_POINTER: 'A pointer that is not the start of a live block of this heap.',
  ERR_PLAIT_NOT_ISOLATED:
    'The page is not cross-origin isolated, so it has no shared memory. Thrown at the first use, not at the import.',
  ERR_PLAIT_VERSION_MISMATCH: 'Two incompatible versions of Plait met in one process.',
  ERR_PLAIT_CANNOT_SEND: 'A value, or a part of it, cannot be sent to another thread.',
  ERR_PLAIT_BAD_MESSAGE: 'Bytes that should hold an encoded value do not.',
  ERR_PLAIT_MODULE_LOAD: "The pool's module could not be loaded.",
  ERR_PLAIT_NO_SUCH_EXPORT: "The pool's module has no export of that name, or it is not a function.",
  ERR_PLAIT_WORKER_DIED: 'The worker that ran the task ended before the task did.',
  ERR_PLAIT_WORKER_OUT_OF_MEMORY: 'The worker that ran the task reached its JavaScript memory limit.',
  ERR_PLAIT_TASK_TIMEOUT: "The task ran for longer than the pool's timeout; its worker was stopped and replaced.",
  ERR_PLAIT_POOL_CLOSED: 'The pool is closed, or was closed by force before the task ended.',
  ERR_PLAIT_UNSUPPORTED: 'The host lacks a requested feature, or a feature that Plait itself needs.',
  ERR_PLAIT_TAR: 'An archive that is no tar, is damaged or cut short, or would reach out of its target.',
  ERR_PLAIT_QUEUE_FULL: "The pool's queue has reached its limit, maxQueue.",
  ERR_PLAIT_CLOSE_TIMEOUT:
    'A worker did not end although it was stopped; the pool is closed, and its memory is not freed.',
  ERR_PLAIT_CANNOT_BLOCK: 'A synchronous call on a thread that must not block, or on a worker of the same pool.',
  ERR_PLAIT_INLINE_FORBIDDEN: 'An inline function for a pool that was not opened with inline: true.',
  ERR_PLAIT_COORDINATOR_DIED: 'The coordinator thread ended, and its workers with it.',
} as const;

/** A stable error code; see {@link ERROR_CODES}. */
export type PlaitErrorCode = keyof typeof ERROR_CODES;

class OwnError extends Error {
  /** Identifies the error; stable between versions. */
  readonly code: PlaitErrorCode;

  constructor(code: PlaitErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  override get name(): string {
    return 'PlaitError';
  }
}

// Stack traces and listings name the class.
Object.defineProperty(OwnError, 'name', { value: 'PlaitError' });

/** An error of Plait, identified by its `code`. */
export type PlaitError = OwnError;
/** An error of Plait, identified by its `code`. @class */
export const PlaitError: typeof OwnError = threadWide('PlaitError', () => OwnError);

/** The code for a failure with this `cause`: a full space keeps its code, whatever operation failed. */
export function codeFor(cause: unknown, otherwise: PlaitErrorCode): PlaitErrorCode {
  const full: PlaitErrorCode = 'ERR_PLAIT_OUT_OF_MEMORY';
  return (Object(cause) as { code?: unknown }).code === full ? full : otherwise;
}
