/**
 * The host interface over Node's worker_threads. See host.ts.
 *
 * Invariant: no static import of a `node:` module, so that the file may lie in a browser's bundle, unused.
 */

import type { MessagePort as NodePort, Worker as NodeWorker } from 'node:worker_threads';
import type { Host, HostPort, HostThread, ThreadOptions } from './host.ts';
import type { SpaceHandle } from './space.ts';

/** The key under which threads inherit the space; a new layout gets a new key. */
const ENVIRONMENT_KEY = 'plait.space.1';

/** The property of a user's `workerData` that carries the port to the coordinator. */
export const WATCH_PORT_KEY = 'plaitPort';

function wrapPort(port: NodePort): HostPort {
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

function wrapWorker(worker: NodeWorker): HostThread {
  const thread: HostThread = {
    hostId: worker.threadId,
    post: (message, transfer = []) => worker.postMessage(message, transfer as never),
    terminate: () => void worker.terminate(),
    setRef: (keepsAlive) => (keepsAlive ? worker.ref() : worker.unref()),
    onMessage: undefined,
    onError: undefined,
    onExit: undefined,
  };
  worker.on('message', (message) => thread.onMessage?.(message));
  worker.on('messageerror', (error) => thread.onError?.(error));
  worker.on('error', (error) => thread.onError?.(error));
  worker.on('exit', (code) => thread.onExit?.(code));
  return thread;
}

/** Node's host, or undefined where there is no Node. */
export function createNodeHost(): Host | undefined {
  const process = globalThis.process;
  if (typeof process?.getBuiltinModule !== 'function') return undefined;
  const threads = process.getBuiltinModule('node:worker_threads');
  const os = process.getBuiltinModule('node:os');
  const url = process.getBuiltinModule('node:url');
  const path = process.getBuiltinModule('node:path');
  const timers = process.getBuiltinModule('node:timers');
  const starter = threads.parentPort;

  return {
    kind: 'node',
    hostId: threads.threadId,
    isMainThread: threads.isMainThread,
    mayBlock: true,
    parallelism: os.availableParallelism(),
    inheritedSpace: () => threads.getEnvironmentData(ENVIRONMENT_KEY) as SpaceHandle | undefined,
    bequeathSpace: (handle) => threads.setEnvironmentData(ENVIRONMENT_KEY, handle as never),
    onThreadEnd(own, other) {
      if (!threads.isMainThread) process.on('exit', own);
      process.on('worker', (worker) => {
        const id = worker.threadId; // gone from the object by the time of 'exit'
        worker.once('exit', () => other(id));
      });
    },
    watchPort() {
      const data = threads.workerData as Record<string, unknown> | null | undefined;
      const port = typeof data === 'object' ? data?.[WATCH_PORT_KEY] : undefined;
      return port instanceof threads.MessagePort ? wrapPort(port) : undefined;
    },
    startThread(entry: URL, options: ThreadOptions) {
      const { name, ...rest } = options;
      return wrapWorker(new threads.Worker(entry, { ...rest, name } as never));
    },
    async firstMessage() {
      if (starter === null) throw new Error('this module runs only in a thread that Plait started');
      // It was posted before the thread ran, so it lies there already; the event is for hosts that are slower.
      const received = threads.receiveMessageOnPort(starter);
      if (received !== undefined) return received.message;
      return new Promise((resolve) => starter.once('message', resolve));
    },
    postToStarter: (message, transfer = []) => starter?.postMessage(message, transfer as never),
    listenToStarter: (listener) => void starter?.on('message', listener),
    exitThread: (code) => process.exit(code),
    turn: () => new Promise((resolve) => timers.setImmediate(resolve)),
    wrapPort: (port) => wrapPort(port as NodePort),
    builtin: (name) => process.getBuiltinModule(name),
    moduleUrl(name) {
      if (name instanceof URL) return name.href;
      if (/^(file|data|node):/.test(name)) return name;
      return url.pathToFileURL(path.resolve(name)).href;
    },
  };
}
