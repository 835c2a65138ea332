/**
 * A program's files from JavaScript (plait/linked), compared with node:fs; its start with an archive; and what a
 * program imports and contains. The programs are built by fs.mk.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as nodeFs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { WASI } from 'node:wasi';
import { linkedFiles } from 'plait/linked';

const built = (name) => new URL(`../../../build/lib-test/${name}`, import.meta.url);
const ALLOWED =
  /^(args_get|args_sizes_get|environ_get|environ_sizes_get|clock_time_get|clock_res_get|random_get|proc_exit|fd_read|fd_write|fd_fdstat_get|poll_oneoff)$/;

function load(name) {
  const module = new WebAssembly.Module(nodeFs.readFileSync(built(name)));
  const wasi = new WASI({ version: 'preview1', args: ['program'], returnOnExit: true });
  const instance = new WebAssembly.Instance(module, wasi.getImportObject());
  return { module, wasi, instance, start: () => wasi.start(instance) };
}

const folder = nodeFs.mkdtempSync(join(tmpdir(), 'plait-linked-'));
after(() => nodeFs.rmSync(folder, { recursive: true }));

/** The value, or the error's code. */
function outcome(run) {
  try {
    return { value: run() };
  } catch (error) {
    return { code: error.code };
  }
}

test('a program copies what JavaScript has written, and what it was linked with', () => {
  const { instance, start } = load('copy.wasm');
  const files = linkedFiles(instance.exports);
  files.writeFileSync('/in.txt', 'from JavaScript\n');
  assert.equal(start(), 0);
  const out = files.readFileSync('/out.txt', 'utf8');
  assert.equal(out, '/in.txt: from JavaScript\n/assets/one.txt: one\n/assets/two.txt: two\n');
  const [one] = files.readdirSync('/assets', { withFileTypes: true });
  assert.ok(one.name === 'one.txt' && one.isFile());
});

test('the same calls on node:fs have the same results', () => {
  const { instance } = load('copy.wasm');
  const files = linkedFiles(instance.exports);
  const bytes = Uint8Array.from({ length: 300_000 }, (_, at) => at * 7);
  const plain = (entries) => entries.sort();
  /** @type {[string, (fs: any, at: (path: string) => string) => unknown][]} */
  const calls = [
    ['mkdir', (fs, at) => fs.mkdirSync(at('/d'))],
    ['mkdir again', (fs, at) => fs.mkdirSync(at('/d'))],
    ['mkdir recursive', (fs, at) => fs.mkdirSync(at('/d/e/f'), { recursive: true }) === at('/d/e')],
    ['mkdir recursive again', (fs, at) => fs.mkdirSync(at('/d/e/f'), { recursive: true })],
    ['mkdir below nothing', (fs, at) => fs.mkdirSync(at('/no/e'))],
    ['write', (fs, at) => fs.writeFileSync(at('/d/a'), bytes)],
    ['read', (fs, at) => Buffer.from(fs.readFileSync(at('/d/a'))).toString('base64')],
    ['write text', (fs, at) => fs.writeFileSync(at('/d/b'), 'grüße')],
    ['read text', (fs, at) => fs.readFileSync(at('/d/b'), 'utf8')],
    ['append', (fs, at) => fs.appendFileSync(at('/d/b'), '!')],
    ['read after append', (fs, at) => fs.readFileSync(at('/d/b'), 'utf8')],
    ['write exclusively', (fs, at) => fs.writeFileSync(at('/d/b'), '', { flag: 'wx' })],
    ['write with r+', (fs, at) => fs.writeFileSync(at('/d/none'), '', { flag: 'r+' })],
    ['write an empty file', (fs, at) => fs.writeFileSync(at('/d/empty'), '')],
    ['read an empty file', (fs, at) => fs.readFileSync(at('/d/empty'), 'utf8')],
    ['read nothing', (fs, at) => fs.readFileSync(at('/d/none'))],
    ['read a directory', (fs, at) => fs.readFileSync(at('/d'))],
    ['list', (fs, at) => plain(fs.readdirSync(at('/d')))],
    ['list a file', (fs, at) => fs.readdirSync(at('/d/a'))],
    [
      'stat',
      (fs, at) => [fs.statSync(at('/d/a')).size, fs.statSync(at('/d/a')).isFile(), fs.statSync(at('/d/a')).nlink],
    ],
    ['link', (fs, at) => fs.linkSync(at('/d/a'), at('/d/h'))],
    ['stat a link', (fs, at) => fs.statSync(at('/d/h')).nlink],
    ['symlink', (fs, at) => fs.symlinkSync('a', at('/d/s'))],
    ['readlink', (fs, at) => fs.readlinkSync(at('/d/s'))],
    ['readlink of a file', (fs, at) => fs.readlinkSync(at('/d/a'))],
    ['lstat', (fs, at) => fs.lstatSync(at('/d/s')).isSymbolicLink()],
    ['stat through a link', (fs, at) => fs.statSync(at('/d/s')).size],
    ['rename', (fs, at) => fs.renameSync(at('/d/b'), at('/d/e/c'))],
    ['rename into itself', (fs, at) => fs.renameSync(at('/d'), at('/d/e/d'))],
    ['exists', (fs, at) => [fs.existsSync(at('/d/b')), fs.existsSync(at('/d/e/c'))]],
    ['truncate', (fs, at) => fs.truncateSync(at('/d/a'), 10)],
    ['size after truncate', (fs, at) => fs.statSync(at('/d/a')).size],
    ['chmod', (fs, at) => fs.chmodSync(at('/d/a'), 0o600)],
    ['mode after chmod', (fs, at) => fs.statSync(at('/d/a')).mode],
    ['utimes', (fs, at) => fs.utimesSync(at('/d/a'), 1, new Date(2500))],
    ['times after utimes', (fs, at) => [fs.statSync(at('/d/a')).atimeMs, fs.statSync(at('/d/a')).mtimeMs]],
    ['rmdir of a full one', (fs, at) => fs.rmdirSync(at('/d'))],
    ['unlink of a directory', (fs, at) => fs.unlinkSync(at('/d/e/f/'))],
    ['unlink', (fs, at) => fs.unlinkSync(at('/d/h'))],
    ['rm without recursive', (fs, at) => fs.rmSync(at('/d/none'))],
    ['rm with force', (fs, at) => fs.rmSync(at('/d/none'), { force: true })],
    ['rm recursive', (fs, at) => fs.rmSync(at('/d'), { recursive: true })],
    ['exists after rm', (fs, at) => fs.existsSync(at('/d'))],
    ['a long name', (fs, at) => fs.writeFileSync(at(`/${'n'.repeat(256)}`), '')],
    ['a long path', (fs, at) => fs.writeFileSync(at(`/${'n/'.repeat(3000)}`), '')],
  ];
  for (const [name, call] of calls) {
    const ours = outcome(() => call(files, (path) => path));
    const theirs = outcome(() => call(nodeFs, (path) => folder + path));
    assert.deepEqual(ours, theirs, name);
  }
});

