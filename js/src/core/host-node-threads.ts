/**
 * Starting threads in Node. See host.ts.
 *
 * Plait's threads run a script that this program contains as a string. So there is no file that a bundler, a packager
 * or a single executable could lose. One script also starts faster than its thirty modules.
 *
 * Invariant: no static import of a `node:` module, as in host-node.ts.
 */

import type { MessagePort as NodePort, Worker as NodeWorker } from 'node:worker_threads';
import { keptApart, threadsLinger, wrapPort } from './host-node-shared.ts';
import type { HostThread, ThreadOptions } from './host-types.ts';

/** The form of a thread's first message. */
export interface Hello {
  readonly script: string;
  /** V8's compiled code of the script; undefined in hosts that cache it themselves. */
  readonly code: Uint8Array | undefined;
  readonly message: unknown;
  /** Its other end closes when the thread has exited. */
  readonly life: NodePort | undefined;
}

/**
 * The first code of a thread: it receives the first message, and runs the script in it. It is a module if Node must
 * first run the modules of `--import`, or if loaders must see a module that imports the user's. Otherwise it is a
 * script, which Node starts 2 ms faster; the globals that Node adds for scripts are removed. It has no top-level await:
 * Node 20 aborts if it stops a thread that evaluates such a module.
 */
const ENTRY = `
const { parentPort } = process.getBuiltinModule('node:worker_threads');
const { Script } = process.getBuiltinModule('node:vm');
const run = ({ script, ...hello }) => {
  globalThis.plaitBoot = { hello, importUrl: (url) => import(url) };
  new Script(script, { filename: 'plait-thread.js', cachedData: hello.code }).runInThisContext();
  delete globalThis.plaitBoot;
};
parentPort.once('message', run);
`;
const moduleOf = (text: string): URL => new URL(`data:text/javascript,${encodeURIComponent(text)}`);
const scriptOf = (text: string): string => `{
for (const name of ['module', 'exports', 'require', '__filename', '__dirname']) delete globalThis[name];
${text}}`;

/** Whether the host names a thread's first code so in `process.argv`. */
export function isEntry(argument: string | undefined): boolean {
  return argument === '[worker eval]' || argument === moduleOf(ENTRY).href;
}

declare const plaitBoot: { readonly hello: Hello } | undefined;
let code = typeof plaitBoot === 'undefined' ? undefined : plaitBoot.hello.code;
let isCompiled = typeof plaitBoot !== 'undefined';

/**
 * V8 takes 3 ms to compile the script. The program's thread does it once, while the first thread boots, and passes the
 * result on to all threads.
 */
function codeOf(script: string): Uint8Array | undefined {
  if (isCompiled) return code;
  isCompiled = true;
  try {
    const { Script } = process.getBuiltinModule('node:vm');
    code = new Script(script, { filename: 'plait-thread.js' }).createCachedData();
  } catch {
    // This host has no cache for compiled code.
  }
  return code;
}

/** Whether threads with these options must run other modules first, or may have loaders. */
function needsModule({ execArgv, env }: ThreadOptions): boolean {
  const words = [...(execArgv ?? process.execArgv), (env ?? process.env).NODE_OPTIONS ?? ''];
  return words.some((word) => /^-r|--(import|require|(experimental-)?loader)\b/.test(word));
}

/** See `startThread` of Host. */
export function startThread(options: ThreadOptions, script: string): HostThread {
  const { Worker, MessageChannel } = process.getBuiltinModule('node:worker_threads');
  const asScript = !needsModule(options);
  const entry = asScript ? scriptOf(ENTRY) : moduleOf(ENTRY);
  const worker: NodeWorker = new Worker(entry, { ...options, eval: asScript } as never);
  const life = threadsLinger ? new MessageChannel() : undefined;
  let greeted = false;
  let stopped = false;
  let exited = false;
  const exit = (code: number): void => {
    if (!exited) thread.onExit?.(code);
    exited = true;
  };
  const thread: HostThread = {
    hostId: worker.threadId,
    post(message, transfer = []) {
      if (greeted) worker.postMessage(message, transfer as never);
      else {
        const hello: Hello = { script, code: codeOf(script), message, life: life?.port2 };
        worker.postMessage(hello, (life === undefined ? transfer : [...transfer, life.port2]) as never);
      }
      greeted = true;
    },
    terminate() {
      stopped = true;
      void worker.terminate();
    },
    setRef: (keepsAlive) => (keepsAlive ? worker.ref() : worker.unref()),
    onMessage: undefined,
    onError: undefined,
    onExit: undefined,
  };
  worker.on('message', (message) => thread.onMessage?.(message));
  worker.on('messageerror', (error) => thread.onError?.(error));
  worker.on('error', (error) => thread.onError?.(error));
  // Deno reports the exit of a stopped thread at once, although a busy thread continues.
  worker.on('exit', (code) => (life !== undefined && greeted && stopped) || exit(code));
  if (life !== undefined) wrapPort(life.port1).onClose = () => exit(1);
  keptApart.add(worker.threadId);
  return thread;
}
