/**
 * Programs that take a file system, on plait/fs. Each runs twice, on plait/fs and on node:fs in a scratch folder with
 * the same path: both must give the same answers and leave the same tree, bytes included. Git itself reads what
 * isomorphic-git wrote.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import nodeFs from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { openSpace } from 'plait';
import { createFs } from 'plait/fs';

// biome-ignore lint/suspicious/noExplicitAny: the programs' types are not installed here
type Any = any;

const require = createRequire(new URL('../../../js/test/programs/packages/package.json', import.meta.url));
const run = promisify(execFile);
const scratch = nodeFs.mkdtempSync(`${tmpdir()}/plait-programs-`);
after(() => nodeFs.rmSync(scratch, { recursive: true }));
const space = openSpace({ maximum: 2 ** 29 });
const ours = createFs(() => space);

/** Omits inode numbers and times, the only differences that two runs may have. */
function tree(fs: Any, top: string): string[] {
  const found: string[] = [];
  for (const name of fs.readdirSync(top).sort()) {
    const path = `${top}/${name}`;
    const stats = fs.lstatSync(path);
    const mode = (stats.mode & 0o7777).toString(8);
    if (stats.isDirectory()) found.push(`${path} ${mode} directory`, ...tree(fs, path));
    else if (stats.isSymbolicLink()) found.push(`${path} -> ${fs.readlinkSync(path)}`);
    else found.push(`${path} ${mode} ${Buffer.from(fs.readFileSync(path)).toString('latin1')}`);
  }
  return found;
}

/** Runs it on both, in the same folder; `same`: whether the trees must be equal afterwards. */
async function both(name: string, action: (fs: Any, root: string) => unknown, leavesSame = true): Promise<string> {
  const root = `${scratch}/${name}`;
  const outcomes: unknown[] = [];
  for (const fs of [nodeFs, ours] as Any[]) {
    fs.mkdirSync(root, { recursive: true });
    outcomes.push(await action(fs, root));
  }
  assert.deepEqual(outcomes[1], outcomes[0]);
  if (leavesSame) assert.deepEqual(tree(ours, root), tree(nodeFs, root));
  ours.check();
  return root;
}

/** What is in our files, as files of the system. */
function exportTo(from: string, to: string): void {
  nodeFs.mkdirSync(to, { recursive: true });
  for (const entry of ours.readdirSync(from, { withFileTypes: true })) {
    const [source, goal] = [`${from}/${entry.name}`, `${to}/${entry.name}`];
    if (entry.isDirectory()) exportTo(source, goal);
    else if (entry.isSymbolicLink()) nodeFs.symlinkSync(ours.readlinkSync(source), goal);
    else nodeFs.writeFileSync(goal, ours.readFileSync(source), { mode: ours.statSync(source).mode });
  }
}

const FILES = Array.from({ length: 500 }, (_, i) => [`folder-${i % 20}/deep-${i % 7}/file-${i}.txt`, i] as const);

