/**
 * Objects that fs returns, as programs use them: they copy stats and entries, inherit from them, wrap them in a Proxy
 * and write to them. The oracle is node:fs. From Node 22 on, its dates are created on access; ours are in every Node.
 */
import assert from 'node:assert/strict';
import * as nodeFs from 'node:fs';
import { tmpdir } from 'node:os';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { openSpace } from 'plait';
import { createFs } from 'plait/fs';

// biome-ignore lint/suspicious/noExplicitAny: one program for two modules
type Any = any;

const scratch = nodeFs.mkdtempSync(`${tmpdir()}/plait-objects-`);
after(() => nodeFs.rmSync(scratch, { recursive: true }));
const behind = nodeFs.mkdtempSync(`${tmpdir()}/plait-objects-host-`);
after(() => nodeFs.rmSync(behind, { recursive: true }));
const makeOurs = (): Any => {
  const space = openSpace({ maximum: 2 ** 26 });
  return createFs(() => space);
};
const ours = makeOurs();
const mounted = makeOurs();
ours.mkdirSync(scratch, { recursive: true });
mounted.mount(scratch, { type: 'host', directory: behind });
const file = `${scratch}/file`;
for (const fs of [nodeFs, ours, mounted]) {
  fs.writeFileSync(file, 'some text');
  fs.utimesSync(file, 1e9, 1.1e9);
  fs.symlinkSync('file', `${scratch}/link`);
}
const SUBJECTS: [string, Any][] = [
  ['node:fs', nodeFs],
  ['in memory', ours],
  ['on a mount', mounted],
];
const DATES = ['atime', 'mtime', 'ctime', 'birthtime'];
const undated = (names: string[]): string[] => names.filter((name) => !DATES.includes(name));
/** Names that Node has for itself. */
const shown = (object: object): string[] => {
  const names: string[] = [];
  for (const name in object) if (!/^_|Instant$/.test(name)) names.push(name);
  return names.sort();
};

