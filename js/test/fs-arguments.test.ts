/**
 * Unusual and usual paths and arguments, passed to every function of plait/fs and of node:fs. Both must have the same
 * result, or the same error code, at once or later; afterwards both trees must be equal. Random, by a seed.
 *
 * Omitted: relative paths (there is no working directory here), numbers that name open files of this process, and
 * arguments that Node itself does not handle: with a TypeError without a code, or a crash (mode bits from 2^31 on).
 */
import assert from 'node:assert/strict';
import * as nodeFs from 'node:fs';
import { tmpdir } from 'node:os';
import { after, test } from 'node:test';
import { parse, pathToFileURL } from 'node:url';
import { openSpace } from 'plait';
import { createFs } from 'plait/fs';
import { rounds, seed } from './seed.ts';

// biome-ignore lint/suspicious/noExplicitAny: what the types forbid is the point
type Any = any;

/**
 * Checks of arguments, their words and their order, are those of the oldest Node that we support; others pass good
 * ones.
 */
const OLDEST = process.versions.node.startsWith('20.');
const root = nodeFs.mkdtempSync(`${tmpdir()}/plait-arguments-`);
after(() => nodeFs.rmSync(root, { recursive: true }));
const space = openSpace({ maximum: 2 ** 28 });
const ours = createFs(() => space) as Any;
ours.mkdirSync(root, { recursive: true });
const at = (name: string): string => `${root}/${name}`;

let state = seed >>> 0 || 1;
const next = (limit: number): number => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return (state >>> 8) % limit;
};
const pick = (from: readonly unknown[]): unknown => from[next(from.length)];

// ---- what is passed ----

/** What is wrong nearly everywhere. */
const hostile = (): unknown =>
  pick([
    ...[undefined, null, true, false, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0.5, -1.5],
    ...[-1, 123456789, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1, 2 ** 53, -(2 ** 31), -(2 ** 53), 1e300],
    ...[-1n, 1n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n, -(2n ** 64n)],
    ...['', 'nonsense', '-1', '12', 'a\0b', '\uD800', "it's", `a'b"c\`d`, 'x'.repeat(100)],
    ...[() => 1, {}, [], [1], Object.create(null), new Date(0), new Map(), /x/, new Error('e'), new (class Foo {})()],
    ...[new Uint8Array(0), new Uint8Array(4), Buffer.from('\0'), new Float64Array(2), new DataView(new ArrayBuffer(3))],
    ...[
      new ArrayBuffer(4),
      new SharedArrayBuffer(4),
      { encoding: 'nonsense' },
      { encoding: 5 },
      { flag: 'q' },
      { mode: 'x' },
    ],
    ...[{ recursive: 1 }, { force: 'x' }, { bigint: 1 }, { signal: 5 }, { withFileTypes: 'x' }, { offset: -1 }],
    ...[{ length: -1 }, { position: 'x' }, { position: -2 }, { offset: 1.5 }, { length: 2 ** 40 }, new Proxy({}, {})],
  ]);

const PATHS = [
  'f',
  'd',
  'd/g',
  'none',
  'none/x',
  'f/x',
  'loop',
  'dangling',
  'd/',
  'f/',
  'link',
  'link/',
  'd/../f',
  'd/./g',
];
const MORE_PATHS = ['big', 'dlink', 'dlink/', 'dlink/g', 'd//g', 'loop/x', '.', 'd/..', `${'./'.repeat(2040)}f`];

