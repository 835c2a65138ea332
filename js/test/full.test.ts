/**
 * A full space: files and blocks leave room for tasks, threads and pools, so that pools continue and others can be
 * opened. An operation without memory fails alone, and works when there is memory again.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { attach, commonSpace, openSpace, type Space } from 'plait';
import { createFs } from 'plait/fs';
import { Role } from '../../dist/core/boot.js';
import { host } from '../../dist/core/host.js';
import { Heap } from '../../dist/heap/heap.js';

const fixture = new URL('../../js/test/fixtures/full.js', import.meta.url);
const DEADLINE_MS = 30000;

type Answers = [name: string, answer: unknown][];

/** What comes of it in a thread whose common space has 16 MiB. */
async function inSmallSpace(t: TestContext, what: string): Promise<Answers> {
  const space = openSpace({ maximum: 2 ** 24 });
  const { handle } = commonSpace();
  host.bequeathSpace(space.handle);
  const worker = new Worker(fixture, { workerData: what });
  host.bequeathSpace(handle);
  t.after(() => worker.terminate());
  const [answers] = (await once(worker, 'message', { signal: AbortSignal.timeout(DEADLINE_MS) })) as [Answers];
  await worker.terminate();
  space.core.plait_abi_sweep();
  space.check(true);
  return answers;
}

const AFTERWARDS: Answers = [
  ['room: a file', undefined],
  ['room: a block', true],
  ['room: the pool', 20],
  ['room: a new pool', 'works'],
  ['closed', true],
];

test('files that fill the space leave room for blocks, tasks and pools', async (t) => {
  assert.deepEqual(await inSmallSpace(t, 'files'), [
    ['a pool', 'works'],
    ['files', 'ENOSPC'],
    ['a file', 'ENOSPC'],
    ['the root', true],
    ['many open files', 200],
    ['a block', true],
    ['a task', 'done'],
    ['tasks', 20],
    ['a large task', 100000],
    ['a new pool', 'works'],
    ['the pool', 20],
    ...AFTERWARDS,
  ]);
});

test('blocks that fill the space leave room for tasks and pools', async (t) => {
  assert.deepEqual(await inSmallSpace(t, 'blocks'), [
    ['a pool', 'works'],
    ['blocks', 'ERR_PLAIT_OUT_OF_MEMORY'],
    ['a file', 'ENOSPC'],
    ['the root', true],
    ['many open files', 200],
    ['a block', 'ERR_PLAIT_OUT_OF_MEMORY'],
    ['a task', 'done'],
    ['tasks', 20],
    ['a large task', 100000],
    ['a new pool', 'works'],
    ['the pool', 20],
    ...AFTERWARDS,
  ]);
});

test('a pool works with its present threads if the space has no slot for another', async (t) => {
  assert.deepEqual(await inSmallSpace(t, 'threads'), [
    ['a pool', 'works'],
    ['files', 'ENOSPC'],
    ['blocks', 'ERR_PLAIT_OUT_OF_MEMORY'],
    ['threads', 'ERR_PLAIT_OUT_OF_MEMORY'],
    ['more threads', 'ERR_PLAIT_OUT_OF_MEMORY'],
    ['a file', 'ENOSPC'],
    ['the root', true],
    ['a block', 'ERR_PLAIT_OUT_OF_MEMORY'],
    ['a task', 'done'],
    ['tasks', 20],
    ['a large task', 'ERR_PLAIT_OUT_OF_MEMORY'],
    ['a new pool', 'ERR_PLAIT_OUT_OF_MEMORY'],
    ['the pool', 20],
    ...AFTERWARDS,
  ]);
});

/** Takes all that a thread may have, in blocks of every size. */
function fill({ core }: Space): void {
  for (let size = 400000; size > 8; size = Math.floor(size / 1.5)) while (core.plait_heap_alloc(size) !== 0);
}

test('files in memory can be read beside a mount that is new to the thread, in a space full of blocks', (t) => {
  const first = openSpace({ maximum: 2 ** 23 });
  const fs = createFs(() => first);
  fs.writeFileSync('/file', 'text');
  fs.mount('/host', { type: 'host', directory: fileURLToPath(new URL('.', fixture)) });
  t.after(() => fs.unmount('/host'));
  fill(first);
  const second = attach(first.handle);
  fill(second);
  const far = createFs(() => second);
  assert.equal(far.readFileSync('/file', 'utf8'), 'text');
  assert.ok(far.existsSync('/host/full.js'));
});

test('a full space is not taken for a corrupt one', () => {
  const space = openSpace({ maximum: 2 ** 20 });
  createFs(() => space).writeFileSync('/file', 'text');
  fill(space);
  space.check(true);
  fill(attach(space.handle, Role.coordinator)); // these may take all there is
  fill(space); // what this thread keeps unused
  const isOutOfMemory = { code: 'ERR_PLAIT_OUT_OF_MEMORY' };
  assert.throws(() => space.check(true), isOutOfMemory);
  assert.throws(() => new Heap(() => space).check({ quiescent: true }), isOutOfMemory);
  space.check();
});
