/**
 * Another program changes a mounted directory while an operation works on it, and must not reach anything outside.
 * First one moment at a time, by replacing a function of node:fs. Then a thread makes changes as fast as it can, beside
 * every operation that takes a path, single and composed ones.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as nodeFs from 'node:fs';
import { tmpdir } from 'node:os';
import { after, type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { openSpace } from 'plait';
import { createFs, type Fs } from 'plait/fs';
import { REACHING, REACHING_IN } from './cases/fs-reaching.ts';
import { code, openBelow } from './fs-mount-helpers.ts';
import { rounds, seed } from './seed.ts';

const scratch = nodeFs.mkdtempSync(`${tmpdir()}/plait-fs-mount-races-`);
after(() => nodeFs.rmSync(scratch, { recursive: true, force: true }));
const swapperUrl = new URL('../../js/test/fixtures/fs-swapper.js', import.meta.url);
let count = 0;

interface World {
  fs: Fs;
  /** Mounted at /host, with a file `f`. */
  inside: string;
  /** Beside it, on the host. */
  outside: string;
  /** Mounted at /other. */
  other: string;
  /** All that lies outside of /host, as text. */
  lookOutside(): string;
}

/**
 * Three places that are not /host, each with `secret`, `sub/secret` and `SECRET`: on the host, behind another mount
 * (/other), in memory (/mem).
 */
function world(): World {
  const fs = createFs(() => space);
  const space = openSpace({ maximum: 2 ** 27 });
  const top = `${scratch}/${count++}`;
  const [inside, outside, other] = [`${top}/inside`, `${top}/outside`, `${top}/other`];
  nodeFs.mkdirSync(inside, { recursive: true });
  nodeFs.writeFileSync(`${inside}/f`, 'f');
  for (const [files, place] of [
    [nodeFs, outside],
    [nodeFs, other],
    [fs as unknown as typeof nodeFs, '/mem'],
  ] as const) {
    files.mkdirSync(`${place}/sub`, { recursive: true });
    for (const name of ['secret', 'sub/secret', 'SECRET']) files.writeFileSync(`${place}/${name}`, 'SECRET');
  }
  fs.mount('/host', { type: 'host', directory: inside });
  fs.mount('/other', { type: 'host', directory: other });
  const lookOutside = (): string =>
    [look(nodeFs, outside), look(nodeFs, other), look(fs as unknown as typeof nodeFs, '/mem')].join('\n');
  return { fs, inside, outside, other, lookOutside };
}

/** What lies in a directory, with modes, owners, times and numbers of names, as one text. */
function look(files: typeof nodeFs, path: string): string {
  const { mode, uid, mtimeMs, nlink } = files.lstatSync(path);
  const known = [path, mode, uid, mtimeMs, nlink].join(' ');
  if (files.lstatSync(path).isSymbolicLink()) return `${known} ${files.readlinkSync(path)}`;
  if (!files.lstatSync(path).isDirectory()) return `${known} ${files.readFileSync(path, 'latin1')}`;
  const names = files.readdirSync(path).sort();
  return [known, ...names.map((name) => look(files, `${path}/${name}`))].join('\n');
}

type HostFs = Record<string, (...args: unknown[]) => unknown>;

/**
 * Does `meanwhile` each time before one of node:fs's functions is called with a path that ends so. How often it came to
 * that.
 */
function before(name: string, end: string, meanwhile: (nth: number) => void, action: () => void): number {
  const host = process.getBuiltinModule('node:fs') as unknown as HostFs;
  const real = host[name] as HostFs[string];
  let met = 0;
  host[name] = (...args) => {
    if (String(args[0]).endsWith(end)) {
      met++;
      host[name] = real;
      meanwhile(met);
      host[name] = standIn;
    }
    return real(...args);
  };
  const standIn = host[name];
  try {
    action();
  } finally {
    host[name] = real;
  }
  return met;
}

function makeLink(path: string, text: string): void {
  nodeFs.rmSync(path, { recursive: true, force: true });
  nodeFs.symlinkSync(text, path);
}

