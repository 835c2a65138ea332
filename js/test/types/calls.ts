/**
 * What must compile, and what must not: the types of a pool and its calls, on any host. Nothing here runs.
 *
 * Invariant: every public option, call and event is here. These files are compiled with the types of Node, of browsers,
 * and of both; the declarations that the package brings are checked along (tsconfig.*.json here).
 */

import {
  type ConnectedPool,
  connect,
  give,
  heap,
  openSpace,
  Pool,
  PoolCalls,
  type PoolStats,
  task,
  transfer,
} from 'plait';

interface Work {
  hash(bytes: Uint8Array): Promise<string>;
  count(text: string): number;
  now(): Date;
  version: string;
  toString(): string;
  toJSON(): string;
}

export function pools(module: URL): void {
  const pool = new Pool(module);
  const all = new Pool('./work.js', {
    minThreads: 0,
    maxThreads: 4,
    idleTimeout: Number.POSITIVE_INFINITY,
    maxQueue: 'auto',
    concurrentTasksPerWorker: 2,
    timeout: 1000,
    retries: 1,
    grace: 50,
    recycle: { tasks: 1000, bytes: 2 ** 26 },
    inline: true,
    teardown: 'end',
    teardownTimeout: 5000,
    workerData: { some: ['data'] },
    env: { HOME: '/', ABSENT: undefined },
    argv: ['--level', '5'],
    execArgv: ['--no-warnings'],
    resourceLimits: { maxOldGenerationSizeMb: 64, stackSizeMb: 4 },
    space: openSpace({ maximum: 2 ** 26 }),
  });
  // @ts-expect-error a pool needs a module
  new Pool();
  // @ts-expect-error no such option
  new Pool(module, { timout: 5 });
  // @ts-expect-error piscina's name for it is another one
  new Pool({ filename: './work.js' });
  // @ts-expect-error a number, or 'auto'
  new Pool(module, { maxQueue: 'much' });
  // @ts-expect-error an object
  new Pool(module, { recycle: 5 });
  // @ts-expect-error true or false
  new Pool(module, { inline: 'yes' });
  // @ts-expect-error a space
  new Pool(module, { space: 3 });
  void [pool, all];
}

/** Code that passes options on may have undefined values in them. */
export function undefinedOptions(module: string, none: undefined, signal?: AbortSignal, count?: number): void {
  const pool = new Pool(module, {
    ...{ threads: count, minThreads: count, maxThreads: count, idleTimeout: count, maxQueue: count },
    ...{ concurrentTasksPerWorker: count, timeout: count, retries: count, grace: count, inline: none, space: none },
    ...{ recycle: { tasks: count, bytes: count }, workerData: none, env: none, argv: none, execArgv: none },
    resourceLimits: { maxOldGenerationSizeMb: count },
  });
  new Pool(module, { recycle: none, resourceLimits: none });
  const call = { name: none, lend: none, timeout: count, priority: count, affinity: none, retries: count };
  void pool.run(1, { ...call, signal, give: none, transfer: none, onProgress: none });
  void pool.runMany([1], { ...call, signal, onProgress: none });
  void pool.map([1], { ...call, signal, ordered: none, concurrency: count });
  void pool.parts(1, { ...call, signal, give: none, transfer: none });
  void pool.runSync(1, { ...call, give: none, transfer: none, onProgress: none });
  void pool.broadcast(1, { name: none, timeout: count, retries: count, signal, later: none });
  void pool.close({ force: none, timeout: count });
  pool.resize({ min: count, max: count });
  connect(pool.handle, { space: none });
  openSpace({ maximum: count });
  heap.bytes(8, { alignment: count, zeroed: none });
}

/** Code that takes pools of either kind. */
export async function either(pool: Pool, connected: ConnectedPool, any: PoolCalls): Promise<void> {
  const both: PoolCalls[] = [pool, connected];
  const names: string[] = any.eventNames();
  if (any instanceof Pool) await any.close();
  if (pool instanceof PoolCalls) await pool.close();
  void [both, names];
}

