/**
 * Mounts of host directories: paths stay inside, and invalid operations are refused. fs-mount-threads.test.ts has
 * several threads; fs.test.ts compares the operations on a mount with node:fs.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as nodeFs from 'node:fs';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { openSpace } from 'plait';
import { createFs } from 'plait/fs';
import { REACHING, REACHING_IN } from './cases/fs-reaching.ts';
import { code, DEADLINE_MS, start } from './fs-mount-helpers.ts';
import { scratch, world } from './fs-mount-setup.ts';

/** What lies outside, with modes and times, as one text. */
function look(path: string): string {
  return nodeFs
    .readdirSync(path)
    .sort()
    .map((name) => {
      const { mode, uid, mtimeMs, nlink, ino } = nodeFs.lstatSync(`${path}/${name}`);
      return [name, mode, uid, mtimeMs, nlink, ino, nodeFs.readFileSync(`${path}/${name}`, 'utf8')].join(' ');
    })
    .join('\n');
}

test('no link leads out of a mount, in any operation', () => {
  const { fs, inside, outside } = world();
  const before = look(outside);
  nodeFs.mkdirSync(`${inside}/d/e`, { recursive: true });
  nodeFs.symlinkSync('../outside/secret', `${inside}/relative`);
  nodeFs.symlinkSync(`${outside}/secret`, `${inside}/absolute`);
  nodeFs.symlinkSync('d/../../outside/secret', `${inside}/winding`);
  nodeFs.symlinkSync('relative', `${inside}/chain`);
  nodeFs.symlinkSync('../../../outside/secret', `${inside}/d/e/deep`);
  nodeFs.symlinkSync('/host/../../../../../../../../../../../../etc/passwd', `${inside}/above`);
  nodeFs.symlinkSync(`/proc/self/root${outside}/secret`, `${inside}/magic`);
  for (const name of ['relative', 'absolute', 'winding', 'chain', 'd/e/deep', 'above', 'magic']) {
    for (const [how, reach] of Object.entries(REACHING)) {
      assert.equal(
        code(() => reach(fs, `/host/${name}`)),
        'EPERM',
        `${how} ${name}`,
      );
    }
  }
  nodeFs.symlinkSync('../outside', `${inside}/out`);
  nodeFs.symlinkSync(outside, `${inside}/out2`);
  nodeFs.symlinkSync('d/e/../../../outside', `${inside}/out3`);
  nodeFs.symlinkSync('../out', `${inside}/d/out`);
  for (const name of ['out', 'out2', 'out3', 'd/out', 'd/../out', 'out/', 'out/.']) {
    for (const [how, reach] of Object.entries(REACHING_IN)) {
      if (how === 'rmdir' && !name.includes('/')) continue; // takes the link itself, and it is no directory
      assert.ok(['EPERM', 'ENOTDIR', 'EINVAL'].includes(code(() => reach(fs, `/host/${name}`))), `${how} ${name}`);
    }
  }
  assert.equal(look(outside), before);
  assert.deepEqual(nodeFs.readdirSync(outside), ['secret']);
  assert.equal(fs.existsSync('/stolen'), false);
  assert.equal(nodeFs.existsSync(`${inside}/stolen`), false);
  // What is walked over leads nowhere: recursive ones take links for what they are.
  assert.ok(!fs.readdirSync('/host', { recursive: true }).some((path) => path.includes('secret')));
  assert.deepEqual(fs.globSync('/host/**/secret'), []);
  fs.cpSync('/host', '/copy', { recursive: true, verbatimSymlinks: true });
  assert.equal(fs.lstatSync('/copy/out').isSymbolicLink(), true);
  fs.rmSync('/host/out');
  fs.rmSync('/host/d', { recursive: true });
  assert.equal(look(outside), before);
});

