/**
 * While a program awaits one file call after another, its event loop turns, as with node:fs: timers, messages and
 * signals arrive, with each of the APIs.
 */
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { openSpace } from 'plait';
import { createFs } from 'plait/fs';

// biome-ignore lint/suspicious/noExplicitAny: calls are made as they come
type Any = any;

const space = openSpace({ maximum: 2 ** 26 });
const fs: Any = createFs(() => space);
fs.mkdirSync('/d');
fs.writeFileSync('/d/file', 'text');
for (let i = 0; i < 100; i++) fs.writeFileSync(`/d/${i}`, '');
fs.symlinkSync('/d/file', '/link');
const fd: number = fs.openSync('/d/file', 'r+');
const bytes = new Uint8Array(4);
/** One await after the other; far more than a loop that turns makes in the time that a timer takes. */
const MOST = 3e5;

/** Whether timers, messages and signals come while `call` is awaited over and over. */
async function turns(call: () => unknown): Promise<string[]> {
  const came = new Set<string>();
  const signal = (): void => void came.add('signal');
  const { port1, port2 } = new MessageChannel();
  process.once('SIGWINCH', signal);
  port1.once('message', () => came.add('message'));
  const timer = setTimeout(() => came.add('timer'), 1);
  try {
    port2.postMessage('now');
    process.kill(process.pid, 'SIGWINCH');
    for (let i = 0; i < MOST && came.size < 3; i++) {
      try {
        await call();
      } catch {
        // A refusal is an answer, too.
      }
    }
    return [...came].sort();
  } finally {
    clearTimeout(timer);
    process.off('SIGWINCH', signal);
    port1.close();
  }
}

const called = (name: string, ...args: unknown[]): Promise<unknown> =>
  new Promise((resolve) => fs[name](...args, (...results: unknown[]) => resolve(results)));

/** Each asynchronous function with arguments that it takes or refuses. */
const ARGUMENTS: Record<string, unknown[]> = {
  access: ['/d/file'],
  appendFile: ['/d/grows', 'x'],
  chmod: ['/d/file', 0o644],
  chown: ['/d/file', 0, 0],
  copyFile: ['/d/file', '/copy'],
  cp: ['/d/file', '/copy'],
  lchown: ['/d/file', 0, 0],
  link: ['/d/file', '/d/file'],
  lstat: ['/d/file'],
  lutimes: ['/link', 1, 1],
  mkdir: ['/made', { recursive: true }],
  mkdtemp: ['/missing/x'],
  open: ['/missing'],
  opendir: ['/missing'],
  readFile: ['/d/file'],
  readdir: ['/d'],
  readlink: ['/link'],
  realpath: ['/link'],
  rename: ['/missing', '/other'],
  rm: ['/missing', { force: true }],
  rmdir: ['/missing'],
  stat: ['/'],
  statfs: ['/'],
  symlink: ['/d', '/link'],
  truncate: ['/d/file', 4],
  unlink: ['/missing'],
  utimes: ['/d/file', 1, 1],
  writeFile: ['/d/file', 'text'],
};

const CALLBACKS: Record<string, unknown[]> = {
  ...ARGUMENTS,
  exists: ['/'],
  fchmod: [fd, 0o644],
  fchown: [fd, 0, 0],
  fdatasync: [fd],
  fstat: [fd],
  fsync: [fd],
  ftruncate: [fd, 4],
  futimes: [fd, 1, 1],
  glob: ['/d/f*'],
  close: [99999],
  read: [fd, bytes, 0, 4, 0],
  readv: [fd, [bytes], 0],
  write: [fd, bytes, 0, 4, 0],
  writev: [fd, [bytes], 0],
};

const ALL = ['message', 'signal', 'timer'];

test('promises let the event loop turn', async () => {
  for (const [name, args] of Object.entries(ARGUMENTS))
    assert.deepEqual(await turns(() => fs.promises[name](...args)), ALL, name);
  const missing = Object.keys(fs.promises).filter((name) => !(name in ARGUMENTS));
  assert.deepEqual(missing.sort(), ['constants', 'glob', 'importTar', 'watch']);
  const globbed = async (): Promise<void> => {
    for await (const _ of fs.promises.glob('/d/f*'));
  };
  assert.deepEqual(await turns(globbed), ALL, 'glob');
  assert.deepEqual(await turns(() => fs.promises.importTar(new Uint8Array(1024), '/tar')), ALL, 'importTar');
});