export async function calls(pool: Pool): Promise<void> {
  const module = pool.proxy<typeof import('./work.ts')>();
  const length: number = await module.length('text', { timeout: 5 });
  const later: string = await module.default(5);
  // @ts-expect-error no function
  void module.LIMIT;
  const api = pool.proxy<Work>();
  const digest: string = await api.hash(new Uint8Array(3), { priority: 2, timeout: 5, affinity: 'a', retries: 1 });
  const count: number = await api.count('text');
  const now: Date = await api.now();
  // @ts-expect-error the input is bytes
  await api.hash('text');
  // @ts-expect-error it needs an input
  await api.count();
  // @ts-expect-error no function
  await api.version();
  // @ts-expect-error no such function
  await api.absent();
  const text: string = api.toString(); // every object's
  // @ts-expect-error asked of objects by JSON.stringify()
  await api.toJSON();
  // @ts-expect-error the result is a number
  const wrong: string = await api.count('text');

  const unknown: unknown = await pool.run(1);
  const typed: number = await pool.run<number>(1, { name: 'x', onProgress: (share: number) => void share });
  const many: string[] = await pool.runMany<string>([1, 2], {
    onProgress: (_value: number, index: number) => void index,
  });
  for await (const output of pool.map<Date>(new Set([1]), { ordered: false, concurrency: 3 })) void output.getTime();
  for await (const result of pool.mapSettled<number, string>([1])) {
    const input: number = result.input;
    if (result.status === 'fulfilled') void result.value.length;
    else void result.reason;
    // @ts-expect-error only one of the two
    void result.value;
    void input;
  }
  const parts = pool.parts<string, number>(1, { name: 'x' });
  for await (const part of parts) void part.length;
  const whole: number = await parts.result;
  // @ts-expect-error the parts come from the iteration
  pool.parts(1, { onProgress: () => {} });
  const synchronous: number = pool.runSync<number>(1, { onProgress: (share: number) => void share });
  // @ts-expect-error a blocked thread receives no signal
  pool.runSync(1, { signal: new AbortController().signal });
  const everywhere: boolean[] = await pool.broadcast<boolean>(1, { later: true });
  const inline: number = await pool.runInline((text: string) => text.length, 'text');
  // @ts-expect-error the function's input
  await pool.runInline((text: string) => text.length, 5);
  pool.on('end', ({ reason, worker, at, error }) => void [reason.length, worker + at, error as Error]);
  // @ts-expect-error no such event
  pool.on('explode', () => {});
  pool.on('start', ({ worker }) => void worker.toFixed()).off('drain', () => {});
  pool.once('message', (value) => void value).addListener('error', (error) => void error);
  pool.addEventListener('end', ({ detail }) => void detail.reason, { once: true });
  // @ts-expect-error a priority is a number
  await pool.run(1, { priority: 'high' });
  const stats: PoolStats = pool.stats();
  const counts: number = stats.ended.idle + stats.queued + stats.wait.p99 + stats.run.max;
  const utilization: number | undefined = stats.workers[0]?.utilization;
  using connected: ConnectedPool = connect(pool.handle);
  connected.on('drain', () => {});
  // @ts-expect-error only the owner receives events of workers
  connected.on('end', () => {});
  const other: unknown = await connected.run(1);
  // @ts-expect-error its owner's alone
  void connected.close;
  // @ts-expect-error no number
  connect(5);
  // @ts-expect-error no such option
  await pool.run(1, { transferList: [] });
  // @ts-expect-error batches have no such option
  await pool.runMany([1], { give: true });
  // @ts-expect-error inputs
  await pool.runMany();
  // @ts-expect-error no iterable
  pool.map(5);
  // @ts-expect-error an object
  pool.resize(4);
  pool.resize({ max: 4 });
  await pool.run(heap.bytes(8), { give: true });
  await pool.idle();
  const cancelled: number = pool.cancelQueued();
  await pool.recycleWorkers();
  await pool.close({ drop: true });
  await pool.close({ force: true, timeout: 5000 });
  // @ts-expect-error milliseconds
  await pool.close({ timeout: 'soon' });
  void [
    cancelled,
    length,
    later,
    digest,
    count,
    now,
    text,
    wrong,
    unknown,
    typed,
    many,
    whole,
    synchronous,
    everywhere,
    inline,
    counts,
    utilization,
    other,
  ];
}

export async function work(bytes: Uint8Array): Promise<Uint8Array> {
  if (task.aborted) throw task.signal.reason;
  task.progress(bytes.length);
  await task.pool.run<number>(task.worker.index);
  return transfer(bytes, [bytes.buffer]);
}

export function copy(bytes: Uint8Array): Uint8Array {
  const given = heap.bytes(bytes.length);
  given.set(bytes);
  return give(given);
}
