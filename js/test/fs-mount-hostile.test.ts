/**
 * Mounts of host directories: bad input, and changes by another thread or program at the worst moment. A test produces
 * such a moment by replacing one function of node:fs, which makes the change before it continues.
 */
import assert from 'node:assert/strict';
import * as nodeFs from 'node:fs';
import { tmpdir } from 'node:os';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { openSpace, type Space } from 'plait';
import { createFs, type Fs } from 'plait/fs';
import { Fs as FsRoot } from '../../dist/core/layout.generated.js';
import { HostBackend } from '../../dist/fs/host-backend.js';
import { code, DEADLINE_MS, openBelow, start } from './fs-mount-helpers.ts';

const scratch = nodeFs.mkdtempSync(`${tmpdir()}/plait-fs-mount-hostile-`);
after(() => nodeFs.rmSync(scratch, { recursive: true, force: true }));
let count = 0;

interface World {
  space: Space;
  fs: Fs;
  /** The directory mounted at /host, with a file `f`. */
  inside: string;
}

function world(readOnly = false): World {
  const space = openSpace({ maximum: 2 ** 27 });
  const fs = createFs(() => space);
  const inside = `${scratch}/${count++}`;
  nodeFs.mkdirSync(inside);
  nodeFs.writeFileSync(`${inside}/f`, '0123456789');
  fs.mount('/host', { type: 'host', directory: inside, readOnly });
  return { space, fs, inside };
}

type HostFs = Record<string, (...args: unknown[]) => unknown>;

/**
 * Does something with one of node:fs's functions as it is in `meanwhile`, which is given the true one and its
 * arguments.
 */
function inBetween(name: string, meanwhile: (real: () => unknown, path: unknown) => unknown, action: () => void): void {
  const host = process.getBuiltinModule('node:fs') as unknown as HostFs;
  const real = host[name] as HostFs[string];
  host[name] = (...args) => meanwhile(() => real(...args), args[0]);
  try {
    action();
  } finally {
    host[name] = real;
  }
}

test('a link in memory that leads through a mount to itself is ELOOP', () => {
  const { fs } = world();
  fs.symlinkSync('/host/../circle', '/circle');
  fs.symlinkSync('/host/../there', '/here');
  fs.symlinkSync('/host/.././host/../here/more', '/there');
  for (const path of ['/circle', '/here', '/there/x', '/host/../circle/x']) {
    for (const action of [
      () => fs.statSync(path),
      () => fs.readFileSync(path),
      () => fs.writeFileSync(path, ''),
      () => fs.renameSync(`${path}/x`, '/host/x'),
      () => fs.linkSync('/host/f', `${path}/x`),
      () => fs.watch(path),
    ]) {
      assert.equal(code(action), 'ELOOP', `${path} ${action}`);
    }
  }
  // As often as a path says, one goes in and out.
  assert.equal(fs.readFileSync(`/host/${'../host/'.repeat(500)}f`, 'utf8'), '0123456789');
  for (let i = 0; i < 30; i++) fs.symlinkSync(i === 0 ? '/host/f' : `/host/../l${i - 1}`, `/l${i}`);
  assert.equal(fs.readFileSync('/l29', 'utf8'), '0123456789');
});

test('paths that are too long write over nothing', () => {
  const { fs, space, inside } = world();
  const long = `/${'x'.repeat(60000)}`;
  assert.equal(
    code(() => fs.mount(long, { type: 'host', directory: inside })),
    'ENAMETOOLONG',
  );
  assert.equal(
    code(() => fs.unmount(long)),
    'EINVAL',
  );
  fs.watchFile(long, () => {});
  fs.unwatchFile(long);
  fs.writeFileSync('/memory', 'x');
  assert.equal(fs.readFileSync('/host/f', 'utf8'), '0123456789');
  fs.check();
  space.check(true);
});

test('modes and positions of any size have the same results as in memory', () => {
  const { fs, inside } = world();
  const all = 2 ** 32 - 1;
  for (const top of ['/', '/host/']) {
    fs.chmodSync(`${top === '/' ? '/host/' : top}f`, all);
    const fd = fs.openSync(`${top}made`, 'w+', all);
    fs.fchmodSync(fd, all);
    assert.equal(fs.fstatSync(fd).mode & 0o7777, 0o7777);
    fs.mkdirSync(`${top}directory`, all);
    fs.writeSync(fd, 'text');
    for (const position of [2n ** 53n, 2n ** 62n])
      assert.equal(fs.readSync(fd, new Uint8Array(4), 0, 4, position), 0, `${top} ${position}`);
    assert.equal(
      code(() => fs.readSync(fd, new Uint8Array(4), 0, 4, 2n ** 63n - 1n)),
      'EINVAL',
    );
    fs.closeSync(fd);
  }
  assert.equal(nodeFs.statSync(`${inside}/f`).mode & 0o7777, 0o7777);
});

