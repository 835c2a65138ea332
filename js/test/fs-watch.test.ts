/**
 * watch and watchFile: the last change is never missed, whatever the host reports; changes are cheap; a closed watcher
 * leaves nothing behind.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import nodeFs, { type FSWatcher } from 'node:fs';
import { tmpdir } from 'node:os';
import { after, type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { openSpace } from 'plait';
import { createFs, type Fs } from 'plait/fs';
import { seed } from './seed.ts';

const scratch = nodeFs.mkdtempSync(`${tmpdir()}/plait-fs-watch-`);
after(() => nodeFs.rmSync(scratch, { recursive: true, force: true }));
const DEADLINE_MS = 30000;
let count = 0;

function files(): Fs {
  const space = openSpace({ maximum: 2 ** 27 });
  return createFs(() => space);
}

/** A directory of the host, mounted at /host, and its path there. */
function mounted(): { fs: Fs; inside: string } {
  const fs = files();
  const inside = `${scratch}/${count++}`;
  nodeFs.mkdirSync(inside);
  nodeFs.writeFileSync(`${inside}/f`, 'f');
  fs.mount('/host', { type: 'host', directory: inside });
  return { fs, inside };
}

/** Watches and records events; closed when the test is over. */
function watching(t: TestContext, fs: Fs, path: string, options: object = {}): { watcher: FSWatcher; seen: string[] } {
  const seen: string[] = [];
  const watcher = fs.watch(path, options, (event: string, name: string | Uint8Array | null) =>
    seen.push(`${event} ${name}`),
  );
  t.after(() => watcher.close());
  return { watcher, seen };
}

async function until(holds: () => boolean, what: () => string): Promise<void> {
  for (const end = performance.now() + DEADLINE_MS; !holds(); await setTimeout(1)) {
    assert.ok(performance.now() < end, what());
  }
}

test('a watcher behind a mount reports changes that the host lost because its queue was full', {
  timeout: 60000,
}, async (t) => {
  const limit = Number(nodeFs.readFileSync('/proc/sys/fs/inotify/max_queued_events', 'latin1'));
  const { fs, inside } = mounted();
  nodeFs.mkdirSync(`${inside}/deep/er`, { recursive: true });
  const { seen } = watching(t, fs, '/host');
  const { seen: seenDeep } = watching(t, fs, '/host', { recursive: true });
  const { seen: seenMixed } = watching(t, fs, '/', { recursive: true });
  const { seen: seenFile } = watching(t, fs, '/host/f');
  // They all sleep again after they have reported this.
  nodeFs.appendFileSync(`${inside}/f`, 'some');
  await until(
    () =>
      [seen, seenDeep, seenFile].every((events) => events.includes('change f')) && seenMixed.includes('change host/f'),
    () => `seen: ${[seen, seenDeep, seenMixed, seenFile].join('; ')}`,
  );
  for (const events of [seen, seenDeep, seenMixed, seenFile]) events.length = 0;
  const lost: string[] = [];
  const own = nodeFs.watch(inside, (_, name) => lost.push(String(name)));
  t.after(() => own.close());
  const elsewhere = nodeFs.mkdtempSync(`${scratch}/elsewhere-`);
  const noise = nodeFs.watch(elsewhere, () => {});
  t.after(() => noise.close());
  // All of it in one turn of the event loop, which reads the queue. Equal events in a row are one to the kernel.
  const [one, two] = [nodeFs.openSync(`${elsewhere}/one`, 'w'), nodeFs.openSync(`${elsewhere}/two`, 'w')];
  t.after(() => [one, two].map((fd) => nodeFs.closeSync(fd)));
  for (let i = 0; i < limit + 100; i++) nodeFs.fchmodSync(i % 2 === 0 ? one : two, 0o600 + (i % 64));
  nodeFs.writeFileSync(`${inside}/new`, 'x');
  nodeFs.writeFileSync(`${inside}/deep/er/new`, 'x');
  nodeFs.appendFileSync(`${inside}/f`, 'more');
  await until(
    () =>
      ['rename new', 'change f'].every((event) => seen.includes(event)) &&
      ['rename new', 'rename deep/er/new', 'change f'].every((event) => seenDeep.includes(event)) &&
      ['rename host/new', 'rename host/deep/er/new'].every((event) => seenMixed.includes(event)) &&
      seenFile.includes('change f'),
    () => `seen: ${[seen, seenDeep, seenMixed, seenFile].map((events) => [...new Set(events)]).join('; ')}`,
  );
  assert.ok(!lost.includes('new'), "the host's own watcher has lost it");
});