/** A path of each kind; a quarter of them strange. */
function anyPath(): unknown {
  if (next(4) !== 0) {
    const path = at(pick([...PATHS, ...MORE_PATHS]) as string);
    return pick([path, path, path, Buffer.from(path), new Uint8Array(Buffer.from(path)), pathToFileURL(path)]);
  }
  const bytes = (...more: number[]): Buffer => Buffer.concat([Buffer.from(at('')), Buffer.from(more)]);
  return pick([
    ...['', at('a\0b'), at('n'.repeat(255)), at('n'.repeat(256)), at('n/'.repeat(2100)), at('x'.repeat(5000))],
    ...[at('é'.repeat(127)), at('é'.repeat(128)), at('\uD800x'), at(`${'/'.repeat(4000)}f`), `${root}/f/`.repeat(3)],
    ...[Buffer.from(''), bytes(97, 0), bytes(255, 254, 128), bytes(...Array(5000).fill(97))],
    ...[new URL('http://x/y'), new URL('data:,x'), new URL('file:///a%2fb'), new URL('file://host/x')],
    ...[new URL('file:///a%00b'), new URL(`file://${root}/f?q#h`)],
  ]);
}

/** Stands for a descriptor that both have open. */
const FD = Symbol('fd');
const KINDS: Record<string, () => unknown> = {
  path: anyPath,
  fd: () => FD,
  closed: () => pick([-1, 1.5, '1', null, undefined, 2 ** 31, 99999, Number.NaN, {}, 5n]),
  flags: () => pick(['r', 'r+', 'w', 'a', 'wx', 'ax+', 0, 2, 65, 513, undefined, null, 'rs']),
  mode: () => pick([undefined, null, 0o644, '755', 0]),
  data: () =>
    pick(['text', '', 'grün', Buffer.from('bytes'), new Uint16Array([1, 2]), new DataView(new ArrayBuffer(3))]),
  buffer: () => pick([Buffer.alloc(10), new Uint8Array(5), new DataView(new ArrayBuffer(8)), Buffer.alloc(0)]),
  count: () => pick([0, 1, 2, 3, 5, undefined, null]),
  position: () => pick([0, 1, 5, 100, null, undefined, 3n, -1, -1n, 0n]),
  options: () => pick([undefined, null, {}, 'utf8', 'hex', 'buffer', { encoding: 'latin1' }, { encoding: null }]),
  read: () => pick([undefined, null, 'utf8', { encoding: 'base64' }, { flag: 'r+' }, { flag: 'a+' }, 'latin1']),
  write: () => pick([undefined, null, 'utf8', { mode: 0o600 }, { flag: 'a' }, { flag: 'wx' }, { encoding: 'hex' }]),
  stat: () => pick([undefined, {}, { bigint: true }, { throwIfNoEntry: false }]),
  access: () => pick([undefined, null, 0, 1, 2, 4, 7]),
  id: () => pick([0, 1, 1000, 2 ** 32 - 1]),
  time: () => pick([0, 1, 1.5, '5', new Date(5000), 1700000000.25]),
  size: () => pick([undefined, 0, 3, 10, 100000, -5]),
  buffers: () => pick([[], [Buffer.alloc(3)], [Buffer.alloc(3), new Uint8Array(2)], 'x', [1], [Buffer.alloc(1), null]]),
  mkdir: () =>
    pick([undefined, null, { recursive: true }, 0o700, '755', { mode: 0o755 }, { recursive: true, mode: '700' }]),
  readdir: () =>
    pick([undefined, null, 'utf8', 'buffer', { withFileTypes: true }, { recursive: true }, { encoding: 'hex' }]),
  rm: () =>
    pick([undefined, { force: true }, { recursive: true }, { recursive: true, force: true }, { maxRetries: 1 }]),
  rmdir: () => pick([undefined, {}]),
  copy: () => pick([undefined, 0, 1, 2, 3]),
  link: () => pick([undefined, null, 'file', 'dir', 'junction']),
  prefix: () => at('tmp-'),
};
const FUNCTIONS: Record<string, string> = {
  access: 'path access',
  appendFile: 'path data write',
  chmod: 'path mode',
  chown: 'path id id',
  close: 'closed',
  copyFile: 'path path copy',
  exists: 'path',
  fchmod: 'fd mode',
  fchown: 'fd id id',
  fdatasync: 'fd',
  fstat: 'fd stat',
  fsync: 'fd',
  ftruncate: 'fd size',
  futimes: 'fd time time',
  lchown: 'path id id',
  link: 'path path',
  lstat: 'path stat',
  lutimes: 'path time time',
  mkdir: 'path mkdir',
  mkdtemp: 'prefix options',
  open: 'path flags mode',
  opendir: 'path options',
  read: 'fd buffer count count position',
  readFile: 'path read',
  readdir: 'path readdir',
  readlink: 'path options',
  readv: 'fd buffers position',
  realpath: 'path options',
  rename: 'path path',
  rm: 'path rm',
  rmdir: 'path rmdir',
  stat: 'path stat',
  statfs: 'path stat',
  symlink: 'path path link',
  truncate: 'path size',
  unlink: 'path',
  utimes: 'path time time',
  write: 'fd data count count position',
  writeFile: 'path data write',
  writev: 'fd buffers position',
};

