/**
 * Reading whole files when shared memory is short: each API needs one buffer of the file's size, and ends.
 */
import assert from 'node:assert/strict';
import nodeFs from 'node:fs';
import { tmpdir } from 'node:os';
import { after, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { openSpace } from 'plait';
import { createFs } from 'plait/fs';

// biome-ignore lint/suspicious/noExplicitAny: one program for two modules
type Any = any;

const MIB = 2 ** 20;
const SIZE = 20 * MIB;
const behind = nodeFs.mkdtempSync(`${tmpdir()}/plait-whole-`);
after(() => nodeFs.rmSync(behind, { recursive: true }));
const space = openSpace({ maximum: 32 * MIB }); // there is no room for a second copy of the file
const fs: Any = createFs(() => space);
const bytes = Buffer.alloc(SIZE, 'some bytes');
fs.writeFileSync('/memory', bytes);
fs.mount('/host', { type: 'host', directory: behind });
nodeFs.writeFileSync(`${behind}/file`, Buffer.alloc(SIZE + 5, 'other bytes'));

/** How many bytes are allocated while `work` is done. */
async function allocated(t: TestContext, work: () => unknown): Promise<number> {
  const { mock } = t.mock.method(Buffer, 'allocUnsafe');
  await work();
  const sum = mock.calls.reduce((total: number, { arguments: [size] }: Any) => total + size, 0);
  mock.restore();
  return sum;
}

const APIS: Record<string, (path: string) => unknown> = {
  readFileSync: (path) => fs.readFileSync(path),
  'readFileSync of a descriptor': (path) => {
    const fd = fs.openSync(path);
    try {
      return fs.readFileSync(fd);
    } finally {
      fs.closeSync(fd);
    }
  },
  'readFileSync with a flag': (path) => fs.readFileSync(path, { flag: 'r+' }),
  'readFileSync as text': (path) => Buffer.from(fs.readFileSync(path, 'latin1'), 'latin1'),
  readFile: (path) => promisify(fs.readFile)(path),
  'promises.readFile': (path) => fs.promises.readFile(path),
  'promises.readFile of a handle': async (path) => {
    await using handle = await fs.promises.open(path);
    return await fs.promises.readFile(handle);
  },
  'FileHandle.readFile': async (path) => {
    await using handle = await fs.promises.open(path);
    return await handle.readFile();
  },
};

for (const [path, source] of [
  ['/memory', bytes],
  ['/host/file', nodeFs.readFileSync(`${behind}/file`)],
] as const) {
  for (const [name, read] of Object.entries(APIS)) {
    test(`${name} makes one buffer for ${path}`, async (t) => {
      let found: unknown;
      const sum = await allocated(t, async () => {
        found = await read(path);
      });
      assert.ok(source.equals(found as Buffer));
      assert.ok(sum <= source.length + MIB, `${sum} bytes for ${source.length}`);
    });
  }

  test(`streams read ${path}`, async (t) => {
    let count = 0;
    const sum = await allocated(t, async () => {
      for await (const chunk of fs.createReadStream(path)) {
        assert.ok(source.subarray(count, count + chunk.length).equals(chunk));
        count += chunk.length;
      }
    });
    assert.equal(count, source.length);
    assert.ok(sum <= 2 * source.length);
  });
}

test('a file of holes, five times the memory, has an end', async (t) => {
  fs.writeFileSync('/holes', 'begin');
  fs.truncateSync('/holes', 160 * MIB);
  t.after(() => fs.unlinkSync('/holes'));
  const sum = await allocated(t, () => {
    const found = fs.readFileSync('/holes');
    assert.equal(found.length, 160 * MIB);
    assert.deepEqual([found.toString('latin1', 0, 5), found[5], found.at(-1)], ['begin', 0, 0]);
  });
  assert.ok(sum <= 161 * MIB);
});

test('a file that shrinks or grows during the read is read up to its first known size', async (t) => {
  const file = `${behind}/changes`;
  const written = Buffer.alloc(SIZE, 1);
  for (const [change, least, most] of [
    [5 * MIB, 5 * MIB, 5 * MIB],
    [0, 1, MIB], // what was read before
    [2 * SIZE, SIZE, SIZE],
  ] as const) {
    nodeFs.writeFileSync(file, written);
    const fd = fs.openSync('/host/changes');
    let calls = 0;
    const { readSync } = nodeFs;
    const { mock } = t.mock.method(nodeFs, 'readSync', (...args: Any[]) => {
      if (calls++ === 1) nodeFs.truncateSync(file, change);
      return (readSync as Any)(...args);
    });
    try {
      const found = fs.readFileSync(fd);
      assert.ok(calls > 1);
      assert.ok(least <= found.length && found.length <= most, `${found.length} bytes`);
      assert.ok(found.equals(written.subarray(0, found.length)));
    } finally {
      mock.restore();
      fs.closeSync(fd);
    }
  }
});

test('a file without a known size is read to its end', { skip: process.platform !== 'linux' }, async (t) => {
  fs.mount('/process', { type: 'host', directory: '/proc/self' });
  const expected = nodeFs.readFileSync('/proc/self/smaps');
  assert.ok(expected.length > 32768);
  for (const read of [() => fs.readFileSync('/process/smaps'), () => fs.promises.readFile('/process/smaps')]) {
    let found: Any;
    const sum = await allocated(t, async () => {
      found = await read();
    });
    assert.equal(found.toString('latin1', 0, 12), expected.toString('latin1', 0, 12));
    assert.ok(found.length > expected.length / 2);
    assert.ok(sum < 8 * found.length + 2 * MIB);
  }
  const fd = fs.openSync('/process/smaps');
  t.after(() => {
    fs.closeSync(fd);
    fs.unmount('/process');
  });
  assert.ok(fs.readFileSync(fd).length > expected.length / 2);
});