test('a large directory is listed whole', () => {
  const { instance } = load('copy.wasm');
  const files = linkedFiles(instance.exports);
  const names = Array.from({ length: 3000 }, (_, at) => `a-rather-long-name-for-a-file-${at}`);
  files.mkdirSync('/many');
  for (const name of names) files.writeFileSync(`/many/${name}`, '');
  assert.deepEqual(files.readdirSync('/many'), names);
});

test('an archive of the host unpacks to the same files', (context) => {
  const tree = join(folder, 'tree');
  const deep = join(tree, 'x'.repeat(120), 'y'.repeat(200));
  nodeFs.mkdirSync(deep, { recursive: true });
  nodeFs.writeFileSync(join(deep, 'long'), 'long');
  nodeFs.writeFileSync(join(tree, 'a'), 'a'.repeat(5000));
  nodeFs.linkSync(join(tree, 'a'), join(tree, 'hard'));
  nodeFs.symlinkSync(`a${'/../a'.repeat(40)}`, join(tree, 'soft'));
  nodeFs.chmodSync(join(tree, 'a'), 0o640);
  nodeFs.utimesSync(join(tree, 'a'), 1_000_000, 2_000_000);
  for (const format of ['ustar', 'pax', 'gnu']) {
    const archive = join(folder, `${format}.tar`);
    if (format === 'ustar') nodeFs.renameSync(deep, join(tree, 'x'.repeat(120), 'y'));
    try {
      execFileSync('tar', ['-c', `--format=${format}`, '-f', archive, '-C', tree, '.'], { stdio: 'pipe' });
    } catch (error) {
      context.diagnostic(`${format}: ${String(error.stderr).trim()}`); // ustar cannot name a link's long text
    } finally {
      if (format === 'ustar') nodeFs.renameSync(join(tree, 'x'.repeat(120), 'y'), deep);
    }
    const files = linkedFiles(load('copy.wasm').instance.exports);
    files.unpackTar(nodeFs.readFileSync(archive));
    assert.equal(files.readFileSync('/a', 'utf8'), 'a'.repeat(5000), format);
    const { mode, mtimeMs, nlink } = files.statSync('/a');
    assert.deepEqual([mode & 0o777, mtimeMs, nlink], [0o640, 2_000_000_000, 2], format);
    if (format === 'ustar') continue;
    assert.equal(files.readlinkSync('/soft'), nodeFs.readlinkSync(join(tree, 'soft')), format);
    assert.equal(files.readFileSync(`/${'x'.repeat(120)}/${'y'.repeat(200)}/long`, 'utf8'), 'long', format);
  }
});

test('a program that keeps its own malloc', () => {
  assert.equal(load('two-heaps.wasm').start(), 0);
});

test('a program imports clocks, streams and its end, and a printing one contains no files', () => {
  for (const name of ['copy.wasm', 'print.wasm'])
    for (const { module, name: imported } of WebAssembly.Module.imports(load(name).module)) {
      assert.equal(module, 'wasi_snapshot_preview1');
      assert.match(imported, ALLOWED, name);
    }
  const size = (name) => nodeFs.statSync(built(name)).size;
  assert.ok(size('print.wasm') < size('print-alone.wasm') + 2048, 'printing does not need core/fs');
  assert.throws(() => linkedFiles({}), TypeError);
});
