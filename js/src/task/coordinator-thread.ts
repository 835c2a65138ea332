/**
 * The coordinator's thread, as its owner sees it: there from the start, or put off.
 *
 * It is put off where a pool's first worker boots already (start-worker.ts): two threads that boot at once take the
 * processors, and the collector's threads, from each other, and the first result waits for one of them only. So it is
 * started when that worker has said something and had a moment for its first result, or after a while, or as soon as
 * something is asked for that needs it (begin()): anything but a single task, which was submitted before that worker
 * ran.
 *
 * By then the owner may be blocked. So before the first worker's thread touches the user's module, it looks whether the
 * owner's event loop turns; if not, it becomes the coordinator itself, and starts all workers. If it turns and that
 * worker ends before the coordinator is there, the owner settles what it ran (early-death.ts).
 *
 * Invariant: the word at WHO is changed once, from NOBODY, by compare-and-swap: to OWNER by the owner, who has started
 * the coordinator then or will, to LENT by that thread (the host does it: `Instead`). So there is exactly one
 * coordinator. What the owner posts while nobody is, is cloned at once, and heard first by whoever it will be.
 */

import { type HostThread, host, type LentThread } from '../core/host.ts';
import { type CoordinatorStart, LentState, type OpenPool, type SealedOpen } from './protocol.ts';
import { lendWorker } from './start-worker.ts';
import { COORDINATOR_SCRIPT } from './thread-scripts.ts';

/** Words in shared memory; what the second one says is in {@link LentState}. */
const WHO = 0;
const FIRST_WORKER = 1;
const WORDS = 2;
/** Who is the coordinator, or will be. */
const NOBODY = 0;
const OWNER = 1;
const LENT = 2;

/** How long that thread waits for its starter to come round. */
const BLOCKED_MS = 10;
/** How long the first worker is left alone, at most, from when it runs; and from its first word, for a first result. */
const PATIENCE_MS = 40;
const HEAD_START_MS = 3;

export interface CoordinatorListener {
  message(data: unknown): void;
  exit(code: number, cause: unknown): void;
  /** The thread of the first worker has become the coordinator. */
  replaced(): void;
}

export class CoordinatorThread {
  readonly #start: CoordinatorStart;
  readonly #listener: CoordinatorListener;
  readonly #words = new Int32Array(new SharedArrayBuffer(WORDS * 4));
  /** The first worker's word. */
  readonly firstWorker: Int32Array = this.#words.subarray(FIRST_WORKER);
  #thread: HostThread | undefined;
  /** The first worker's thread, while the coordinator is put off. */
  #ahead: LentThread | undefined;
  #sealed: unknown;
  #keepsAlive = false;
  #turned = false;

  /** `first`, `ahead`: the pool for which it is started, and the thread of its first worker, which boots. */
  constructor(
    start: CoordinatorStart,
    listener: CoordinatorListener,
    first: OpenPool | undefined,
    ahead: LentThread | undefined,
  ) {
    this.#start = start;
    this.#listener = listener;
    if (first === undefined || ahead === undefined) {
      this.#launch();
      return;
    }
    // What that thread was started with would be inherited by the workers of later pools.
    const mayReplace = first.env === undefined && first.execArgv === undefined;
    const message: CoordinatorStart = { ...start, open: { ...first, workerData: undefined } };
    const word = this.#words.subarray(WHO);
    const instead = { word, value: LENT, patience: BLOCKED_MS, script: COORDINATOR_SCRIPT, message };
    lendWorker(ahead, start.space, first, this.firstWorker, mayReplace ? instead : undefined);
    this.#ahead = ahead;
    ahead.onRun = () => this.#turns();
    if (!mayReplace) this.begin();
  }

  /** Whether the first worker's thread does not run yet, and the coordinator is put off until it does. */
  get mayWait(): boolean {
    return this.#ahead !== undefined && !this.#turned;
  }

  /** The host's number for the thread, if there is one. */
  get hostId(): number | undefined {
    return this.#thread?.hostId;
  }

  /** The first message, which waits with it: it knows of the first worker. Throws what cannot be cloned. */
  open(message: OpenPool, transfer: readonly unknown[]): void {
    const ahead = this.#ahead;
    if (ahead === undefined || message.lent === undefined) {
      this.post(message, transfer);
      return;
    }
    const sealed = host.sealMessage(message, transfer);
    // A getter in `workerData` may have made another pool meanwhile, for which the coordinator is there.
    if (this.#ahead !== undefined) this.#sealed = sealed;
    else if (this.#thread === ahead.thread) host.dropSealed(sealed);
    else this.#postSealed(sealed);
  }

  #postSealed(sealed: unknown): void {
    this.#thread?.post({ type: 'sealed', sealed } satisfies SealedOpen, [sealed]);
  }

  post(message: unknown, transfer: readonly unknown[] = []): void {
    this.begin();
    this.#thread?.post(message, transfer);
  }

  /** Whether the thread keeps the process alive; while there is none, the first worker's does. */
  setRef(keepsAlive: boolean): void {
    this.#keepsAlive = keepsAlive;
    (this.#thread ?? this.#ahead?.thread)?.setRef(keepsAlive);
  }

  /** It is needed now, if it was put off. */
  begin(): void {
    const ahead = this.#ahead;
    if (ahead === undefined) return;
    this.#ahead = undefined;
    if (this.#decide() === LENT) {
      if (this.#sealed !== undefined) host.dropSealed(this.#sealed);
      this.#listener.replaced();
      this.#listen(ahead.thread);
      return;
    }
    ahead.thread.setRef(false);
    Atomics.notify(this.#words, FIRST_WORKER); // nobody waits for that any more
    try {
      this.#launch();
    } catch (cause) {
      queueMicrotask(() => this.#listener.exit(1, cause)); // as if it had ended at once: who calls wants something else
    }
  }

  /** Who is the coordinator: from now on that is certain. */
  #decide(): number {
    const before = Atomics.compareExchange(this.#words, WHO, NOBODY, OWNER);
    if (before === NOBODY) Atomics.notify(this.#words, WHO);
    return before === NOBODY ? OWNER : before;
  }

  /** The first worker's thread runs, and this one's event loop turns. */
  #turns(): void {
    if (this.#ahead === undefined) return;
    this.#turned = true;
    if (this.#decide() === LENT) {
      this.begin();
      return;
    }
    const said = Atomics.waitAsync(this.#words, FIRST_WORKER, LentState.NEW);
    const word = said.async ? said.value : host.turn();
    void word.then(() => host.later(HEAD_START_MS, () => this.begin()));
    host.later(PATIENCE_MS, () => this.begin());
  }

  #launch(): void {
    const thread = host.startThread({ name: 'plait coordinator' }, COORDINATOR_SCRIPT);
    this.#listen(thread);
    thread.post(this.#start);
    if (this.#sealed !== undefined) this.#postSealed(this.#sealed);
    thread.setRef(this.#keepsAlive);
  }

  #listen(thread: HostThread): void {
    this.#thread = thread;
    let cause: unknown;
    thread.onMessage = (data) => this.#listener.message(data);
    thread.onError = (error) => {
      cause = error;
    };
    thread.onExit = (code) => this.#listener.exit(code, cause);
  }
}
