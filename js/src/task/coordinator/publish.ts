/**
 * Counters for other processes. With PLAIT_TOP=1 in its environment, a program's coordinators serve the counters of
 * their pools on a local socket. Each connection (`plait top` makes one) receives one line of JSON. Node only.
 *
 * Invariant: the sockets are in a folder that belongs to this user and that no other user can enter. A name contains
 * process and thread. The folder's name is predictable, and anyone may create names beside it, so both sides check it
 * before they trust it.
 */

import { host } from '../../core/host.ts';
import type { Space } from '../../core/space.ts';
import { type PoolStats, readStats } from '../stats.ts';

const builtin = <Module>(name: string): Module => host.builtin(`node:${name}`) as Module;

/** A pool, as other processes see it. */
export interface PublishedPool {
  readonly module: string;
  readonly stats: PoolStats;
}

/** The folder of the sockets; undefined if there is none. */
export function socketFolder(): string | undefined {
  const process = builtin<NodeJS.Process | undefined>('process');
  if (process === undefined || process.platform === 'win32') return undefined;
  const os = builtin<typeof import('node:os')>('os');
  return `${os.tmpdir()}/plait-${os.userInfo().uid}`;
}

/** Why the folder cannot be trusted; undefined if it can, or does not exist. */
export function distrustOf(folder: string): string | undefined {
  const stat = builtin<typeof import('node:fs')>('fs').lstatSync(folder, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (!stat.isDirectory()) return 'is no directory';
  if (stat.uid !== builtin<typeof import('node:os')>('os').userInfo().uid) return 'belongs to another user';
  return (stat.mode & 0o077) === 0 ? undefined : 'is open to other users (chmod 700)';
}

/** Creates the folder if needed. Returns why it cannot be used, if so. */
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
 * Serves the counters of `pools` from now on, if the environment asks for it. A failure is reported, and the program
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
    // At once: a program may end before a thread's output has passed through its starter.
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