test('`..` leads out of a mount into the space, not into the host', () => {
  const { fs } = world();
  fs.writeFileSync('/mine', 'mine');
  fs.mkdirSync('/host/d/e', { recursive: true });
  for (const path of [
    '/host/../mine',
    '/host/d/../../mine',
    '/host/d/e/../../../../../mine',
    '/host/./../host/../mine',
  ]) {
    assert.equal(fs.readFileSync(path, 'utf8'), 'mine', path);
  }
  assert.deepEqual(fs.readdirSync('/host/..').sort(), ['host', 'mine']);
  fs.renameSync('/host/../mine', '/host/d/../../yours');
  assert.equal(fs.readFileSync('/yours', 'utf8'), 'mine');
  assert.equal(
    code(() => fs.readFileSync('/host/f/../../yours')),
    'ENOTDIR',
  );
  assert.equal(
    code(() => fs.rmdirSync('/host/..')),
    'ENOTEMPTY',
    'as for every path that ends in `..`',
  );
  assert.equal(
    code(() => fs.rmdirSync('/host/d/..')),
    'ENOTEMPTY',
  );
  assert.equal(
    code(() => fs.renameSync('/host/..', '/x')),
    'EBUSY',
  );
  fs.symlinkSync('/host/d', '/into');
  fs.symlinkSync('host/f', '/intof');
  assert.deepEqual(fs.readdirSync('/into'), ['e']);
  assert.equal(fs.readFileSync('/intof', 'utf8'), 'f');
  assert.equal(fs.realpathSync('/into/e'), '/host/d/e');
  fs.symlinkSync('/host/f', '/host/d/home');
  assert.equal(fs.readFileSync('/host/d/home', 'utf8'), 'f', 'an absolute link to a place in its mount');
  assert.equal(fs.readlinkSync('/host/d/home'), '/host/f');
});

test('a read-only mount refuses each change, and can be read', () => {
  const { fs, inside } = world(true);
  nodeFs.mkdirSync(`${inside}/d`);
  nodeFs.writeFileSync(`${inside}/d/g`, 'g');
  nodeFs.symlinkSync('f', `${inside}/s`);
  const before = look(`${inside}/d`);
  const changes: (() => unknown)[] = [
    () => fs.writeFileSync('/host/f', 'x'),
    () => fs.writeFileSync('/host/new', 'x'),
    () => fs.appendFileSync('/host/f', 'x'),
    () => fs.openSync('/host/f', 'r+'),
    () => fs.openSync('/host/f', fs.constants.O_RDONLY | fs.constants.O_TRUNC),
    () => fs.openSync('/host/new', fs.constants.O_RDONLY | fs.constants.O_CREAT),
    () => fs.truncateSync('/host/f', 0),
    () => fs.mkdirSync('/host/new'),
    () => fs.mkdirSync('/host/d/new/er', { recursive: true }),
    () => fs.mkdtempSync('/host/t'),
    () => fs.rmdirSync('/host/d'),
    () => fs.unlinkSync('/host/f'),
    () => fs.rmSync('/host/d', { recursive: true }),
    () => fs.renameSync('/host/f', '/host/h'),
    () => fs.linkSync('/host/f', '/host/h'),
    () => fs.symlinkSync('f', '/host/h'),
    () => fs.chmodSync('/host/f', 0o777),
    () => fs.chownSync('/host/f', 5, 5),
    () => fs.lchownSync('/host/s', 5, 5),
    () => fs.utimesSync('/host/f', 1, 1),
    () => fs.lutimesSync('/host/s', 1, 1),
    () => fs.accessSync('/host/f', fs.constants.W_OK),
    () => fs.copyFileSync('/host/f', '/host/h'),
    () => fs.cpSync('/host/d', '/host/e', { recursive: true }),
  ];
  for (const change of changes) assert.equal(code(change), 'EROFS', String(change));
  const fd = fs.openSync('/host/f', 'r');
  for (const change of [
    () => fs.fchmodSync(fd, 0o777),
    () => fs.fchownSync(fd, 5, 5),
    () => fs.futimesSync(fd, 1, 1),
  ]) {
    assert.equal(code(change), 'EROFS', String(change));
  }
  assert.equal(
    code(() => fs.ftruncateSync(fd, 0)),
    'EINVAL',
  );
  assert.equal(
    code(() => fs.writeSync(fd, 'x')),
    'EBADF',
  );
  fs.closeSync(fd);
  assert.equal(fs.mkdirSync('/host/d', { recursive: true }), undefined, 'what is there already is no change');
  assert.equal(
    code(() => fs.mkdirSync('/host/d')),
    'EEXIST',
  );
  assert.equal(fs.readFileSync('/host/s', 'utf8'), 'f');
  fs.cpSync('/host/d', '/copy', { recursive: true });
  assert.equal(fs.readFileSync('/copy/g', 'utf8'), 'g');
  assert.deepEqual(nodeFs.readdirSync(inside).sort(), ['d', 'f', 's']);
  assert.equal(look(`${inside}/d`), before);
  assert.equal(nodeFs.readFileSync(`${inside}/f`, 'utf8'), 'f');
});

