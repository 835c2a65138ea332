/**
 * The options of calls, checked and with defaults filled in.
 *
 * Invariant: misuse (an unknown name, a wrong type or range) throws a TypeError or RangeError that names the option.
 */

import { host } from '../core/host.ts';
import { PRIORITY_COUNT } from '../core/layout.generated.ts';
import { isUrl } from '../core/realms.ts';
import type { Space } from '../core/space.ts';
import { nameIn } from './function-name.ts';
import { checkOptions, flag, type KnownOptions, knownOptions, shown, wrongOption } from './option-names.ts';
import { mustBeSignal } from './signals.ts';
import { type SubmitOptions, USUAL_PRIORITY } from './submitter.ts';

/** Options that all calls have. */
export interface CallOptions {
  /** The export of the module to call; default: 'default'. */
  readonly name?: string | undefined;
  /**
   * Another module than the pool's, whose export to call. A worker loads it when it runs the first such task. If it
   * cannot be loaded, the task is rejected with ERR_PLAIT_MODULE_LOAD, and the pool works on.
   *
   * @default the pool's module
   */
  readonly module?: string | URL | undefined;
  /**
   * Lends a `Uint8Array` to the function instead of copying it: the function gets a view of shared memory. It must not
   * use the view after it has returned or its promise has settled.
   */
  readonly lend?: boolean | undefined;
  /**
   * Milliseconds that the task may run, from its start; 0: no limit.
   *
   * @default the pool's `timeout`
   */
  readonly timeout?: number | undefined;
  /**
   * From 3 (runs first) to -3. Tasks of one thread and one priority run in the order in which they were submitted.
   *
   * @default 0
   */
  readonly priority?: number | undefined;
  /**
   * Tasks with the same key run on the same worker, one after the other in the order of submission. When that worker
   * has exited, they run on its replacement.
   */
  readonly affinity?: string | number | undefined;
  /**
   * How often the task is run again if its worker ends before the task does (not if it fails or is stopped); at most
   * 1000.
   *
   * @default the pool's `retries`
   */
  readonly retries?: number | undefined;
  /**
   * Stops the task: its promise is rejected with the signal's reason at once. A queued task is never run. A running one
   * sees `task.aborted` and `task.signal`; if it goes on after the pool's `grace`, its worker is terminated.
   */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `pool.run`. */
export interface RunOptions extends CallOptions {
  /**
   * Gives away the bytes of a view from `heap.bytes()`. Nothing is copied: the function gets a view of them, as if they
   * were lent. They are freed when it has returned or its promise has settled. The caller must not use the view again.
   * If the task cannot be submitted, the view remains the caller's.
   */
  readonly give?: boolean | undefined;
  /** ArrayBuffers of the input that are detached here after they have been sent. */
  readonly transfer?: readonly unknown[] | undefined;
  /** Receives the values that the task passes to `task.progress(value)`, in order, before the promise settles. */
  readonly onProgress?: ((value: never) => void) | undefined;
}

/** Options of `pool.runMany`. */
export interface RunManyOptions extends CallOptions {
  /** Receives the values that the tasks pass to `task.progress(value)`, with the index of the input. */
  readonly onProgress?: ((value: never, index: number) => void) | undefined;
}

/** Options of `pool.map` and `pool.mapSettled`. */
export interface MapOptions extends CallOptions {
  /**
   * Whether results come in the order of the inputs, or as they are ready.
   *
   * @default true
   */
  readonly ordered?: boolean | undefined;
  /**
   * The most inputs under way at once, 1 to 1048576.
   *
   * @default eight for each worker, and at least 256
   */
  readonly concurrency?: number | undefined;
}

/** Options of `pool.broadcast`. */
export interface BroadcastOptions {
  /**
   * Which of the module's exports to call.
   *
   * @default 'default'
   */
  readonly name?: string | undefined;
  /**
   * Another module than the pool's, whose export to call.
   *
   * @default the pool's module
   */
  readonly module?: string | URL | undefined;
  /**
   * Milliseconds that the call may run on each worker, from its start; 0: no limit.
   *
   * @default the pool's `timeout`
   */
  readonly timeout?: number | undefined;
  /**
   * How often it is run again on a worker index whose worker ends meanwhile.
   *
   * @default the pool's `retries`
   */
  readonly retries?: number | undefined;
  /** Stops the calls; the promise is rejected with the signal's reason at once. */
  readonly signal?: AbortSignal | undefined;
  /** Workers that start later make the call too, before their first task; its result is then ignored. */
  readonly later?: boolean | undefined;
}

/** Options of any call that describe a task. */
export interface TaskOptions extends CallOptions {
  readonly transfer?: readonly unknown[] | undefined;
  readonly onProgress?: ((value: never, index: never) => void) | undefined;
}

/** The defaults of a pool for its tasks. */
export interface UsualTask {
  /** Milliseconds; 0: none. */
  readonly timeout: number;
  readonly retries: number;
}

export const MOST_MILLISECONDS: number = 2 ** 31 - 1;
export const MOST_RETRIES = 1000;
const MOST_PRIORITY = (PRIORITY_COUNT - 1) / 2;
const MOST_CONCURRENCY = 2 ** 20;

const CALL = ['name', 'module', 'lend', 'timeout', 'priority', 'affinity', 'retries', 'signal'];
const SINGLE = [...CALL, 'give', 'transfer', 'onProgress'];
const HINTS = {
  transferList: 'it is called transfer',
  abortSignal: 'it is called signal',
  on: 'it is called onProgress',
  filename: 'it is called module',
};
const NOT_SINGLE = 'only calls with a single input have it';
const MANY_HINTS = { ...HINTS, transferList: NOT_SINGLE, transfer: NOT_SINGLE, give: NOT_SINGLE };

type CallName = 'run' | 'parts' | 'runSync' | 'runInline' | 'runMany' | 'map' | 'broadcast' | 'connect';
/** The options that each call takes. */
export const CALLS: Readonly<Record<CallName, KnownOptions>> = {
  run: knownOptions('run()', SINGLE, HINTS),
  parts: knownOptions('parts()', without(SINGLE, 'onProgress'), { ...HINTS, onProgress: 'iterate over the parts' }),
  runSync: knownOptions('runSync()', without(SINGLE, 'signal'), {
    ...HINTS,
    signal: 'a blocked thread receives no signal; use timeout',
  }),
  runInline: knownOptions('runInline()', without(SINGLE, 'name', 'module'), {
    ...HINTS,
    name: 'the function is given itself',
    module: 'the function is given itself',
  }),
  runMany: knownOptions('runMany()', [...CALL, 'onProgress'], MANY_HINTS),
  map: knownOptions('map()', [...CALL, 'ordered', 'concurrency'], {
    ...MANY_HINTS,
    onProgress: 'run(), runMany() and runSync() have it',
  }),
  broadcast: knownOptions('broadcast()', ['name', 'module', 'timeout', 'retries', 'signal', 'later'], HINTS),
  connect: knownOptions('connect()', ['space']),
};

function without(names: readonly string[], ...left: string[]): string[] {
  return names.filter((name) => !left.includes(name));
}

/** Checks that a number is an integer and in its range. `or`: other accepted values, for the message. */
export function wholeNumber(value: unknown, name: string, least: number, most: number, or = ''): number {
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return value as number;
  throw new RangeError(`options.${name} must be ${or}a whole number from ${least} to ${most}, not ${shown(value)}`);
}

/** Throws unless the value is a space. */
export function mustBeSpace(space: unknown): void {
  if (space === undefined || typeof (Object(space) as Partial<Space>).core?.plait_pool_create === 'function') return;
  throw wrongOption('options.space', 'a space, of openSpace() or attach()', space);
}

/**
 * The options that describe how a task is submitted. `known`: the options of the call. `workers`: how many the pool may
 * have.
 */
export function submitOptions(
  options: TaskOptions | undefined,
  known: KnownOptions,
  usual: UsualTask,
  workers: number,
): SubmitOptions {
  const { timeout, retries } = usual;
  if (options === undefined)
    return {
      name: 'default',
      form: 'export',
      lend: false,
      transfer: undefined,
      timeout,
      priority: USUAL_PRIORITY,
      workerIndex: -1,
      retries,
    };
  checkOptions(options, known);
  const { priority, affinity, transfer, onProgress, module } = options;
  mustBeSignal(options.signal);
  if (onProgress !== undefined && typeof onProgress !== 'function')
    throw wrongOption('options.onProgress', 'a function', onProgress);
  return {
    name: functionName(options.name, module),
    form: module === undefined ? 'export' : 'module',
    lend: flag(options.lend, 'lend'),
    transfer,
    timeout: options.timeout === undefined ? timeout : wholeNumber(options.timeout, 'timeout', 0, MOST_MILLISECONDS),
    priority:
      priority === undefined
        ? USUAL_PRIORITY
        : USUAL_PRIORITY - wholeNumber(priority, 'priority', -MOST_PRIORITY, MOST_PRIORITY),
    workerIndex: affinity === undefined ? -1 : indexOfKey(affinity, workers),
    retries: options.retries === undefined ? retries : wholeNumber(options.retries, 'retries', 0, MOST_RETRIES),
  };
}

/**
 * The options of map() alone; see {@link submitOptions} for the rest. `threads`: how many workers the pool may have.
 */
export function mapRules(options: MapOptions | undefined, threads: number): { ordered: boolean; concurrency: number } {
  const { ordered, concurrency } = options ?? {};
  return {
    ordered: ordered === undefined || flag(ordered, 'ordered'),
    concurrency:
      concurrency === undefined
        ? Math.max(256, threads * 8)
        : wholeNumber(concurrency, 'concurrency', 1, MOST_CONCURRENCY),
  };
}

function functionName(name: unknown, module: unknown): string {
  const own = name === undefined ? 'default' : name;
  if (typeof own !== 'string') throw wrongOption('options.name', 'a string', name);
  if (module === undefined) return own;
  if (!isUrl(module) && (typeof module !== 'string' || module === ''))
    throw wrongOption('options.module', "a module's URL or path", module);
  return nameIn(host.moduleUrl(module), own);
}

/** The worker index for a key: always the same one. */
function indexOfKey(key: string | number, workers: number): number {
  if (typeof key !== 'string' && typeof key !== 'number')
    throw wrongOption('options.affinity', 'a string or a number', key);
  const text = String(key);
  let hash = 0x811c9dc5; // FNV-1a
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 15;
  return (hash >>> 0) % workers;
}