test('a directory that the host refuses to watch causes an error, and is polled', { timeout: 60000 }, async (t) => {
  const { fs, inside } = mounted();
  nodeFs.mkdirSync(`${inside}/sub`);
  const made: EventEmitter[] = [];
  const full = Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', errno: -28, syscall: 'watch', path: '/host/path' });
  const mock = t.mock.method(nodeFs, 'watch', () => {
    if (made.length === 1) throw full;
    const watcher = Object.assign(new EventEmitter(), { close: () => {} });
    made.push(watcher);
    return watcher;
  });
  const { watcher, seen } = watching(t, fs, '/host', { recursive: true });
  const [error] = (await once(watcher as never, 'error')) as [NodeJS.ErrnoException];
  assert.deepEqual([error.code, error.syscall, error.path], ['ENOSPC', 'watch', '/host/sub']);
  assert.throws(() => fs.watch('/host'), { code: 'ENOSPC', syscall: 'watch', path: '/host' });
  // Later it may fail altogether.
  const other = Object.assign(new Error('EIO'), { code: 'EIO', errno: -5 });
  const next = fs.promises.watch('/host/sub');
  made.length = 0;
  const reported = assert.rejects((next as AsyncGenerator).next(), { code: 'EIO', path: '/host/sub' });
  await until(
    () => made.length === 1,
    () => 'it is watched',
  );
  made[0]?.emit('error', other);
  await reported;
  mock.mock.restore();
  nodeFs.writeFileSync(`${inside}/sub/new`, 'x');
  await until(
    () => seen.includes('rename sub/new'),
    () => `seen: ${seen}`,
  );
});

test('a watcher of 20,000 files costs little for each change anywhere', { timeout: 60000 }, async (t) => {
  const fs = files();
  fs.mkdirSync('/many');
  fs.mkdirSync('/probe');
  const MANY = 20000;
  for (let i = 0; i < MANY; i++) fs.writeFileSync(`/many/${i}`, '');
  const { seen } = watching(t, fs, '/many');
  const { seen: probe } = watching(t, fs, '/probe');
  const measure = async (change: (i: number) => void): Promise<number> => {
    const times: number[] = [];
    for (let i = 0; i < 40; i++) {
      const before = probe.length;
      const start = performance.now();
      change(i);
      fs.writeFileSync('/probe/f', `${'x'.repeat(i)}`);
      // The later watcher looks after the earlier one.
      while (probe.length === before) {
        assert.ok(performance.now() < start + DEADLINE_MS, 'it is reported');
        await new Promise(setImmediate);
      }
      times.push(performance.now() - start);
    }
    return Math.min(...times);
  };
  const costs = {
    elsewhere: await measure((i) => fs.writeFileSync('/f', `${i}`)),
    change: await measure((i) => fs.writeFileSync(`/many/${i * 100}`, `${i}`)),
    create: await measure((i) => fs.writeFileSync(`/many/new${i}`, `${i}`)),
    rename: await measure((i) => fs.renameSync(`/many/new${i}`, `/many/${i * 90 + 1}`)),
    remove: await measure((i) => fs.unlinkSync(`/many/${i * 80}`)),
  };
  t.diagnostic(JSON.stringify(costs));
  for (const [what, cost] of Object.entries(costs)) assert.ok(cost < 1, `${what}: ${cost} ms`);
  const expected = Array.from({ length: 40 }, (_, i) => [
    `change ${i * 100}`,
    `rename new${i}`,
    `rename ${i * 90 + 1}`,
    `rename ${i * 80}`,
  ]).flat();
  assert.deepEqual(new Set(seen), new Set(expected));
});

/** What each name is, for a program that asks. */
function look(fs: Fs, top: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const name of fs.readdirSync(top, { recursive: true, encoding: 'utf8' })) {
    const stats = fs.lstatSync(`${top}/${name}`, { bigint: true });
    const rest = stats.isDirectory() ? '' : `${stats.ctimeNs}:${stats.size}`;
    found.set(name, `${stats.mode & 0o170000n}:${stats.ino}:${stats.birthtimeNs} ${rest}`);
  }
  return found;
}