test('mounting anything but a directory fails with an error of the usual form', () => {
  const { fs, inside } = world();
  assert.throws(() => fs.mount('/m', { type: 'host', directory: `${inside}/f` }), {
    code: 'ENOTDIR',
    errno: -20,
    syscall: 'mount',
    path: `${inside}/f`,
    dest: '/m',
  });
  assert.throws(() => fs.mount('/m', { type: 'host', directory: `${inside}/none` }), {
    code: 'ENOENT',
    syscall: 'mount',
    dest: '/m',
  });
  for (const directory of [undefined, null, 5, {}]) {
    assert.equal(
      code(() => fs.mount('/m', { type: 'host', directory } as never)),
      'ERR_INVALID_ARG_TYPE',
    );
  }
});

test('reading a directory ends, even if it has shrunk meanwhile', () => {
  const { fs, inside } = world();
  nodeFs.mkdirSync(`${inside}/many`);
  const names = Array.from({ length: 800 }, (_, i) => `${'n'.repeat(200)}${i}`);
  for (const name of names) nodeFs.writeFileSync(`${inside}/many/${name}`, '');
  const first = fs.opendirSync('/host/many');
  assert.ok(first.readSync());
  const others = Array.from({ length: 70 }, () => fs.opendirSync('/host/many'));
  for (const other of others) assert.ok(other.readSync());
  for (const name of names.slice(1)) nodeFs.rmSync(`${inside}/many/${name}`);
  let seen = 1;
  while (first.readSync() !== null) seen++;
  assert.ok(seen >= 1 && seen <= names.length);
  for (const directory of [first, ...others]) directory.closeSync();
});

test('open files of a removed mount are closed, even if its directory is removed, too', {
  timeout: 60000,
}, async (t) => {
  const { space, fs, inside } = world();
  nodeFs.mkdirSync(`${inside}/d`);
  const other = `${scratch}/${count++}`;
  nodeFs.mkdirSync(other);
  nodeFs.writeFileSync(`${other}/g`, 'g');
  fs.mount('/other', { type: 'host', directory: other });
  const watcher = fs.watch('/host/d');
  // This thread has the Worker's file open, too; the Worker closes it, and this one learns of it at its next open.
  const { worker, ask } = await start(t, space);
  const fd = (await ask('open', { path: '/host/f', flags: 'r' })) as number;
  assert.equal(fs.fstatSync(fd).size, 10);
  const next = (await ask('open', { path: '/host/f', flags: 'r' })) as number;
  await ask('close', { fd });
  assert.equal(fs.fstatSync(next).size, 10);
  assert.equal(openBelow(inside).length, 2, 'one for each thread: the first went with this use');
  await ask('close', { fd: next });
  fs.unmount('/host');
  nodeFs.rmSync(inside, { recursive: true });
  assert.equal(openBelow(inside).length, 1);
  fs.closeSync(fs.openSync('/other/g', 'r'));
  watcher.close();
  assert.deepEqual(openBelow(inside), []);
  assert.deepEqual(openBelow(other), []);
  await worker.terminate();
});

test('a rename is not refused because of another mount during the call', { timeout: 60000 }, async (t) => {
  const { space, fs, inside } = world();
  nodeFs.mkdirSync(`${inside}/d`);
  nodeFs.mkdirSync(`${inside}/mounted`);
  const { worker } = await start(t, space);
  let met = false;
  // The first directory that is entered belongs to the old name. Before that is done there is another mount.
  inBetween(
    'openSync',
    (real) => {
      if (!met) {
        met = true;
        worker.postMessage({ action: 'mount', path: '/elsewhere', directory: `${inside}/mounted` });
        worker.postMessage({ action: 'append', path: '/elsewhere/now', text: 'x', count: 1 });
        const end = performance.now() + DEADLINE_MS;
        while (!nodeFs.existsSync(`${inside}/mounted/now`)) assert.ok(performance.now() < end, 'it is mounted');
      }
      return real();
    },
    () => fs.renameSync('/host/d/../f', '/host/d/g'),
  );
  assert.ok(met);
  assert.deepEqual(nodeFs.readdirSync(`${inside}/d`), ['g']);
  await worker.terminate();
});

test('opening creates nothing in a read-only mount if the file is removed during the call', () => {
  const { fs, inside } = world(true);
  let looks = 0;
  inBetween(
    'lstatSync',
    (real, path) => {
      const stats = real();
      if (String(path).endsWith('/f')) {
        looks++;
        if (looks === 1) nodeFs.unlinkSync(`${inside}/f`);
      }
      return stats;
    },
    () =>
      assert.equal(
        code(() => fs.openSync('/host/f', fs.constants.O_RDONLY | fs.constants.O_CREAT)),
        'ENOENT',
      ),
  );
  assert.ok(looks > 0);
  assert.deepEqual(nodeFs.readdirSync(inside), []);
});