test('a link that changes between two looks leads realpath and archives nowhere', () => {
  const { fs, inside, lookOutside } = world();
  const outside = lookOutside();
  fs.mkdirSync('/source/sub', { recursive: true });
  for (const name of ['secret', 'sub/secret', 'put']) fs.writeFileSync(`/source/${name}`, 'stolen');
  const archive = Buffer.concat([...fs.exportTar('/source')]);
  const uses: Record<string, (path: string) => unknown> = {
    realpath: (path) => assert.match(fs.realpathSync(path), /^\/host/),
    native: (path) => assert.match(fs.realpathSync.native(path), /^\/host/),
    exportTar: (path) => assert.ok(!Buffer.concat([...fs.exportTar(path)]).includes('SECRET')),
    importTar: (path) => fs.importTar(archive, path),
    mount: (path) => fs.mount(path, { type: 'host', directory: inside }),
  };
  for (const text of ['/mem', '/other', '../outside', '/mem/secret', '/other/secret']) {
    for (const [name, use] of Object.entries(uses)) {
      // It changes before the first, second, … time that it is read.
      for (let nth = 1, met = 1; met >= nth - 1; nth++) {
        nodeFs.rmSync(`${inside}/d`, { recursive: true, force: true });
        nodeFs.mkdirSync(`${inside}/d`);
        makeLink(`${inside}/l`, 'd');
        const change = (now: number): void => {
          if (now === nth) makeLink(`${inside}/l`, text);
        };
        let outcome = '';
        met = before('readlinkSync', '/l', change, () => {
          outcome = code(() => use('/host/l'));
        });
        assert.doesNotMatch(outcome, /ASSERTION/, `${name} ${text}`);
        for (const { path } of fs.mounts().slice(2)) {
          assert.match(path, /^\/host/);
          fs.unmount(path);
        }
      }
    }
  }
  assert.equal(lookOutside(), outside);
});

test('dots in a path leave a mount by its text only, and not by the mount’s contents', () => {
  const { fs, inside, other, lookOutside } = world();
  nodeFs.mkdirSync(`${inside}/d/e`, { recursive: true });
  nodeFs.mkdirSync(`${inside}/in`);
  nodeFs.symlinkSync('.', `${inside}/here`);
  nodeFs.symlinkSync('..', `${inside}/d/up`);
  nodeFs.symlinkSync('d/e', `${inside}/deep`);
  nodeFs.symlinkSync('in', `${inside}/into`);
  nodeFs.symlinkSync('.', `${other}/here`);
  nodeFs.mkdirSync(`${other}/sub/deep`);
  nodeFs.symlinkSync('sub/deep', `${other}/deep`);
  // Links of the mount around go through the mount in it, and out again where they say so themselves.
  nodeFs.symlinkSync('in/sub/../../f', `${inside}/through`);
  nodeFs.symlinkSync('in/here/../d', `${inside}/turned`);
  nodeFs.symlinkSync('into/here/../d', `${inside}/turned-too`);
  nodeFs.symlinkSync('in/here/..', `${inside}/top`);
  fs.mount('/host/in', { type: 'host', directory: other });
  fs.mkdirSync('/p/q/m', { recursive: true });
  fs.writeFileSync('/p/f', 'p');
  fs.writeFileSync('/p/q/f', 'q');
  fs.mount('/p/q/m', { type: 'host', directory: inside });
  const outside = lookOutside();
  for (const path of [
    '/host/here/../mem/secret',
    '/host/d/up/../mem/secret',
    '/host/here/here/../../mem/secret',
    '/host/in/here/../f',
    '/host/here/in/here/../f',
    '/host/turned/x',
    '/host/turned-too/x',
    '/host/d/../turned/x',
    '/host/top/f',
    // Nor less far out than the text says.
    '/p/q/m/deep/../../../f',
    '/host/in/deep/../../../f',
  ]) {
    for (const use of [
      () => fs.readFileSync(path),
      () => fs.writeFileSync(path, 'stolen'),
      () => fs.realpathSync.native(path),
      () => fs.renameSync('/host/f', path),
    ]) {
      assert.equal(code(use), 'EPERM', `${path} ${use}`);
    }
  }
  assert.deepEqual(fs.globSync('/host/*/../mem/*'), []);
  for (const [path, text] of [
    ['/host/../mem/secret', 'SECRET'],
    ['/host/d/e/../../../mem/secret', 'SECRET'],
    ['/host/in/../../mem/secret', 'SECRET'],
    ['/host/in/../f', 'f'],
    ['/host/into/../f', 'f'],
    ['/host/deep/../../f', 'f'],
    ['/host/through', 'f'],
    ['/p/q/m/d/../../../f', 'p'],
  ] as const) {
    assert.equal(fs.readFileSync(path, 'utf8'), text, path);
  }
  assert.equal(lookOutside(), outside);
  assert.equal(fs.readFileSync('/host/f', 'utf8'), 'f');
});

