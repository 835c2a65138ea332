/**
 * cp compared with node:fs: random trees with links, random options, sources and destinations. The promises of node:fs
 * are the oracle for all three APIs, because its cpSync is a separate implementation that from Node 22 on ends the
 * process for some of these trees.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import * as nodeFs from 'node:fs';
import { tmpdir } from 'node:os';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { openSpace } from 'plait';
import { createFs } from 'plait/fs';
import { rounds, seed } from './seed.ts';

// biome-ignore lint/suspicious/noExplicitAny: one program for two modules, and for arguments that the types forbid
type Any = any;

const scratch = nodeFs.mkdtempSync(`${tmpdir()}/plait-cp-`);
after(() => execFileSync('rm', ['-rf', scratch]));
const space = openSpace({ maximum: 2 ** 28 });
const ours: Any = createFs(() => space);
ours.mkdirSync(scratch, { recursive: true });

const SOURCES = ['s', 's', 's', 's', 's/f', 's/d', 's/l', 'l', 'm', 'nowhere', 's/.env', 't/l'];
const GOALS = [
  't',
  't/s',
  'n',
  'n/a/b',
  't/f',
  's',
  's/d/x',
  'l/x',
  's/l/x',
  't/l',
  't/l/x',
  'm',
  's/f/x',
  'l',
  's/n/x',
];
const LINKS = ['s/l', 's/m', 's/d/l', 't/l', 't/m', 't/s/l', 'l', 'm'];
const TARGETS = [
  'f',
  '../s',
  '.',
  '..',
  'd',
  'nowhere',
  '../t',
  '@s',
  '@s/d',
  '@t',
  '@t/f',
  '../t/l',
  '@nowhere',
  's',
  't',
  'd/e',
];

interface Plan {
  links: [string, string][];
  merge: 'nothing' | 'file' | 'directory';
  from: string;
  to: string;
  options: Record<string, boolean | number>;
  filter: 'none' | 'now' | 'later';
}

function planOf(random: (below: number) => number): Plan {
  const pick = <Item>(items: readonly Item[]): Item => items[random(items.length)] as Item;
  const options: Plan['options'] = {};
  for (const name of ['dereference', 'errorOnExist', 'force', 'preserveTimestamps', 'verbatimSymlinks'])
    if (random(3) === 0) options[name] = random(2) === 1;
  if (random(6) > 0) options.recursive = true;
  if (random(5) === 0) options.mode = random(3);
  return {
    links: Array.from({ length: random(5) }, () => [pick(LINKS), pick(TARGETS)]),
    merge: pick(['nothing', 'file', 'directory']),
    from: pick(SOURCES),
    to: pick(GOALS),
    options,
    filter: pick(['none', 'now', 'later']),
  };
}

function make(fs: Any, top: string, { links, merge }: Plan): void {
  fs.mkdirSync(top);
  for (const name of ['s', 's/d', 's/d/e', 't'])
    fs.mkdirSync(`${top}/${name}`, { mode: name === 's/d' ? 0o750 : 0o755 });
  const files = ['s/f', 's/.env', 's/d/g', 't/f'];
  if (merge !== 'nothing') {
    fs.mkdirSync(`${top}/t/s`);
    files.push('t/s/f');
    if (merge === 'file') files.push('t/s/d');
    else fs.mkdirSync(`${top}/t/s/d`);
  }
  for (const name of files) {
    fs.writeFileSync(`${top}/${name}`, name, { mode: name === 's/f' ? 0o640 : 0o644 });
    fs.utimesSync(`${top}/${name}`, 1e9, 1.1e9);
  }
  for (const [name, target] of links) {
    if (fs.lstatSync(`${top}/${name}`, { throwIfNoEntry: false }) === undefined && fs.existsSync(`${top}/${name}/..`))
      fs.symlinkSync(target.replace('@', `${top}/`), `${top}/${name}`);
  }
}

function listing(fs: Any, top: string): string[] {
  const found: string[] = [];
  const walk = (directory: string): void => {
    for (const name of fs.readdirSync(directory).sort()) {
      const path = `${directory}/${name}`;
      const stats = fs.lstatSync(path);
      const mode = (stats.mode & 0o7777).toString(8);
      // Node 26 leaves a slash behind the target of some links.
      if (stats.isSymbolicLink()) found.push(`${path} -> ${fs.readlinkSync(path).replace(/(.)\/$/, '$1')}`);
      else if (stats.isDirectory()) found.push(`${path} ${mode}`);
      else found.push(`${path} ${mode} ${fs.readFileSync(path, 'utf8')} ${stats.mtimeMs === 1.1e12}`);
      if (stats.isDirectory()) walk(path);
    }
  };
  walk(top);
  return found;
}

const APIS: Record<string, (fs: Any, ...args: unknown[]) => unknown> = {
  promises: (fs, ...args) => fs.promises.cp(...args),
  callback: (fs, ...args) => promisify(fs.cp)(...args),
  sync: (fs, ...args) => fs.cpSync(...args),
};

async function outcome(fs: Any, api: string, top: string, plan: Plan): Promise<{ error: Any; after: unknown }> {
  make(fs, top, plan);
  const asked: string[] = [];
  const filter = (from: string, to: string): boolean => {
    asked.push(`${from}>${to}`);
    return !from.endsWith('.env');
  };
  const later = async (from: string, to: string): Promise<boolean> => {
    await new Promise((resolve) => setImmediate(resolve));
    return filter(from, to);
  };
  const given = plan.filter === 'none' ? undefined : plan.filter === 'later' && api !== 'sync' ? later : filter;
  let error: Any;
  try {
    await APIS[api]?.(fs, `${top}/${plan.from}`, `${top}/${plan.to}`, { ...plan.options, filter: given });
  } catch (thrown) {
    error = thrown;
  }
  // What was copied before an error depends on the order of names.
  const after = error === undefined ? { list: listing(fs, top), asked: asked.sort() } : undefined;
  if (fs === nodeFs) execFileSync('rm', ['-rf', top]);
  else fs.rmSync(top, { recursive: true });
  return { error, after };
}

const isLook = (error: Any): boolean =>
  ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(error?.code) && /^l?stat$/.test(error.syscall);

test(`cp does the same as node:fs, in all three APIs (seed ${seed})`, async () => {
  let state = seed >>> 0;
  const random = (below: number): number => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % below;
  };
  for (let round = 0; round < 60 * rounds; round++) {
    const plan = planOf(random);
    const what = `seed ${seed}, round ${round}: ${JSON.stringify(plan)}`;
    const top = `${scratch}/${round}`;
    const mine = await outcome(ours, 'promises', top, plan);
    for (const api of ['callback', 'sync']) {
      const other = await outcome(ours, api, top, plan);
      assert.deepEqual(other.after, mine.after, `${api}, ${what}`);
      assert.equal(other.error?.message, mine.error?.message, `${api}, ${what}`);
    }
    // Node copies into itself until a path is too long, where a link hides that it does.
    if (mine.error?.code === 'ERR_FS_CP_EINVAL' && plan.links.length > 0) continue;
    const theirs = await outcome(nodeFs, 'promises', top, plan);
    assert.deepEqual(mine.after, theirs.after, what);
    // Of several errors in a tree, the order of names says which comes first.
    if (plan.links.length > 1) continue;
    // Node checks both paths concurrently, and reports the check that fails first.
    if (isLook(mine.error) && isLook(theirs.error)) continue;
    const { name, code, errno, syscall } = theirs.error ?? {};
    const same = {
      name: mine.error?.name,
      code: mine.error?.code,
      errno: mine.error?.errno,
      syscall: mine.error?.syscall,
    };
    assert.deepEqual(same, { name, code, errno, syscall }, what);
  }
});

test('a filter may be asynchronous, and its refused files are not copied', async (t) => {
  t.after(() => ours.rmSync('/filter', { recursive: true }));
  ours.mkdirSync('/filter/from/in', { recursive: true });
  for (const name of ['a', '.env', 'in/b', 'in/.env']) ours.writeFileSync(`/filter/from/${name}`, name);
  const filter = async (from: string): Promise<boolean> => !from.endsWith('.env');
  await ours.promises.cp('/filter/from', '/filter/1', { recursive: true, filter });
  await promisify(ours.cp)('/filter/from', '/filter/2', { recursive: true, filter });
  for (const copy of ['/filter/1', '/filter/2'])
    assert.deepEqual(ours.readdirSync(copy, { recursive: true }).sort(), ['a', 'in', 'in/b']);
  const refused = async (): Promise<boolean> => {
    throw new RangeError('no');
  };
  await assert.rejects(ours.promises.cp('/filter/from', '/filter/3', { recursive: true, filter: refused }), RangeError);
  // A synchronous call gets an error, as in Node, and nothing is copied.
  const from = nodeFs.mkdtempSync(`${scratch}/from-`);
  assert.throws(() => nodeFs.cpSync(from, `${from}-copy`, { filter: filter as Any, recursive: true }), {
    code: 'ERR_INVALID_RETURN_VALUE',
  });
  assert.throws(() => ours.cpSync('/filter/from', '/filter/4', { filter, recursive: true }), {
    code: 'ERR_INVALID_RETURN_VALUE',
  });
  assert.equal(ours.existsSync('/filter/4'), false);
});

test('nothing is copied into itself, through any link', async (t) => {
  t.after(() => ours.rmSync('/self', { recursive: true }));
  ours.mkdirSync('/self/a/in/deep', { recursive: true });
  ours.writeFileSync('/self/a/file', 'text');
  ours.symlinkSync('/self/a', '/self/link');
  ours.symlinkSync('a/in/deep', '/self/below');
  ours.mkdirSync('/self/b');
  ours.symlinkSync('/self/out', '/self/b/out');
  const before = listing(ours, '/self');
  const refused = { name: 'SystemError', code: 'ERR_FS_CP_EINVAL' };
  for (const to of ['/self/a/x', '/self/link/x', '/self/link/x/y', '/self/below/x', '/self/link/in/x'])
    for (const api of Object.keys(APIS))
      await assert.rejects(async () => APIS[api]?.(ours, '/self/a', to, { recursive: true }), refused, `${api} ${to}`);
  assert.deepEqual(listing(ours, '/self'), before);
  // The link in /self/b leads to where the copy is made.
  const follow = { recursive: true, dereference: true };
  ours.mkdirSync('/self/out');
  await assert.rejects(ours.promises.cp('/self/b', '/self/out', follow), refused);
  assert.ok(listing(ours, '/self/out').length < 5);
});

test('a link replaces a link, and no file', async (t) => {
  const top = `${scratch}/links`;
  for (const fs of [nodeFs, ours] as Any[]) {
    fs.mkdirSync(top);
    t.after(() => fs.rmSync(top, { recursive: true }));
    for (const name of ['file', 'other']) fs.writeFileSync(`${top}/${name}`, name);
    fs.symlinkSync('file', `${top}/link`);
    fs.symlinkSync('other', `${top}/old`);
    await assert.rejects(fs.promises.cp(`${top}/link`, `${top}/other`), { code: 'EEXIST' });
    assert.equal(fs.readFileSync(`${top}/other`, 'utf8'), 'other');
    await fs.promises.cp(`${top}/link`, `${top}/old`);
    assert.equal(fs.readlinkSync(`${top}/old`), `${top}/file`);
  }
});
