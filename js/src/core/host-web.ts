/** The host interface over a browser's workers. See host.ts; host-web-thread.ts starts them. */

import { WebEvents } from './host-events-web.ts';
import { setTimeout } from './host-timers.ts';
import { mustTransfer } from './host-transferable.ts';
import type { Host } from './host-types.ts';
import { ALIVE, type Hello, LISTENING, LOCK_PREFIX, randomId, runsScript, startThread } from './host-web-thread.ts';
import type { SpaceHandle } from './space.ts';
import { threadWide } from './thread-wide.ts';

/** The global scope of a web worker; TypeScript's "dom" library has only the page's. */
interface WorkerScope {
  postMessage(message: unknown, transfer: Transferable[]): void;
  close(): void;
}

/** The global in which a worker's instructions leave the space for `import 'plait'` in the user's module. */
const scope = globalThis as typeof globalThis & { [inherited]?: SpaceHandle };
const inherited: unique symbol = Symbol.for('plait.space.2') as never;

/** The host interface for browsers. */
export function createWebHost(): Host {
  const isMainThread = typeof document !== 'undefined';
  const self = globalThis as unknown as WorkerScope & EventTarget;
  const identity = threadWide('web host', () => ({ hostId: 0 }));
  let listener: ((message: unknown) => void) | undefined;
  let first: ((message: unknown) => void) | undefined;
  let instructions: Promise<unknown> | undefined;
  const backlog: unknown[] = [];
  const turns: (() => void)[] = [];
  let opened: MessageChannel | undefined;
  /** Opened at the first turn. An old Node is treated as a page, and an open channel would keep it from ending. */
  const channel = {
    get port2(): MessagePort {
      if (opened === undefined) {
        opened = new MessageChannel();
        opened.port1.onmessage = () => turns.shift()?.();
      }
      return opened.port2;
    },
  };

  async function receiveFirst(): Promise<unknown> {
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
      self.postMessage(LISTENING, []);
    })) as Hello;
    runsScript();
    identity.hostId = hello.plaitHostId;
    await new Promise<void>((held) => {
      void navigator.locks.request(LOCK_PREFIX + hello.plaitHostId, () => {
        held();
        return new Promise(() => {}); // as long as the thread exists
      });
    });
    self.postMessage(ALIVE, []);
    return hello.message;
  }

  const web = {
    turnsAreCheap: false,
    threadsSendOutput: false,
    get hostId() {
      identity.hostId ||= randomId();
      return identity.hostId;
    },
    starterId: 0, // unknown
    isMainThread,
    mayBlock: !isMainThread,
    get parallelism() {
      return globalThis.navigator?.hardwareConcurrency || 1; // an old Node is treated as a page, and has none
    },
    inheritedSpace: () => scope[inherited],
    bequeathSpace(handle: SpaceHandle) {
      scope[inherited] = handle;
    },
    onExit: () => {},
    onThreadEnd: () => {},
    watchPort: () => undefined,
    startThread,
    threadsLinger: false,
    environment: () => undefined,
    setEnvironment: () => {},
    firstMessage() {
      instructions ??= receiveFirst();
      return instructions;
    },
    postToStarter: (message: unknown, transfer: readonly unknown[] = []) =>
      self.postMessage(message, [...transfer] as Transferable[]),
    listenToStarter(receive: (message: unknown) => void) {
      listener = receive;
      for (const message of backlog.splice(0)) receive(message);
    },
    divertOutput: () => {}, // the browser shows the output of threads
    writeOutput: () => () => true,
    exitThread: () => self.close(),
    nameProgram: () => {},
    turn: () =>
      new Promise<void>((resolve) => {
        turns.push(resolve);
        channel.port2.postMessage(undefined);
      }),
    nextTurn(listener: () => void) {
      let called = false;
      const call = (): void => {
        if (called) return;
        called = true;
        listener();
      };
      turns.push(call);
      channel.port2.postMessage(undefined);
      setTimeout(call, 0); // in WebKit a worker's channel goes through the page's main thread, which may be blocked
    },
    soon: undefined,
    warn: (message: string, code: string, detail: string) => console.warn(`[${code}] ${message}\n${detail}`),
    later: (milliseconds: number, listener: () => void) => void setTimeout(listener, milliseconds),
    wrapPort(): never {
      throw new TypeError('a browser does not report that the thread behind a port has exited');
    },
    Events: WebEvents as never,
    mustTransfer,
    builtin: () => undefined,
    moduleUrl(name: string | URL) {
      const { protocol, origin, href } = globalThis.location;
      return new URL(name, protocol === 'blob:' ? origin : href).href; // a blob URL cannot be a base
    },
    // biome-ignore lint/security/noGlobalEval: the function is an eval; an indirect call sees only the global scope
    evaluator: () => globalThis.eval,
    importModule: (url: string) => import(/* @vite-ignore */ /* webpackIgnore: true */ url),
    fromBase64: (text: string) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0)),
    bindContext: <F>(call: F) => call,
    keepContext: () => ({ run: <T>(call: () => T): T => call(), release() {} }),
    newContext: () => undefined,
    holdLoop: () => () => {},
    clock: () => performance.timeOrigin + performance.now(), // browsers take both from a monotonic clock
    activeTime: () => 0,
    heapUsed: () => 0,
  };
  return web;
}