test('archives and rm stay in their directory if a directory in it becomes a link', () => {
  const { fs, inside, lookOutside } = world();
  const outside = lookOutside();
  fs.mkdirSync('/source/d', { recursive: true });
  for (const name of ['d/one', 'd/two']) fs.writeFileSync(`/source/${name}`, 'stolen');
  const archive = Buffer.concat([...fs.exportTar('/source')]);
  const plant = (): void => {
    for (const top of ['t', 'beside']) {
      nodeFs.rmSync(`${inside}/${top}`, { recursive: true, force: true });
      nodeFs.mkdirSync(`${inside}/${top}/d`, { recursive: true });
      for (const name of ['one', 'two']) nodeFs.writeFileSync(`${inside}/${top}/d/${name}`, `of ${top}`);
    }
  };
  const uses: Record<string, () => unknown> = {
    importTar: () => fs.importTar(archive, '/host/t'),
    exportTar: () => assert.ok(!Buffer.concat([...fs.exportTar('/host/t')]).includes('of beside')),
    rm: () => fs.rmSync('/host/t', { recursive: true, force: true }),
  };
  for (const [name, use] of Object.entries(uses)) {
    for (const action of ['lstatSync', 'readdirSync', 'openSync', 'unlinkSync', 'rmdirSync', 'fstatSync']) {
      for (let nth = 1, met = 1; met >= nth - 1; nth++) {
        plant();
        const were = look(nodeFs, `${inside}/beside`);
        const change = (now: number): void => {
          if (now !== nth || !nodeFs.existsSync(`${inside}/t/d`)) return;
          nodeFs.renameSync(`${inside}/t/d`, `${inside}/t/was`);
          nodeFs.symlinkSync('../beside/d', `${inside}/t/d`);
        };
        let outcome = '';
        met = before(action, '', change, () => {
          outcome = code(use);
        });
        assert.doesNotMatch(outcome, /ASSERTION/, `${name}, before ${action} ${nth}`);
        assert.equal(look(nodeFs, `${inside}/beside`), were, `${name}, before ${action} ${nth}`);
      }
    }
  }
  assert.deepEqual(openBelow(inside), []);
  assert.equal(lookOutside(), outside);
});

test('archives and rm take a mount itself, a mount in a mount, and the root', () => {
  const { fs, inside, other } = world();
  fs.mkdirSync('/source/d', { recursive: true });
  fs.writeFileSync('/source/d/one', 'one');
  const archive = Buffer.concat([...fs.exportTar('/source')]);
  nodeFs.mkdirSync(`${inside}/in`);
  fs.mount('/host/in', { type: 'host', directory: other });
  fs.symlinkSync('/host/../host/in/', '/way');
  for (const path of ['/host', '/host/in', '/way', '/host/in/../in/sub/', '/host/new/er']) {
    fs.importTar(archive, path);
    assert.equal(fs.readFileSync(`${path}/d/one`, 'utf8'), 'one');
    const back = Buffer.concat([...fs.exportTar(`${path}/d`)]);
    assert.ok(back.includes('one'), path);
    assert.equal([...fs.exportTar(`${path}/d/one`)].length, 2, path);
    fs.rmSync(`${path}/d`, { recursive: true });
    assert.equal(fs.existsSync(`${path}/d`), false, path);
  }
  assert.equal(
    code(() => fs.rmSync('/host/in', { recursive: true })),
    'EBUSY',
  );
  assert.ok(nodeFs.existsSync(`${other}/secret`));
  fs.unmount('/host/in');
  const root = createFs(() => space);
  const space = openSpace({ maximum: 2 ** 26 });
  root.mount('/', { type: 'host', directory: inside });
  root.importTar(archive, '/');
  assert.ok(Buffer.concat([...root.exportTar('/')]).includes('one'));
  assert.equal([...root.exportTar('/d/one')].length, 2);
  root.rmSync('/d', { recursive: true });
  assert.deepEqual(nodeFs.readdirSync(inside).sort(), ['f', 'in', 'new']);
  assert.equal(root.realpathSync('/new/../f'), '/f');
  assert.deepEqual(openBelow(inside).concat(openBelow(other)), []);
});

