/**
 * The host interface over Node's worker_threads. See host.ts.
 *
 * Plait's threads run a script that lies in this program as a string: there is no file that a bundler, a packager or a
 * single executable could lose, and one script starts quicker than the thirty modules that it is made of.
 *
 * Invariant: no static import of a `node:` module, so that the file may lie in a browser's bundle, unused.
 */

import type { MessagePort as NodePort, Worker as NodeWorker } from 'node:worker_threads';
import type { Host, HostPort, HostThread, LentThread, ThreadOptions, ThreadScript } from './host.ts';
import type { SpaceHandle } from './space.ts';
import { threadWide } from './thread-wide.ts';

/** The key under which threads inherit the space; a new layout gets a new key. */
const ENVIRONMENT_KEY = 'plait.space.2';
const STARTER_KEY = 'plait.starter';

/** The property of a user's `workerData` that carries the port to the coordinator. */
export const WATCH_PORT_KEY = 'plaitPort';

/** How long a thread waits for another one before it begins, at most; and how long it lets it go on undisturbed. */
const PATIENCE_MS = 40;
const HEAD_START_MS = 3;

/** How a thread's first message travels. */
interface Hello {
  readonly script: ThreadScript;
  readonly message: unknown;
  /** In a lent thread: its end of the channel to its keeper. */
  readonly keeper: NodePort | undefined;
  /** As in {@link ThreadOptions}. */
  readonly after: Int32Array | undefined;
}

/** What the script of such a thread finds as `plaitBoot`. */
interface Boot {
  readonly hello: Omit<Hello, 'script'>;
  runPart(): unknown;
  importUrl(url: string): Promise<unknown>;
}

/**
 * What a thread starts with: it hears the first message, and runs the script that is in it. It is a module where Node has
 * to run what `--import` names first, and where loaders are to see a module import the user's; else a script, which Node
 * starts 2 ms sooner, less what Node makes global for such scripts. It awaits nothing at its top level: Node 20 aborts if
 * it stops a thread that evaluates such a module.
 */
const ENTRY = `
const { parentPort, receiveMessageOnPort } = process.getBuiltinModule('node:worker_threads');
const run = ({ script, ...hello }) => {
  if (hello.after) {
    Atomics.wait(hello.after, 0, 0, ${PATIENCE_MS});
    Atomics.wait(hello.after, 0, 1, ${HEAD_START_MS});
  }
  const { runInThisContext } = process.getBuiltinModule('node:vm');
  const runPart = () => runInThisContext(script.part, 'plait-thread-part.js');
  globalThis.plaitBoot = { hello, runPart, importUrl: (url) => import(url) };
  runInThisContext(script.main, 'plait-thread.js');
  delete globalThis.plaitBoot;
};
// It was posted before the thread ran, so it lies there already; the event is for hosts that are slower.
const posted = receiveMessageOnPort(parentPort);
if (posted) run(posted.message);
else parentPort.once('message', run);
`;
const moduleEntry = (): URL => new URL(`data:text/javascript,${encodeURIComponent(ENTRY)}`);
const SCRIPT_ENTRY = `{
for (const name of ['module', 'exports', 'require', '__filename', '__dirname']) delete globalThis[name];
if (process.argv[1] === '[worker eval]') process.argv.splice(1, 1);
${ENTRY}}`;

/** Whether threads with these options are to run other modules first, or may have loaders. */
function needsModule({ execArgv, env }: ThreadOptions): boolean {
  const words = [...(execArgv ?? process.execArgv), (env ?? process.env).NODE_OPTIONS ?? ''];
  return words.some((word) => /^-r|--(import|require|(experimental-)?loader)\b/.test(word));
}

declare const plaitBoot: Boot | undefined;

const NO_THREAD = 'this script runs only in a thread that Plait started';

/** Set in the script of Plait's threads alone. */
const boot = typeof plaitBoot === 'undefined' ? undefined : plaitBoot;

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

