/** Hostile, damaged and unusual tar archives: refused with a reason, and nothing outside of the target changes. */
import assert from 'node:assert/strict';
import * as nodeFs from 'node:fs';
import { test } from 'node:test';
import { openSpace } from 'plait';
import { createFs, type ImportTarOptions } from 'plait/fs';
import { decodeRecords } from '../../dist/fs/tar-format.js';
import { archive, describe, END, entry, fresh, fs, pax, paxOf, plant, scratch } from './fs-tar-setup.ts';
import { rounds, seed } from './seed.ts';

test('hostile archives are refused with a reason, and change nothing outside', () => {
  const good = entry({ name: 'good', data: 'good' });
  const link = (text: string, name = 'l'): Buffer => entry({ name, type: '2', link: text });
  const cases: [string, Buffer[], RegExp, ImportTarOptions?][] = [
    ['an absolute name', [entry({ name: '/abs' })], /absolute/],
    ['a name with a way up', [entry({ name: 'a/../../up' })], /'\.\.'/],
    ['a way up in the prefix', [entry({ prefix: '..', name: 'up' })], /'\.\.'/],
    ['a way up in a pax path', [pax(['path', '../up']), entry({})], /'\.\.'/],
    ['an absolute pax path', [pax(['path', '/etc/x']), entry({})], /absolute/],
    ['a zero byte in a pax path', [pax(['path', 'a\0b']), entry({})], /zero byte/],
    ['a way up in a long name', [entry({ type: 'L', data: '../up\0' }), entry({})], /'\.\.'/],
    ['an absolute link', [link('/outside')], /absolute/],
    ['a link up', [link('../outside')], /lead out/],
    ['a link up from below', [entry({ name: 'd', type: '5' }), link('../../outside', 'd/l')], /lead out/],
    ['a link that winds', [link('a/../../outside')], /lead out/],
    [
      'links that lead out together',
      [entry({ name: 'x', type: '5' }), link('..', 'x/y'), link('x/y/../outside', 'z')],
      /lead out/,
    ],
    [
      'a file through a link',
      [link('../outside', 'l'), entry({ name: 'l/f', data: 'stolen' })],
      /no directory/,
      { links: 'any' },
    ],
    [
      'a file over a link',
      [link('/outside/secret', 'l'), entry({ name: 'l', data: 'stolen' })],
      /nothing/,
      { links: 'any' },
    ],
    [
      'a directory through a link',
      [link('/outside', 'l'), entry({ name: 'l/d/e', type: '5' })],
      /no directory/,
      { links: 'any' },
    ],
    [
      'a hard link through a link',
      [link('/outside', 'l'), entry({ type: '1', link: 'l/secret' })],
      /no directory/,
      { links: 'any' },
    ],
    ['a hard link to an absolute name', [entry({ type: '1', link: '/outside/secret' })], /absolute/],
    ['a hard link up', [entry({ type: '1', link: '../outside/secret' })], /'\.\.'/],
    [
      'a hard link to a link, higher up',
      [link('../../secret/key', 'a/b/l'), entry({ name: 'h', type: '1', link: 'a/b/l' })],
      /lead out/,
    ],
    [
      'a hard link to a link, a little higher up',
      [link('../../secret/key', 'a/b/l'), entry({ name: 'c/h', type: '1', link: 'a/b/l' })],
      /lead out/,
    ],
    [
      'a hard link to a hard link to a link',
      [
        link('../x', 'a/b/l'),
        entry({ name: 'a/h', type: '1', link: 'a/b/l' }),
        entry({ name: 'h', type: '1', link: 'a/h' }),
      ],
      /lead out/,
    ],
    ['a hard link to nothing', [entry({ type: '1', link: 'none' })], /no file here/],
    ['a hard link to a directory', [entry({ name: 'd', type: '5' }), entry({ type: '1', link: 'd' })], /no file here/],
    [
      'a file over a directory',
      [entry({ name: 'd', type: '5' }), entry({ name: 'd', data: 'x' })],
      /directory of that name/,
    ],
    ['a file below a file', [good, entry({ name: 'good/f' })], /no directory/],
    ['no name', [entry({ name: '.' })], /no name/],
    ['a size that is not there', [entry({ size: 2 ** 33 - 1 })], /ends in the middle/],
    ['a size beyond all', [entry({ size: '\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff' })], /too large|no number/],
    ['a negative size', [entry({ size: '\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff' })], /negative/],
    ['a size that is no number', [entry({ size: '99999999999' })], /no number/],
    ['a pax size that is no number', [pax(['size', '1e9']), entry({})], /no number/],
    ['a pax size beyond all', [pax(['size', '9'.repeat(16)]), entry({})], /ends in the middle|no number/],
    ['a pax path of a megabyte', [pax(['path', 'x/'.repeat(2 ** 18)]), entry({})], /its name has \d+ bytes/],
    [
      'a global pax path of a megabyte, and devices',
      [paxOf('g', ['path', 'x'.repeat(2 ** 19)]), entry({ type: '3' })],
      /its name has \d+ bytes/,
    ],
    ['a pax link of a megabyte', [pax(['linkpath', 'x'.repeat(2 ** 19)]), entry({ type: '2' })], /name of \d+ bytes/],
    ['a name that goes deep', [pax(['path', 'x/'.repeat(300)]), entry({ type: '5' })], /300 parts/],
    ['a pax bomb', [entry({ type: 'x', size: 2 ** 32 })], /header has/],
    ['a pax header of nonsense', [entry({ type: 'x', data: '99999999 path=x\n' })], /damaged/],
    ['a pax record that ends early', [entry({ type: 'x', data: '30 path=x\n' })], /damaged/],
    ['a pax record without a key', [entry({ type: 'x', data: '5 =x\n' })], /damaged/],
    ['a long name of gigabytes', [entry({ type: 'L', size: 2 ** 32 })], /header has/],
    ['a sparse file', [entry({ type: 'S', data: 'x' })], /sparse/],
    ['a sparse file in pax', [pax(['GNU.sparse.major', '1']), entry({})], /sparse/],
    ['a time that nothing can have', [pax(['mtime', '9'.repeat(12)]), entry({})], /time is out of range/],
    ['a time before that', [pax(['mtime', `-${'9'.repeat(12)}`]), entry({})], /time is out of range/],
    ['an owner that is no user id', [pax(['uid', String(2 ** 32)]), entry({})], /owner or group/, { owners: true }],
    ['a group that none is', [pax(['gid', '-1']), entry({})], /owner or group/, { owners: true }],
    ['a damaged header', [Buffer.alloc(512, 120)], /checksum/],
    ['more entries than allowed', [good, entry({ name: 'more' })], /limit/, { limits: { entries: 1 } }],
    [
      'more directories than allowed, implied by a file',
      [entry({ name: 'a/b/c/d/f' })],
      /limit/,
      { limits: { entries: 4 } },
    ],
    [
      'more directories than allowed, implied by a directory',
      [entry({ name: 'a/b/c/d/', type: '5' })],
      /limit/,
      { limits: { entries: 4 } },
    ],
    [
      'more bytes than allowed',
      [good, entry({ name: 'more', data: 'x'.repeat(100) })],
      /limit/,
      { limits: { bytes: 100 } },
    ],
  ];
  for (const [what, parts, reason, options] of cases) {
    const top = fresh();
    fs.mkdirSync(`${top}/target`, { recursive: true });
    fs.mkdirSync('/outside', { recursive: true });
    fs.mkdirSync(`${top}/outside`);
    for (const path of ['/outside/secret', `${top}/outside/secret`]) fs.writeFileSync(path, 'secret');
    const before = [...describe(fs, '/outside'), ...describe(fs, `${top}/outside`)];
    let outcome = 'nothing';
    try {
      fs.importTar([good, ...parts, END], `${top}/target`, options);
    } catch (error) {
      const { code, imported, message } = error as Error & { code: string; imported: { entries: number } };
      assert.equal(code, 'ERR_PLAIT_TAR', `${what}: ${message}`);
      assert.ok(imported.entries >= 1 && message.includes(`${imported.entries} entries were made`), what);
      outcome = message;
    }
    assert.match(outcome, reason, what);
    assert.deepEqual([...describe(fs, '/outside'), ...describe(fs, `${top}/outside`)], before, what);
    assert.deepEqual(fs.readdirSync(top).sort(), ['outside', 'target'], what);
    if (!/directory of that name|no directory/.test(reason.source)) {
      assert.equal(fs.readFileSync(`${top}/target/good`, 'utf8'), 'good', 'what came before stays');
    }
    fs.rmSync(top, { recursive: true });
  }
  fs.rmSync('/outside', { recursive: true });
  fs.check();
});

