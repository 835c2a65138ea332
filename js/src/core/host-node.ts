/**
 * The host interface over Node's worker_threads, except for starting threads (host-node-threads.ts). See host.ts.
 *
 * Invariant: no static import of a `node:` module, so that a browser's bundle can contain this file, unused.
 */

import type { MessagePort as NodePort } from 'node:worker_threads';
import { divertOutput, writeOutput } from './host-node-output.ts';
import { keptApart, threadsLinger, wrapPort } from './host-node-shared.ts';
import { type Hello, isEntry, startThread } from './host-node-threads.ts';
import { clearInterval, setInterval, setTimeout } from './host-timers.ts';
import { mustTransfer } from './host-transferable.ts';
import type { EventTargetListener, Host } from './host-types.ts';
import type { SpaceHandle } from './space.ts';
import { threadWide } from './thread-wide.ts';

/** The key under which threads inherit the space. A new layout gets a new key. */
const ENVIRONMENT_KEY = 'plait.space.2';
const STARTER_KEY = 'plait.starter';

/** The property of a user's `workerData` that carries the port to the coordinator. */
export const WATCH_PORT_KEY = 'plaitPort';

/** The value of `plaitBoot` in the script of a thread. */
interface Boot {
  readonly hello: Omit<Hello, 'script'>;
  importUrl(url: string): Promise<unknown>;
}

declare const plaitBoot: Boot | undefined;

const NO_THREAD = 'this script runs only in a thread that Plait started';

/** Set only in the script of Plait's threads. */
const boot = typeof plaitBoot === 'undefined' ? undefined : plaitBoot;

/**
 * Threads inherit `--import tsx`, but on Node 20 tsx handles only the main thread. Its function for other threads is
 * beside the loader that the program was started with. It must run first, because an import that failed is not tried
 * again.
 */
async function prepareTypeScript({ importUrl }: Boot): Promise<void> {
  const loader = process.execArgv.find((arg) => /^(--import=)?(tsx|.*[/\\]tsx[/\\]dist[/\\]loader\.mjs)$/.test(arg));
  if (loader === undefined || Number.parseInt(process.versions.node, 10) >= 22) return;
  const { createRequire } = process.getBuiltinModule('node:module');
  const { pathToFileURL } = process.getBuiltinModule('node:url');
  const name = loader.replace(/^--import=/, '');
  const url = /^file:/.test(name) ? name : pathToFileURL(createRequire(`${process.cwd()}/`).resolve(name)).href;
  const { register } = (await importUrl(url.replace(/loader\.mjs$/, 'esm/api/index.mjs'))) as { register(): void };
  register();
}

async function importModule(url: string): Promise<unknown> {
  if (boot === undefined) throw new Error(NO_THREAD);
  if (/\.[cm]?tsx?$/.test(url)) await prepareTypeScript(boot);
  // Not by `require`, although it is faster: Node 24 aborts the process if a thread is stopped within it.
  return boot.importUrl(url);
}

/**
 * Node lets Plait's own script, and everything that it evaluates, import nothing. Code of a CommonJS module may import,
 * relative to the module's path, which need not be a file. Node has no other way without a warning.
 */
function evaluator(url: string): (source: string) => unknown {
  const process = globalThis.process;
  const { Module } = process.getBuiltinModule('node:module') as unknown as { Module: CommonModule };
  const isFile = url.startsWith('file:');
  const place = isFile ? process.getBuiltinModule('node:url').fileURLToPath(url) : `${process.cwd()}/inline`;
  const maker = new Module(place);
  maker._compile('this.evaluate = (source) => (0, eval)(source);', place);
  const { exports: made } = maker;
  return made.evaluate;
}

interface CommonModule {
  new (
    place: string,
  ): { exports: { evaluate(source: string): unknown }; _compile(source: string, place: string): unknown };
}

/** The nearest ancestor of this thread that runs Plait; inherited like the space. */
function starterOf(threads: typeof import('node:worker_threads')): number {
  return threadWide('starter', () => {
    const starter = threads.getEnvironmentData(STARTER_KEY) as number | undefined;
    threads.setEnvironmentData(STARTER_KEY, threads.threadId);
    return starter ?? 0;
  });
}

/** An EventEmitter that can be listened to as an EventTarget, for code that runs in browsers, too. */
function eventsOf(process: NodeJS.Process): Host['Events'] {
  const { EventEmitter } = process.getBuiltinModule('node:events');
  class Events extends EventEmitter {
    /** By name and listener. */
    readonly #wrapped = new Map<string, WeakMap<EventTargetListener, (detail: unknown) => void>>();

    addEventListener(name: string, listener: EventTargetListener | null, options?: { once?: boolean } | boolean): void {
      if (listener === null) return;
      const known = this.#wrapped.get(name) ?? new WeakMap();
      this.#wrapped.set(name, known);
      const call =
        known.get(listener) ??
        ((detail: unknown) => {
          const event = new CustomEvent(name, { detail });
          if (typeof listener === 'function') listener.call(this, event);
          else listener.handleEvent(event);
        });
      known.set(listener, call);
      if (this.listeners(name).includes(call)) return;
      if (typeof options === 'object' && options.once) this.once(name, call);
      else this.on(name, call);
    }

    removeEventListener(name: string, listener: EventTargetListener | null): void {
      const call = listener === null ? undefined : this.#wrapped.get(name)?.get(listener);
      if (call !== undefined) this.off(name, call);
    }

    dispatchEvent(event: Event): boolean {
      this.emit(event.type, (event as CustomEvent).detail);
      return !event.defaultPrevented;
    }
  }
  return Events as never;
}