/** `along`: what goes with the first message. */
function startThread(options: ThreadOptions, script: ThreadScript, along: { keeper?: NodePort } = {}): HostThread {
  const { Worker } = process.getBuiltinModule('node:worker_threads');
  const { after, ...rest } = options;
  const asScript = !needsModule(options);
  const worker: NodeWorker = new Worker(asScript ? SCRIPT_ENTRY : moduleEntry(), { ...rest, eval: asScript } as never);
  let greeted = false;
  const thread: HostThread = {
    hostId: worker.threadId,
    post(message, transfer = []) {
      if (greeted) worker.postMessage(message, transfer as never);
      else {
        const { keeper } = along;
        const hello: Hello = { script, message, keeper, after };
        worker.postMessage(hello, (keeper === undefined ? transfer : [...transfer, keeper]) as never);
      }
      greeted = true;
    },
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

/** The threads that were lent from here: their keepers recover them. */
const lent = threadWide('lent threads', () => new Set<number>());

function lendThread(options: ThreadOptions, script: ThreadScript): LentThread {
  const along: { keeper?: NodePort } = {};
  const thread = startThread(options, script, along);
  const { MessageChannel } = process.getBuiltinModule('node:worker_threads');
  const { port1, port2 } = new MessageChannel();
  along.keeper = port2;
  thread.setRef(false); // the keeper says when the process is to stay alive
  lent.add(thread.hostId);
  return { thread, port: port1 };
}

function adoptThread(hostId: number, port: unknown, terminate: () => void): HostThread {
  const wrapped = wrapPort(port as NodePort);
  const thread: HostThread = {
    hostId,
    post: (message) => wrapped.post(message),
    terminate,
    setRef: () => {},
    onMessage: undefined,
    onError: undefined,
    onExit: undefined,
  };
  wrapped.onMessage = (message) => thread.onMessage?.(message);
  wrapped.onClose = () => thread.onExit?.(0);
  return thread;
}

/**
 * Threads inherit `--import tsx`, but on Node 20 tsx leaves all but the main one alone. Its own function for that is found
 * beside the loader that the program was started with. It must come first: an import that failed is not tried again.
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
  // Not by `require`, though that is quicker: Node 24 aborts the process when a thread is stopped within it.
  return boot.importUrl(url);
}

/** The thread that started this one, if it has Plait, or else the one that started that; known as the space is. */
function starterOf(threads: typeof import('node:worker_threads')): number {
  return threadWide('starter', () => {
    const starter = threads.getEnvironmentData(STARTER_KEY) as number | undefined;
    threads.setEnvironmentData(STARTER_KEY, threads.threadId);
    return starter ?? 0;
  });
}

/** Node's host, or undefined where there is no Node. */
export function createNodeHost(): Host | undefined {
  const process = globalThis.process;
  if (typeof process?.getBuiltinModule !== 'function') return undefined;
  const threads = process.getBuiltinModule('node:worker_threads');
  const timers = process.getBuiltinModule('node:timers');
  const setTimer = timers.setTimeout; // the real one, also where a test has replaced it
  const starter = boot?.hello.keeper ?? threads.parentPort;
  const hooks = () => process.getBuiltinModule('node:async_hooks');
  const perf = () => process.getBuiltinModule('node:perf_hooks');
  const v8 = () => process.getBuiltinModule('node:v8');

  return {
    kind: 'node',
    hostId: threads.threadId,
    starterId: starterOf(threads),
    isMainThread: threads.isMainThread,
    mayBlock: true,
    get parallelism() {
      return process.getBuiltinModule('node:os').availableParallelism();
    },
    inheritedSpace: () => threads.getEnvironmentData(ENVIRONMENT_KEY) as SpaceHandle | undefined,
    bequeathSpace: (handle) => threads.setEnvironmentData(ENVIRONMENT_KEY, handle as never),
    onThreadEnd(own, other) {
      if (!threads.isMainThread) process.on('exit', own);
      process.on('worker', (worker) => {
        const id = worker.threadId; // gone from the object by the time of 'exit'
        worker.once('exit', () => {
          if (!lent.delete(id)) other(id);
        });
      });
    },
    watchPort() {
      const data = threads.workerData as Record<string, unknown> | null | undefined;
      const port = typeof data === 'object' ? data?.[WATCH_PORT_KEY] : undefined;
      return port instanceof threads.MessagePort ? wrapPort(port) : undefined;
    },
    startThread,
    lendThread,
    adoptThread,
    onLastWords(listener) {
      let uncaught: { error: unknown } | undefined;
      process.on('uncaughtExceptionMonitor', (error) => {
        // What the user's own handler catches ends nothing.
        if (process.listenerCount('uncaughtException') > 0 || process.hasUncaughtExceptionCaptureCallback()) return;
        uncaught = { error };
        // Nor does what somebody catches after all: it is no reason for an end that comes later.
        timers.setImmediate(() => {
          uncaught = undefined;
        });
      });
      process.on('exit', (code) => listener(code, uncaught));
    },
    async firstMessage() {
      if (boot === undefined) throw new Error(NO_THREAD);
      return boot.hello.message;
    },
    postToStarter: (message, transfer = []) => starter?.postMessage(message, transfer as never),
    listenToStarter: (listener) => void starter?.on('message', listener),
    exitThread: (code) => process.exit(code),
    turn: () => new Promise((resolve) => timers.setImmediate(resolve)),
    soon: (listener) => void setTimer(listener, 1),
    wrapPort: (port) => wrapPort(port as NodePort),
    builtin: (name) => process.getBuiltinModule(name),
    fromBase64: (text) => new Uint8Array(Buffer.from(text, 'base64')),
    bindContext: (call) => hooks().AsyncResource.bind(call as never) as never,
    newContext: <T>() => new (hooks().AsyncLocalStorage)<T>(),
    holdLoop() {
      const timer = setInterval(() => {}, 2 ** 30);
      return () => clearInterval(timer);
    },
    clockZero() {
      const before = performance.now();
      const [seconds, nanoseconds] = process.hrtime();
      return seconds * 1000 + nanoseconds / 1e6 - (before + performance.now()) / 2;
    },
    activeTime: () => perf().performance.eventLoopUtilization().active,
    heapUsed: () => v8().getHeapStatistics().used_heap_size,
    moduleUrl(name) {
      if (name instanceof URL) return name.href;
      if (/^(file|data|node):/.test(name)) return name;
      const { resolve } = process.getBuiltinModule('node:path');
      return process.getBuiltinModule('node:url').pathToFileURL(resolve(name)).href;
    },
    importModule,
    runPart() {
      if (boot === undefined) throw new Error(NO_THREAD);
      return boot.runPart();
    },
  };
}