test('damaged and truncated archives are imported or refused, at every byte', () => {
  const top = fresh();
  plant(fs, top);
  fs.unlinkSync(`${top}/large`);
  const bytes = archive(top);
  for (let length = 0; length < bytes.length - 512; length += 211) {
    const to = fresh();
    assert.throws(() => fs.importTar(bytes.subarray(0, length), to), { code: 'ERR_PLAIT_TAR' }, `${length} bytes`);
    fs.rmSync(to, { recursive: true });
  }
  let state = seed >>> 0 || 1;
  const next = (limit: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % limit;
  };
  let refused = 0;
  for (let i = 0; i < 300 * rounds; i++) {
    const damaged = Buffer.from(bytes);
    for (let k = next(4); k >= 0; k--) damaged[next(damaged.length)] = next(256);
    const to = fresh();
    try {
      fs.importTar(damaged, `${to}/in`);
    } catch (error) {
      assert.match((error as { code: string }).code, /^(ERR_PLAIT_TAR|E[A-Z]+)$/, String(error));
      refused++;
    }
    assert.deepEqual(fs.readdirSync(to), ['in']);
    fs.rmSync(to, { recursive: true });
  }
  assert.ok(refused > 10, `${refused} were refused`);
  fs.check();
});

test('duplicate names, lack of memory, and unknown entries are handled', () => {
  const top = fresh();
  const result = fs.importTar(
    [
      entry({ name: 'f', data: 'first' }),
      entry({ name: 'l', type: '1', link: 'f' }),
      entry({ name: 'f', data: 'second' }),
      entry({ name: 'pipe', type: '6' }),
      entry({ name: 'device', type: '3', size: 0 }),
      entry({ name: 'volume', type: 'V' }),
      entry({ name: 'old/', type: '0', magic: '\0'.repeat(8) }),
      entry({ name: 'old/f', type: '\0', data: 'v7', magic: '\0'.repeat(8) }),
      entry({ name: './a//b/./c', data: 'made' }),
      END,
    ],
    top,
  );
  assert.equal(fs.readFileSync(`${top}/f`, 'utf8'), 'second');
  assert.equal(fs.readFileSync(`${top}/l`, 'utf8'), 'first', 'a name is replaced, not what it named');
  assert.equal(fs.readFileSync(`${top}/old/f`, 'utf8'), 'v7');
  assert.equal(fs.readFileSync(`${top}/a/b/c`, 'utf8'), 'made');
  assert.deepEqual(
    result.skipped.map(({ name }) => name),
    ['pipe', 'device', 'volume'],
  );
  const small = createFs(() => openSpace({ maximum: 2 ** 22 }));
  const big = entry({ name: 'big', data: Buffer.alloc(2 ** 23) });
  assert.throws(() => small.importTar([entry({ name: 'one', data: '1' }), big, END], '/in'), { code: 'ENOSPC' });
  assert.deepEqual(small.readdirSync('/in'), ['one'], 'a file is made whole or not at all');
  small.check();
});