test('isomorphic-git: init, 500 files, commits, log, branches, checkout', { timeout: 120000 }, async () => {
  const git = require('isomorphic-git');
  const author = { name: 'A', email: 'a@b.c', timestamp: 1700000000, timezoneOffset: 0 };
  let first = '';
  const root = await both(
    'git',
    async (fs, dir) => {
      const text = (i: number, version: number): string => `file ${i}, version ${version}\n`.repeat((i % 13) + 1);
      const write = (path: string, content: string): void => {
        fs.mkdirSync(dirname(`${dir}/${path}`), { recursive: true });
        fs.writeFileSync(`${dir}/${path}`, content);
      };
      const commit = (message: string): Promise<string> => git.commit({ fs, dir, message, author });
      await git.init({ fs, dir, defaultBranch: 'main' });
      for (const [path, i] of FILES) write(path, text(i, 1));
      fs.symlinkSync('folder-1/deep-1', `${dir}/link`);
      await git.add({ fs, dir, filepath: '.' });
      first = await commit('first');
      await git.branch({ fs, dir, ref: 'side', checkout: true });
      for (const [path, i] of FILES.filter(([, i]) => i % 10 === 0)) write(path, text(i, 2));
      for (const [path] of FILES.filter(([, i]) => i % 50 === 1)) {
        fs.unlinkSync(`${dir}/${path}`);
        await git.remove({ fs, dir, filepath: path });
      }
      await git.add({ fs, dir, filepath: '.' });
      await commit('second');
      await git.checkout({ fs, dir, ref: 'main' });
      const onMain = FILES.every(([path, i]) => fs.readFileSync(`${dir}/${path}`, 'utf8') === text(i, 1));
      assert.ok(onMain, 'the first version is back');
      await git.checkout({ fs, dir, ref: 'side' });
      assert.equal(fs.existsSync(`${dir}/${FILES[1]?.[0]}`), false);
      const changed = (await git.statusMatrix({ fs, dir })).filter(([, head, work]: number[]) => head !== work);
      const log = await git.log({ fs, dir });
      return { log, changed, branches: await git.listBranches({ fs, dir }) };
    },
    false, // Git's index holds inode numbers and times
  );
  const without = (lines: string[]): string[] => lines.filter((line) => !line.startsWith(`${root}/.git/index `));
  assert.deepEqual(without(tree(ours, root)), without(tree(nodeFs, root)));
  const exported = `${scratch}/exported`;
  exportTo(root, exported);
  const real = async (...args: string[]): Promise<string> =>
    (await run('git', args, { cwd: exported, env: { ...process.env, GIT_CONFIG_NOSYSTEM: '1', HOME: scratch } }))
      .stdout;
  assert.equal(await real('fsck', '--strict', '--no-dangling'), '');
  assert.equal((await real('log', '--format=%s')).trim(), 'second\nfirst');
  assert.equal((await real('rev-parse', 'main')).trim(), first);
  assert.equal(await real('status', '--porcelain'), '');
  await real('checkout', '--quiet', 'main');
  assert.equal(nodeFs.readFileSync(`${exported}/${FILES[10]?.[0]}`, 'utf8'), 'file 10, version 1\n'.repeat(11));
});

test('fast-glob: patterns, synchronous, with promises, as a stream', { timeout: 60000 }, async () => {
  const glob = require('fast-glob');
  await both('glob', async (fs, cwd) => {
    for (const [path] of FILES) {
      fs.mkdirSync(dirname(`${cwd}/${path}`), { recursive: true });
      fs.writeFileSync(`${cwd}/${path}`, path);
    }
    fs.mkdirSync(`${cwd}/.hidden`);
    fs.writeFileSync(`${cwd}/.hidden/file-1.txt`, '');
    fs.symlinkSync('folder-3', `${cwd}/link`);
    fs.symlinkSync('nowhere', `${cwd}/broken`);
    const asked: [string | string[], object][] = [
      ['**/*.txt', {}],
      ['**/file-?2*.txt', { dot: true }],
      [['folder-{1,2}/**', '!**/deep-3/**'], { onlyFiles: false }],
      ['*/deep-[0-3]/', { onlyDirectories: true }],
      ['**/*', { followSymbolicLinks: false, onlyFiles: false, markDirectories: true }],
      ['**/*', { deep: 2, onlyDirectories: true }],
      ['**/FILE-1*.TXT', { caseSensitiveMatch: false }],
      ['**/file-1*.txt', { ignore: ['**/deep-1/**'], absolute: true, unique: true }],
      ['*', { onlyFiles: false, stats: true, throwErrorOnBrokenSymbolicLink: false }],
    ];
    const found: unknown[] = [];
    for (const [pattern, options] of asked) {
      const all = { cwd, fs, ...options };
      const plain = (entries: Any[]): string[] =>
        entries.map((entry) => (typeof entry === 'string' ? entry : `${entry.path} ${entry.stats?.isFile()}`)).sort();
      const sync = plain(glob.sync(pattern, all));
      assert.deepEqual(plain(await glob(pattern, all)), sync);
      const streamed: Any[] = [];
      for await (const entry of glob.stream(pattern, all)) streamed.push(entry);
      assert.deepEqual(plain(streamed), sync);
      assert.ok(sync.length > 0, `${pattern} is found`);
      found.push(sync);
    }
    return found;
  });
});

