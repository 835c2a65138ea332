/**
 * Starting a thread of Plait's own in a browser, and noticing its exit.
 *
 * The script comes from a file if it can: then `fetch('/data')` means in a task what it means in the page, and a policy
 * that forbids `blob:` workers is kept. Where no such file is served (a bundler that leaves it behind, an origin that
 * is not the page's), the page makes it from the string in the bundle. Threads that a thread starts run what it runs.
 *
 * Invariants: a thread holds a Web Lock from its first message on, and browsers give it to the next in line when the
 * thread is gone: that is how its end becomes known here, where workers have no 'exit' event. Nothing is sent to a
 * thread before it has said that it listens, so until then it can be started again, from the string.
 */

import type { HostThread, ThreadOptions } from './host-types.ts';
import { startFromFile } from './host-web-file.ts';

/** How a thread's first message travels. */
export interface Hello {
  readonly plaitHostId: number;
  readonly message: unknown;
}

export const LOCK_PREFIX = 'plait.thread.';
/**
 * A thread's first words: it hears messages from here on. A script that a bundler has split may be slow to come to it.
 */
export const LISTENING = 'plait.listening';
/** It holds its lock. */
export const ALIVE = 'plait.alive';

const NOT_STARTED =
  'the browser does not start it, neither from the file plait-thread.js beside the bundle nor from a blob: URL; see ' +
  '"Bundlers" in the documentation of Plait';

/** Where the script is: in its file, in the string, or (in a thread that runs it) where this thread has it from. */
let source: 'file' | 'string' | 'own' = 'file';
let stringUrl: string | undefined;

/** This thread runs the script. */
export function runsScript(): void {
  source = 'own';
}

export function randomId(): number {
  return (crypto.getRandomValues(new Uint32Array(1))[0]! >>> 1) + 1;
}

/** Whether this thread's script is a module. A bundler may have made it a classic one that loads its parts as such. */
function isModule(): boolean {
  try {
    (globalThis as unknown as { importScripts(): void }).importScripts();
    return false;
  } catch {
    return true;
  }
}

function launch(name: string, script: string): Worker {
  if (source === 'own') return new Worker(location.href, { type: isModule() ? 'module' : 'classic', name });
  if (source === 'file') {
    try {
      return startFromFile();
    } catch {
      source = 'string'; // a file that is not of this page's origin
    }
  }
  stringUrl ??= URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
  return new Worker(stringUrl, { type: 'module', name });
}

export function startThread({ name }: ThreadOptions, script: string): HostThread {
  const hostId = randomId();
  let unsent: { message: unknown; transfer: Transferable[] }[] | undefined = [];
  let greeted = false;
  let from = source;
  let worker: Worker;
  let code = 0;
  let exited = false;
  const watchExit = (): void => {
    // Granted when the thread's own hold on the lock ends, with the thread.
    void navigator.locks.request(LOCK_PREFIX + hostId, () => {
      if (!exited) thread.onExit?.(code);
      exited = true;
    });
  };
  // Chromium lets a terminated worker run on for up to two seconds. Until then it uses its slot and its stack.
  const stop = (): void => {
    code = 1;
    worker.terminate();
    watchExit(); // its message that it holds the lock may still be on its way
  };
  const begin = (): void => {
    worker = launch(name, script);
    from = source;
    worker.onmessage = ({ data }) => {
      if (data === LISTENING) {
        for (const { message, transfer } of unsent ?? []) worker.postMessage(message, transfer);
        unsent = undefined;
      } else if (data === ALIVE) {
        watchExit();
      } else {
        thread.onMessage?.(data);
      }
    };
    worker.onerror = (event) => {
      event.preventDefault();
      if (exited) return;
      const started = unsent === undefined;
      if (!started && from === 'file') {
        source = 'string';
        try {
          return begin();
        } catch {
          // Refused at once, not later: the same.
        }
      }
      thread.onError?.(
        event.error ?? new Error(event.message || (started ? 'an error without a message' : NOT_STARTED)),
      );
      stop(); // Node ends a thread after an uncaught error; here we do.
    };
  };
  const thread: HostThread = {
    hostId,
    post(message, transfer = []) {
      const sent = greeted ? message : ({ plaitHostId: hostId, message } satisfies Hello);
      greeted = true;
      const along = [...transfer] as Transferable[];
      if (unsent === undefined) worker.postMessage(sent, along);
      else unsent.push({ message: sent, transfer: along });
    },
    terminate: stop,
    setRef: () => {},
    onMessage: undefined,
    onError: undefined,
    onExit: undefined,
  };
  begin();
  return thread;
}
