/**
 * Damaged archives: the error says what is wrong and where, and no file changes. The archives are made here, or are
 * those of the host's tar with bytes changed. The programs are built by fs.mk.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { WASI } from 'node:wasi';
import { linkedFiles } from 'plait/linked';

const BLOCK = 512;
const CHECKSUM = 148;
const END = Buffer.alloc(2 * BLOCK);
const built = (name) => new URL(`../../../build/lib-test/${name}`, import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'plait-tar-'));
after(() => rmSync(folder, { recursive: true }));

function filesOf(name) {
  const wasi = new WASI({ version: 'preview1', args: ['program'], returnOnExit: true });
  const module = new WebAssembly.Module(readFileSync(built(name)));
  return linkedFiles(new WebAssembly.Instance(module, wasi.getImportObject()).exports);
}

function withChecksum(header) {
  header.fill(' ', CHECKSUM, CHECKSUM + 8);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, CHECKSUM, 'latin1');
  return header;
}

/** A member: its header, and its contents up to a whole block. */
function member({ name, type = '0', contents = '', size = contents.length, link = '' }) {
  const header = Buffer.alloc(BLOCK);
  header.write(name, 0, 'latin1');
  header.write('0000644\0', 100, 'latin1');
  header.write(`${size.toString(8).padStart(11, '0')}\0`, 124, 'latin1');
  header.write('00000000000\0', 136, 'latin1');
  header.write(type, 156, 'latin1');
  header.write(link, 157, 'latin1');
  header.write('ustar\x0000', 257, 'latin1');
  const padding = (BLOCK - (contents.length % BLOCK)) % BLOCK;
  return Buffer.concat([withChecksum(header), Buffer.from(contents, 'latin1'), Buffer.alloc(padding)]);
}

const GOOD = member({ name: 'kept', contents: 'new' });
const pax = (record) => member({ name: 'pax', type: 'x', contents: record });

/** All files below the directory, with their text. */
function tree(files, path = '/') {
  return files.readdirSync(path, { withFileTypes: true }).map((entry) => {
    const below = `${path}${entry.name}`;
    return entry.isDirectory() ? [below, tree(files, `${below}/`)] : [below, files.readFileSync(below, 'utf8')];
  });
}

const CASES = [
  ['nothing', Buffer.alloc(0), /cut off.*at byte 0$/],
  ['zeros, too few', Buffer.alloc(100), /cut off.*at byte 0$/],
  ['no end mark', GOOD, /cut off.*at byte 1024$/],
  ['cut in a header', Buffer.concat([GOOD, GOOD]).subarray(0, 1500), /cut off.*at byte 1024$/],
  ['cut in the contents', Buffer.concat([GOOD, GOOD]).subarray(0, 1538), /a member ends behind.*at byte 1024$/],
  ['a size beyond the end', [GOOD, member({ name: 'big', size: 5000 }), END], /a member ends behind.*at byte 1024$/],
  ['the largest size', [GOOD, member({ name: 'big', size: 0o77777777777 }), END], /a member ends behind.*1024$/],
  ['a size of pax beyond the end', [GOOD, pax('13 size=9999\n'), GOOD, END], /a member ends behind.*at byte 2048$/],
  ['a header full of noise', [GOOD, Buffer.alloc(BLOCK, 'noise'), END], /checksum.*at byte 1024$/],
  ['a header that starts like the end', [GOOD, Buffer.alloc(BLOCK).fill(1, 300), END], /checksum.*at byte 1024$/],
  ['a record that is too long', [GOOD, pax('99 path=a\n'), GOOD, END], /record.*at byte 1536$/],
  ['a record without a value', [GOOD, pax('7 path\n'), GOOD, END], /record.*at byte 1536$/],
  ['the second record', [GOOD, pax('10 path=ab\n9 x=1\n'), GOOD, END], /record.*at byte 1536$/],
  ['a way up', [GOOD, member({ name: '../up' }), END], /contains \.\..*at byte 1024$/],
  ['a way up in the middle', [GOOD, member({ name: 'a/../../up' }), END], /contains \.\..*at byte 1024$/],
  ['a way up at the end', [GOOD, member({ name: 'a/..', type: '5' }), END], /contains \.\..*at byte 1024$/],
  ['a way up by pax', [GOOD, pax('14 path=../up\n'), GOOD, END], /contains \.\..*at byte 2048$/],
  ['a link to a file above', [GOOD, member({ name: 'l', type: '1', link: '../kept' }), END], /contains \.\..*1024$/],
  ['a name that is too long', [GOOD, pax(`275 path=${'n'.repeat(265)}\n`), GOOD, END], /name is too long.*byte 2048$/],
  ['a zero in a path', [GOOD, pax('12 path=a\0b\n'), GOOD, END], /zero byte.*at byte 2048$/],
];