test('an incomplete mount is completed by the next thread, without waiting', {
  timeout: 60000,
}, async (t) => {
  const { space, fs, inside } = world();
  fs.mkdirSync('/late');
  assert.equal(fs.mounts().length, 1);
  const { worker, ask } = await start(t, space);
  await ask('mount', { path: '/late', directory: inside });
  // As it is when the directory is covered already, and the change of the list is not counted yet.
  const { u32, core } = space as unknown as { u32: Uint32Array; core: { plait_abi_fs(): number } };
  Atomics.sub(u32, ((core.plait_abi_fs() >>> 0) + FsRoot.mountChanges) >>> 2, 1);
  assert.equal(fs.readFileSync('/late/f', 'utf8'), '0123456789');
  await worker.terminate();
});

test('a recursive watcher is notified of changes by other programs at any depth', { timeout: 60000 }, async () => {
  const { fs, inside } = world();
  nodeFs.mkdirSync(`${inside}/a/b`, { recursive: true });
  const seen: string[] = [];
  const watcher = fs.watch('/host', { recursive: true }, (event, name) => seen.push(`${event} ${name}`));
  nodeFs.writeFileSync(`${inside}/a/b/new`, 'x');
  const end = performance.now() + DEADLINE_MS;
  while (!seen.includes('rename a/b/new')) {
    assert.ok(performance.now() < end, `seen: ${seen}`);
    await setTimeout(1);
  }
  watcher.close();
});

test('where links are followed by link(), none is given to it', () => {
  const { fs, inside } = world();
  nodeFs.symlinkSync('/etc/passwd', `${inside}/out`);
  const { dev, ino } = nodeFs.statSync(inside);
  const backend = new HostBackend({ type: 'host', directory: inside, readOnly: false, device: dev, file: ino }, true);
  assert.equal(
    code(() => backend.link(backend.root, 'out', backend.root, 'in')),
    'ENOTSUP',
  );
  backend.link(backend.root, 'f', backend.root, 'g');
  backend.end();
  assert.deepEqual(nodeFs.readdirSync(inside).sort(), ['f', 'g', 'out']);
  // On Linux it is the link itself that gets a second name.
  fs.linkSync('/host/out', '/host/too');
  assert.equal(nodeFs.readlinkSync(`${inside}/too`), '/etc/passwd');
});

test('a mount inside a mount is unmounted without a trace', () => {
  const { space, fs, inside } = world();
  nodeFs.mkdirSync(`${inside}/in`);
  fs.mount('/host/in', { type: 'host', directory: inside });
  fs.unmount('/host/in');
  fs.check();
  space.check(true);
});

test('a link of a mount that is removed during the walk is no path in memory', (t) => {
  const { fs, inside } = world();
  fs.mkdirSync('/b');
  fs.writeFileSync('/b/q', 'memory');
  nodeFs.mkdirSync(`${inside}/ab`);
  nodeFs.writeFileSync(`${inside}/ab/q`, 'host');
  nodeFs.symlinkSync('K', `${inside}/L`);
  nodeFs.symlinkSync('ab', `${inside}/K`);
  fs.mkdirSync('/m');
  fs.mount('/m', { type: 'host', directory: inside });
  // The rest of the path, after two links of the mount, lies where it lay after the link in memory.
  fs.symlinkSync('/m/L/q', '/l');
  assert.equal(fs.readFileSync('/l', 'utf8'), 'host');
  const host = process.getBuiltinModule('node:fs');
  const real = host.readlinkSync as (...args: unknown[]) => string;
  t.mock.method(host, 'readlinkSync', (...args: unknown[]) => {
    const text = real(...args);
    if (text === 'ab') fs.unmount('/m');
    return text;
  });
  assert.equal(
    code(() => fs.readFileSync('/l', 'utf8')),
    'ESTALE',
  );
  assert.equal(
    code(() => fs.readFileSync('/l', 'utf8')),
    'ENOENT',
  );
});

test('mount returns the error of a backend that cannot wait', (t) => {
  const { fs, inside } = world();
  nodeFs.mkdirSync(`${inside}/in`);
  let calls = 0;
  const host = process.getBuiltinModule('node:fs');
  const real = host.lstatSync as (...args: unknown[]) => unknown;
  t.mock.method(host, 'lstatSync', (...args: unknown[]) => {
    // The first one is of the real path.
    if (String(args[0]).endsWith('/in') && ++calls > 1 && calls < 6) {
      throw Object.assign(new Error('busy'), { code: 'EAGAIN' });
    }
    return real(...args);
  });
  assert.equal(
    code(() => fs.mount('/host/in', { type: 'host', directory: inside })),
    'EAGAIN',
  );
  assert.equal(calls, 2);
});
