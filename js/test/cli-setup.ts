/** Runs the command line as a process, and collects its output. */
import assert from 'node:assert/strict';
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { afterEach } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const CLI = fileURLToPath(new URL('../../dist/node/cli.js', import.meta.url));
export const FIXTURES = fileURLToPath(new URL('../../js/test/fixtures/cli/', import.meta.url));
export const WORK = join(FIXTURES, 'work.mjs');

export interface Line {
  readonly input: string;
  readonly output?: unknown;
  readonly error?: {
    readonly name: string;
    readonly message: string;
    readonly code?: string;
    readonly cause?: unknown;
  };
}

export interface Finished {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Processes of the current test; those that a failed test leaves are ended. */
export const children = new Set<ChildProcess>();
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
});

/** A running command line. Its output is collected from the start. */
export class RunningCommand {
  readonly child: ChildProcessWithoutNullStreams;
  stdout = '';
  stderr = '';
  readonly #ended: Promise<[number | null, NodeJS.Signals | null]>;
  #watchers: (() => void)[] = [];

  constructor(args: readonly string[], options: { readonly readsStdout?: boolean } = {}) {
    this.child = spawn(process.execPath, [CLI, ...args], { cwd: FIXTURES });
    children.add(this.child);
    this.#ended = new Promise((resolve) => {
      this.child.on('close', (status, signal) => {
        resolve([status, signal]);
        this.#watch();
      });
    });
    this.child.stdin.on('error', () => {}); // it may end before it has read everything
    this.child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      this.stderr += chunk;
      this.#watch();
    });
    if (options.readsStdout !== false) this.readStdout();
  }

  readStdout(): void {
    this.child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      this.stdout += chunk;
      this.#watch();
    });
  }

  #watch(): void {
    for (const watcher of this.#watchers) watcher();
  }

  /** Resolves as soon as `isTrue` is; fails if the process ends before. */
  async until(isTrue: () => boolean): Promise<void> {
    let ended = false;
    void this.#ended.then(() => {
      ended = true;
    });
    while (!isTrue()) {
      assert.ok(!ended, `it ended too early: ${this.stdout}${this.stderr}`);
      await new Promise<void>((resolve) => this.#watchers.push(resolve));
      this.#watchers = [];
      await turn();
    }
  }

  async end(): Promise<Finished> {
    const [status, signal] = await this.#ended;
    return { status, signal, stdout: this.stdout, stderr: this.stderr };
  }
}

export function run(args: readonly string[], stdin?: string): Promise<Finished> {
  const started = new RunningCommand(args);
  started.child.stdin.end(stdin ?? '');
  return started.end();
}

/** The lines of JSON, each of which must be one. */
export function parse<T = Line>(text: string): T[] {
  if (text === '') return [];
  assert.ok(text.endsWith('\n'), 'the last line is complete');
  return text
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line) as T);
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

export function numbers(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(index));
}

export async function assertFails(args: readonly string[], message: RegExp): Promise<void> {
  const { status, stdout, stderr } = await run(['map', ...args]);
  assert.equal(stdout, '');
  assert.match(stderr, message);
  assert.equal(stderr.trimEnd().split('\n').length, 1, `one message: ${stderr}`);
  assert.equal(status, 2);
}
