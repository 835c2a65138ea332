/** What must compile, and what must not: the types of a pool's calls. Nothing here runs. */

import { connect, type Pool, type PoolStats, task, transfer } from 'plait';

interface Work {
  hash(bytes: Uint8Array): Promise<string>;
  count(text: string): number;
  now(): Date;
  version: string;
  toString(): string;
  toJSON(): string;
}

export async function calls(pool: Pool): Promise<void> {
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
  // @ts-expect-error a blocked thread hears no signal
  pool.runSync(1, { signal: new AbortController().signal });
  const everywhere: boolean[] = await pool.broadcast<boolean>(1, { later: true });
  const inline: number = await pool.runInline((text: string) => text.length, 'text');
  // @ts-expect-error the function's input
  await pool.runInline((text: string) => text.length, 5);
  pool.on('end', ({ reason, worker, at }) => void [reason.length, worker + at]);
  // @ts-expect-error no such event
  pool.on('explode', () => {});
  // @ts-expect-error a priority is a number
  await pool.run(1, { priority: 'high' });
  const stats: PoolStats = pool.stats();
  const utilisation: number | undefined = stats.workers[0]?.utilisation;
  const other: unknown = await connect(pool.handle).run(1);
  void [
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
    utilisation,
    other,
  ];
}

export async function work(bytes: Uint8Array): Promise<Uint8Array> {
  if (task.aborted) throw task.signal.reason;
  task.progress(bytes.length);
  await task.pool.run<number>(task.worker.seat);
  return transfer(bytes, [bytes.buffer]);
}