/** What is left out, and why: see the head of this file. */
function isLeftOut(name: string, kinds: string[], args: unknown[]): boolean {
  return args.some((value, i) => {
    const isPath = kinds[i] === 'path' || kinds[i] === 'prefix';
    if (isPath && typeof value === 'string' && value !== '' && !value.startsWith('/')) return true;
    if (isPath && value instanceof Uint8Array && value.length > 0 && value[0] !== 47) return true;
    // differs between versions
    if (isPath && /^(rm|stat)$/.test(name) && (wayEnds(value) || (name === 'rm' && !OLDEST))) return true;
    // There is no removing that, and a link to a directory in it, which readdir does not follow here.
    if (isPath && /^(rm|readdir)$/.test(name) && isRoot(value)) return true;
    if (kinds[i] === 'flags' && value === -1) return true;
    if (isPath && typeof value === 'number' && (value >= 0 || /File$/.test(name))) return true;
    // A length of null, and no descriptor at all, differ between versions.
    if (name === 'read' && (typeof args[0] !== 'symbol' || args[2] === null || args[3] === null || !OLDEST))
      return true;
    // Node makes strings of what is no path here, and takes bytes for a list of numbers.
    if (isPath && name === 'realpath' && (typeof value !== 'string' || value === '')) return true;
    if (name === 'readdir' && isPath && typeof value !== 'string') return true;
    if (name === 'mkdtemp' && isPath && value !== at('tmp-')) return true;
    if (/^(mode|mkdir|write|access|copy|flags)$/.test(kinds[i] as string) && typeof value === 'number') {
      // Above the permission bits there are some that systems take away again.
      return !(Number.isInteger(value) && value >= -1 && value <= (kinds[i] === 'flags' ? 2 ** 11 : 0o777));
    }
    // The file systems of systems have other limits.
    if (/^(size|time|position)$/.test(kinds[i] as string) || /^write/.test(name))
      return typeof value === 'number' && Math.abs(value) > 1e6 && Number.isFinite(value) && value !== 1700000000.25;
    // libuv removes what it could not copy to, whosever it was.
    return name === 'copyFile' && i === 0 && isDirectory(value);
  });
}

/** Whether the path goes on behind what is no directory. */
function wayEnds(path: unknown): boolean {
  try {
    nodeFs.lstatSync(path as string);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOTDIR';
  }
}

function isRoot(path: unknown): boolean {
  try {
    return nodeFs.statSync(path as string).ino === nodeFs.statSync(root).ino;
  } catch {
    return false;
  }
}

function isDirectory(path: unknown): boolean {
  try {
    return nodeFs.statSync(path as string).isDirectory();
  } catch {
    return false;
  }
}

// ---- what comes of it ----

interface Refusal {
  name: string;
  code?: string;
  message: string;
}

