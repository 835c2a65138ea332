/** What must compile in Node: what goes to its own Worker, and comes from its own process. Nothing here runs. */

import { MessageChannel, Worker, type WorkerOptions } from 'node:worker_threads';
import { Pool, workerOptions } from 'plait';
import { promises, readFileSync } from 'plait/fs';

export function workers(file: URL): void {
  const { port1 } = new MessageChannel();
  new Worker(file, workerOptions());
  new Worker(file, workerOptions({ workerData: { some: 'data' } }));
  new Worker(file, workerOptions({ workerData: { port1 }, transferList: [port1], name: 'mine', env: { A: 'b' } }));
  const given: WorkerOptions = { stdout: true };
  new Worker(file, workerOptions(given));
  // @ts-expect-error a list
  workerOptions({ transferList: 5 });
}

export function environment(file: URL): void {
  new Pool(file, { env: process.env });
  new Pool(file, { env: { ...process.env, MORE: 'x' } });
  // @ts-expect-error the workers cannot share this thread's
  new Pool(file, { env: Symbol('SHARE_ENV') });
}

export async function files(): Promise<void> {
  const buffer = Buffer.alloc(8);
  const handle = await promises.open('/file', 'r');
  const { bytesRead } = await handle.read(buffer, 0, 8, 0);
  for await (const line of handle.readLines()) void line.length;
  handle.readLines().on('line', (line) => void line.length);
  readFileSync('/file', { encoding: 'utf8' }).trim();
  void bytesRead;
}
