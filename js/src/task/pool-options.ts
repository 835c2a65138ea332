/**
 * The options of a pool and of close() and resize(), checked and with defaults filled in.
 *
 * Invariant: misuse (an unknown name, a wrong type or range) throws a TypeError or RangeError that names the option,
 * before anything is started.
 */

import { commonSpace } from '../core/boot.ts';
import { host } from '../core/host.ts';
import type { ResourceLimits } from '../core/host-types.ts';
import { isUrl } from '../core/realms.ts';
import type { Space } from '../core/space.ts';
import { checkOptions, flag, knownOptions, wrongOption } from './option-names.ts';
import { MOST_MILLISECONDS, MOST_RETRIES, mustBeSpace, wholeNumber } from './options.ts';
import type { OpenPool } from './protocol.ts';

/** Options of a {@link Pool}; each has a default. */
export interface PoolOptions {
  /**
   * A fixed number of workers, 1 to 250. Not together with `minThreads` and `maxThreads`.
   *
   * @default the number of processors that the process may use
   */
  readonly threads?: number | undefined;
  /**
   * The fewest workers, 0 to 250, of a pool that changes its size. More are started when tasks wait; an idle one ends
   * after `idleTimeout`.
   *
   * @default 1 if `maxThreads` is given
   */
  readonly minThreads?: number | undefined;
  /**
   * The most workers, 1 to 250, of a pool that changes its size.
   *
   * @default the number of processors, or `minThreads` if that is more
   */
  readonly maxThreads?: number | undefined;
  /**
   * Milliseconds after which an idle worker above `minThreads` ends; Infinity: never.
   *
   * @default 10000
   */
  readonly idleTimeout?: number | undefined;
  /**
   * How many tasks may be queued; a further one is refused with ERR_PLAIT_QUEUE_FULL. 'auto': the square of
   * `maxThreads`. Tasks that running tasks submit to their own pool are always taken, and so are tasks that are run
   * again.
   *
   * @default as many as there is memory for
   */
  readonly maxQueue?: number | 'auto' | undefined;
  /**
   * How many asynchronous tasks a worker runs at a time, 1 to 10000.
   *
   * @default 1
   */
  readonly concurrentTasksPerWorker?: number | undefined;
  /**
   * Milliseconds that a task may run, from its start, if its call says nothing else; 0: no limit. It may be a fifth
   * longer, or 50 ms.
   *
   * @default 0
   */
  readonly timeout?: number | undefined;
  /**
   * How often a task is run again if its worker ends before the task does, unless its call says otherwise; at most
   * 1000.
   *
   * @default 0
   */
  readonly retries?: number | undefined;
  /**
   * Milliseconds that a worker may take, from its start, until it has loaded the module and made the calls of
   * `broadcast(…, { later: true })`. One that takes longer is stopped, and counts as one that could not load it. 0: no
   * limit.
   *
   * @default 0
   */
  readonly loadTimeout?: number | undefined;
  /**
   * Milliseconds that a task may continue after a stop request, before its worker is terminated.
   *
   * @default 100
   */
  readonly grace?: number | undefined;
  /** Replaces a worker after a number of tasks, or when its JavaScript heap exceeds a size. */
  readonly recycle?: RecycleOptions | undefined;
  /**
   * Whether `runInline` may send functions as source to the workers.
   *
   * @default false
   */
  readonly inline?: boolean | undefined;
  /**
   * The export of the module that a worker calls, and awaits, before it ends: when it was idle, is replaced after
   * `recycle`, or the pool closes. Not when it is terminated or exits by itself. If the call fails, the worker has
   * crashed.
   */
  readonly teardown?: string | undefined;
  /**
   * Milliseconds that the call of `teardown` may take; then the worker ends without it. 0: no limit.
   *
   * @default 10000
   */
  readonly teardownTimeout?: number | undefined;
  /** Handed to each worker as `workerData` of node:worker_threads (Node only). */
  readonly workerData?: unknown;
  /**
   * Environment of the workers (Node only). It is copied; `SHARE_ENV` is refused.
   *
   * @default a copy of this thread's, from when the pool is made
   */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Arguments of the workers, from `process.argv[2]` on (Node only). */
  readonly argv?: readonly string[] | undefined;
  /**
   * Node's options of the workers (Node only).
   *
   * @default this thread's
   */
  readonly execArgv?: readonly string[] | undefined;
  /** Limits of each worker's JavaScript memory (Node only). */
  readonly resourceLimits?: ResourceLimits | undefined;
  /**
   * The space that holds queue and tasks. It has room for 128 pools.
   *
   * @default the common space
   */
  readonly space?: Space | undefined;
}

/** When a worker is replaced; never, if neither is given. */
export interface RecycleOptions {
  /** A worker ends after so many tasks, 1 to 2147483648. */
  readonly tasks?: number | undefined;
  /** A worker ends when it has run a task and its JavaScript heap has more bytes than that. */
  readonly bytes?: number | undefined;
}

