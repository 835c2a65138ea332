/**
 * Mounts of host directories, and paths, at their limits: large files, reused inode numbers, systems without /proc,
 * many slashes, and mounts that change during a call.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import nodeFs from 'node:fs';
import { tmpdir } from 'node:os';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { openSpace, type Space } from 'plait';
import { createFs, type Fs } from 'plait/fs';
import { code, DEADLINE_MS, start } from './fs-mount-helpers.ts';

const scratch = nodeFs.mkdtempSync(`${tmpdir()}/plait-fs-mount-limits-`);
after(() => nodeFs.rmSync(scratch, { recursive: true, force: true }));
let count = 0;

interface World {
  space: Space;
  fs: Fs;
  inside: string;
}

function world(): World {
  const space = openSpace({ maximum: 2 ** 27 });
  const fs = createFs(() => space);
  const inside = directory();
  fs.mount('/host', { type: 'host', directory: inside });
  return { space, fs, inside };
}

function directory(): string {
  const made = `${scratch}/${count++}`;
  nodeFs.mkdirSync(made);
  return made;
}

// ---- large files ----

test('files of 4 GiB and more behave as in node:fs', { timeout: 60000 }, async () => {
  const { fs, inside } = world();
  const SIZE = 2 ** 32 + 100;
  const tail = 'the end';
  fs.mkdirSync('/memory');
  // With holes, so they take no room: in memory, behind a mount, and as the oracle has it.
  const places = [
    [fs, '/memory'],
    [fs, '/host'],
    [nodeFs, inside],
  ] as unknown as [Fs, string][];
  for (const [by, top] of places) {
    const path = `${top}/big`;
    by.writeFileSync(path, '');
    by.truncateSync(path, SIZE);
    assert.equal(by.statSync(path).size, SIZE, top);
    const fd = by.openSync(path, 'r+');
    assert.equal(by.writeSync(fd, tail, SIZE - tail.length), tail.length);
    assert.equal(by.writeSync(fd, Buffer.from('beyond'), 0, 6, SIZE + 2 ** 32), 6);
    assert.equal(by.fstatSync(fd).size, SIZE + 2 ** 32 + 6);
    by.ftruncateSync(fd, SIZE);
    const bytes = Buffer.alloc(20);
    assert.equal(by.readSync(fd, bytes, 0, 20, SIZE - tail.length), tail.length);
    assert.equal(bytes.toString('latin1', 0, tail.length), tail);
    assert.equal(by.readSync(fd, bytes, 0, 20, BigInt(SIZE - 4)), 4);
    assert.equal(by.readSync(fd, bytes, 0, 20, 2 ** 33), 0);
    for (const action of [
      () => by.readFileSync(path),
      () => by.readFileSync(fd),
      () => by.readFileSync(path, { flag: 'r+' }),
    ]) {
      assert.equal(code(action), 'ERR_FS_FILE_TOO_LARGE', `${top} ${action}`);
    }
    await assert.rejects(by.promises.readFile(path), { code: 'ERR_FS_FILE_TOO_LARGE' });
    const failure = await new Promise<NodeJS.ErrnoException | null>((resolve) =>
      by.readFile(path, (error: NodeJS.ErrnoException | null) => resolve(error)),
    );
    assert.equal(failure?.code, 'ERR_FS_FILE_TOO_LARGE');
    by.closeSync(fd);
    let text = '';
    const stream = by.createReadStream(path, { start: SIZE - 10, end: SIZE - 2, encoding: 'latin1' });
    for await (const part of stream as AsyncIterable<string>) text += part;
    assert.equal(text, `\0\0\0${tail.slice(0, -1)}`);
    const out = by.createWriteStream(path, { flags: 'r+', start: SIZE - 3 }) as NodeJS.WritableStream;
    out.end('END!');
    await once(out, 'close');
    assert.equal(by.statSync(path).size, SIZE + 1);
    by.truncateSync(path, 2 ** 31);
    assert.equal(
      code(() => by.readFileSync(path)),
      'ERR_FS_FILE_TOO_LARGE',
    );
    by.truncateSync(path, 3);
    assert.equal(by.readFileSync(path, 'latin1'), '\0\0\0');
  }
  // A copy of zeros is no hole in memory.
  nodeFs.truncateSync(`${inside}/big`, SIZE);
  assert.throws(() => fs.copyFileSync('/host/big', '/memory/copy'), { code: 'ENOSPC', syscall: 'copyfile' });
  fs.rmSync('/memory/copy', { force: true });
  const [head] = fs.exportTar('/host');
  assert.ok(head);
  const MANY = 2 ** 26 + 5;
  nodeFs.writeFileSync(`${inside}/some`, Buffer.alloc(MANY, 'abc'), { mode: 0o640 });
  fs.copyFileSync('/host/some', '/host/copied');
  assert.ok(nodeFs.readFileSync(`${inside}/copied`).equals(Buffer.alloc(MANY, 'abc')));
  assert.equal(nodeFs.statSync(`${inside}/copied`).mode & 0o777, 0o640);
  assert.equal(
    code(() => fs.copyFileSync('/host/some', '/host/copied', fs.constants.COPYFILE_EXCL)),
    'EEXIST',
  );
  fs.check();
});

// ---- which directory was mounted ----

test('another directory with the same number is not taken for the one that was mounted', {
  timeout: 60000,
}, async (t) => {
  const space = openSpace({ maximum: 2 ** 27 });
  const fs = createFs(() => space);
  // The thread that mounted it has exited, so no thread holds the directory open, and its number is free.
  const mounted = directory();
  const { worker, ask } = await start(t, space);
  await ask('mount', { path: '/m', directory: mounted });
  await worker.terminate();
  const { ino, birthtimeNs } = nodeFs.statSync(mounted, { bigint: true });
  let again = false;
  for (let i = 0; i < 200 && !again; i++) {
    nodeFs.rmdirSync(mounted);
    nodeFs.mkdirSync(mounted);
    const now = nodeFs.statSync(mounted, { bigint: true });
    again = now.ino === ino && now.birthtimeNs !== birthtimeNs;
  }
  t.diagnostic(again ? 'its number was used again' : 'its number was not used again');
  nodeFs.writeFileSync(`${mounted}/f`, 'another');
  assert.equal(
    code(() => fs.readFileSync('/m/f')),
    'ESTALE',
  );
  fs.unmount('/m');
  // While a thread has it mounted, its number is not reused.
  const held = directory();
  const number = nodeFs.statSync(held).ino;
  fs.mount('/m', { type: 'host', directory: held });
  for (let i = 0; i < 50; i++) {
    nodeFs.rmdirSync(held);
    nodeFs.mkdirSync(held);
    assert.notEqual(nodeFs.statSync(held).ino, number);
  }
  nodeFs.writeFileSync(`${held}/f`, 'another');
  assert.deepEqual(fs.readdirSync('/m'), []);
  const other = await start(t, space);
  await assert.rejects(other.ask('readFile', { path: '/m/f' }), { code: 'ESTALE' });
  // What happens in it, and to it, makes it no other.
  const kept = directory();
  fs.mount('/kept', { type: 'host', directory: kept });
  nodeFs.chmodSync(kept, 0o700);
  nodeFs.writeFileSync(`${kept}/f`, 'f');
  nodeFs.utimesSync(kept, 1, 1);
  assert.equal(await other.ask('readFile', { path: '/kept/f' }), 'f');
  const descriptors = (): number => nodeFs.readdirSync('/proc/self/fd').length;
  const before = descriptors();
  for (const path of ['/m', '/kept']) fs.unmount(path);
  fs.mounts();
  assert.equal(descriptors(), before - 2, 'what is not mounted any more is not held');
});

test('a Linux without /proc is refused', { skip: process.platform !== 'linux' && 'no Linux' }, (t) => {
  const { fs, inside } = world();
  const exists = nodeFs.existsSync;
  t.mock.method(nodeFs, 'existsSync', (path: string) => !String(path).startsWith('/proc') && exists(path));
  assert.throws(() => fs.mount('/late', { type: 'host', directory: inside }), {
    code: 'ERR_PLAIT_UNSUPPORTED',
    message: /\/proc/,
  });
  assert.deepEqual(fs.readdirSync('/'), ['host'], 'nothing is made for a mount that fails');
});

// ---- mounts that come in between ----

test('errors of the mount layer stay inside it, whatever is mounted during the call', { timeout: 60000 }, async (t) => {
  const space = openSpace({ maximum: 2 ** 27 });
  let inBetween: (() => void) | undefined;
  let on = '';
  // What happens before the core does a thing, once.
  const core = Object.fromEntries(
    Object.entries(space.core).map(([name, real]) => [
      name,
      typeof real !== 'function'
        ? real
        : (...all: never[]) => {
            if (name === on && inBetween !== undefined) {
              const action = inBetween;
              inBetween = undefined;
              action();
            }
            return (real as (...all: never[]) => unknown)(...all);
          },
    ]),
  );
  Object.defineProperty(space, 'core', { value: core });
  const fs = createFs(() => space);
  const { worker } = await start(t, space);
  const [outer, inner] = [directory(), directory()];
  fs.mount('/host', { type: 'host', directory: outer });
  const mountMeanwhile = (path: string): void => {
    const sign = `${path}/${count++}`;
    worker.postMessage({ action: 'mount', path, directory: inner });
    worker.postMessage({ action: 'append', path: sign, text: 'x', count: 1 });
    const end = performance.now() + DEADLINE_MS;
    while (!nodeFs.existsSync(inner + sign.slice(path.length))) assert.ok(performance.now() < end, 'it is mounted');
  };
  /** The Worker may still have the file open that it has made as a sign. */
  const unmount = async (path: string): Promise<void> => {
    const end = performance.now() + DEADLINE_MS;
    for (;;) {
      const outcome = code(() => fs.unmount(path));
      if (outcome === 'nothing thrown') return;
      assert.ok(outcome === 'EBUSY' && performance.now() < end, outcome);
      await setTimeout(1);
    }
  };
  for (const [name, call] of [
    ['plait_fs_rename', () => fs.renameSync('/host/../a/x', '/a/y')],
    ['plait_fs_link', () => fs.linkSync('/host/../a/x', '/a/y')],
  ] as [string, () => void][]) {
    fs.mkdirSync('/a');
    fs.writeFileSync('/a/x', 'memory');
    nodeFs.writeFileSync(`${inner}/x`, 'mounted');
    // When the call begins, both lie in memory, as far as this thread knows.
    on = name;
    inBetween = () => mountMeanwhile('/a');
    call();
    assert.equal(nodeFs.readFileSync(`${inner}/y`, 'utf8'), 'mounted', name);
    await unmount('/a');
    fs.rmSync('/a', { recursive: true });
    nodeFs.rmSync(`${inner}/y`);
  }
  // What is to be emptied is a mount by now: as for every mount, rm refuses it.
  fs.mkdirSync('/r/d', { recursive: true });
  nodeFs.mkdirSync(`${inner}/d`);
  on = 'plait_fs_empty';
  inBetween = () => mountMeanwhile('/r');
  assert.equal(
    code(() => fs.rmSync('/r', { recursive: true })),
    'EBUSY',
  );
  assert.ok(nodeFs.existsSync(`${inner}/d`));
  await unmount('/r');
  // What was a link in memory lies in a mount by now.
  fs.symlinkSync('/b', '/r/l');
  nodeFs.writeFileSync(`${inner}/l`, 'mounted');
  for (const [name, real] of [
    ['plait_fs_readlink', fs.realpathSync],
    ['plait_fs_real', fs.realpathSync.native],
  ] as [string, (path: string) => string][]) {
    fs.mkdirSync('/b', { recursive: true });
    on = name;
    inBetween = () => mountMeanwhile('/r');
    assert.equal(real('/r/l'), '/r/l');
    await unmount('/r');
  }
  fs.mkdirSync('/b/c', { recursive: true });
  on = 'plait_fs_mount';
  inBetween = () => mountMeanwhile('/b');
  assert.throws(() => fs.mount('/b/c', { type: 'host', directory: outer }), { code: 'ENOENT', path: '/b/c' });
  nodeFs.mkdirSync(`${inner}/c`);
  await unmount('/b');
  inBetween = () => mountMeanwhile('/b');
  fs.mount('/b/c', { type: 'host', directory: outer });
  nodeFs.writeFileSync(`${outer}/deep`, 'deep');
  assert.equal(fs.readFileSync('/b/c/deep', 'utf8'), 'deep');
  // The host's own error of that name is a failure of the host.
  const remote = Object.assign(new Error('EREMOTE'), { code: 'EREMOTE', errno: -66 });
  t.mock.method(nodeFs, 'mkdirSync', () => {
    throw remote;
  });
  assert.equal(
    code(() => fs.mkdirSync('/host/new')),
    'EIO',
  );
});