test('an import from a stream continues in the directory where it began, and keeps its mount', async () => {
  const { fs, inside } = world();
  fs.mkdirSync('/source');
  for (const name of ['one', 'two']) fs.writeFileSync(`/source/${name}`, name);
  const archive = Buffer.concat([...fs.exportTar('/source')]);
  const parts = async function* (meanwhile: () => void): AsyncGenerator<Uint8Array> {
    let done = false;
    for (let at = 0; at < archive.length; at += 512) {
      yield archive.subarray(at, at + 512);
      await setImmediate();
      if (done || !['t', 'u'].some((name) => nodeFs.existsSync(`${inside}/${name}/one`))) continue;
      done = true;
      meanwhile();
    }
    assert.ok(done);
  };
  nodeFs.mkdirSync(`${inside}/elsewhere`);
  await fs.promises.importTar(
    parts(() => {
      assert.deepEqual(nodeFs.readdirSync(`${inside}/t`), ['one']);
      nodeFs.renameSync(`${inside}/t`, `${inside}/moved`);
      nodeFs.symlinkSync('elsewhere', `${inside}/t`);
      assert.deepEqual(fs.readdirSync('/host/t'), [], 'for others the path means what it says');
    }),
    '/host/t',
  );
  assert.deepEqual(nodeFs.readdirSync(`${inside}/moved`), ['one', 'two']);
  assert.deepEqual(nodeFs.readdirSync(`${inside}/elsewhere`), []);
  // The import holds its directory open, so the mount is in use until it ends.
  await fs.promises.importTar(
    parts(() =>
      assert.equal(
        code(() => fs.unmount('/host')),
        'EBUSY',
      ),
    ),
    '/host/u',
  );
  assert.deepEqual(nodeFs.readdirSync(`${inside}/u`), ['one', 'two']);
  fs.unmount('/host');
  assert.deepEqual(fs.readdirSync('/host'), [], 'nothing comes into the memory that was covered');
  assert.deepEqual(openBelow(inside), []);
  fs.check();
});

// ---- as fast as it can ----

/** Starts a thread that swaps; what ends it says how often it did. */
function startSwapper(inside: string, to: string[], toFile: string[]): () => Promise<number> {
  const flag = new Int32Array(new SharedArrayBuffer(8));
  const swapper = new Worker(swapperUrl, { workerData: { inside, flag, to, toFile } });
  const exited = once(swapper, 'exit');
  return async () => {
    Atomics.store(flag, 0, 1);
    await exited;
    return Atomics.load(flag, 1);
  };
}

function random(): (limit: number) => number {
  let state = seed >>> 0 || 1;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % limit;
  };
}

const PATHS = ['real', 'link', 'real/sub', 'link/sub', 'real/secret', 'link/secret', 'file', 'filelink'].concat([
  'to',
  'to/sub',
  'to/secret',
  'tofile',
  'to/../mem',
  'to/../other/secret',
]);

/** Does one or another, on one path or another, while these are swapped. */
async function besideSwaps(
  t: TestContext,
  { fs, inside, outside, lookOutside }: World,
  uses: Record<string, (fs: Fs, path: string) => unknown>,
  times: number,
): Promise<void> {
  const known = lookOutside();
  const next = random();
  const stop = startSwapper(
    inside,
    ['real', '/host/real', '../outside', outside, '/other', '/mem', '.', '..'],
    ['file', 'real/secret', '../outside/secret', '/other/secret', '/mem/secret'],
  );
  const reached: Record<string, number> = {};
  try {
    const names = Object.keys(uses);
    for (let i = 0; i < times; i++) {
      const name = names[next(names.length)] as string;
      const path = `/host/${PATHS[next(PATHS.length)]}`;
      let outcome = 'nothing thrown';
      try {
        await uses[name]?.(fs, path);
      } catch (error) {
        outcome = (error as NodeJS.ErrnoException).code ?? String(error);
      }
      assert.match(outcome, /^(nothing thrown|E[A-Z]+|ERR_FS_[A-Z_]+|ERR_PLAIT_TAR)$/, `${name} ${path}: ${outcome}`);
      reached[outcome] = (reached[outcome] ?? 0) + 1;
      // The host's notices of changes are read in between, or its queue of them overflows.
      if (i % 20 === 0) await setImmediate();
    }
  } finally {
    const swaps = await stop();
    t.diagnostic(`${swaps} exchanges, ${JSON.stringify(reached)}`);
  }
  assert.ok((reached['nothing thrown'] ?? 0) > 0 && (reached.EPERM ?? 0) > 0, 'both were met');
  assert.equal(lookOutside(), known);
  assert.deepEqual(openBelow(inside), []);
  fs.check();
}