/** The host interface for Node; undefined elsewhere. */
export function createNodeHost(): Host | undefined {
  const process = globalThis.process;
  if (typeof process?.getBuiltinModule !== 'function') return undefined;
  const threads = process.getBuiltinModule('node:worker_threads');
  // The real one, even if a test replaces it later: see host-timers.ts.
  const { setImmediate: setTurn } = process.getBuiltinModule('node:timers');
  // The first use of `performance` costs a new thread 2 ms, and its clock starts anew in each thread.
  const { hrtime } = process;
  const starter = threads.parentPort;
  const hooks = () => process.getBuiltinModule('node:async_hooks');
  const perf = () => process.getBuiltinModule('node:perf_hooks');
  const v8 = () => process.getBuiltinModule('node:v8');

  return {
    turnsAreCheap: true,
    threadsSendOutput: true,
    hostId: threads.threadId,
    starterId: starterOf(threads),
    isMainThread: threads.isMainThread,
    mayBlock: true,
    get parallelism() {
      return process.getBuiltinModule('node:os').availableParallelism();
    },
    inheritedSpace: () => threads.getEnvironmentData(ENVIRONMENT_KEY) as SpaceHandle | undefined,
    bequeathSpace: (handle) => threads.setEnvironmentData(ENVIRONMENT_KEY, handle as never),
    onExit: (listener) => void process.prependListener('exit', listener),
    onThreadEnd(own, other) {
      if (!threads.isMainThread) process.on('exit', own);
      process.on('worker', (worker) => {
        const id = worker.threadId; // the object has lost it by the time of 'exit'
        const ended = (): void => {
          if (!keptApart.delete(id)) other(id);
        };
        if (typeof worker.once === 'function') worker.once('exit', ended);
        else (worker as unknown as EventTarget).addEventListener('close', ended); // Bun reports web Workers, too
      });
    },
    watchPort() {
      const data = threads.workerData as Record<string, unknown> | null | undefined;
      const port = typeof data === 'object' ? data?.[WATCH_PORT_KEY] : undefined;
      return port instanceof threads.MessagePort ? wrapPort(port) : undefined;
    },
    startThread,
    threadsLinger,
    environment: () => ({ ...process.env }) as Record<string, string>,
    setEnvironment(variables) {
      for (const name of Object.keys(process.env)) if (!(name in variables)) delete process.env[name];
      Object.assign(process.env, variables);
    },
    async firstMessage() {
      if (boot === undefined) throw new Error(NO_THREAD);
      return boot.hello.message;
    },
    postToStarter: (message, transfer = []) => starter?.postMessage(message, transfer as never),
    listenToStarter: (listener) => void starter?.on('message', listener),
    divertOutput,
    writeOutput,
    exitThread: (code) => process.exit(code),
    nameProgram() {
      // A file that exists, as in a single executable. Not the user's module: it would take itself for the program, and
      // one that makes a pool of itself would do so in each worker.
      const [program] = process.argv;
      // Node does not name the entry there if it is a module; Bun and Deno do.
      process.argv.splice(1, isEntry(process.argv[1]) ? 1 : 0, program as string);
    },
    turn: () => new Promise((resolve) => setTurn(resolve)),
    nextTurn: (listener) => void setTurn(listener),
    soon: (listener) => void setTimeout(listener, 1),
    warn: (message, code, detail) => process.emitWarning(message, { type: 'PlaitWarning', code, detail }),
    later: (milliseconds, listener) => void setTimeout(listener, milliseconds).unref(),
    wrapPort: (port) => wrapPort(port as NodePort),
    Events: eventsOf(process),
    mustTransfer,
    builtin: (name) => process.getBuiltinModule(name),
    fromBase64: (text) => new Uint8Array(Buffer.from(text, 'base64')),
    bindContext: (call) => hooks().AsyncResource.bind(call as never) as never,
    keepContext(type) {
      const resource = new (hooks().AsyncResource)(type);
      let isReleased = false;
      return {
        run: (call) => resource.runInAsyncScope(call),
        release() {
          if (!isReleased) resource.emitDestroy(); // once, as Node demands
          isReleased = true;
        },
      };
    },
    newContext: <T>() => new (hooks().AsyncLocalStorage)<T>(),
    holdLoop() {
      const timer = setInterval(() => {}, 2 ** 30);
      return () => clearInterval(timer);
    },
    clock() {
      const [seconds, nanoseconds] = hrtime();
      return seconds * 1000 + nanoseconds / 1e6;
    },
    activeTime: () => perf().performance.eventLoopUtilization().active,
    heapUsed: () => v8().getHeapStatistics().used_heap_size,
    moduleUrl(name) {
      if (typeof name !== 'string') return name.href;
      if (/^(file|data|node):/.test(name)) return name;
      const { resolve } = process.getBuiltinModule('node:path');
      return process.getBuiltinModule('node:url').pathToFileURL(resolve(name)).href;
    },
    evaluator,
    importModule,
  };
}