for (const place of ['memory', 'a mount']) {
  test(`each changed name is reported, and no other: ${place} (seed ${seed})`, { timeout: 60000 }, async (t) => {
    let state = seed >>> 0 || 1;
    const next = (limit: number): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return (state >>> 8) % limit;
    };
    const { fs, inside } = mounted();
    const isMounted = place !== 'memory';
    const top = isMounted ? '/host' : '/memory';
    if (!isMounted) fs.mkdirSync('/memory');
    // Other programs change the host's files.
    const [by, root] = isMounted ? [nodeFs as unknown as Fs, inside] : [fs, top];
    const flat = watching(t, fs, top).seen;
    const deep = watching(t, fs, top, { recursive: true }).seen;
    const names = ['a', 'b', 'c', 'a/a', 'a/b', 'b/a', 'b/b', 'c/a', 'a/a/a', 'b/b/b'];
    const path = (): string => `${root}/${names[next(names.length)]}`;
    const actions = [
      () => by.writeFileSync(path(), 'x'.repeat(next(9))),
      () => by.mkdirSync(path()),
      () => by.mkdirSync(path(), { recursive: true }),
      () => by.renameSync(path(), path()),
      () => by.renameSync(path(), path()),
      () => by.linkSync(path(), path()),
      () => by.rmSync(path(), { recursive: true }),
      () => by.chmodSync(path(), 0o600 + next(64)),
      () => by.appendFileSync(path(), 'more'),
      () => by.symlinkSync('a', path()),
    ];
    const ever = new Set<string>();
    for (let round = 0; round < 60; round++) {
      const before = look(fs, top);
      for (let i = next(6); i >= 0; i--) {
        try {
          actions[next(actions.length)]?.();
        } catch {}
        for (const name of look(fs, top).keys()) ever.add(name);
      }
      const now = look(fs, top);
      const different = [...new Set([...before.keys(), ...now.keys()])].filter(
        (name) => before.get(name) !== now.get(name),
      );
      const events = different.map((name) => {
        const [was, is] = [before.get(name)?.split(' ')[0], now.get(name)?.split(' ')[0]];
        return `${was === is ? 'change' : 'rename'} ${name}`;
      });
      await until(
        () =>
          events.every((event) => deep.includes(event)) &&
          events.every((event) => event.includes('/') || flat.includes(event)),
        () => `round ${round}: ${events}; deep: ${deep}; flat: ${flat}`,
      );
      const others = [...deep, ...flat].filter((event) => !ever.has(event.replace(/^(change|rename) /, '')));
      assert.deepEqual(others, [], 'names that were never there');
      flat.length = 0;
      deep.length = 0;
    }
  });
}

test('a change within the same instant as the last poll is reported', { timeout: 60000 }, async (t) => {
  const fs = files();
  fs.mkdirSync('/d');
  fs.writeFileSync('/d/f', 'a');
  let now = Date.now() + 5;
  t.mock.method(Date, 'now', () => now);
  const { seen } = watching(t, fs, '/d');
  let reported = 0;
  fs.watchFile('/d/f', () => reported++);
  t.after(() => fs.unwatchFile('/d/f'));
  for (const [i, text] of [...'bcdefghijklmnopqrst'].entries()) {
    seen.length = reported = 0;
    if (i % 4 === 0) now++; // not every time is exact
    fs.writeFileSync('/d/f', text);
    await until(
      () => seen.includes('change f') && reported > 0,
      () => `${text}, seen: ${seen}, reported: ${reported}`,
    );
  }
});

test('mounts that are added and removed below a watched directory are reported', { timeout: 60000 }, async (t) => {
  const { fs, inside } = mounted();
  fs.mkdirSync('/top/point', { recursive: true });
  fs.writeFileSync('/top/point/hidden', '');
  const { seen } = watching(t, fs, '/top', { recursive: true });
  const reported = (event: string): Promise<void> =>
    until(
      () => seen.includes(event),
      () => `${event}: ${seen}`,
    );
  fs.mount('/top/point', { type: 'host', directory: inside });
  await reported('rename point/f');
  await reported('rename point/hidden');
  nodeFs.writeFileSync(`${inside}/new`, '');
  await reported('rename point/new');
  nodeFs.mkdirSync(`${inside}/d`);
  nodeFs.writeFileSync(`${inside}/d/x`, '');
  await reported('rename point/d/x');
  seen.length = 0;
  fs.unmount('/top/point');
  await reported('rename point/hidden');
  await reported('rename point/d/x');
});

