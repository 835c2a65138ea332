/** What must compile on any host: files and heap, with options that have nothing in them. Nothing here runs. */

import { mkdirSync, promises, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'plait/fs';
import { heap } from 'plait/heap';
import { Pool } from 'plait/task';
import 'plait/thread';

export async function files(path: string, none: undefined, signal?: AbortSignal): Promise<void> {
  const whole: Uint8Array = readFileSync(path, { encoding: none, flag: none });
  const text: string = readFileSync(path, { encoding: 'utf8', flag: none });
  writeFileSync(path, whole, { mode: none, flag: none, encoding: none });
  mkdirSync(path, { recursive: none, mode: none });
  const names: string[] = readdirSync(path, { encoding: 'utf8', recursive: none });
  const { size } = statSync(path, { bigint: none, throwIfNoEntry: none });
  rmSync(path, { recursive: none, force: none });
  await promises.writeFile(path, text, { signal, flag: none });
  const handle = await promises.open(path);
  for await (const line of handle.readLines()) void line.length;
  // @ts-expect-error a path
  readFileSync();
  void [names, size];
}

export function blocks(none: undefined): Pool {
  heap.free(heap.bytes(8, { alignment: none, zeroed: none }));
  return new Pool('./work.js');
}