function plain(value: unknown): unknown {
  if (value instanceof Error) {
    const { name, message, code, errno, syscall, path, dest } = value as NodeJS.ErrnoException & { dest?: string };
    if (syscall === 'opendir' || syscall === 'read') return { name, code }; // not every version names the path
    return { name, code, message, errno, syscall, path: path && String(path), dest };
  }
  if (value instanceof Uint8Array) return `${Buffer.isBuffer(value)} ${Buffer.from(value).toString('latin1')}`;
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value !== 'object' || value === null) return value;
  const of = value as Any;
  if (typeof of.isFile === 'function') {
    const kind = `${of.isFile()} ${of.isDirectory()} ${of.isSymbolicLink()}`;
    return 'name' in of
      ? `${of.name} ${kind}`
      : [kind, Number(of.mode), of.isDirectory() || Number(of.size), typeof of.size];
  }
  if ('bsize' in of) return typeof of.bsize;
  return Array.isArray(value) ? value.map(plain).map(String).sort() : String(value);
}

/** What mkdtemp has made, in whatever encoding it says so. */
function removeMade(fs: Any, result: unknown): unknown[] {
  const made = fs.readdirSync(root).filter((entry: string) => entry.startsWith('tmp-'));
  for (const entry of made) fs.rmdirSync(at(entry));
  return [typeof result, made.length];
}

function call(fs: Any, name: string, args: unknown[]): unknown {
  try {
    let result = fs[`${name}Sync`](...args);
    if (name === 'open') result = fs.closeSync(result);
    if (name === 'opendir') result = result.closeSync();
    if (name === 'mkdtemp') {
      result = removeMade(fs, result);
    }
    return plain(result);
  } catch (error) {
    return plain(error);
  }
}

function tree(fs: Any, path: string | Buffer): unknown[] {
  const names = fs.readdirSync(path, 'buffer').map((name: Uint8Array) => Buffer.from(name));
  return names.sort(Buffer.compare).map((name: Buffer) => {
    const full = Buffer.concat([Buffer.from(path), Buffer.from('/'), name]);
    const stats = fs.lstatSync(full);
    const inside = stats.isDirectory()
      ? tree(fs, full)
      : stats.isFile()
        ? Buffer.from(fs.readFileSync(full)).toString('latin1')
        : Buffer.from(fs.readlinkSync(full, 'buffer')).toString('latin1');
    // Newer versions copy the owner, too.
    return [name.toString('latin1'), stats.mode, OLDEST && stats.uid, OLDEST && stats.gid, inside];
  });
}

function plant(fs: Any): number {
  fs.rmSync(root, { recursive: true, force: true });
  fs.mkdirSync(at('d'), { recursive: true });
  fs.writeFileSync(at('f'), 'the file');
  fs.writeFileSync(at('d/g'), 'inner');
  fs.writeFileSync(at('big'), Buffer.alloc(70000, 7));
  for (const [text, name] of [
    ['loop', 'loop'],
    ['nowhere', 'dangling'],
    ['f', 'link'],
    ['d', 'dlink'],
  ])
    fs.symlinkSync(text, at(name as string));
  return fs.openSync(at('f'), 'r+');
}

const isArgument = (outcome: unknown): boolean => /^ERR_/.test((outcome as Refusal | undefined)?.code ?? '');
const isUncoded = (outcome: unknown): boolean => {
  const refusal = outcome as Refusal | null | undefined;
  return /Error$/.test(refusal?.name ?? '') && refusal?.code === undefined;
};

/** `free`: more than one argument may be wrong, and the order of the checks is unspecified. */
function assertSame(mine: unknown, theirs: unknown, free: boolean): void {
  assert.ok(!isUncoded(mine), `no code: ${JSON.stringify(mine)}`);
  if (isUncoded(theirs)) return;
  if (isArgument(mine) && isArgument(theirs)) {
    const same = (code: string | undefined): string | undefined =>
      code === 'ERR_FS_INVALID_SYMLINK_TYPE' ? 'ERR_INVALID_ARG_VALUE' : code;
    if (!free) assert.equal(same((mine as Refusal).code), same((theirs as Refusal).code));
    return;
  }
  // If neither of two paths exists and one has too long a name, the error may be about either.
  const codes = [mine, theirs].map((outcome) => (outcome as Refusal | undefined)?.code);
  if (
    codes.includes('ENAMETOOLONG') &&
    codes.every((code) => /^E/.test(code ?? '')) &&
    (mine as Any).dest !== undefined
  )
    return;
  // An argument that is wrong is refused before it is known that the path is, too.
  if (free && isArgument(mine) && typeof (theirs as NodeJS.ErrnoException | undefined)?.errno === 'number') return;
  assert.deepEqual(mine, theirs);
}