test('mount points cannot be removed or moved, and hide the files that they cover', () => {
  const { fs, inside, outside } = world();
  fs.mkdirSync('/a/b/c', { recursive: true });
  fs.writeFileSync('/a/b/c/hidden', 'hidden');
  fs.writeFileSync('/a/b/beside', '');
  fs.mount('/a/b/c', { type: 'host', directory: outside, readOnly: true });
  assert.deepEqual(fs.readdirSync('/a/b/c'), ['secret']);
  assert.equal(
    code(() => fs.mount('/a/b/c', { type: 'host', directory: inside })),
    'EBUSY',
  );
  for (const action of [
    () => fs.rmdirSync('/a/b/c'),
    () => fs.renameSync('/a/b/c', '/x'),
    () => fs.renameSync('/a/b', '/x'),
    () => fs.renameSync('/a', '/x'),
    () => fs.rmSync('/a/b/c', { recursive: true }),
  ]) {
    assert.equal(code(action), 'EBUSY', String(action));
  }
  assert.equal(
    code(() => fs.rmSync('/a', { recursive: true, force: true })),
    'EBUSY',
  );
  assert.deepEqual(nodeFs.readdirSync(outside), ['secret'], 'rm does not cross into a mount');
  assert.equal(
    code(() => fs.mkdirSync('/a/b/c')),
    'EEXIST',
  );
  fs.mkdirSync('/empty');
  assert.equal(
    code(() => fs.renameSync('/empty', '/a/b/c')),
    'EBUSY',
  );
  assert.equal(
    code(() => fs.renameSync('/host/f', '/a/b/c/f')),
    'EXDEV',
  );
  assert.equal(
    code(() => fs.linkSync('/host/f', '/f')),
    'EXDEV',
  );
  assert.equal(
    code(() => fs.renameSync('/empty', '/host/empty')),
    'EXDEV',
  );
  const devices = ['/', '/host', '/a/b/c'].map((path) => fs.statSync(path).dev);
  assert.equal(new Set(devices).size, 3, 'each mount is a device of its own');
  assert.equal(typeof fs.statSync('/host', { bigint: true }).dev, 'bigint');
  assert.deepEqual(
    fs.mounts().map(({ path, readOnly }) => [path, readOnly]),
    [
      ['/host', false],
      ['/a/b/c', true],
    ],
  );
  fs.unmount('/a/b/c');
  assert.equal(
    code(() => fs.unmount('/a/b/c')),
    'EINVAL',
  );
  assert.deepEqual(fs.readdirSync('/a/b/c'), ['hidden']);
  fs.renameSync('/a', '/x');
  // One mount in another, at a directory of the host.
  assert.equal(
    code(() => fs.mount('/host/in', { type: 'host', directory: outside })),
    'ENOENT',
  );
  fs.mkdirSync('/host/in');
  fs.writeFileSync('/host/in/covered', '');
  fs.mount('/host/in', { type: 'host', directory: outside });
  assert.deepEqual(fs.readdirSync('/host/in'), ['secret']);
  assert.deepEqual(fs.readdirSync('/host/in/../../host/in/.'), ['secret']);
  assert.equal(fs.readFileSync('/host/in/../f', 'utf8'), 'f');
  assert.equal(fs.realpathSync('/host/in/secret'), '/host/in/secret');
  assert.equal(
    code(() => fs.rmdirSync('/host/in')),
    'EBUSY',
  );
  assert.equal(
    code(() => fs.renameSync('/host/in', '/host/out')),
    'EBUSY',
  );
  assert.equal(
    code(() => fs.renameSync('/host/f', '/host/in/f')),
    'EXDEV',
  );
  assert.equal(
    code(() => fs.unmount('/host')),
    'EBUSY',
  );
  nodeFs.symlinkSync('../f', `${outside}/up`);
  assert.equal(
    code(() => fs.readFileSync('/host/in/up')),
    'EPERM',
    'nor does a link lead into the mount above',
  );
  nodeFs.symlinkSync('in/secret', `${inside}/down`);
  assert.equal(fs.readFileSync('/host/down', 'utf8'), 'secret', 'into a mount that lies in it it may lead');
  const fd = fs.openSync('/host/in/secret', 'r');
  assert.equal(
    code(() => fs.unmount('/host/in')),
    'EBUSY',
  );
  fs.closeSync(fd);
  fs.unmount('/host/in');
  fs.unmount('/host');
  assert.deepEqual(fs.readdirSync('/host'), []);
  fs.check();
});