/** fs-extra as it is when `fs` is what graceful-fs patches. */
function loadExtra(fs: Any): Any {
  const graceful = require.resolve('graceful-fs');
  for (const path of Object.keys(require.cache))
    if (/node_modules.(fs-extra|jsonfile|graceful-fs)./.test(path)) delete require.cache[path];
  const { gracefulify } = require('graceful-fs');
  (require.cache[graceful] as Any).exports = gracefulify({ ...fs });
  return require('fs-extra');
}

test('fs-extra, over graceful-fs', { timeout: 60000 }, async () => {
  await both('extra', async (fs, root) => {
    const extra = loadExtra(fs);
    const at = (name: string): string => `${root}/${name}`;
    const outcomes: unknown[] = [];
    const note = async (action: () => unknown): Promise<void> => {
      try {
        outcomes.push(await action());
      } catch (error) {
        const { code, message, syscall } = error as NodeJS.ErrnoException;
        outcomes.push({ code, message, syscall });
      }
    };
    await note(() => extra.outputFile(at('a/b/c.txt'), 'deep'));
    extra.outputFileSync(at('a/b/d.txt'), 'deep, too', { mode: 0o600 });
    await note(() => extra.outputJson(at('a/data.json'), { x: [1, 2], y: 'ü' }, { spaces: 2 }));
    await note(() => extra.readJson(at('a/data.json')));
    await note(() => extra.readJson(at('a/b/c.txt')).catch((error: Error) => error.name));
    await note(() => extra.readJson(at('none.json'), { throws: false }));
    await note(() => extra.updateJson?.(at('a/data.json')));
    extra.writeJsonSync(at('sync.json'), { z: 1 }, { EOL: '\r\n' });
    await note(() => extra.readJsonSync(at('sync.json')));
    await note(() => extra.ensureDir(at('made/by/ensure'), { mode: 0o755 }));
    extra.ensureDirSync(at('made/by/sync'));
    await note(() => extra.ensureDir(at('a/b/c.txt/x')));
    await note(() => extra.ensureFile(at('made/file')));
    extra.ensureFileSync(at('made/file2'));
    await note(() => extra.ensureFile(at('made')));
    await note(() => extra.ensureLink(at('a/b/c.txt'), at('links/hard')));
    extra.ensureLinkSync(at('a/b/c.txt'), at('links/hard2'));
    await note(() => extra.ensureLink(at('none'), at('links/none')));
    await note(() => extra.ensureSymlink('../a/b/c.txt', at('links/soft')));
    await note(() => extra.ensureSymlink('../a/b/c.txt', at('links/soft')));
    extra.ensureSymlinkSync(at('a/b'), at('links/directory'), 'dir');
    await note(() => extra.pathExists(at('links/soft')));
    await note(() => extra.pathExistsSync(at('links/none')));
    await note(() => extra.copy(at('a'), at('copied'), { preserveTimestamps: true }));
    extra.copySync(at('a'), at('copied-sync'), { filter: (path: string) => !path.endsWith('d.txt') });
    await note(() => extra.copy(at('links'), at('copied-links')));
    await note(() => extra.copy(at('links'), at('copied-through'), { dereference: true }));
    await note(() => extra.copy(at('a'), at('copied/b/c.txt')));
    await note(() => extra.copy(at('a'), at('a/b/inside')));
    await note(() => extra.copy(at('a/b/c.txt'), at('copied/b/c.txt'), { overwrite: false, errorOnExist: true }));
    await note(() => extra.copySync(at('none'), at('x')));
    await note(() => extra.move(at('copied'), at('moved/here')));
    await note(() => extra.move(at('copied-sync'), at('moved/here')));
    await note(() => extra.move(at('copied-sync'), at('moved/here'), { overwrite: true }));
    extra.moveSync(at('sync.json'), at('moved/sync.json'));
    await note(() => extra.move(at('moved'), at('moved/here/self')));
    await note(() => extra.emptyDir(at('made')));
    extra.emptyDirSync(at('new-and-empty'));
    await note(() => extra.remove(at('copied-through')));
    extra.removeSync(at('none'));
    // What it makes of the file system's own functions.
    await note(async () => (await extra.readdir(root)).sort());
    await note(async () => (await extra.stat(at('links/soft'))).size);
    const fd = await extra.open(at('fd'), 'w+');
    await note(() => extra.write(fd, Buffer.from('0123456789'), 0, 10, 0));
    await note(async () => {
      const { bytesRead, buffer } = await extra.read(fd, Buffer.alloc(4), 0, 4, 3);
      return [bytesRead, String(buffer)];
    });
    await note(async () => (await extra.writev(fd, [Buffer.from('ab'), Buffer.from('cd')], 2)).bytesWritten);
    await note(async () => (await extra.readv(fd, [Buffer.alloc(3), Buffer.alloc(30)], 0)).bytesRead);
    await note(() => extra.close(fd));
    await note(() => extra.exists(at('fd')));
    await note(() => extra.realpath.native(at('links/directory')));
    await note(() => extra.access(at('none')));
    return outcomes;
  });
});