test('internal codes of the mount layer are not visible while mounts change', { timeout: 60000 }, async (t) => {
  const space = openSpace({ maximum: 2 ** 27 });
  const fs = createFs(() => space);
  const top = directory();
  const another = directory();
  nodeFs.mkdirSync(`${top}/d`);
  fs.mkdirSync('/a/d', { recursive: true });
  const { worker } = await start(t, space);
  worker.postMessage({ action: 'remount', path: '/a', directory: top });
  const paths = ['/a', '/a/d', '/a/x', '/a/d/x', '/a/d/../x', '/a/../a/d', '/b/../a/x', '/x'];
  const actions: ((path: string, other: string) => unknown)[] = [
    (path) => fs.writeFileSync(path, 'x'),
    (path) => fs.readFileSync(path),
    (path) => fs.readdirSync(path),
    (path) => fs.statSync(path),
    (path) => fs.mkdirSync(path, { recursive: true }),
    (path) => fs.rmSync(path, { recursive: true }),
    (path) => fs.chmodSync(path, 0o777),
    (path) => fs.truncateSync(path, 1),
    (path) => fs.accessSync(path),
    (path) => fs.realpathSync(path),
    (path) => fs.closeSync(fs.openSync(path, 'a+')),
    (path) => fs.mapSync(path).close(),
    (path) => fs.watch(path).close(),
    (path) => fs.statfsSync(path),
    (path, other) => fs.renameSync(path, other),
    (path, other) => fs.linkSync(path, other),
    (path, other) => fs.symlinkSync(other, path),
    (path, other) => fs.copyFileSync(path, other),
    (path) => fs.readlinkSync(path),
    (path) => fs.globSync(`${path}/**`),
    (path) => fs.mount(path, { type: 'host', directory: another }),
    (path) => fs.unmount(path),
  ];
  const met = new Set<string>();
  for (let i = 0; i < 4000; i++) {
    const [path, other] = [paths[(i * 7) % paths.length], paths[(i * 11 + (i >> 4)) % paths.length]] as [
      string,
      string,
    ];
    met.add(code(() => actions[i % actions.length]?.(path, other)));
    if (i % 500 === 0) await setTimeout(0); // watchers end
  }
  t.diagnostic([...met].join(' '));
  for (const bad of ['EREMOTE', 'ERR_PLAIT_CORRUPT', 'EBADF']) assert.ok(!met.has(bad), bad);
});