test('global headers take memory once, and skipped entries are counted', () => {
  // Each entry looks at all global records.
  const many = paxOf('g', ...Array.from({ length: 40000 }, (_, i): [string, string] => [`key${i}`, 'value']));
  assert.equal(decodeRecords(many.subarray(512)).size, 0);
  const sparse = Array.from({ length: 100 }, (_, i): [string, string] => [`GNU.sparse.${i}`, '1']);
  assert.equal(decodeRecords(paxOf('g', ['path', 'f'], ...sparse).subarray(512)).size, 2);
  const devices = Array.from({ length: 3000 }, (_, i) => entry({ name: `device${i}`, type: '3' }));
  const { skipped, skippedCount } = fs.importTar([...devices, END], fresh());
  assert.deepEqual([skipped.length, skippedCount, skipped.at(-1)?.name], [1000, 3000, 'device999']);
  const top = fresh();
  const again = Array.from({ length: 3000 }, () => entry({ name: 'd', type: '5' }));
  assert.equal(fs.importTar([paxOf('g', ['mtime', '5']), ...again, END], top).entries, 3000);
  assert.equal(fs.statSync(`${top}/d`).mtimeMs, 5000, 'a global record counts for each entry');
  fs.importTar([paxOf('g', ['mtime', '5']), pax(['mtime', '']), entry({}), END], top);
  assert.equal(fs.statSync(`${top}/f`).mtimeMs, 0, 'and an empty one takes it away');
});

test('invalid limits are refused before anything is created', () => {
  const top = fresh();
  for (const limits of [{ entries: Number.NaN }, { bytes: Number.NaN }, { entries: -1 }, { bytes: 1.5 }]) {
    assert.throws(() => fs.importTar([END], top, { limits }), { code: 'ERR_OUT_OF_RANGE' }, JSON.stringify(limits));
  }
  for (const limits of [{ entries: '5' }, { bytes: null }, 5, null]) {
    const options = { limits } as never;
    assert.throws(() => fs.importTar([END], top, options), { code: 'ERR_INVALID_ARG_TYPE' }, JSON.stringify(limits));
  }
  assert.throws(() => fs.importTar([END], top, { links: 'all' } as never), { code: 'ERR_INVALID_ARG_VALUE' });
  assert.equal(fs.existsSync(top), false);
  const none = { limits: { entries: Number.POSITIVE_INFINITY, bytes: undefined } };
  assert.equal(fs.importTar([entry({ name: 'a/b/f' }), END], top, none).entries, 1);
  assert.equal(fs.importTar([entry({ name: 'a/b/g' }), END], top, { limits: { entries: 1 } }).entries, 1);
});

