/**
 * Counters for other processes: with PLAIT_TOP=1 in its environment, a program's coordinators answer on a local socket
 * with the counters of their pools, as one line of JSON for each connection (`plait top` asks). Node only.
 *
 * Invariant: the sockets lie in a folder that is this user's and that nobody else can enter; a name says process and
 * thread. The folder's name can be foreseen, and anybody may make names beside it, so both sides look before they trust
 * it.
 */

import { host } from '../../core/host.ts';
import type { Space } from '../../core/space.ts';
import { type PoolStats, readStats } from '../stats.ts';

const builtin = <Module>(name: string): Module => host.builtin(`node:${name}`) as Module;

/** A pool, as it is told to other processes. */
export interface PublishedPool {
  readonly module: string;
  readonly stats: PoolStats;
}

/** Where the sockets are; undefined where there are none. */
export function socketFolder(): string | undefined {
  const process = builtin<NodeJS.Process | undefined>('process');
  if (process === undefined || process.platform === 'win32') return undefined;
  const os = builtin<typeof import('node:os')>('os');
  return `${os.tmpdir()}/plait-${os.userInfo().uid}`;
}

/** Why the folder cannot be trusted; undefined if it can, or if there is none. */
export function distrustOf(folder: string): string | undefined {
  const stat = builtin<typeof import('node:fs')>('fs').lstatSync(folder, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (!stat.isDirectory()) return 'is no directory';
  if (stat.uid !== builtin<typeof import('node:os')>('os').userInfo().uid) return 'belongs to another user';
  return (stat.mode & 0o077) === 0 ? undefined : 'is open to other users (chmod 700)';
}

/** Makes the folder, if it is not there; why it cannot be used, if so. */
function makeFolder(folder: string): string | undefined {
  try {
    if (distrustOf(folder) === undefined) {
      builtin<typeof import('node:fs')>('fs').mkdirSync(folder, { recursive: true, mode: 0o700 });
    }
    const distrust = distrustOf(folder);
    return distrust === undefined ? undefined : `${folder} ${distrust}`;
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * Answers with the counters of `pools` from now on, if the environment wants it. What fails is told, and the program
 * goes on.
 */
export function publish(space: Space, pools: () => Iterable<readonly [pool: number, module: string]>): void {
  const folder = socketFolder();
  const process = builtin<NodeJS.Process | undefined>('process');
  if (folder === undefined || process === undefined || process.env.PLAIT_TOP !== '1') return;
  const net = builtin<typeof import('node:net')>('net');
  const fs = builtin<typeof import('node:fs')>('fs');
  const { threadId } = builtin<typeof import('node:worker_threads')>('worker_threads');
  const path = `${folder}/${process.pid}-${threadId}.sock`;
  const warn = (why: string): void => {
    // At once: a program may end before what a thread prints has gone through its starter.
    fs.writeSync(2, `plait: PLAIT_TOP=1 has no effect: ${why}\n`);
  };
  const obstacle = makeFolder(folder);
  if (obstacle !== undefined) {
    warn(obstacle);
    return;
  }
  fs.rmSync(path, { force: true });
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    const published: PublishedPool[] = [];
    for (const [pool, module] of pools()) published.push({ module, stats: readStats(space, pool) });
    socket.end(`${JSON.stringify(published)}\n`);
  });
  server.on('error', ({ message }) => warn(message));
  server.listen(path);
  server.unref();
  process.on('exit', () => fs.rmSync(path, { force: true }));
}