test('the root can be a mount', () => {
  const space = openSpace({ maximum: 2 ** 26 });
  const fs = createFs(() => space);
  const directory = nodeFs.mkdtempSync(`${scratch}/root-`);
  fs.mkdirSync('/memory');
  fs.mount('/', { type: 'host', directory });
  fs.mkdirSync('/d');
  fs.writeFileSync('/d/f', 'x');
  fs.symlinkSync('/d/f', '/s');
  assert.equal(fs.readFileSync('s', 'utf8'), 'x');
  assert.equal(fs.readFileSync('/../../d/../s', 'utf8'), 'x');
  assert.equal(fs.realpathSync('/s'), '/d/f');
  assert.deepEqual(nodeFs.readdirSync(directory).sort(), ['d', 's']);
  assert.equal(
    code(() => fs.rmdirSync('/')),
    'EBUSY',
  );
  fs.unmount('/');
  assert.deepEqual(fs.readdirSync('/'), ['memory']);
  fs.check();
});

test('pipes, sockets and devices are listed, but opening them is refused without waiting', { timeout: 30000 }, () => {
  const { fs, inside } = world();
  execFileSync('mkfifo', [`${inside}/pipe`]);
  nodeFs.symlinkSync('pipe', `${inside}/topipe`);
  assert.equal(fs.statSync('/host/pipe').isFIFO(), true);
  assert.equal(
    fs
      .readdirSync('/host', { withFileTypes: true })
      .find(({ name }) => name === 'pipe')
      ?.isFIFO(),
    true,
  );
  for (const path of ['/host/pipe', '/host/topipe']) {
    for (const flags of ['r', 'w', 'r+', 'a'])
      assert.equal(
        code(() => fs.openSync(path, flags)),
        'ENXIO',
        `${path} ${flags}`,
      );
    assert.equal(
      code(() => fs.readFileSync(path)),
      'ENXIO',
    );
    assert.equal(
      code(() => fs.writeFileSync(path, 'x')),
      'ENXIO',
    );
    assert.equal(
      code(() => fs.copyFileSync(path, '/x')),
      'ENXIO',
    );
    assert.equal(
      code(() => fs.truncateSync(path)),
      'ENXIO',
    );
  }
  fs.chmodSync('/host/pipe', 0o600);
  fs.renameSync('/host/pipe', '/host/pipe2');
  fs.unlinkSync('/host/pipe2');
  fs.mount('/dev', { type: 'host', directory: '/dev' });
  assert.equal(fs.statSync('/dev/null').isCharacterDevice(), true);
  assert.equal(
    code(() => fs.openSync('/dev/null', 'r')),
    'ENXIO',
  );
  // The links in /proc that are none: the kernel follows them anywhere, we do not let it.
  fs.mount('/proc', { type: 'host', directory: '/proc' });
  for (const path of [
    '/proc/self/root',
    '/proc/self/root/etc/passwd',
    '/proc/self/cwd',
    `/proc/self/root${inside}/f`,
  ]) {
    assert.equal(
      code(() => fs.statSync(path)),
      'EPERM',
      path,
    );
  }
  assert.match(fs.readFileSync(`/proc/${process.pid}/status`, 'utf8'), /^Name:/, 'a file without a known size is read');
});