for (const [name, parts, message] of CASES) {
  test(name, () => {
    const archive = Array.isArray(parts) ? Buffer.concat(parts) : parts;
    const files = filesOf('copy.wasm');
    files.writeFileSync('/kept', 'old');
    const before = tree(files);
    assert.throws(() => files.unpackTar(archive), { code: 'EINVAL', syscall: 'unpack', message });
    assert.deepEqual(tree(files), before);
  });
}

test("every byte of the host's headers is checked, and every length up to the end mark", () => {
  const files = filesOf('copy.wasm');
  const archive = readFileSync(built('assets.tar'));
  const before = tree(files);
  const blocks = [0, 1, 3]; // the directory, and two files of one block
  for (const block of blocks)
    for (let at = 0; at < BLOCK; at++) {
      const wrong = Buffer.from(archive);
      wrong[block * BLOCK + at] ^= 1;
      const isSpace = at >= CHECKSUM && at < CHECKSUM + 8;
      try {
        files.unpackTar(wrong);
        assert.ok(isSpace, `byte ${at} of block ${block}`); // the checksum's own end is not in the sum
      } catch (error) {
        assert.match(error.message, new RegExp(`, at byte ${block * BLOCK}$`));
      }
    }
  assert.deepEqual(tree(files), before);
  for (let length = 0; length < 5 * BLOCK + BLOCK; length += 7)
    assert.throws(() => files.unpackTar(archive.subarray(0, length)), { code: 'EINVAL' }, `${length} bytes`);
  files.unpackTar(archive.subarray(0, 6 * BLOCK));
});

test('absolute names start at the root directory, as others do', () => {
  const files = filesOf('copy.wasm');
  files.unpackTar(Buffer.concat([member({ name: '/a/b', contents: 'absolute' }), END]));
  assert.equal(files.readFileSync('/a/b', 'utf8'), 'absolute');
});

test('what is replaced stays until its successor is complete', () => {
  const files = filesOf('copy.wasm');
  files.writeFileSync('/kept', 'old');
  const missing = Buffer.concat([member({ name: 'kept', type: '1', link: 'missing' }), END]);
  assert.throws(() => files.unpackTar(missing), { code: 'ENOENT' });
  assert.equal(files.readFileSync('/kept', 'utf8'), 'old');
  const same = Buffer.concat([member({ name: 'kept', type: '1', link: 'kept' }), END]);
  files.unpackTar(same);
  assert.equal(files.readFileSync('/kept', 'utf8'), 'old');
  files.symlinkSync('/kept', '/link');
  files.unpackTar(Buffer.concat([member({ name: 'link', contents: 'a file' }), END]));
  assert.deepEqual([files.readFileSync('/link', 'utf8'), files.readFileSync('/kept', 'utf8')], ['a file', 'old']);
  files.mkdirSync('/directory');
  const over = Buffer.concat([member({ name: 'directory', contents: 'a file' }), END]);
  assert.throws(() => files.unpackTar(over), { code: 'EISDIR' });
  const names = files.readdirSync('/').filter((name) => name.startsWith('.'));
  assert.deepEqual(names, []);
});

test("archives of the host's tar, cut and changed at random, never do more than they say", () => {
  const from = join(folder, 'tree');
  mkdirSync(join(from, 'd'.repeat(90), 'e'.repeat(90)), { recursive: true });
  writeFileSync(join(from, 'd'.repeat(90), 'e'.repeat(90), 'f'), 'deep');
  writeFileSync(join(from, 'a'), 'a'.repeat(700));
  let seed = 1;
  const random = (limit) => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return Math.floor((seed / 2 ** 32) * limit);
  };
  for (const format of ['pax', 'gnu']) {
    const archive = execFileSync('tar', ['-c', `--format=${format}`, '-C', from, '.']);
    const files = filesOf('copy.wasm');
    for (let round = 0; round < 1000; round++) {
      const wrong = Buffer.from(archive.subarray(0, random(archive.length)));
      for (let count = random(4); count > 0 && wrong.length > 0; count--) wrong[random(wrong.length)] = random(256);
      try {
        files.unpackTar(wrong);
      } catch (error) {
        assert.ok(['EINVAL', 'EISDIR', 'ENOTDIR'].includes(error.code), error.message);
      }
    }
    assert.ok(files.existsSync('/assets/one.txt'));
  }
});

test('a program whose own archive is damaged says so, to its user and to JavaScript', () => {
  const message = /the files that the program starts with: the checksum of a header is wrong, at byte 512$/m;
  const files = filesOf('damaged.wasm');
  assert.throws(() => files.readdirSync('/'), { code: 'EINVAL', message });
  assert.throws(() => files.existsSync('/'), { code: 'EINVAL', message });
  assert.throws(() => files.writeFileSync('/in.txt', 'x'), { code: 'EINVAL', message });
  const runner = fileURLToPath(new URL('../../heap/test/run.js', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [runner, fileURLToPath(built('damaged.wasm'))], {
    encoding: 'utf8',
  });
  assert.notEqual(status, 0);
  assert.match(stderr, message);
});