test('webpack: the modules are read from it, the bundle is written to it', { timeout: 60000 }, async () => {
  const webpack = require('webpack');
  const root = await both('webpack', async (fs, context) => {
    // One of its own: above there may be anybody's.
    fs.writeFileSync(`${context}/package.json`, '{ "name": "app" }');
    fs.mkdirSync(`${context}/src/parts`, { recursive: true });
    fs.mkdirSync(`${context}/node_modules/dep/lib`, { recursive: true });
    const modules = Array.from({ length: 40 }, (_, i) => `part${i}`);
    for (const [i, name] of modules.entries())
      fs.writeFileSync(
        `${context}/src/parts/${name}.js`,
        `export const value = ${i};\nexport const unused = '${name}';`,
      );
    fs.writeFileSync(
      `${context}/src/index.js`,
      [
        ...modules.map((name) => `import { value as ${name} } from './parts/${name}';`),
        `import { double } from 'dep';`,
        `import data from './data.json';`,
        `globalThis.sum = double(${modules.join(' + ')}) + data.more;`,
        `globalThis.later = import('./lazy').then(({ text }) => text);`,
      ].join('\n'),
    );
    fs.writeFileSync(`${context}/src/lazy.js`, `export const text = 'lazy';`);
    fs.writeFileSync(`${context}/src/data.json`, '{ "more": 7 }');
    fs.writeFileSync(`${context}/node_modules/dep/package.json`, '{ "name": "dep", "main": "./lib/main.js" }');
    fs.writeFileSync(`${context}/node_modules/dep/lib/main.js`, 'exports.double = (x) => x * 2;');
    const compiler = webpack({
      context,
      entry: './src/index.js',
      mode: 'production',
      target: 'node',
      devtool: 'source-map',
      optimization: { minimize: false },
      output: { path: `${context}/dist`, filename: '[name].[contenthash].js', clean: true },
    });
    compiler.inputFileSystem = fs;
    compiler.outputFileSystem = fs;
    compiler.intermediateFileSystem = fs;
    fs.mkdirSync(`${context}/dist`);
    fs.writeFileSync(`${context}/dist/stale.js`, 'to be cleaned');
    const stats: Any = await promisify(compiler.run.bind(compiler))();
    await promisify(compiler.close.bind(compiler))();
    const { errors, warnings, assets, hash } = stats.toJson({
      all: false,
      errors: true,
      warnings: true,
      assets: true,
      hash: true,
    });
    return { errors, warnings, hash, assets: assets.map(({ name, size }: Any) => `${name} ${size}`).sort() };
  });
  const [main] = ours.readdirSync(`${root}/dist`).filter((name) => /^main\..*\.js$/.test(name));
  assert.equal(ours.existsSync(`${root}/dist/stale.js`), false);
  const sandbox: Any = { require: (name: string) => load(name), exports: {}, module: { exports: {} } };
  const load = (name: string): unknown => {
    const module = { exports: {} };
    runInNewContext(ours.readFileSync(`${root}/dist/${name}`, 'utf8'), { ...sandbox, module, exports: module.exports });
    return module.exports;
  };
  runInNewContext(ours.readFileSync(`${root}/dist/${main}`, 'utf8'), sandbox);
  assert.equal(sandbox.sum, 2 * ((39 * 40) / 2) + 7);
  assert.equal(await sandbox.later, 'lazy');
});
