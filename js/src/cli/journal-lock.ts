/**
 * A lock that dies with its process: one run at a time writes a journal.
 *
 * Beside the journal lies a file of claims, a line of JSON each. Who wants the journal appends its claim, which no
 * other can come between, then reads them all: it has the journal if none of the earlier claims is a living process's.
 * Who has had it removes the file. A run that is killed leaves its claim, which counts no more.
 *
 * Invariant: of the processes whose claims are in the file that bears the name, at most one has the journal, and only
 * that one removes the file. So who has read a file that bears the name no more begins anew.
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
  /** Tells the process from a later one with its number; empty where the system does not say. */
  readonly started: string;
}

/** Who holds the lock already. */
export class LockedError extends Error {
  readonly pid: number;

  constructor(pid: number) {
    super(`process ${pid} has it`);
    this.pid = pid;
  }
}

/** When a process was started; undefined: it has ended. Empty where only its being there can be asked. */
function startOf(pid: number): string | undefined {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return undefined;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (state === 'Z' || state === 'X') return undefined; // its parent has not asked yet
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${fields[18]}`;
  } catch {
    return '';
  }
}

/** Of a process on another machine nothing can be known: its claim does not count. */
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
      // Half a line, of a death or of a full disk: whoever wrote it has not gone on.
    }
  }
  return claims;
}

const { O_APPEND, O_CREAT, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDWR } = constants;

/**
 * The file of claims. The folder may be one in which others can make names: a link is not followed, so nothing is
 * written elsewhere, and neither a pipe nor a device is waited for or written to.
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
 * Takes the lock and returns what gives it back.
 *
 * @throws {LockedError} if another process has it
 */
export function lockJournal(path: string): () => void {
  const claim: Claim = { run: randomUUID(), host: hostname(), pid: process.pid, started: startOf(process.pid) ?? '' };
  const line = `\n${JSON.stringify(claim)}\n`; // on a line of its own, whatever is there
  for (;;) {
    const file = openClaims(path);
    try {
      if (writeSync(file, line) < Buffer.byteLength(line)) throw new Error(`${path} cannot be written whole`);
      const claims = readClaims(file);
      const place = claims.findIndex(({ run }) => run === claim.run);
      const holder = claims.slice(0, Math.max(place, 0)).find(isAlive);
      if (holder !== undefined) throw new LockedError(holder.pid);
      // Nobody alive was before us, so nobody can remove it any more; but it may have been removed before.
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
