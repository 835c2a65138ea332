/**
 * A lock that ends with its process: one run at a time writes a journal.
 *
 * Beside the journal is a file of claims, a line of JSON each. A process that wants the journal appends its claim
 * atomically, then reads all claims. It has the lock if no earlier claim belongs to a live process. The process that
 * had the lock removes the file. A run that is killed leaves its claim, which is then ignored.
 *
 * Invariant: among the processes with a claim in the current file, at most one has the lock, and only this process
 * removes the file. So a process that has read a removed file starts again.
 */

import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { hostname } from 'node:os';

interface Claim {
  readonly run: string;
  readonly host: string;
  readonly pid: number;
  /** Distinguishes the process from a later one with the same id; empty if the system provides no start time. */
  readonly started: string;
}

/** Another process has the lock. */
export class LockedError extends Error {
  readonly pid: number;

  constructor(pid: number) {
    super(`process ${pid} has the lock`);
    this.pid = pid;
  }
}

/** The start time of a process; undefined: it has ended. Empty if the system provides only its existence. */
function startOf(pid: number): string | undefined {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return undefined;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z' || state === 'X') return undefined; // its parent has not waited for it yet
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${fields[18]}`;
  } catch {
    return '';
  }
}

/** Whether the process of a claim is live. A claim from another machine is ignored, because it cannot be checked. */
function isAlive({ host, pid, started }: Claim): boolean {
  if (host !== hostname()) return false;
  const now = startOf(pid);
  return now !== undefined && (now === '' || started === '' || now === started);
}

function readClaims(file: number): Claim[] {
  const claims: Claim[] = [];
  const bytes = Buffer.alloc(fstatSync(file).size);
  const text = bytes.toString('utf8', 0, readSync(file, bytes, 0, bytes.length, 0));
  for (const line of text.split('\n')) {
    try {
      const claim = JSON.parse(line) as Claim | null;
      if (typeof claim?.run === 'string') claims.push(claim);
    } catch {
      // An incomplete line, after a kill or on a full disk: its process did not continue.
    }
  }
  return claims;
}

const { O_APPEND, O_CREAT, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDWR } = constants;

/**
 * Opens the file of claims. Other users may be able to create names in its folder. So a link is not followed, and a
 * pipe or device is neither waited for nor written to.
 */
function openClaims(path: string): number {
  let file: number;
  try {
    file = openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ELOOP') throw error;
    throw new Error(`${path} is a symbolic link; remove it if no run is under way`);
  }
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw new Error(`${path} is no regular file; remove it, or name another journal`);
}

/**
 * Takes the lock and returns a function that releases it.
 *
 * @throws {LockedError} if another process has it
 */
export function lockJournal(path: string): () => void {
  const claim: Claim = { run: randomUUID(), host: hostname(), pid: process.pid, started: startOf(process.pid) ?? '' };
  const line = `\n${JSON.stringify(claim)}\n`; // on a line of its own, even after an incomplete line
  for (;;) {
    const file = openClaims(path);
    try {
      if (writeSync(file, line) < Buffer.byteLength(line)) throw new Error(`${path} cannot be written whole`);
      const claims = readClaims(file);
      const place = claims.findIndex(({ run }) => run === claim.run);
      const holder = claims.slice(0, Math.max(place, 0)).find(isAlive);
      if (holder !== undefined) throw new LockedError(holder.pid);
      // No earlier process is live, so no process can remove the file now; but it may have been removed before.
      if (fstatSync(file).ino !== lstatSync(path).ino) continue;
      if (place < 0) throw new Error(`${path} does not keep what is written to it`);
      return () => rmSync(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error; // just removed
    } finally {
      closeSync(file);
    }
  }
}