test('a directory that is removed and created again behind a mount is watched again', { timeout: 60000 }, async (t) => {
  const { fs, inside } = mounted();
  nodeFs.mkdirSync(`${inside}/d`);
  const { seen } = watching(t, fs, '/host/d');
  nodeFs.rmdirSync(`${inside}/d`);
  await until(
    () => seen.includes('rename d'),
    () => `seen: ${seen}`,
  );
  nodeFs.mkdirSync(`${inside}/d`);
  nodeFs.writeFileSync(`${inside}/d/x`, '');
  await until(
    () => seen.includes('rename x'),
    () => `seen: ${seen}`,
  );
  seen.length = 0;
  nodeFs.writeFileSync(`${inside}/d/y`, '');
  await until(
    () => seen.includes('rename y'),
    () => `seen: ${seen}`,
  );
});

test('a signal closes a watcher as in node:fs, aborted before or after', { timeout: 60000 }, async () => {
  const { fs, inside } = mounted();
  const early = AbortSignal.abort();
  for (const [by, path] of [
    [nodeFs, inside],
    [fs, '/'],
    [fs, '/host'],
  ] as [Pick<Fs, 'watch' | 'promises'>, string][]) {
    await once(by.watch(path, { signal: early }) as never, 'close', { signal: AbortSignal.timeout(DEADLINE_MS) });
    const late = new AbortController();
    const watcher = by.watch(path, { signal: late.signal });
    const closed = once(watcher as never, 'close', { signal: AbortSignal.timeout(DEADLINE_MS) });
    late.abort();
    await closed;
    assert.throws(() => by.watch(path, { persistent: false, signal: 'x' as never }), { code: 'ERR_INVALID_ARG_TYPE' });
    const iterator = (by.promises.watch(path, { signal: early }) as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    await assert.rejects(iterator.next(), { name: 'AbortError', code: 'ABORT_ERR' });
  }
});

test('a program ends though watchers that do not keep it are open, and not otherwise', {
  timeout: 60000,
}, async (t) => {
  const { inside } = mounted();
  const index = new URL('../../dist/fs/index.js', import.meta.url);
  const run = (source: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const text = `import fs from '${index}'; fs.mkdirSync('/d'); fs.writeFileSync('/d/f', '');
        fs.mount('/host', { type: 'host', directory: ${JSON.stringify(inside)} }); ${source}`;
      execFile(process.execPath, ['--input-type=module', '-e', text], { timeout: DEADLINE_MS }, (error, stdout) =>
        error === null ? resolve(stdout) : reject(error),
      );
    });
  for (const path of ['/d', '/host', '/']) {
    await run(`fs.watch('${path}', { persistent: false, recursive: true });
      fs.watch('${path}').unref(); fs.watch('${path}').close(); fs.watch('${path}', { signal: AbortSignal.abort() });`);
  }
  await run(`for (const path of ['/d/f', '/host/f']) {
    fs.watchFile(path, { persistent: false, interval: 10 }, () => {});
    fs.watchFile(path + 'x', { interval: 10 }, () => {}); fs.unwatchFile(path + 'x'); }`);
  const kept = await run(`const watcher = fs.watch('/d', { persistent: false }).ref();
    setTimeout(() => { console.log('kept'); watcher.close(); }, 50).unref();`);
  assert.equal(kept, 'kept\n');
  const reported = await run(`let caught = 0; const seen = new Set();
    process.on('uncaughtException', () => caught++);
    const watcher = fs.watch('/d', (_, name) => { seen.add(name); throw new Error('a listener'); });
    fs.watchFile('/d/f', () => { seen.add('file'); throw new Error('a listener'); });
    for (const name of ['f', 'a', 'b']) fs.writeFileSync('/d/' + name, 'more');
    const timer = setInterval(() => {
      if (seen.size < 4 || caught < 4) return;
      console.log('all reported'); clearInterval(timer); watcher.close(); fs.unwatchFile('/d/f');
    }, 1);`);
  assert.equal(reported, 'all reported\n', 'though the listeners throw');
  t.diagnostic('all ended');
});
