/**
 * Import and export as tar. Oracles: GNU tar and Python's tarfile read our archives, and we read theirs. Random trees
 * are exported and imported again.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as nodeFs from 'node:fs';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { openSpace } from 'plait';
import { createFs } from 'plait/fs';
import { archive, describe, fresh, fs, plant, scratch } from './fs-tar-setup.ts';
import { rounds, seed } from './seed.ts';

const MICRO = 1000n;

function python(source: string, ...args: string[]): string {
  return execFileSync('python3', ['-c', source, ...args], { encoding: 'utf8' });
}

test('GNU tar and Python read our archives', () => {
  const top = fresh();
  plant(fs, top);
  const file = `${scratch}/ours.tar`;
  nodeFs.writeFileSync(file, archive(top));
  for (const [name, unpack] of [
    ['gnu', (to: string) => execFileSync('tar', ['xpf', file, '-C', to])],
    [
      'python',
      (to: string) => python('import sys,tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])', file, to),
    ],
  ] as const) {
    const to = `${scratch}/${name}`;
    nodeFs.mkdirSync(to);
    unpack(to);
    // Links have the time at which they were unpacked; Python rounds.
    const unit = name === 'gnu' ? 1n : 0n;
    const theirs = describe(nodeFs, to, unit).filter((line) => !/^\S+ l /.test(line));
    assert.deepEqual(
      theirs,
      describe(fs, top, unit).filter((line) => !/^\S+ l /.test(line)),
    );
    assert.equal(nodeFs.readlinkSync(`${to}/soft`), 'd/f');
    assert.equal(nodeFs.readlinkSync(`${to}/d/long-link`), `../d/${'x'.repeat(150)}`);
    assert.equal(nodeFs.statSync(`${to}/d/f`).ino, nodeFs.statSync(`${to}/hard`).ino);
  }
  assert.doesNotThrow(() => execFileSync('tar', ['tf', file]));
});

test('archives of GNU tar and Python are read, in every format', () => {
  const source = `${scratch}/source`;
  const real = createFs(() => openSpace({ maximum: 2 ** 26 }));
  nodeFs.mkdirSync(source);
  real.mount('/m', { type: 'host', directory: source });
  plant(real, '/m');
  const file = `${scratch}/theirs.tar`;
  for (const format of ['gnu', 'pax']) {
    execFileSync('tar', ['cf', file, `--format=${format}`, '-C', source, '.']);
    const top = fresh();
    fs.importTar(nodeFs.readFileSync(file), top, { owners: true });
    const unit = format === 'pax' ? 1n : 0n; // GNU's own has whole seconds
    assert.deepEqual(describe(fs, top, unit), describe(nodeFs, source, unit));
    assert.equal(Math.floor(fs.statSync(`${top}/d/f`).mtimeMs), format === 'pax' ? 1500000000654 : 1500000000000);
  }
  for (const format of ['USTAR_FORMAT', 'GNU_FORMAT', 'PAX_FORMAT']) {
    const filter =
      format === 'USTAR_FORMAT' ? '(None if len(t.name) > 100 or t.mtime < 0 or len(t.linkname) > 100 else t)' : 't';
    python(
      `import sys,tarfile
with tarfile.open(sys.argv[1], 'w', format=tarfile.${format}, encoding='utf-8', errors='surrogateescape') as f:
    f.add(sys.argv[2], '.', filter=lambda t: ${filter})`,
      file,
      source,
    );
    const top = fresh();
    const { entries } = fs.importTar(nodeFs.readFileSync(file), top);
    assert.ok(entries > 8, `${entries} entries`);
    for (const name of ['d/f', 'large', 'hard', 'grün ☃']) {
      assert.deepEqual(
        fs.readFileSync(`${top}/${name}`),
        nodeFs.readFileSync(`${source}/${name}`),
        `${format} ${name}`,
      );
    }
  }
  execFileSync('tar', ['czf', `${file}.gz`, '-C', source, 'd']);
  const top = fresh();
  fs.importTar(gunzipSync(nodeFs.readFileSync(`${file}.gz`)), top);
  assert.equal(fs.readFileSync(`${top}/d/f`, 'utf8'), 'hello\n');
});

test(`random trees are the same after export and import (seed ${seed})`, () => {
  let state = seed >>> 0 || 1;
  const next = (limit: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % limit;
  };
  for (let round = 0; round < 20 * rounds; round++) {
    const top = fresh();
    fs.mkdirSync(top);
    const folders = [top];
    const files: string[] = [];
    for (let i = 0; i < 40; i++) {
      const name = `${folders[next(folders.length)]}/${'abcé'[next(4)]?.repeat(1 + next(next(4) === 0 ? 120 : 5))}${i}`;
      const kind = next(5);
      if (kind === 0) folders.push(name);
      if (kind === 0) fs.mkdirSync(name, { mode: 0o700 + next(64) });
      else if (kind === 1 && files.length > 0) fs.linkSync(files[next(files.length)] as string, name);
      else if (kind === 2) fs.symlinkSync(`t${i}`.repeat(1 + next(60)), name);
      else {
        fs.writeFileSync(name, Buffer.alloc(next(next(5) === 0 ? 100000 : 1500), i), { mode: 0o600 + next(64) });
        files.push(name);
      }
      if (kind !== 2) fs.utimesSync(name, next(2 ** 31), next(2 ** 31) / 8);
    }
    const [bytes, to] = [archive(top), fresh()];
    // In pieces of any size.
    const pieces: Buffer[] = [];
    for (let at = 0; at < bytes.length; ) {
      const size = 1 + next(4000);
      pieces.push(bytes.subarray(at, at + size));
      at += size;
    }
    fs.importTar(pieces, to, { owners: true });
    assert.deepEqual(describe(fs, to), describe(fs, top));
    assert.ok(archive(to).equals(bytes));
    fs.rmSync(top, { recursive: true });
    fs.rmSync(to, { recursive: true });
  }
  fs.check();
});

test('export and import work with streams and with mounts', async () => {
  const top = fresh();
  plant(fs, top);
  const bytes = archive(top);
  const one = fresh();
  await fs.promises.importTar(Readable.from(fs.exportTar(top)), one, { owners: true });
  assert.deepEqual(describe(fs, one), describe(fs, top));
  const two = fresh();
  const stream = new Blob([gzipSync(bytes)]).stream().pipeThrough(new DecompressionStream('gzip') as never);
  await fs.promises.importTar(stream as ReadableStream<Uint8Array>, two, { owners: true });
  assert.deepEqual(describe(fs, two), describe(fs, top));
  const directory = nodeFs.mkdtempSync(`${scratch}/mounted-`);
  fs.mount('/mounted', { type: 'host', directory });
  fs.importTar(bytes, '/mounted/in', { owners: true });
  // utimes() of Node has microseconds.
  assert.deepEqual(describe(nodeFs, `${directory}/in`, MICRO), describe(fs, top, MICRO));
  const back = fresh();
  fs.importTar(fs.exportTar('/mounted/in'), back, { owners: true });
  assert.deepEqual(describe(fs, back), describe(nodeFs, `${directory}/in`));
  execFileSync('mkfifo', [`${directory}/pipe`]);
  const skipped: string[] = [];
  assert.equal([...fs.exportTar('/mounted', { onSkip: (path) => skipped.push(path) })].length > 1, true);
  assert.deepEqual(skipped, ['/mounted/pipe']);
  assert.deepEqual([...fs.exportTar(`${top}/d/f`)].length, 2, 'a file by itself');
  assert.throws(() => archive('/none'), { code: 'ENOENT' });
  fs.unmount('/mounted');
  fs.check();
});
