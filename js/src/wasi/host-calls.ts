/**
 * What the host of a program provides: clocks, random numbers, the descriptors of its standard streams (core/wasi/host.h).
 *
 * Invariant: none of them throws. What cannot be done is a negative error number.
 */

import { clock } from '../core/clock.ts';
import { host } from '../core/host.ts';
import { Errno } from '../core/layout.generated.ts';
import type { HostImports } from '../core/program-imports.ts';
import type { Space } from '../core/space.ts';
import { errorNumber } from '../fs/backend.ts';

type NodeFs = typeof import('node:fs');

/** Most bytes that getRandomValues() gives at once. */
const MOST_RANDOM = 65_536;
/** preview1's clocks. */
const Clock = { REALTIME: 0, MONOTONIC: 1, PROCESS: 2, THREAD: 3 } as const;

function time(id: number): number {
  switch (id) {
    case Clock.REALTIME:
      return Date.now();
    case Clock.MONOTONIC:
      return clock();
    case Clock.PROCESS:
    case Clock.THREAD: {
      const node = host.builtin('node:process') as typeof process | undefined;
      if (node === undefined) return -1;
      const { user, system } = node.cpuUsage(); // that of a single thread is known from Node 23.9 on
      return (user + system) / 1000;
    }
    default:
      return -1;
  }
}

/** @param spaceOf the space, as the instance of the core that serves the program sees it */
export function hostCalls(spaceOf: () => Space): HostImports {
  const fs = host.builtin('node:fs') as NodeFs | undefined;
  const tty = host.builtin('node:tty') as { isatty(fd: number): boolean } | undefined;
  const attempt = (call: (fs: NodeFs) => number): number => {
    if (fs === undefined) return -Errno.EBADF;
    for (;;) {
      try {
        return call(fs);
      } catch (error) {
        const { code } = error as { code?: string };
        if (code === 'EOF') return 0; // a closed console of Windows
        if (code !== 'EAGAIN' && code !== 'EINTR') return numberOf(error);
        pause(); // the descriptor does not wait by itself: a pipe or a terminal that another program has set so
      }
    }
  };
  return {
    clock: time,
    random: (to, length) => {
      const bytes = new Uint8Array(Math.min(length, MOST_RANDOM)); // shared memory is refused
      for (let at = 0; at < length; at += MOST_RANDOM) {
        const part = bytes.subarray(0, Math.min(MOST_RANDOM, length - at));
        globalThis.crypto.getRandomValues(part);
        spaceOf()
          .bytes((to >>> 0) + at, part.length)
          .set(part);
      }
    },
    read: (descriptor, to, length) =>
      attempt((node) => node.readSync(descriptor, spaceOf().bytes(to >>> 0, length), 0, length, null)),
    write: (descriptor, from, length) =>
      attempt((node) => node.writeSync(descriptor, spaceOf().bytes(from >>> 0, length), 0, length, null)),
    terminal: (descriptor) => (tty?.isatty(descriptor) ? 1 : 0),
  };
}

function pause(): void {
  if (host.mayBlock) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
}

function numberOf(error: unknown): number {
  try {
    return errorNumber(error);
  } catch {
    return -Errno.EIO;
  }
}