const show = (value: unknown): string => {
  if (value === FD) return 'FD';
  if (value instanceof Uint8Array) return `<${Buffer.from(value).toString('latin1').slice(0, 300)}>`;
  if (typeof value === 'bigint') return `${value}n`;
  return value instanceof URL
    ? value.href
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value).slice(0, 300);
};

/** New descriptors for every twenty calls, since some of these close them. */
const replanted = (i: number, fds: [number, number]): [number, number] => {
  if (i % 20 !== 19) return fds;
  nodeFs.closeSync(fds[0]);
  ours.closeSync(fds[1]);
  return [plant(nodeFs), plant(ours)];
};

/** A function, and arguments for it, of which one may be of any kind. */
const draw = (names: string[]): { name: string; kinds: string[]; args: unknown[]; strange: boolean } => {
  const name = names[next(names.length)] as string;
  const kinds = (FUNCTIONS[name] as string).split(' ');
  const args = kinds.map((kind) => (KINDS[kind] as () => unknown)());
  const strange = next(2) === 0 && OLDEST;
  if (strange) args[next(args.length)] = hostile();
  return { name, kinds, args, strange };
};

test(`unusual arguments have the same results as in node:fs (seed ${seed})`, { timeout: 120000 * rounds }, (t) => {
  const names = Object.keys(FUNCTIONS);
  let calls = 0;
  let refused = 0;
  let fds: [number, number] = [plant(nodeFs), plant(ours)];
  for (let i = 0; i < 6000 * rounds; i++) {
    fds = replanted(i, fds);
    const { name, kinds, args, strange } = draw(names);
    if (OLDEST && next(10) === 0) args.length = next(args.length + 1);
    const free = strange || args.length < kinds.length || kinds.some((kind) => /path|buffers|closed/.test(kind));
    if (isLeftOut(name, kinds, args)) continue;
    const text = `step ${i}: ${name}(${args.map(show).join(', ')})`;
    const [theirs, mine] = [nodeFs, ours].map((fs, which) =>
      call(
        fs,
        name,
        args.map((value) => (value === FD ? fds[which] : value)),
      ),
    );
    calls++;
    if (isArgument(mine)) refused++;
    try {
      assertSame(mine, theirs, free);
      assert.deepEqual(tree(ours, root), tree(nodeFs, root));
    } catch (error) {
      throw new Error(`${text}\n${(error as Error).message.slice(0, 3000)}`);
    }
  }
  nodeFs.closeSync(fds[0]);
  ours.closeSync(fds[1]);
  ours.check();
  t.diagnostic(`${calls} calls, ${refused} refused`);
  assert.ok(calls > 3000 * rounds && refused > calls / 20 && refused < calls / 2, 'of both kinds');
});

// ---- the same, with callbacks and with promises ----

interface Answer {
  /** Thrown by the call itself, or reported later. */
  how: 'at once' | 'later' | 'never';
  outcome: unknown;
}
const PATIENCE = 5000;

/** What was made is taken away again. */
async function finish(fs: Any, name: string, result: Any): Promise<unknown> {
  if (result instanceof Error) return plain(result);
  if (name === 'open') return typeof result === 'number' ? fs.closeSync(result) : await result.close();
  if (name === 'opendir') return await result.close();
  if (name !== 'mkdtemp') return plain(result);
  return removeMade(fs, result);
}

