/** What host-node.ts and host-node-threads.ts share. */

import type { MessagePort as NodePort } from 'node:worker_threads';
import type { HostPort } from './host.ts';
import { threadWide } from './thread-wide.ts';

/** The threads that were lent from here: their keepers recover them. */
export const lent: Set<number> = threadWide('lent threads', () => new Set<number>());

/** A port of Node's as one of the host interface. It does not keep the thread alive. */
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
