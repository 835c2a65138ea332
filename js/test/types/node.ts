/** What must compile in Node: what goes to its own Worker, and comes from its own process. Nothing here runs. */

import { once } from 'node:events';
import type * as nodeFs from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { MessageChannel, Worker, type WorkerOptions } from 'node:worker_threads';
import { Pool, workerOptions } from 'plait';
import fs, * as module from 'plait/fs';
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

export async function events(pool: Pool): Promise<void> {
  const [detail] = await once(pool, 'drain');
  void detail;
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

/**
 * What takes node:fs takes this, but for: `openAsBlob` (a Blob would have to copy), `lchmod` (Linux has none, either),
 * and `StatsFs` (only the types know that class). A change of this list is one of docs/reference/node-fs.md.
 */
type Absent = 'lchmod' | 'lchmodSync' | 'openAsBlob' | 'promises' | 'StatsFs';
type AbsentPromises = 'lchmod';
type Rest<Whole, Part> = Exclude<keyof Whole, keyof Part>;
type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false;

export const whole: Omit<typeof nodeFs, Absent> = fs;
export const wholePromises: Omit<typeof nodeFs.promises, AbsentPromises> = promises;
export const named: Omit<typeof nodeFs, Absent | 'default'> = module;
export const absent: Same<Rest<typeof nodeFs, typeof fs>, Exclude<Absent, 'promises'>> = true;
export const absentPromises: Same<Rest<typeof nodeFs.promises, typeof promises>, AbsentPromises> = true;

/** What only the types of Node know: the bytes are a Buffer, and the streams Node's own. */
export async function nodeOnly(out: NodeJS.WritableStream): Promise<void> {
  const text: string = readFileSync('/file').toString('utf8') + (await promises.readFile('/file')).toString('hex');
  fs.readFile('/file', (_error, data) => void data.toString('base64'));
  fs.createReadStream('/file').pipe(out);
  await pipeline(fs.createReadStream('/file'), fs.createWriteStream('/copy'));
  const stats: nodeFs.Stats = fs.statSync('/file');
  const handle: nodeFs.promises.FileHandle = await promises.open('/file');
  void [text, stats, handle];
}
