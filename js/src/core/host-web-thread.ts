/**
 * Starting a thread of Plait in a browser, and noticing its exit.
 *
 * The script comes from a file, if possible. Then `fetch('/data')` means the same in a task as in the page, and the
 * thread conforms to a policy that forbids `blob:` workers. If no such file is served (because a bundler omits it, or
 * it has another origin than the page), the page makes it from the string in the bundle. A thread starts other threads
 * from its own source.
 *
 * Invariants: a thread holds a Web Lock from its first message on. Browsers grant it to the next request when the
 * thread has exited. This is how the exit is noticed, because workers have no 'exit' event. Nothing is sent to a thread
 * before it has reported that it listens. So until then it can be started again, from the string.
 */

import type { HostThread, ThreadOptions } from './host-types.ts';
import { startFromFile } from './host-web-file.ts';

/** The form of a thread's first message. */
export interface Hello {
  readonly plaitHostId: number;
  readonly message: unknown;
}

export const LOCK_PREFIX = 'plait.thread.';
/**
 * A thread's first message: from now on it receives messages. A script that a bundler has split may send it late.
 */
export const LISTENING = 'plait.listening';
/** The thread's message that it holds its lock. */
export const ALIVE = 'plait.alive';

const NOT_STARTED =
  'the browser does not start it, neither from the file plait-thread.js beside the bundle nor from a blob: URL; see ' +
  '"Bundlers" in the documentation of Plait';

/** The source of the script: its file, the string, or (in a thread of Plait) this thread's own source. */
let source: 'file' | 'string' | 'own' = 'file';
let stringUrl: string | undefined;

/** This thread runs the script. */
export function runsScript(): void {
  source = 'own';
}

export function randomId(): number {
  return (crypto.getRandomValues(new Uint32Array(1))[0]! >>> 1) + 1;
}

/** Whether this thread's script is a module. A bundler may have made it and its parts classic scripts. */
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
      source = 'string'; // the file has another origin than the page
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
    // Granted when the thread exits, which releases its lock.
    void navigator.locks.request(LOCK_PREFIX + hostId, () => {
      if (!exited) thread.onExit?.(code);
      exited = true;
    });
  };
  // In Chromium a terminated worker may run for up to 2 s more, and still use its slot and its stack.
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
          // The file is refused synchronously: start from the string.
        }
      }
      thread.onError?.(
        event.error ?? new Error(event.message || (started ? 'an error without a message' : NOT_STARTED)),
      );
      stop(); // As in Node, an uncaught error ends the thread.
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