for (const [name, fs] of SUBJECTS) {
  test(`${name}: stats have the properties of Node's, in their order`, () => {
    for (const bigint of [false, true]) {
      const theirs: Any = nodeFs.statSync(file, { bigint });
      const stats = fs.statSync(file, { bigint });
      assert.deepEqual(undated(Object.keys(stats)), undated(Object.keys(theirs)));
      assert.deepEqual(undated(Object.keys({ ...stats })), undated(Object.keys({ ...theirs })));
      assert.deepEqual(undated(Object.keys(structuredClone(stats))), undated(Object.keys(structuredClone(theirs))));
      assert.deepEqual(shown(stats), shown(theirs));
      if (!bigint)
        assert.deepEqual(undated(Object.keys(JSON.parse(JSON.stringify(stats)))), undated(Object.keys(theirs)));
      if (!bigint) assert.ok(stats instanceof fs.Stats);
      assert.equal(structuredClone(stats).mtimeMs, bigint ? 1100000000000n : 1.1e12);
    }
    assert.deepEqual(
      Object.keys(JSON.parse(JSON.stringify(fs.readdirSync(scratch, { withFileTypes: true })[0]))).slice(0, 2),
      ['name', 'parentPath'],
    );
  });

  test(`${name}: stats and entries are copied, inherited from, wrapped and written to`, () => {
    for (const bigint of [false, true]) {
      const stats = fs.statSync(file, { bigint });
      const copy = Object.assign(Object.create(Object.getPrototypeOf(stats)), stats);
      const described = Object.create(Object.getPrototypeOf(stats), Object.getOwnPropertyDescriptors(stats));
      for (const one of [Object.create(stats), new Proxy(stats, {}), copy, described, Object.freeze(copy)]) {
        assert.deepEqual([one.isFile(), one.isDirectory(), one.isSymbolicLink()], [true, false, false]);
        assert.deepEqual(
          [one.isSocket(), one.isFIFO(), one.isBlockDevice(), one.isCharacterDevice()],
          Array(4).fill(false),
        );
        if (!Object.isFrozen(one) || name !== 'node:fs') assert.equal(one.mtime.getTime(), 1.1e12);
      }
      const now = new Date(5);
      for (const date of DATES) {
        const [written, inherited, wrapped] = [
          fs.statSync(file, { bigint }),
          Object.create(stats),
          new Proxy(stats, {}),
        ];
        for (const one of [written, inherited, wrapped]) {
          one[date] = now;
          assert.equal(one[date], now);
        }
        assert.equal(written[`${date}Ms`] === 5, false);
      }
      stats.size = 7;
      assert.equal(stats.size, 7);
      const { mtime } = fs.statSync(file, { bigint });
      assert.equal(mtime.getTime(), 1.1e12);
      assert.equal(stats.atime, stats.atime); // one date, which may be changed
    }
    const made = new fs.Stats();
    for (const [key, value] of Object.entries(fs.lstatSync(`${scratch}/link`))) made[key] = value;
    assert.deepEqual([made.isSymbolicLink(), made.isFile()], [true, false]);

    const entry = fs.readdirSync(scratch, { withFileTypes: true }).find((one: Any) => one.name === 'link');
    const copied = Object.assign(Object.create(Object.getPrototypeOf(entry)), entry);
    for (const one of [entry, Object.create(entry), new Proxy(entry, {}), copied]) {
      assert.deepEqual([one.name, one.isSymbolicLink(), one.isFile(), one.isDirectory()], ['link', true, false, false]);
      assert.deepEqual(
        [one.isSocket(), one.isFIFO(), one.isBlockDevice(), one.isCharacterDevice()],
        Array(4).fill(false),
      );
    }
    assert.ok(entry instanceof fs.Dirent);
  });

  test(`${name}: a handle, and all of fs, can be wrapped and inherited from`, async (t) => {
    const handle = await fs.promises.open(file, 'r+');
    t.after(() => handle.close());
    for (const one of [new Proxy(handle, {}), Object.create(handle)]) {
      assert.equal(one.fd, handle.fd);
      assert.equal((await one.stat()).size, 9);
      assert.equal((await one.read(Buffer.alloc(4), 0, 4, 0)).bytesRead, 4);
    }
    assert.equal(await new Proxy(handle, {}).readFile('utf8'), 'some text');
    let closed = 0;
    const wrapped = new Proxy(await fs.promises.open(file), {});
    wrapped.on('close', () => closed++);
    await wrapped.close();
    assert.deepEqual([wrapped.fd, closed], [-1, 1]);
    // Of Node's Dir this is true up to Node 20.
    for (const wrap of fs === nodeFs ? [] : [(dir: Any) => new Proxy(dir, {}), (dir: Any) => Object.create(dir)]) {
      const dir = wrap(fs.opendirSync(scratch));
      const names = [dir.readSync().name, (await dir.read()).name];
      assert.deepEqual(names.sort(), ['file', 'link']);
      assert.equal(await dir.read(), null);
      await dir.close();
      assert.throws(() => dir.readSync(), { code: 'ERR_DIR_CLOSED' });
      const walked: string[] = [];
      for await (const { name } of wrap(fs.opendirSync(scratch))) walked.push(name);
      assert.deepEqual(walked.sort(), ['file', 'link']);
    }
    for (const all of [new Proxy({ ...fs }, {}), Object.create(fs)]) {
      assert.equal(all.readFileSync(file, 'utf8'), 'some text');
      assert.equal((await all.promises.stat(file)).size, 9);
      assert.equal((await new Proxy(all.promises, {}).lstat(file)).size, 9);
    }
  });

  test(`${name}: promisify has the same result for each function as with Node`, async (t) => {
    assert.equal(await promisify(fs.exists)(file), true);
    assert.equal(await promisify(fs.exists)(`${file}-missing`), false);
    const fd = fs.openSync(file, 'r+');
    t.after(() => fs.closeSync(fd));
    const buffer = Buffer.alloc(4);
    assert.deepEqual(await promisify(fs.read)(fd, buffer, 0, 4, 0), { bytesRead: 4, buffer });
    assert.deepEqual(await promisify(fs.write)(fd, buffer, 0, 4, 0), { bytesWritten: 4, buffer });
    assert.deepEqual(await promisify(fs.write)(fd, 'some', 0), { bytesWritten: 4, buffer: 'some' });
    const buffers = [buffer];
    assert.deepEqual(await promisify(fs.readv)(fd, buffers, 0), { bytesRead: 4, buffers });
    assert.deepEqual(await promisify(fs.writev)(fd, buffers, 0), { bytesWritten: 4, buffer: buffers });
    await assert.rejects(promisify(fs.read)(99999, buffer, 0, 4, 0), { code: 'EBADF' });
    await assert.rejects(promisify(fs.read)('no'), { code: 'ERR_INVALID_ARG_TYPE' });
    assert.equal((await promisify(fs.stat)(file)).size, 9);
    const other = fs.openSync(file);
    fs.close(other); // needs no callback
    if (fs !== nodeFs) assert.throws(() => fs.fstatSync(other), { code: 'EBADF' });
    assert.equal(await promisify(fs.readFile)(file, 'utf8'), 'some text');
  });
}
