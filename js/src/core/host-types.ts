/** The host interface: what Plait needs from the program that runs it, the same for Node and browsers. Types only. */

import type { SpaceHandle } from './space.ts';

/** A thread of Plait, as the thread that started it sees it. */
export interface HostThread {
  /** The host's number of the thread, unique in the process or page. The thread's slot contains it. */
  readonly hostId: number;
  /** Sends a message. The first one is the thread's instructions (`firstMessage`). */
  post(message: unknown, transfer?: readonly unknown[]): void;
  /** Stops the thread at once; `onExit` follows, unless `threadsLinger`. */
  terminate(): void;
  /** Sets whether the thread keeps the process alive (Node only). */
  setRef(keepsAlive: boolean): void;
  onMessage: ((message: unknown) => void) | undefined;
  /** Called for an error that the thread did not catch; `onExit` follows. */
  onError: ((error: unknown) => void) | undefined;
  /** Called once, when the thread has certainly exited. */
  onExit: ((code: number) => void) | undefined;
}

/** Options of a thread; the host ignores those that it does not know. */
export interface ThreadOptions {
  readonly name: string;
  readonly workerData?: unknown;
  readonly env?: Record<string, string>;
  readonly argv?: readonly string[];
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

/** A port of a channel to another thread. */
export interface HostPort {
  post(message: unknown): void;
  onMessage: ((message: unknown) => void) | undefined;
  /** Called when the other end is closed, and its thread has exited. Node only. */
  onClose: (() => void) | undefined;
}

/** The identity of this thread, and what it may do. */
export interface ThreadIdentity {
  /** The host's number of this thread; see {@link HostThread.hostId}. */
  readonly hostId: number;
  /** The number of the thread that started this one, which this one does not outlive; 0: none, or unknown. */
  readonly starterId: number;
  readonly isMainThread: boolean;
  /** Whether this thread may sleep in `Atomics.wait` (a page's main thread may not). */
  readonly mayBlock: boolean;
  /** How many threads can run at the same time. */
  readonly parallelism: number;
  /** The space of the thread that started this one, if it has one. */
  inheritedSpace(): SpaceHandle | undefined;
  /** Makes threads that are started from now on inherit the space. */
  bequeathSpace(handle: SpaceHandle): void;
  /** A copy of this thread's environment variables; undefined where there are none. */
  environment(): Record<string, string> | undefined;
  /** Replaces this thread's environment variables, for threads that have their own. */
  setEnvironment(variables: Record<string, string>): void;
  /** The port to the coordinator that the user's code has passed to this thread, if any (see `workerOptions`). */
  watchPort(): HostPort | undefined;
}

/** Starting threads, and notification of their exit. */
export interface Threads {
  /** Starts a thread that runs `script`; in browsers, a file with the same contents, if there is one. */
  startThread(options: ThreadOptions, script: string): HostThread;
  /**
   * Whether a stopped thread may continue as long as it is busy, even forever (Deno). Its `onExit` is called when it
   * has exited, or never.
   */
  readonly threadsLinger: boolean;
  wrapPort(port: unknown): HostPort;
  /**
   * Calls back when this thread or the process is about to end by itself, before the callbacks of {@link onThreadEnd}.
   */
  onExit(listener: () => void): void;
  /**
   * Calls `own` when this thread ends by itself, and `other` when a thread that was started here, by any code, has
   * exited. May be called once.
   */
  onThreadEnd(own: () => void, other: (hostId: number) => void): void;
  /** Whether the output of threads goes to the threads that use them; otherwise the host shows it. */
  readonly threadsSendOutput: boolean;
}

/** For threads that `startThread` has started. */
export interface StartedThread {
  /** The thread's instructions, the same at every call. */
  firstMessage(): Promise<unknown>;
  /** Sends a message to the thread that started this one. */
  postToStarter(message: unknown, transfer?: readonly unknown[]): void;
  /** Receives further messages of that thread, and keeps this one alive for them. */
  listenToStarter(listener: (message: unknown) => void): void;
  /** Ends this thread now. */
  exitThread(code: number): void;
  /**
   * From now on, passes each piece that this thread writes to its standard output (1) or standard error (2) to `take`,
   * before the writing call returns. Pieces that `take` refuses go the host's way. Where the host writes at once, all
   * pieces do.
   */
  divertOutput(take: (descriptor: number, bytes: Uint8Array) => boolean): void;
  /** Makes the thread's arguments name a program, as code expects, instead of Plait's own script. */
  nameProgram(): void;
  /** Imports a module of the user by its URL. */
  importModule(url: string): Promise<unknown>;
  /**
   * Evaluates source in the global scope, like `eval`. Its imports are resolved from `url` in Node, and from this
   * script in browsers.
   */
  evaluator(url: string): (source: string) => unknown;
}

/** Time, turns of the event loop, and asynchronous context. */
export interface EventLoop {
  /** Waits for one turn of the event loop: due timers, messages and I/O run before the promise resolves. */
  turn(): Promise<void>;
  /**
   * Calls back in a later turn of the event loop, in the order of the calls, even while a page's main thread is
   * blocked.
   */
  nextTurn(listener: () => void): void;
  /** Calls back in one or two milliseconds. Undefined where a timer may be much later, as in a hidden page. */
  readonly soon: ((listener: () => void) => void) | undefined;
  /** Calls back after a number of milliseconds. Does not keep the thread alive. */
  later(milliseconds: number, listener: () => void): void;
  /**
   * Keeps this thread's event loop alive until the returned function is called, for threads that nothing else keeps
   * alive.
   */
  holdLoop(): () => void;
  /** The time of the clock that all threads share, in milliseconds with a fraction; see clock.ts. */
  clock(): number;
  /**
   * How long this thread's event loop was active, in milliseconds, and the bytes of its JavaScript heap. 0: unknown.
   */
  activeTime(): number;
  heapUsed(): number;
  /** Binds a function to the current asynchronous context, so an AsyncLocalStorage has the same value in it. */
  bindContext<F extends (...args: never[]) => unknown>(call: F): F;
  /**
   * Keeps the current asynchronous context for as long as an object of that type lives. Tools that search for what is
   * still open (Jest's `--detectOpenHandles`) show the object, and where it was made, until `release`.
   */
  keepContext(type: string): KeptContext;
  /** A storage whose value follows asynchronous control flow; undefined where the host has none. */
  newContext<T>(): { run<R>(value: T, call: () => R): R; getStore(): T | undefined } | undefined;
  /** Whether a turn is cheap. In a browser it costs up to 4 ms, where timers must replace messages. */
  readonly turnsAreCheap: boolean;
}

/** An asynchronous context that is kept for later. */
export interface KeptContext {
  run<T>(call: () => T): T;
  /** The object that needs it has ended. `run` still works. */
  release(): void;
}

/** A listener as an EventTarget takes it. */
export type EventTargetListener = ((event: CustomEvent) => void) | { handleEvent(event: CustomEvent): void };

/**
 * Events of an object, by name. In Node it is an EventEmitter, in browsers an EventTarget. What a listener throws
 * becomes an uncaught error.
 */
export interface EventBase<Events> {
  /** Adds a listener. Listening does not keep the process alive. */
  on<Name extends keyof Events>(name: Name, listener: (detail: Events[Name]) => void): this;
  /** Adds a listener for the next event of that name. */
  once<Name extends keyof Events>(name: Name, listener: (detail: Events[Name]) => void): this;
  /** Removes a listener. */
  off<Name extends keyof Events>(name: Name, listener: (detail: Events[Name]) => void): this;
  /** The same as `on`. */
  addListener<Name extends keyof Events>(name: Name, listener: (detail: Events[Name]) => void): this;
  /** The same as `off`. */
  removeListener<Name extends keyof Events>(name: Name, listener: (detail: Events[Name]) => void): this;
  /** Removes all listeners, or those of one event. */
  removeAllListeners(name?: keyof Events): this;
  listeners<Name extends keyof Events>(name: Name): ((detail: Events[Name]) => void)[];
  listenerCount(name: keyof Events): number;
  /** The names that have listeners. Not typed by `Events`: an object with more events has to pass as one with fewer. */
  eventNames(): string[];
  /** Calls the listeners. Returns whether there was one. */
  emit<Name extends keyof Events>(name: Name, detail: Events[Name]): boolean;
  /** Adds a listener that receives a CustomEvent; its `detail` is what `on` passes. */
  addEventListener(name: string, listener: EventTargetListener | null, options?: { once?: boolean } | boolean): void;
  removeEventListener(name: string, listener: EventTargetListener | null): void;
  /** Calls the listeners with an event, or with its `detail`. */
  dispatchEvent(event: Event): boolean;
}

/** Features of the host. */
export interface HostModules {
  /** Whether an object can be sent to another thread only by transferring it, as a MessagePort. */
  mustTransfer(value: object): boolean;
  /** The base of classes whose objects have events. */
  readonly Events: new <Events>() => EventBase<Events>;
  /** A built-in module of Node, where available. */
  builtin(name: string): unknown;
  /** Decodes base64. */
  fromBase64(text: string): Uint8Array<ArrayBuffer>;
  /** Resolves a module name, given by the user, to a URL. */
  moduleUrl(name: string | URL): string;
  /**
   * Writes the output of such a thread. The returned function says whether the system has it by now, or whether it was
   * discarded because the stream has ended or has no reader.
   */
  writeOutput(descriptor: number, bytes: Uint8Array<ArrayBuffer>): () => boolean;
  /** Warns the user of the program about a condition that is not an error of the calling code. `code` identifies it. */
  warn(message: string, code: string, detail: string): void;
}

export interface Host extends ThreadIdentity, Threads, StartedThread, EventLoop, HostModules {}
