/** What Plait needs from the program that runs it, the same in Node and in browsers: types only. */

import type { SpaceHandle } from './space.ts';

/** A thread of Plait's own, as the thread that started it sees it. */
export interface HostThread {
  /** The host's number for the thread, unique in the process or page; the thread's slot carries it. */
  readonly hostId: number;
  /** Sends a message; the thread takes the first one as its instructions (`firstMessage`). */
  post(message: unknown, transfer?: readonly unknown[]): void;
  /** Stops the thread at once; `onExit` follows, unless `threadsLinger`. */
  terminate(): void;
  /** Whether the thread keeps the process alive (Node only). */
  setRef(keepsAlive: boolean): void;
  onMessage: ((message: unknown) => void) | undefined;
  /** An error that nothing in the thread caught; `onExit` follows. */
  onError: ((error: unknown) => void) | undefined;
  /** The thread is gone for certain. Called once. */
  onExit: ((code: number) => void) | undefined;
}

/** How to start a thread; the host ignores what it does not know. */
export interface ThreadOptions {
  readonly name: string;
  readonly workerData?: unknown;
  readonly env?: Record<string, string>;
  readonly execArgv?: readonly string[];
  readonly resourceLimits?: ResourceLimits;
}

/** Limits of a thread's JavaScript memory, in MiB, as Node's `Worker` takes them. */
export interface ResourceLimits {
  maxOldGenerationSizeMb?: number | undefined;
  maxYoungGenerationSizeMb?: number | undefined;
  codeRangeSizeMb?: number | undefined;
  stackSizeMb?: number | undefined;
}

/** A port of a channel whose other end another thread holds. */
export interface HostPort {
  post(message: unknown): void;
  onMessage: ((message: unknown) => void) | undefined;
  /** The other end is gone, and the thread that held it too. Node only. */
  onClose: (() => void) | undefined;
}

/** Which thread this is, and what it may do. */
export interface ThreadIdentity {
  /** The host's number for this thread; see {@link HostThread.hostId}. */
  readonly hostId: number;
  /**
   * The number of a thread that this one does not outlive, because it was started there; 0: there is none, or nobody
   * knows.
   */
  readonly starterId: number;
  readonly isMainThread: boolean;
  /** Whether this thread may sleep in `Atomics.wait` (a page's main thread may not). */
  readonly mayBlock: boolean;
  /** How many threads can run at once here. */
  readonly parallelism: number;
  /** The space that the thread which started this one uses, if it has one. */
  inheritedSpace(): SpaceHandle | undefined;
  /** Lets threads that are started from now on find the space. */
  bequeathSpace(handle: SpaceHandle): void;
  /** A copy of this thread's environment variables; undefined where there are none. */
  environment(): Record<string, string> | undefined;
  /** Makes this thread's environment variables those; for threads that have their own. */
  setEnvironment(variables: Record<string, string>): void;
  /** A port that the user's code handed to this thread for the coordinator, if any (see `workerOptions`). */
  watchPort(): HostPort | undefined;
}

/** Starting threads, and hearing their end. */
export interface Threads {
  /** Starts a thread that runs `script`; in browsers a file with the same, if there is one. */
  startThread(options: ThreadOptions, script: string): HostThread;
  /**
   * Whether a thread that is stopped may go on, for ever, if it is busy (Deno). Its `onExit` comes when it is gone, or
   * never.
   */
  readonly threadsLinger: boolean;
  wrapPort(port: unknown): HostPort;
  /** Calls back when this thread, or the process, is about to end by itself: before those of {@link onThreadEnd}. */
  onExit(listener: () => void): void;
  /**
   * Calls back when this thread ends by itself, and when a thread that was started here, by anyone, has ended. Once.
   */
  onThreadEnd(own: () => void, other: (hostId: number) => void): void;
  /** Whether what threads write comes to the threads that use them; else the host shows it. */
  readonly threadsSendOutput: boolean;
}

/** What a thread that `startThread` started uses. */
export interface StartedThread {
  /** In a thread that `startThread` started: its instructions, at every call. */
  firstMessage(): Promise<unknown>;
  /** In such a thread: sends to the one that started it. */
  postToStarter(message: unknown, transfer?: readonly unknown[]): void;
  /** In such a thread: hears the further messages of that one, and stays alive for them. */
  listenToStarter(listener: (message: unknown) => void): void;
  /** Ends this thread now. */
  exitThread(code: number): void;
  /**
   * From now on, `take` is given each piece that this thread writes to its standard output (1) or standard error (2),
   * before the call returns that wrote it. What `take` refuses goes the host's own way; where that is to write it at
   * once, so does all.
   */
  divertOutput(take: (descriptor: number, bytes: Uint8Array) => boolean): void;
  /** Imports a module of the user by its URL, in a thread that `startThread` started. */
  importModule(url: string): Promise<unknown>;
  /**
   * What evaluates source in the global scope, as `eval` does. What that imports is looked up from `url` in Node; in
   * browsers from this script.
   */
  evaluator(url: string): (source: string) => unknown;
}

/** Time, turns, and what goes along with asynchronous code. */
export interface EventLoop {
  /** One turn of the event loop: timers, messages and I/O that are due run before the promise resolves. */
  turn(): Promise<void>;
  /**
   * Calls back in a later turn of the event loop, in the order of the calls; also while a page's main thread is
   * blocked.
   */
  nextTurn(listener: () => void): void;
  /**
   * Calls back in a millisecond or two. Undefined where a timer may be much later, as in a page that nobody looks at.
   */
  readonly soon: ((listener: () => void) => void) | undefined;
  /** Calls back after so many milliseconds, if the thread lives for as long: this does not keep it alive. */
  later(milliseconds: number, listener: () => void): void;
  /** Keeps this thread's event loop alive until the answer is called; for threads that nothing else keeps. */
  holdLoop(): () => void;
  /** What the clock that all threads share says, in milliseconds with a fraction; see clock.ts. */
  clock(): number;
  /**
   * How much of the time this thread's event loop was active, in milliseconds; bytes of its JavaScript heap. 0:
   * unknown.
   */
  activeTime(): number;
  heapUsed(): number;
  /** A function that runs in the asynchronous context of now: an AsyncLocalStorage has the value that it has here. */
  bindContext<F extends (...args: never[]) => unknown>(call: F): F;
  /** Something that carries a value along with asynchronous control flow; undefined where the host has none. */
  newContext<T>(): { run<R>(value: T, call: () => R): R; getStore(): T | undefined } | undefined;
  /** Whether a turn costs little. In a browser it is up to 4 ms, where timers have to stand in for messages. */
  readonly turnsAreCheap: boolean;
}

/** What the host has of its own. */
export interface HostModules {
  /** A module of Node's own, where there are some. */
  builtin(name: string): unknown;
  /** The bytes that a base64 text stands for. */
  fromBase64(text: string): Uint8Array<ArrayBuffer>;
  /** The URL that a module's name, given by the user, stands for. */
  moduleUrl(name: string | URL): string;
  /**
   * Writes out what such a thread has written. The answer says whether the system has it by now, or it was dropped
   * because the stream has ended, or nobody reads there.
   */
  writeOutput(descriptor: number, bytes: Uint8Array<ArrayBuffer>): () => boolean;
  /** Tells whoever runs the program of something that is no error of the calling code; `code` names the kind of it. */
  warn(message: string, code: string, detail: string): void;
}

export interface Host extends ThreadIdentity, Threads, StartedThread, EventLoop, HostModules {}
