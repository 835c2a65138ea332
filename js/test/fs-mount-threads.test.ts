/** Mounts of host directories on several threads: what they share, and what their exits leave. */
import assert from 'node:assert/strict';
import * as nodeFs from 'node:fs';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { code, DEADLINE_MS, openBelow, start } from './fs-mount-helpers.ts';
import { world } from './fs-mount-setup.ts';
import { rounds, seed } from './seed.ts';
import './terminates.ts';

test('threads started earlier or later share mounts, descriptors and positions', { timeout: 60000 }, async (t) => {
  const { space, fs, inside, outside } = world();
  const [one, two] = await Promise.all([start(t, space), start(t, space)]);
  fs.mount('/late', { type: 'host', directory: outside });
  assert.deepEqual(await one.ask('mounts'), ['/host', '/late']);
  assert.equal(await two.ask('readFile', { path: '/late/secret' }), 'secret');
  fs.unmount('/late');
  await assert.rejects(one.ask('readFile', { path: '/late/secret' }), { code: 'ENOENT' });
  // A descriptor that one has opened is the others', with one position.
  const fd = (await one.ask('open', { path: '/host/shared', flags: 'w+' })) as number;
  await one.ask('write', { fd, text: 'abc' });
  await two.ask('write', { fd, text: 'def' });
  fs.writeSync(fd, 'ghi');
  assert.equal(nodeFs.readFileSync(`${inside}/shared`, 'utf8'), 'abcdefghi');
  assert.equal(fs.fstatSync(fd).size, 9);
  nodeFs.unlinkSync(`${inside}/shared`);
  const bytes = Buffer.alloc(9);
  fs.readSync(fd, bytes, 0, 9, 0);
  assert.equal(bytes.toString(), 'abcdefghi', 'also when it has no name any more');
  fs.closeSync(fd);
  await assert.rejects(one.ask('write', { fd, text: 'x' }), { code: 'EBADF' });
  await assert.rejects(two.ask('read', { fd, length: 1 }), { code: 'EBADF' });
  // Appends are neither lost nor mixed.
  await Promise.all([
    one.ask('append', { path: '/host/log', text: `${'A'.repeat(39)}\n`, count: 500 }),
    two.ask('append', { path: '/host/log', text: `${'B'.repeat(39)}\n`, count: 500 }),
  ]);
  const lines = nodeFs.readFileSync(`${inside}/log`, 'utf8').split('\n').slice(0, -1);
  assert.equal(lines.length, 1000);
  for (const line of lines) assert.match(line, /^(A{39}|B{39})$/);
  // What belongs to descriptors that others have closed goes at the next open.
  for (const { ask } of [one, two]) await ask('close', { fd: await ask('open', { path: '/host/f', flags: 'r' }) });
  assert.deepEqual(openBelow(inside), []);
  fs.check();
  await Promise.all([one.worker.terminate(), two.worker.terminate()]);
});

test('a thread’s descriptors are closed when it ends, in the space and on the host', { timeout: 60000 }, async (t) => {
  const { space, fs, inside } = world();
  const { worker, ask } = await start(t, space);
  const fd = (await ask('open', { path: '/host/f', flags: 'r+' })) as number;
  assert.equal(openBelow(inside).length, 1);
  fs.writeSync(fd, 'X');
  assert.equal(openBelow(inside).length, 2, 'each thread has its own');
  assert.equal(
    code(() => fs.unmount('/host')),
    'EBUSY',
  );
  await worker.terminate();
  const end = performance.now() + DEADLINE_MS;
  while (code(() => fs.fstatSync(fd)) !== 'EBADF') {
    assert.ok(performance.now() < end, 'the descriptor is closed');
    await setTimeout(1);
  }
  fs.closeSync(fs.openSync('/host/f', 'r'));
  assert.deepEqual(openBelow(inside), []);
  fs.check();
  space.check(true);
  fs.unmount('/host');
});

test(`terminated Workers leave a usable mount, and no open file (seed ${seed})`, {
  timeout: 120000 * rounds,
}, async (t) => {
  const { space, fs, inside } = world();
  for (let i = 0; i < 12 * rounds; i++) {
    const { worker, ask } = await start(t, space);
    await ask('churn', { path: '/host', name: `w${i}` });
    await setTimeout((seed >>> (i % 8)) % 13);
    await worker.terminate();
  }
  const end = performance.now() + DEADLINE_MS;
  while (code(() => fs.unmount('/host')) !== 'nothing thrown') {
    assert.ok(performance.now() < end, 'its descriptors are closed');
    await setTimeout(1);
  }
  assert.deepEqual(openBelow(inside), []);
  fs.check();
  space.check(true);
});
