/**
 * `plait top`: the pools of a running program, live in the terminal. It queries the program's coordinators
 * (task/coordinator/publish.ts), which reply whatever the program's main thread is doing.
 *
 * Invariant: each snapshot is written with one call and overwrites the previous one; the cursor is visible at the end.
 */

import { readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

import { distrustOf, type PublishedPool, socketFolder } from '../task/coordinator/publish.ts';
import type { Times } from '../task/histogram.ts';
import { lineOf, visible } from './json-lines.ts';
import { UsageError } from './usage-error.ts';

const EVERY_MS = 500;

interface Place {
  readonly pid: number;
  readonly path: string;
}

function places(): Place[] {
  const folder = socketFolder();
  if (folder === undefined) throw new UsageError('plait top does not work on this system');
  const distrust = distrustOf(folder);
  if (distrust !== undefined) throw new UsageError(`${folder} ${distrust}, so its contents are not trusted`);
  let names: string[] = [];
  try {
    names = readdirSync(folder);
  } catch {
    // No program has created the folder.
  }
  return names.flatMap((name) => {
    const match = /^(\d+)-\d+\.sock$/.exec(name);
    if (match === null) return [];
    const place = { pid: Number(match[1]), path: `${folder}/${name}` };
    if (isAlive(place.pid)) return [place];
    rmSync(place.path, { force: true }); // its process was killed
    return [];
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The pools behind one socket; none if there is no reply. */
function ask(path: string): Promise<PublishedPool[]> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(path);
    socket.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', () => resolve([]));
    socket.on('close', () => {
      try {
        resolve(JSON.parse(text) as PublishedPool[]);
      } catch {
        resolve([]);
      }
    });
  });
}

function choose(pid: number | undefined): number {
  const pids = [...new Set(places().map((place) => place.pid))];
  if (pid !== undefined) {
    if (pids.includes(pid)) return pid;
    throw new UsageError(`process ${pid} shows no pools: is it running, and was it started with PLAIT_TOP=1?`);
  }
  if (pids.length === 1) return pids[0]!;
  if (pids.length === 0)
    throw new UsageError('no program shows its pools: start it with PLAIT_TOP=1 in its environment');
  throw new UsageError(`several programs show their pools; select one: ${pids.join(', ')}`);
}

async function poolsOf(pid: number): Promise<PublishedPool[]> {
  const mine = places().filter((place) => place.pid === pid);
  return (await Promise.all(mine.map(({ path }) => ask(path)))).flat();
}

function timeText(milliseconds: number): string {
  if (milliseconds < 1) return `${Math.round(milliseconds * 1000)} µs`;
  if (milliseconds < 1000) return `${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)} ms`;
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

function timesText({ p50, p90, p99, max }: Times): string {
  return `p50 ${timeText(p50)}   p90 ${timeText(p90)}   p99 ${timeText(p99)}   max ${timeText(max)}`;
}

const percent = (share: number): string => `${Math.round(share * 100)} %`.padStart(6);

/** A snapshot as lines without control characters, because a module's name is untrusted. */
export function picture(pid: number, pools: readonly PublishedPool[]): string[] {
  const lines = [`process ${pid}: ${pools.length} pool${pools.length === 1 ? '' : 's'}`];
  for (const { module, stats } of pools) {
    const ended = Object.entries(stats.ended).filter(([, count]) => count > 0);
    lines.push('', module);
    lines.push(
      `  tasks    ${stats.queued} queued   ${stats.running} running   ${stats.completed} completed   ${stats.failed} failed`,
    );
    lines.push(`  waited   ${timesText(stats.wait)}`, `  ran      ${timesText(stats.run)}`);
    lines.push(
      `  workers  ${stats.threads} (${stats.minThreads} to ${stats.maxThreads})   ${stats.started} started` +
        ended.map(([reason, count]) => `   ${count} ${reason}`).join(''),
    );
    if (stats.workers.length > 0) lines.push('   index  thread      tasks   busy   loop     heap');
    for (const { index, worker, tasks, utilization, eventLoopUtilization, heapUsed } of stats.workers) {
      const heap = `${(heapUsed / 2 ** 20).toFixed(0)} MiB`.padStart(8);
      lines.push(
        `    ${String(index).padStart(4)}  ${String(worker).padStart(6)} ${String(tasks).padStart(10)} ${percent(utilization)} ${percent(eventLoopUtilization)} ${heap}`,
      );
    }
  }
  return lines.map(visible);
}

/** Runs `plait top`; resolves to the exit status. */
export async function runTop(pid: number | undefined, once: boolean): Promise<number> {
  const chosen = choose(pid);
  if (once) {
    process.stdout.write(lineOf(JSON.stringify(await poolsOf(chosen))));
    return 0;
  }
  const terminal = process.stdout.isTTY;
  let shown = 0;
  let stopped = false;
  process.once('SIGINT', () => {
    stopped = true;
  });
  if (terminal) process.stdout.write('\x1b[?25l');
  try {
    while (!stopped && isAlive(chosen)) {
      const lines = picture(chosen, await poolsOf(chosen)).map((line) => line.slice(0, process.stdout.columns || 200));
      const up = terminal && shown > 0 ? `\x1b[${shown}A\x1b[J` : '';
      process.stdout.write(`${up}${lines.join('\n')}\n${terminal ? '' : '\n'}`);
      shown = lines.length;
      await sleep(EVERY_MS);
    }
  } finally {
    if (terminal) process.stdout.write('\x1b[?25h');
  }
  return 0;
}
