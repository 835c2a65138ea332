/**
 * Compares plait/fs with node:fs: each case runs on both, in a folder of its own, and must have the same results,
 * errors included. All cases run twice: in memory, and in a directory of the host that is mounted.
 */
import assert from 'node:assert/strict';
import * as nodeFs from 'node:fs';
import { tmpdir } from 'node:os';
import { after, test } from 'node:test';
import { openSpace } from 'plait';
import { createFs, type Fs } from 'plait/fs';

// biome-ignore lint/suspicious/noExplicitAny: cases hand over what the types forbid
export type Any = any;
export type AnyFs = Any;

/** What newer versions of Node do otherwise, plait/fs does as they do, or as docs/reference/node-fs.md says. */
export const node = Number(process.versions.node.split('.')[0]);
export const scratch = nodeFs.mkdtempSync(`${tmpdir()}/plait-fs-`);
after(() => nodeFs.rmSync(scratch, { recursive: true }));
const space = openSpace({ maximum: 2 ** 28 });
export const ours = createFs(() => space);
ours.mkdirSync(tmpdir(), { recursive: true });
ours.mkdirSync(scratch);
// A mount at the same path, with a directory of its own behind it.
const behind = nodeFs.mkdtempSync(`${tmpdir()}/plait-fs-host-`);
after(() => nodeFs.rmSync(behind, { recursive: true }));
export const mounted = (() => {
  const space = openSpace({ maximum: 2 ** 28 });
  return createFs(() => space);
})();
mounted.mount(scratch, { type: 'host', directory: behind });
export const subjects: [string, Fs][] = [
  ['in memory', ours],
  ['on a host mount', mounted],
];
let folders = 0;

/** A name in the scratch directory that no case uses yet. */
export const folder = (): string => `${scratch}/case-${folders++}`;

/** An outcome without what differs by nature: class of bytes, times that were not set, numbers of inodes. */
export function plain(value: unknown, root: string): unknown {
  if (value instanceof Error) {
    const { name, message, code, errno, syscall, path, dest } = value as NodeJS.ErrnoException & { dest?: string };
    // The words of a check of arguments differ between versions of Node; and whether opendir names the path.
    if (String(code).startsWith('ERR_') || syscall === 'opendir') return { thrown: true, name, code };
    return plain({ thrown: true, name, message, code, errno, syscall, path: path && String(path), dest }, root);
  }
  if (typeof value === 'string') return value.replaceAll(root, '<root>');
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1');
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value !== 'object' || value === null) return value;
  if (typeof (value as Any).isFile === 'function') {
    const of = value as Any;
    const kind = [of.isFile(), of.isDirectory(), of.isSymbolicLink()].join();
    if ('parentPath' in of) return { name: plain(of.name, root), at: plain(of.parentPath, root), kind };
    const size = of.isDirectory() ? 0 : Number(of.size);
    return { kind, mode: Number(of.mode), nlink: of.isDirectory() ? 0 : Number(of.nlink), size, type: typeof of.size };
  }
  if (Array.isArray(value)) return value.map((each) => plain(each, root));
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each, root)]));
}

/** Calls and catches. */
export function attempt(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    return error;
  }
}

type Case = (fs: AnyFs, root: string, note: (value: unknown) => void) => unknown;

export function both(name: string, run: Case): void {
  for (const [where, subject] of subjects) test(`${name}, ${where}`, () => compare(subject, run));
}

async function compare(subject: Fs, run: Case): Promise<void> {
  const root = folder();
  const outcomes: unknown[][] = [];
  for (const fs of [nodeFs, subject as unknown as AnyFs]) {
    const noted: unknown[] = [];
    fs.mkdirSync(root);
    const note = (value: unknown): void => void noted.push(plain(value, root));
    try {
      note(await run(fs, root, note));
    } catch (error) {
      note(error);
      if ((error as Any).code === 'ERR_ASSERTION') throw error;
    }
    outcomes.push(noted);
  }
  const [theirs = [], mine = []] = outcomes;
  for (const [i, note] of theirs.entries()) assert.deepEqual(mine[i], note);
  assert.equal(mine.length, theirs.length);
  subject.check();
}

/** Checks the files after all other tests of a test file. */
export function checkAtEnd(): void {
  test('no file is left open, and all checks pass', () => {
    ours.rmSync('/tmp', { recursive: true });
    ours.check();
    mounted.unmount(scratch); // EBUSY if anything were open
    mounted.check();
  });
}
