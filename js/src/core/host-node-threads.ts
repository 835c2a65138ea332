/**
 * Starting threads in Node. See host.ts.
 *
 * Plait's threads run a script that lies in this program as a string: there is no file that a bundler, a packager or a
 * single executable could lose, and one script starts quicker than the thirty modules that it is made of. The script of
 * workers, which start none, is made without this module (tools/thread.js).
 *
 * Invariant: no static import of a `node:` module, as in host-node.ts.
 */

import type { MessagePort as NodePort, Worker as NodeWorker } from 'node:worker_threads';
import type { HostThread, Instead, LentThread, ThreadOptions, ThreadScript } from './host.ts';
import { keptApart, threadsLinger, wrapPort } from './host-node-shared.ts';

/** How a thread's first message travels. */
export interface Hello {
  readonly script: ThreadScript;
  readonly message: unknown;
  /** In a lent thread: its end of the channel to its keeper, and what it does if its starter is blocked. */
  readonly keeper: NodePort | undefined;
  readonly instead: Instead | undefined;
  /** Its other end closes when the thread is gone. */
  readonly life: NodePort | undefined;
}

/** What goes with the first message. */
type Along = Partial<Pick<Hello, 'keeper' | 'instead'>>;

/**
 * What a thread starts with: it hears the first message, and runs the script that is in it. It is a module where Node
 * has to run what `--import` names first, and where loaders are to see a module import the user's; else a script, which
 * Node starts 2 ms sooner, less what Node makes global for such scripts. It awaits nothing at its top level: Node 20
 * aborts if it stops a thread that evaluates such a module.
 */
const ENTRY = `
const { parentPort } = process.getBuiltinModule('node:worker_threads');
const run = ({ instead, ...hello }) => {
  if (instead) {
    const { word, value, patience } = instead;
    Atomics.wait(word, 0, 0, patience);
    if (Atomics.compareExchange(word, 0, 0, value) === 0) hello = { ...instead, life: hello.life };
  }
  const { script } = hello;
  const { runInThisContext } = process.getBuiltinModule('node:vm');
  const runPart = () => runInThisContext(script.part, 'plait-thread-part.js');
  globalThis.plaitBoot = { hello, runPart, importUrl: (url) => import(url) };
  runInThisContext(script.main, 'plait-thread.js');
  delete globalThis.plaitBoot;
};
parentPort.once('message', run);
`;
const moduleOf = (text: string): URL => new URL(`data:text/javascript,${encodeURIComponent(text)}`);
const scriptOf = (text: string): string => `{
for (const name of ['module', 'exports', 'require', '__filename', '__dirname']) delete globalThis[name];
if (process.argv[1] === '[worker eval]') process.argv.splice(1, 1);
${text}}`;

/** Whether threads with these options are to run other modules first, or may have loaders. */
function needsModule({ execArgv, env }: ThreadOptions): boolean {
  const words = [...(execArgv ?? process.execArgv), (env ?? process.env).NODE_OPTIONS ?? ''];
  return words.some((word) => /^-r|--(import|require|(experimental-)?loader)\b/.test(word));
}

/** A thread, and the same as Node has it. */
function start(options: ThreadOptions, script: ThreadScript, along: Along): { thread: HostThread; worker: NodeWorker } {
  const { Worker } = process.getBuiltinModule('node:worker_threads');
  const asScript = !needsModule(options);
  const entry = asScript ? scriptOf(ENTRY) : moduleOf(ENTRY);
  const worker: NodeWorker = new Worker(entry, { ...options, eval: asScript } as never);
  const { MessageChannel } = process.getBuiltinModule('node:worker_threads');
  const life = threadsLinger ? new MessageChannel() : undefined;
  let greeted = false;
  let stopped = false;
  let gone = false;
  const exit = (code: number): void => {
    if (!gone) thread.onExit?.(code);
    gone = true;
  };
  const thread: HostThread = {
    hostId: worker.threadId,
    post(message, transfer = []) {
      if (greeted) worker.postMessage(message, transfer as never);
      else {
        const { keeper, instead } = along;
        const hello: Hello = { script, message, keeper, instead, life: life?.port2 };
        const ports = [keeper, life?.port2].filter((port) => port !== undefined);
        worker.postMessage(hello, [...transfer, ...ports] as never);
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
  // Deno says that of a thread that it has stopped at once, though it goes on while it is busy.
  worker.on('exit', (code) => (life !== undefined && greeted && stopped) || exit(code));
  if (life !== undefined) {
    wrapPort(life.port1).onClose = () => exit(1);
    keptApart.add(worker.threadId);
  }
  return { thread, worker };
}

/** See {@link Host.startThread}. */
export function startThread(options: ThreadOptions, script: ThreadScript): HostThread {
  return start(options, script, {}).thread;
}

/** See {@link Host.lendThread}. */
export function lendThread(options: ThreadOptions, script: ThreadScript): LentThread {
  const along: Along = {};
  const { thread, worker } = start(options, script, along);
  const { MessageChannel } = process.getBuiltinModule('node:worker_threads');
  const { port1, port2 } = new MessageChannel();
  thread.setRef(false); // the keeper says when the process is to stay alive
  keptApart.add(thread.hostId);
  const lentThread: LentThread = {
    thread,
    port: port1,
    begin(message, instead) {
      Object.assign(along, { keeper: port2, instead });
      thread.post(message);
    },
    onRun: undefined,
  };
  worker.on('online', () => lentThread.onRun?.());
  return lentThread;
}

/** See {@link Host.adoptThread}. */
export function adoptThread(hostId: number, port: unknown, terminate: () => void): HostThread {
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
