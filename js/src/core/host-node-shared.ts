/** Shared parts of host-node.ts and host-node-threads.ts. */

import type { MessagePort as NodePort } from 'node:worker_threads';
import type { HostPort } from './host-types.ts';
import { threadWide } from './thread-wide.ts';

/** Threads of Plait that this thread has started, and recovers after they have ended. */
export const keptApart: Set<number> = threadWide('threads kept apart', () => new Set<number>());

/** See `threadsLinger` of Host. */
export const threadsLinger: boolean = globalThis.process?.versions?.deno !== undefined;

/** Adapts a port of Node to the host interface. It does not keep the thread alive. */
export function wrapPort(port: NodePort): HostPort {
  const wrapped: HostPort = {
    post: (message) => port.postMessage(message),
    onMessage: undefined,
    onClose: undefined,
  };
  port.on('message', (message) => wrapped.onMessage?.(message));
  port.on('close', () => wrapped.onClose?.());
  port.unref();
  return wrapped;
}