async function ask(fs: Any, api: string, name: string, args: unknown[]): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const never = new Promise<Answer>((resolve) => {
    timer = setTimeout(() => resolve({ how: 'never', outcome: undefined }), PATIENCE);
  });
  const asked = new Promise<Answer>((resolve) => {
    const later = (result: unknown): void =>
      void finish(fs, name, result).then((outcome) => resolve({ how: 'later', outcome }));
    try {
      if (api === 'promises') fs.promises[name](...args).then(later, later);
      else if (name === 'exists') fs.exists(...args, later);
      else fs[name](...args, (error: Error | null, result: unknown) => later(error ?? result));
    } catch (error) {
      resolve({ how: 'at once', outcome: plain(error) });
    }
  });
  try {
    return await Promise.race([asked, never]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * A callback in the place of something else; what can be iterated over, of whose parts Node's promises take more kinds;
 * and an option that these have from Node 24 on only, and here.
 */
function isLeftOutLater(value: unknown): boolean {
  if (typeof value === 'object' && value !== null && Symbol.iterator in value && !ArrayBuffer.isView(value))
    return true;
  return typeof value === 'function' || (value as { throwIfNoEntry?: unknown } | null)?.throwIfNoEntry === false;
}

/** Of these the place of the callback depends on what the others are. */
const BY_PLACE = /^(read|write|readv|writev)$/;

for (const api of ['callbacks', 'promises']) {
  test(`the same with ${api} (seed ${seed})`, { timeout: 240000 * rounds }, async (t) => {
    const names = Object.keys(FUNCTIONS).filter((name) =>
      // Node's rm is another program here than its rmSync, and does other things with slashes behind links.
      name === 'rm' ? false : api === 'promises' ? name in nodeFs.promises : !BY_PLACE.test(name),
    );
    let calls = 0;
    let refused = 0;
    let fds: [number, number] = [plant(nodeFs), plant(ours)];
    for (let i = 0; i < 2000 * rounds; i++) {
      fds = replanted(i, fds);
      const { name, kinds, args, strange } = draw(names);
      if (isLeftOut(name, kinds, args) || args.some((value) => isLeftOutLater(value))) continue;
      const given = (which: 0 | 1): unknown[] => args.map((value) => (value === FD ? fds[which] : value));
      const theirs = await ask(nodeFs, api, name, given(0));
      const mine = await ask(ours, api, name, given(1));
      calls++;
      if (isArgument(mine.outcome)) refused++;
      // The C library goes there name by name, and stops where there is nothing.
      if (name === 'realpath' && (mine.outcome as Refusal | null)?.code === 'ENAMETOOLONG') continue;
      try {
        const free = strange || kinds.some((kind) => /path|closed/.test(kind));
        assertSame(mine.outcome, theirs.outcome, free);
        // Node's recursive readdir throws at once what it finds wrong in directories, too.
        if (isArgument(mine.outcome) && isArgument(theirs.outcome)) assert.equal(mine.how, theirs.how);
        else assert.notEqual(mine.how, 'never');
        assert.deepEqual(tree(ours, root), tree(nodeFs, root));
      } catch (error) {
        const text = `step ${i}: ${name}(${args.map(show).join(', ')}): ${mine.how}, Node ${theirs.how}`;
        throw new Error(`${text}\n${(error as Error).message.slice(0, 3000)}`);
      }
    }
    nodeFs.closeSync(fds[0]);
    ours.closeSync(fds[1]);
    ours.check();
    t.diagnostic(`${calls} calls, ${refused} refused`);
    assert.ok(calls > 800 * rounds && (!OLDEST || refused > calls / 20) && refused < calls / 2, 'of both kinds');
  });
}

test('the same objects are URLs as in Node', () => {
  const url = pathToFileURL(at('url'));
  ours.writeFileSync(url, 'text');
  nodeFs.writeFileSync(url, 'text');
  const { href, protocol, hostname, pathname } = url;
  const own = { href, protocol, hostname, pathname };
  const read = (fs: Any, path: unknown): unknown => {
    try {
      return fs.readFileSync(path, 'utf8');
    } catch (error) {
      return (error as NodeJS.ErrnoException).code;
    }
  };
  for (const path of [url, own, { ...own, auth: null }, { ...own, path: pathname }, parse(href)]) {
    assert.equal(read(ours, path), read(nodeFs, path), JSON.stringify(path));
  }
});