test('operations that a mount does not support are refused with a reason', () => {
  const { fs } = world();
  assert.equal(
    code(() => fs.mapSync('/host/f')),
    'ENODEV',
  );
  const fd = fs.openSync('/host/f', 'r+');
  assert.equal(
    code(() => fs.lockSync(fd)),
    'ENOLCK',
  );
  fs.fsyncSync(fd);
  fs.fdatasyncSync(fd);
  fs.closeSync(fd);
  assert.ok(fs.statfsSync('/host').blocks > 0);
  assert.notEqual(fs.statfsSync('/host').type, fs.statfsSync('/').type);
  for (const options of [
    undefined,
    null,
    {},
    { type: 'nfs', directory: '/' },
    { type: 'host', directory: '/', readOnly: 1 },
  ]) {
    assert.match(
      code(() => fs.mount('/x', options as never)),
      /^ERR_INVALID_ARG/,
    );
  }
  assert.equal(
    code(() => fs.mount('/x', { type: 'host', directory: `${scratch}/none` })),
    'ENOENT',
  );
  fs.mkdirSync('/kept');
  assert.equal(
    code(() => fs.mount('/kept/x/y/', { type: 'host', directory: `${scratch}/none` })),
    'ENOENT',
  );
  assert.deepEqual(
    [fs.existsSync('/x'), fs.readdirSync('/kept')],
    [false, []],
    'nothing is made for a mount that fails',
  );
  assert.equal(
    code(() => fs.mount('/host/f', { type: 'host', directory: scratch })),
    'ENOTDIR',
  );
  assert.throws(() => fs.readFileSync('/host/none'), {
    message: "ENOENT: no such file or directory, open '/host/none'",
    path: '/host/none',
    syscall: 'open',
  });
});

test('a mount whose directory was removed has errors, and can be unmounted', { timeout: 60000 }, async (t) => {
  const { space, fs, inside } = world();
  nodeFs.renameSync(inside, `${inside}-moved`);
  assert.deepEqual(fs.readdirSync('/host'), ['f'], 'a directory is what was mounted, not a name');
  nodeFs.mkdirSync(inside); // another one of that name
  // A thread that comes later cannot know where the one that was mounted is now.
  const { ask } = await start(t, space);
  await assert.rejects(ask('readFile', { path: '/host/f' }), { code: 'ESTALE' });
  await assert.rejects(ask('append', { path: '/host/x', text: '', count: 1 }), { code: 'ESTALE' });
  assert.deepEqual(nodeFs.readdirSync(inside), []);
  nodeFs.rmSync(`${inside}-moved`, { recursive: true });
  assert.deepEqual(fs.readdirSync('/host'), []);
  assert.equal(
    code(() => fs.writeFileSync('/host/new', '')),
    'ENOENT',
  );
  fs.unmount('/host');
});

test('watch and watchFile report changes by other programs', { timeout: 60000 }, async (t) => {
  const { fs, inside } = world();
  const seen: string[] = [];
  const watcher = fs.watch('/host', (event, name) => seen.push(`${event} ${name}`));
  t.after(() => watcher.close());
  t.after(() => fs.unwatchFile('/host/new'));
  const end = performance.now() + DEADLINE_MS;
  const wait = async (what: string): Promise<void> => {
    while (!seen.includes(what)) {
      assert.ok(performance.now() < end, `${what}, seen: ${seen}`);
      await setTimeout(1);
    }
  };
  nodeFs.writeFileSync(`${inside}/new`, 'x');
  await wait('rename new');
  nodeFs.appendFileSync(`${inside}/f`, 'more');
  await wait('change f');
  fs.unlinkSync('/host/f');
  await wait('rename f');
  watcher.close();
  let size = -1;
  fs.watchFile('/host/new', { interval: 20 }, (now) => {
    size = now.size;
  });
  nodeFs.writeFileSync(`${inside}/new`, 'longer');
  while (size !== 6) {
    assert.ok(performance.now() < end, `size ${size}`);
    await setTimeout(1);
  }
  fs.unwatchFile('/host/new');
});
