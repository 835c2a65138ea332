/**
 * Messages that code in a worker has posted to its parent, on their way to the pool's owner. What was transferred to
 * this thread, such as a MessagePort, is transferred on.
 */

import { host } from '../../core/host.ts';
import type { UserMessage } from '../protocol.ts';

/** Passes a message on to the owner of a pool. One that cannot be cloned once more becomes a warning. */
export function forward(pool: number, value: unknown): void {
  try {
    host.postToStarter({ type: 'message', pool, value } satisfies UserMessage, transferablesIn(value));
  } catch (error) {
    const detail = String((error as Error)?.stack ?? error);
    host.warn('a message of a worker could not be passed on to the owner of its pool', 'PLAIT_MESSAGE_LOST', detail);
  }
}

/** What must be transferred with a value, because it cannot be cloned, each once. */
export function transferablesIn(value: unknown): unknown[] {
  const found = new Set<unknown>();
  const seen = new Set<unknown>();
  const rest = [value];
  while (rest.length > 0) {
    const part = rest.pop();
    if (typeof part !== 'object' || part === null || seen.has(part) || ArrayBuffer.isView(part)) continue;
    seen.add(part);
    if (host.mustTransfer(part)) found.add(part);
    else if (part instanceof Map) rest.push(...part.keys(), ...part.values());
    else if (part instanceof Set || Array.isArray(part)) rest.push(...part);
    else rest.push(...Object.values(part));
  }
  return [...found];
}