test('hard links to links inside are created, and a failing source leaves no part of a file', async () => {
  const top = fresh();
  const inner = entry({ name: 'a/b/l', type: '2', link: '../x' });
  fs.importTar([inner, entry({ name: 'a/c/h', type: '1', link: 'a/b/l' }), END], top);
  assert.equal(fs.readlinkSync(`${top}/a/c/h`), '../x');
  fs.importTar([inner, entry({ name: 'h', type: '1', link: 'a/b/l' }), END], top, { links: 'any' });
  assert.equal(fs.readlinkSync(`${top}/h`), '../x');
  const large = Buffer.concat([entry({ name: 'whole', data: 'whole' }), entry({ name: 'part', size: 2 ** 22 })]);
  const failing = function* (): Generator<Uint8Array> {
    yield large;
    yield Buffer.alloc(2 ** 21);
    throw new RangeError('no more');
  };
  const into = fresh();
  const open = fs.openSync('/free', 'w'); // the number of the next descriptor
  fs.closeSync(open);
  assert.throws(() => fs.importTar(failing(), into), { message: 'no more' });
  await assert.rejects(fs.promises.importTar(failing(), into), { message: 'no more' });
  assert.deepEqual(fs.readdirSync(into), ['whole']);
  assert.equal(fs.openSync('/free', 'w'), open, 'nothing is left open');
  fs.closeSync(open);
  fs.check();
});

test('the division of an archive into parts costs neither time nor memory', async () => {
  const data = Array.from({ length: 60000 }, (_, i) => `${i},`).join('');
  const whole = Buffer.concat([entry({ name: 'f', data }), END]);
  const none = new Uint8Array();
  let most = 0;
  function* pieces(): Generator<Uint8Array> {
    const piece = new Uint8Array(1); // one for all: it is the source's again when the next is asked for
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 1e6; i++) {
      if (i % 10000 === 0) most = Math.max(most, process.memoryUsage().heapUsed - before);
      yield none;
    }
    for (const byte of whole) {
      piece[0] = byte;
      yield piece;
    }
  }
  const start = performance.now();
  const [sync, later] = [fresh(), fresh()];
  fs.importTar(pieces(), sync);
  assert.ok(most < 64e6, `${most} bytes for nothing`);
  assert.ok(performance.now() - start < 20000, 'it was some minutes');
  assert.ok(fs.readFileSync(`${sync}/f`, 'latin1') === data);
  await fs.promises.importTar(
    (async function* () {
      const piece = new Uint8Array(1000);
      for (let at = 0; at < whole.length; at += piece.length) {
        piece.set(whole.subarray(at, at + piece.length));
        yield piece.subarray(0, whole.length - at);
      }
    })(),
    later,
  );
  assert.ok(fs.readFileSync(`${later}/f`, 'latin1') === data);
});

test('an invalid source leaves nothing open, and the end of a source does not hide its error', async () => {
  nodeFs.mkdirSync(`${scratch}/sources`);
  fs.mount('/sources', { type: 'host', directory: `${scratch}/sources` });
  nodeFs.mkdirSync(`${scratch}/sources/target`);
  const open = (): number => nodeFs.readdirSync('/proc/self/fd').length;
  const failing = {
    next() {
      throw new Error('first');
    },
    return() {
      throw new Error('second');
    },
  };
  assert.ok(fs.existsSync('/sources/target')); // this thread has its mount open
  const before = open();
  for (const source of [undefined, 5, {}, [5], [undefined], 'text', (async function* () {})()]) {
    assert.throws(() => fs.importTar(source as never, '/sources/target'), TypeError);
    if (open() !== before) assert.fail(`left open: ${String(source)}`);
  }
  for (const source of [undefined, 5, {}, [5], [undefined], 'text']) {
    await assert.rejects(fs.promises.importTar(source as never, '/sources/target'), TypeError);
  }
  assert.throws(() => fs.importTar({ [Symbol.iterator]: () => failing } as never, '/sources/target'), /first/);
  await assert.rejects(
    fs.promises.importTar({ [Symbol.asyncIterator]: () => failing } as never, '/sources/target'),
    /first/,
  );
  assert.equal(open(), before);
});
