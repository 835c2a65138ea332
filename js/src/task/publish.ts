/**
 * Counters for other processes: with PLAIT_TOP=1 in its environment, a program's coordinators answer on a local socket
 * with the counters of their pools, as one line of JSON for each connection (`plait top` asks). Node only.
 *
 * The sockets lie in a folder that only this user can enter; a name says process and thread.
 */

import type { Space } from '../core/space.ts';
import { type PoolStats, readStats } from './stats.ts';

/** A pool, as it is told to other processes. */
export interface PublishedPool {
  readonly module: string;
  readonly stats: PoolStats;
}

/** Where the sockets are; undefined where there are none. */
export function socketFolder(): string | undefined {
  const process = globalThis.process;
  if (typeof process?.getBuiltinModule !== 'function' || process.platform === 'win32') return undefined;
  const os = process.getBuiltinModule('node:os');
  return `${os.tmpdir()}/plait-${os.userInfo().uid}`;
}

/** Answers with the counters of `pools` from now on, if the environment wants it. What fails is left: it is only insight. */
export function publish(space: Space, pools: () => Iterable<readonly [pool: number, module: string]>): void {
  const folder = socketFolder();
  if (folder === undefined || process.env.PLAIT_TOP !== '1') return;
  const net = process.getBuiltinModule('node:net');
  const fs = process.getBuiltinModule('node:fs');
  const { threadId } = process.getBuiltinModule('node:worker_threads');
  const path = `${folder}/${process.pid}-${threadId}.sock`;
  try {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (fs.statSync(folder).uid !== process.getBuiltinModule('node:os').userInfo().uid) return;
    fs.rmSync(path, { force: true });
  } catch {
    return;
  }
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    const told: PublishedPool[] = [];
    for (const [pool, module] of pools()) told.push({ module, stats: readStats(space, pool) });
    socket.end(`${JSON.stringify(told)}\n`);
  });
  server.on('error', () => {});
  server.listen(path);
  server.unref();
  process.on('exit', () => fs.rmSync(path, { force: true }));
}