test('callbacks let the event loop turn', async () => {
  for (const [name, args] of Object.entries(CALLBACKS))
    assert.deepEqual(await turns(() => called(name, ...args)), ALL, name);
  const names = Object.keys(fs).filter((name) => typeof fs[name] === 'function' && `${name}Sync` in fs);
  assert.deepEqual(
    names.filter((name) => !(name in CALLBACKS)),
    [],
  );
});

test('handles, directories and streams let the event loop turn', async (t) => {
  const handle = await fs.promises.open('/d/file', 'r+');
  t.after(() => handle.close());
  const calls: Record<string, unknown[]> = {
    appendFile: [''],
    chmod: [0o644],
    chown: [0, 0],
    datasync: [],
    read: [bytes, 0, 4, 0],
    readFile: [],
    readv: [[bytes], 0],
    stat: [],
    sync: [],
    truncate: [4],
    utimes: [1, 1],
    write: [bytes, 0, 4, 0],
    writeFile: [''],
    writev: [[bytes], 0],
  };
  for (const [name, args] of Object.entries(calls))
    assert.deepEqual(await turns(() => handle[name](...args)), ALL, name);
  const closed = await fs.promises.open('/d/file');
  await closed.close();
  for (const name of ['close', 'read', 'writeFile']) assert.deepEqual(await turns(() => closed[name]()), ALL, name);
  const dir = fs.opendirSync('/d');
  t.after(() => dir.closeSync());
  assert.deepEqual(await turns(() => dir.read()), ALL, 'read of a directory');
  const walk = async (): Promise<void> => {
    for await (const _ of fs.opendirSync('/d'));
  };
  assert.deepEqual(await turns(walk), ALL, 'a walk');
  const write = (): Promise<void> => fs.promises.writeFile('/d/parts', ['a', 'b']);
  assert.deepEqual(await turns(write), ALL, 'parts');
  // One source that never ends, and one stream that takes many turns.
  let stop = false;
  const timer = setTimeout(() => (stop = true), 5);
  t.after(() => clearTimeout(timer));
  const endless = function* (): Generator<string> {
    for (let i = 0; i < MOST && !stop; i++) yield 'x';
  };
  await fs.promises.writeFile('/d/endless', endless());
  assert.equal(stop, true);
});

test('calls complete in their order, and never before the caller has continued', async () => {
  const order: string[] = [];
  const done = new Promise<void>((resolve) => {
    fs.stat('/', () => order.push('first'));
    fs.stat('/missing', () => order.push('second'));
    fs.readFile('/d/file', () => {
      order.push('third');
      resolve();
    });
  });
  order.push('caller');
  await Promise.resolve();
  order.push('microtask');
  await done;
  assert.deepEqual(order, ['caller', 'microtask', 'first', 'second', 'third']);
});

test('a result has the asynchronous context of its call, and does not delay other results', async (t) => {
  const context = new AsyncLocalStorage<number>();
  const seen: unknown[] = [];
  const errors: unknown[] = [];
  const caught = (error: unknown): void => void errors.push(error);
  // The test runner's own listener would take the error for one of this test.
  const others = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException').on('uncaughtException', caught);
  t.after(() => {
    process.off('uncaughtException', caught);
    for (const other of others) process.on('uncaughtException', other);
  });
  await Promise.all(
    [1, 2, 3].map(
      (number) =>
        new Promise<void>((resolve) => {
          context.run(number, () =>
            fs.stat('/', () => {
              seen.push([number, context.getStore()]);
              resolve();
              throw new RangeError(`${number}`);
            }),
          );
        }),
    ),
  );
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(seen, [
    [1, 1],
    [2, 2],
    [3, 3],
  ]);
  assert.deepEqual(errors, [new RangeError('1'), new RangeError('2'), new RangeError('3')]);
});

test('a watcher with a signal that is aborted already closes, and keeps no process alive', async () => {
  const watcher = fs.watch('/d', { signal: AbortSignal.abort() });
  const late = setTimeout(() => {}, 10000); // a deadline: a process with nothing to wait for would end
  try {
    await Promise.race([
      new Promise((resolve) => watcher.on('close', resolve)),
      new Promise((_, reject) => setTimeout(reject, 5000, new Error('it is still open')).unref()),
    ]);
  } finally {
    clearTimeout(late);
    watcher.close();
  }
});