/** Options of `Pool.resize()`: what is not given stays as it is. */
export interface ResizeOptions {
  /** The fewest workers, 0 to `max`. */
  readonly min?: number | undefined;
  /** The most workers. */
  readonly max?: number | undefined;
}

/** Options of `Pool.close()`. */
export interface CloseOptions {
  /** Stops running tasks and rejects queued ones, instead of finishing them first. */
  readonly force?: boolean | undefined;
  /** Rejects queued tasks, and lets running ones finish, with the tasks that those submit to their pool. */
  readonly drop?: boolean | undefined;
  /** Milliseconds after which the rest is stopped by force; default: never. */
  readonly timeout?: number | undefined;
}

/** The checked options of a pool. */
export interface PoolRules {
  readonly space: Space;
  readonly minThreads: number;
  readonly maxThreads: number;
  readonly maxQueue: number;
  /** Default of a task; 0: none. */
  readonly timeout: number;
  readonly retries: number;
  /** For the coordinator and the workers. */
  readonly plan: Omit<OpenPool, 'pool' | 'client'>;
}

export const MOST_THREADS = 250;
const MOST_CONCURRENCY = 10000;
const USUAL_IDLE_MS = 10_000;
const USUAL_GRACE_MS = 100;
const USUAL_TEARDOWN_MS = 10_000;
const UNLIMITED = 0xffffffff;

const POOL = knownOptions(
  'new Pool()',
  [
    'threads',
    'minThreads',
    'maxThreads',
    'idleTimeout',
    'maxQueue',
    'concurrentTasksPerWorker',
    'timeout',
    'retries',
    'loadTimeout',
    'grace',
    'recycle',
    'inline',
    'teardown',
    'teardownTimeout',
    'workerData',
    'env',
    'argv',
    'execArgv',
    'resourceLimits',
    'space',
    'type', // webpack writes it into the options of what it takes for a Worker; ignored here
  ],
  {
    filename: 'the module is the first argument, new Pool(module, options)',
    name: 'each call says it, run(input, { name })',
    minWorkers: 'it is called minThreads',
    maxWorkers: 'it is called maxThreads',
    size: 'it is called threads',
    numWorkers: 'it is called threads',
    maxQueueSize: 'it is called maxQueue',
    concurrency: 'it is called concurrentTasksPerWorker; how many inputs map() has under way is its own option',
    min: 'it is called minThreads',
    max: 'it is called maxThreads',
    isolateWorkers: 'it is called recycle: { tasks: 1 }',
    maxMemoryLimitBeforeRecycle: 'it is called recycle: { bytes }',
    workerTerminateTimeout: 'it is called grace',
    workerThreadOpts: 'workerData, env, argv, execArgv and resourceLimits are options of their own',
    workerType: 'workers are threads',
    taskQueue: 'calls have priority and affinity instead',
    closeTimeout: 'it is said to close({ timeout })',
    terminateTimeout: 'it is said to close({ timeout })',
    atomics: 'there is no need: timers and signals of the workers go on',
    useAtomics: 'there is no need: timers and signals of the workers go on',
    onCreateWorker: "there is pool.on('start', listener)",
    onTerminateWorker: "there is pool.on('end', listener)",
  },
);
const RECYCLE = knownOptions('new Pool()', ['tasks', 'bytes']);
const LIMITS = knownOptions('new Pool()', [
  'maxOldGenerationSizeMb',
  'maxYoungGenerationSizeMb',
  'codeRangeSizeMb',
  'stackSizeMb',
]);
const CLOSE = knownOptions('close()', ['force', 'drop', 'timeout']);
const RESIZE = knownOptions('resize()', ['min', 'max'], {
  minThreads: 'it is called min here',
  maxThreads: 'it is called max here',
  threads: 'it is called max here, and min',
});

