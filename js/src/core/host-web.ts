/**
 * The host interface over a browser's workers. See host.ts.
 *
 * Invariant: a thread that startThread() made holds a Web Lock from its first message on, and browsers give it to the
 * next in line when the thread is gone: that is how the end of a thread becomes known here, where workers have no
 * 'exit' event.
 */

import type { Host, HostThread, ThreadOptions } from './host.ts';
import type { SpaceHandle } from './space.ts';

/** What a web worker's global scope offers; TypeScript's "dom" library knows only the page's. */
interface WorkerScope {
  postMessage(message: unknown, transfer: Transferable[]): void;
  close(): void;
}

interface Hello {
  readonly plaitHostId: number;
  readonly message: unknown;
}

const LOCK_PREFIX = 'plait.thread.';
const ALIVE = 'plait.alive';

/** Where a worker's instructions leave the space for `import 'plait'` in the user's module. */
const scope = globalThis as typeof globalThis & { [inherited]?: SpaceHandle };
const inherited: unique symbol = Symbol.for('plait.space.1') as never;

function randomId(): number {
  return (crypto.getRandomValues(new Uint32Array(1))[0]! >>> 1) + 1;
}

function startThread(url: URL, options: ThreadOptions): HostThread {
  const worker = new Worker(url, { type: 'module', name: options.name });
  const hostId = randomId();
  let greeted = false;
  let gone = false;
  const exit = (code: number) => {
    if (gone) return;
    gone = true;
    worker.terminate();
    thread.onExit?.(code);
  };
  const thread: HostThread = {
    hostId,
    post(message, transfer = []) {
      worker.postMessage(greeted ? message : ({ plaitHostId: hostId, message } satisfies Hello), [...transfer]);
      greeted = true;
    },
    terminate() {
      worker.terminate();
      setTimeout(exit, 0, 1);
    },
    setRef: () => {},
    onMessage: undefined,
    onError: undefined,
    onExit: undefined,
  };
  worker.onmessage = ({ data }) => {
    if (data === ALIVE) {
      // Granted when the thread's own hold on the lock ends, with the thread.
      void navigator.locks.request(LOCK_PREFIX + hostId, () => exit(0));
    } else {
      thread.onMessage?.(data);
    }
  };
  worker.onerror = (event) => {
    event.preventDefault();
    thread.onError?.(event.error ?? new Error(event.message || `cannot start ${url.href}`));
    exit(1); // Node ends a thread after an uncaught error; here we do.
  };
  return thread;
}

/** The browser's host. */
export function createWebHost(): Host {
  const isMainThread = typeof document !== 'undefined';
  const self = globalThis as unknown as WorkerScope & EventTarget;
  let listener: ((message: unknown) => void) | undefined;
  let first: ((message: unknown) => void) | undefined;
  const backlog: unknown[] = [];
  const channel = new MessageChannel();
  const turns: (() => void)[] = [];
  channel.port1.onmessage = () => turns.shift()?.();

  const web = {
    kind: 'web' as const,
    hostId: randomId(),
    isMainThread,
    mayBlock: !isMainThread,
    parallelism: navigator.hardwareConcurrency || 1,
    inheritedSpace: () => scope[inherited],
    bequeathSpace(handle: SpaceHandle) {
      scope[inherited] = handle;
    },
    onThreadEnd: () => {},
    watchPort: () => undefined,
    startThread,
    async firstMessage() {
      const hello = (await new Promise<unknown>((resolve) => {
        first = resolve;
        self.addEventListener('message', (event) => {
          const { data } = event as MessageEvent;
          if (first !== undefined) {
            first(data);
            first = undefined;
          } else if (listener !== undefined) listener(data);
          else backlog.push(data);
        });
      })) as Hello;
      web.hostId = hello.plaitHostId;
      await new Promise<void>((held) => {
        void navigator.locks.request(LOCK_PREFIX + hello.plaitHostId, () => {
          held();
          return new Promise(() => {}); // for as long as the thread lives
        });
      });
      self.postMessage(ALIVE, []);
      return hello.message;
    },
    postToStarter: (message: unknown, transfer: readonly Transferable[] = []) =>
      self.postMessage(message, [...transfer]),
    listenToStarter(hear: (message: unknown) => void) {
      listener = hear;
      for (const message of backlog.splice(0)) hear(message);
    },
    exitThread: () => self.close(),
    turn: () =>
      new Promise<void>((resolve) => {
        turns.push(resolve);
        channel.port2.postMessage(undefined);
      }),
    wrapPort(): never {
      throw new TypeError('a browser does not say when the thread behind a port is gone');
    },
    builtin: () => undefined,
    moduleUrl: (name: string | URL) => new URL(name, globalThis.location.href).href,
  };
  return web;
}