// ---- slashes ----

test('a path of endless slashes takes no time', { timeout: 60000 }, () => {
  const { fs, inside } = world();
  const long = '/'.repeat(100000);
  fs.mkdirSync('/d');
  const all: [string, (fs: Fs, path: string) => unknown][] = [
    ['stat', (by, path) => by.statSync(path)],
    ['read', (by, path) => by.readFileSync(path)],
    ['write', (by, path) => by.writeFileSync(path, '')],
    ['mkdir', (by, path) => by.mkdirSync(path)],
    ['mkdir -p', (by, path) => by.mkdirSync(path, { recursive: true })],
    ['rm', (by, path) => by.rmSync(path, { recursive: true, force: true })],
    ['readdir', (by, path) => by.readdirSync(path, { recursive: true })],
    ['opendir', (by, path) => by.opendirSync(path).closeSync()],
    ['cp', (by, path) => by.cpSync(path, `${path}y`, { recursive: true })],
    ['copyFile', (by, path) => by.copyFileSync(path, `${path}y`)],
    ['rename', (by, path) => by.renameSync(path, `${path}y`)],
    ['symlink', (by, path) => by.symlinkSync(path, path)],
    ['mkdtemp', (by, path) => by.mkdtempSync(path)],
    ['watch', (by, path) => by.watch(path).close()],
  ];
  const own: [string, (fs: Fs, path: string) => unknown][] = [
    ['realpath', (by, path) => by.realpathSync(path)],
    ['realpath.native', (by, path) => by.realpathSync.native(path)],
    ['glob', (by, path) => by.globSync(path, { cwd: path })],
    ['exclude', (by, path) => by.globSync('*', { exclude: [path] })],
    ['mount', (by, path) => by.mount(path, { type: 'host', directory: inside })],
    ['unmount', (by, path) => by.unmount(path)],
    ['tar', (by, path) => [...by.exportTar(path)]],
    ['watchFile', (by, path) => [by.watchFile(path, () => {}), by.unwatchFile(path)]],
  ];
  for (const path of [
    `${long}x`,
    `/d${long}x`,
    `/d${long}`,
    `/host${long}x`,
    `${'/x'.repeat(50000)}`,
    `/d${'/.'.repeat(50000)}`,
  ]) {
    for (const [what, action] of [...all, ...own]) {
      const start = performance.now();
      const outcome = code(() => action(fs, path));
      const time = performance.now() - start;
      assert.ok(time < 500, `${what} ${path.slice(0, 9)}: ${time} ms`);
      assert.ok(!/^(Range|EREMOTE|ERR_PLAIT)/.test(outcome), `${what} ${path.slice(0, 9)}: ${outcome}`);
    }
    for (const [what, action] of all.filter(([what]) => !['cp', 'rm'].includes(what))) {
      assert.equal(
        code(() => action(fs, path)),
        code(() => action(nodeFs as unknown as Fs, inside + path)),
        `${what} ${path.slice(0, 9)}`,
      );
    }
  }
});

test('where the engine’s own stack ends, the core’s is not used up', () => {
  const space = openSpace({ maximum: 2 ** 27 });
  const fs = createFs(() => space);
  fs.mkdirSync('/a/b', { recursive: true });
  const { value } = space.core.__stack_pointer;
  let ends = 0;
  /** Asks at every depth, so at the last ones the stack ends in the core. A lookup in memory holds no lock. */
  const descend = (): void => {
    try {
      descend();
    } catch (error) {
      assert.ok(error instanceof RangeError);
    }
    try {
      fs.statSync('/a/b');
    } catch (error) {
      assert.ok(error instanceof RangeError);
      ends++;
    }
  };
  for (let i = 0; i < 40; i++) descend();
  assert.ok(ends > 40);
  assert.ok(fs.statSync('/a/b').isDirectory());
  assert.equal(space.core.__stack_pointer.value, value);
  assert.equal(fs.existsSync('/none'), false);
  fs.check();
});