/** Checks the options of a pool for a module. */
export function poolRules(module: string | URL, options: PoolOptions | undefined): PoolRules {
  if (!isUrl(module) && (typeof module !== 'string' || module === '')) {
    throw new TypeError('a pool needs the URL or path of a module: new Pool(new URL("./work.js", import.meta.url))');
  }
  checkOptions(options, POOL);
  const given = options ?? {};
  const { min, max } = range(given);
  const { recycle, workerData, env, argv, execArgv, resourceLimits } = given;
  const optional = (name: keyof PoolOptions & string, usual: number, least: number, most: number): number => {
    const value = given[name] as number | undefined;
    return value === undefined ? usual : wholeNumber(value, name, least, most);
  };
  checkOptions(recycle, RECYCLE, 'options.recycle');
  const rule = (name: keyof RecycleOptions, most: number): number => {
    const value = recycle?.[name];
    return value === undefined ? 0 : wholeNumber(value, `recycle.${name}`, 1, most);
  };
  checkLimits(resourceLimits);
  for (const [name, words] of Object.entries({ argv, execArgv })) {
    if (words !== undefined && !(Array.isArray(words) && words.every((word) => typeof word === 'string'))) {
      throw wrongOption(`options.${name}`, 'an array of strings', words);
    }
  }
  mustBeSpace(given.space);
  return {
    space: given.space ?? commonSpace(),
    minThreads: min,
    maxThreads: max,
    maxQueue: queueLimit(given.maxQueue, max),
    timeout: optional('timeout', 0, 0, MOST_MILLISECONDS),
    retries: optional('retries', 0, 0, MOST_RETRIES),
    plan: {
      type: 'open',
      threads: min,
      module: host.moduleUrl(module),
      concurrency: optional('concurrentTasksPerWorker', 1, 1, MOST_CONCURRENCY),
      grace: optional('grace', USUAL_GRACE_MS, 0, MOST_MILLISECONDS),
      loadTimeout: optional('loadTimeout', 0, 0, MOST_MILLISECONDS),
      idleTimeout:
        given.idleTimeout === Number.POSITIVE_INFINITY
          ? given.idleTimeout
          : optional('idleTimeout', USUAL_IDLE_MS, 0, MOST_MILLISECONDS),
      recycle: { tasks: rule('tasks', 2 ** 31), bytes: rule('bytes', Number.MAX_SAFE_INTEGER) },
      inline: flag(given.inline, 'inline'),
      teardown: exportName(given.teardown),
      teardownTimeout: optional('teardownTimeout', USUAL_TEARDOWN_MS, 0, MOST_MILLISECONDS),
      workerData,
      env: env === undefined ? undefined : variables(env),
      inherited: env === undefined ? host.environment() : undefined,
      argv,
      execArgv,
      resourceLimits,
    },
  };
}

/** The fewest and the most workers. */
function range({ threads, minThreads, maxThreads }: PoolOptions): { min: number; max: number } {
  if (threads !== undefined && (minThreads !== undefined || maxThreads !== undefined)) {
    throw new RangeError('options.threads is a fixed number of workers: give it, or minThreads and maxThreads');
  }
  const usual = (): number => Math.min(host.parallelism, MOST_THREADS);
  if (minThreads === undefined && maxThreads === undefined) {
    const fixed = threads === undefined ? usual() : wholeNumber(threads, 'threads', 1, MOST_THREADS);
    return { min: fixed, max: fixed };
  }
  if (maxThreads !== undefined) {
    const max = wholeNumber(maxThreads, 'maxThreads', 1, MOST_THREADS);
    return { min: minThreads === undefined ? 1 : wholeNumber(minThreads, 'minThreads', 0, max), max };
  }
  const min = wholeNumber(minThreads, 'minThreads', 0, MOST_THREADS);
  return { min, max: Math.max(usual(), min) };
}

function exportName(name: unknown): string | undefined {
  if (name === undefined || typeof name === 'string') return name;
  throw wrongOption('options.teardown', "the name of one of the module's exports", name);
}

function queueLimit(maxQueue: number | 'auto' | undefined, threads: number): number {
  if (maxQueue === undefined) return UNLIMITED;
  if (maxQueue === 'auto') return threads * threads;
  return wholeNumber(maxQueue, 'maxQueue', 1, UNLIMITED, "'auto' or ");
}

function checkLimits(limits: ResourceLimits | undefined): void {
  checkOptions(limits, LIMITS, 'options.resourceLimits');
  for (const name of LIMITS.names) {
    const value = limits?.[name as keyof ResourceLimits];
    if (value === undefined || (typeof value === 'number' && value > 0)) continue;
    throw wrongOption(`options.resourceLimits.${name}`, 'a number above 0', value);
  }
}

/** Environment variables as a plain object: `process.env` is not one. */
function variables(env: object): Record<string, string> {
  if (typeof env === 'symbol') {
    const why = 'the workers are started by a thread of the pool; give them a copy, such as process.env';
    throw new TypeError(`options.env cannot be SHARE_ENV: ${why}`);
  }
  if (typeof env !== 'object' || env === null) throw wrongOption('options.env', 'an object', env);
  const given = Object.entries(env).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

/** Checks the options of close(). */
export function closeRules(options: CloseOptions | undefined): {
  force: boolean;
  drop: boolean;
  timeout: number | undefined;
} {
  checkOptions(options, CLOSE);
  const timeout = options?.timeout;
  return {
    force: flag(options?.force, 'force'),
    drop: flag(options?.drop, 'drop'),
    timeout: timeout === undefined ? undefined : wholeNumber(timeout, 'timeout', 0, MOST_MILLISECONDS),
  };
}

/** Checks the options of resize(); `min` and `max`: the present values. */
export function resizeRules(options: ResizeOptions, min: number, max: number): { min: number; max: number } {
  if (options === undefined) throw wrongOption('the argument of resize()', 'an object, { min, max }', options);
  checkOptions(options, RESIZE);
  const most = options.max === undefined ? max : wholeNumber(options.max, 'max', 1, MOST_THREADS);
  return { min: options.min === undefined ? Math.min(min, most) : wholeNumber(options.min, 'min', 0, most), max: most };
}