test(`no operation leaves the mount while directories become links and back (seed ${seed})`, {
  timeout: 120000 * rounds,
}, async (t) => {
  const uses = Object.fromEntries(
    Object.entries({ ...REACHING, ...REACHING_IN }).filter(([how]) => !/rename|mkdirAll/.test(how)),
  );
  uses.read = (fs, path) => assert.notEqual(fs.readFileSync(path, 'utf8'), 'SECRET');
  await besideSwaps(t, world(), uses, 6000 * rounds);
});

test(`nor do operations of many steps (seed ${seed})`, { timeout: 120000 * rounds }, async (t) => {
  const known = world();
  const { fs } = known;
  fs.mkdirSync('/source/sub', { recursive: true });
  for (const name of ['secret', 'sub/secret', 'put']) fs.writeFileSync(`/source/${name}`, 'stolen');
  const archive = Buffer.concat([...fs.exportTar('/source')]);
  const large = Buffer.alloc(200000, 'x');
  const inHost = (path: string): void => assert.match(path, /^\/host(\/|$)/);
  const noSecret = (text: string): void => assert.ok(!text.includes('SECRET'), 'what lies outside was read');
  const contents = (fs: Fs, path: string): string => Buffer.concat([...fs.exportTar(path)]).toString('latin1');
  await besideSwaps(
    t,
    known,
    {
      realpath: (fs, path) => inHost(fs.realpathSync(path)),
      native: (fs, path) => inHost(fs.realpathSync.native(path)),
      exportTar: (fs, path) => noSecret(contents(fs, path)),
      importTar: (fs, path) => fs.importTar(archive, path),
      importTarLater: (fs, path) =>
        fs.promises.importTar(
          (async function* () {
            for (let at = 0; at < archive.length; at += 1024) {
              yield archive.subarray(at, at + 1024);
              await setImmediate();
            }
          })(),
          path,
        ),
      copyOut: (fs, path) => {
        fs.rmSync('/copies', { recursive: true, force: true });
        fs.cpSync(path, '/copies/one', { recursive: true, verbatimSymlinks: true });
        noSecret(contents(fs, '/copies')); // links are copied as links
      },
      copyIn: (fs, path) => fs.cpSync('/source', path, { recursive: true }),
      copyLarge: (fs, path) => {
        fs.writeFileSync('/large', large);
        fs.copyFileSync('/large', path);
      },
      rm: (fs, path) => fs.rmSync(path, { recursive: true }),
      readdir: (fs, path) => noSecret(fs.readdirSync(path, { recursive: true }).join()),
      opendir: (fs, path) => {
        const directory = fs.opendirSync(path, { recursive: true });
        try {
          for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) noSecret(entry.name);
        } finally {
          directory.closeSync();
        }
      },
      glob: (fs, path) => noSecret(fs.globSync([`${path}/**`, `${path}/../mem/*`]).join()),
      mkdirAll: (fs, path) => fs.mkdirSync(`${path}/made/deep`, { recursive: true }),
      mkdtemp: (fs, path) => fs.mkdtempSync(`${path}/temp-`),
      readLarge: (fs, path) => noSecret(fs.readFileSync(path, { encoding: 'latin1', flag: 'r+' })),
      writeLarge: (fs, path) => fs.writeFileSync(path, large),
      append: (fs, path) => fs.promises.writeFile(path, ['stolen', 'too'], { flag: 'a' }),
      rename: (fs, path) => fs.renameSync(`${path}/secret`, `${path}/sub/renamed`),
      watch: (fs, path) => fs.watch(path, { recursive: true }).close(),
      mount: (fs, path) => {
        fs.mount(path, { type: 'host', directory: known.other, readOnly: true });
        const made = fs.mounts().at(-1)?.path as string;
        fs.unmount(made);
        inHost(made);
      },
    },
    1500 * rounds,
  );
});
