/**
 * The synchronous calls of plait/fs compared with node:fs (fs-compare.ts), and calls that only plait/fs has. The other
 * APIs are in fs-streams.test.ts, random operations in fs-random.test.ts.
 */
import assert from 'node:assert/strict';
import * as nodeFs from 'node:fs';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { type Any, type AnyFs, attempt, both, checkAtEnd, mounted, node, ours, scratch } from './fs-compare.ts';

both('write, read, append', (fs, root, note) => {
  const file = `${root}/f`;
  fs.writeFileSync(file, 'grün');
  note(fs.readFileSync(file));
  note(fs.readFileSync(file, 'utf8'));
  note(fs.readFileSync(file, { encoding: 'hex' }));
  fs.appendFileSync(file, Buffer.from([0, 1, 255]));
  fs.appendFileSync(`${root}/new`, 'x', { mode: 0o600 });
  note(fs.statSync(`${root}/new`));
  note(fs.readFileSync(file, 'latin1'));
  fs.writeFileSync(file, new Uint16Array([1, 2]));
  note(fs.readFileSync(file));
  fs.writeFileSync(file, 'ZGVm', 'base64');
  note(fs.readFileSync(file, 'base64url'));
  fs.writeFileSync(file, '');
  note(fs.readFileSync(file));
  for (const size of [1, 4095, 4096, 65535, 65536, 65537, 300000]) {
    const bytes = Buffer.from(Array.from({ length: size }, (_, i) => (i * 31) & 255));
    fs.writeFileSync(file, bytes);
    note(fs.readFileSync(file).equals(bytes));
    fs.appendFileSync(file, bytes);
    note(fs.readFileSync(file).equals(Buffer.concat([bytes, bytes])));
  }
  const fd = fs.openSync(file, 'r+');
  note(fs.readSync(fd, Buffer.alloc(5)));
  note(fs.readFileSync(fd).length);
  fs.writeFileSync(fd, 'end');
  fs.closeSync(fd);
  return fs.statSync(file).size;
});

both('errors of paths', (fs, root, note) => {
  fs.writeFileSync(`${root}/f`, 'x');
  fs.mkdirSync(`${root}/d`);
  fs.writeFileSync(`${root}/d/g`, 'x');
  fs.symlinkSync('loop', `${root}/loop`);
  fs.symlinkSync('nowhere', `${root}/dangling`);
  const paths = [
    'f',
    'd',
    'none',
    'none/x',
    'f/x',
    'd/',
    'f/',
    'loop',
    'loop/x',
    'dangling',
    'd/..',
    'd/../f',
    'n'.repeat(256),
    `d/${'n/'.repeat(2100)}`,
    '',
  ];
  for (const path of paths.map((name) => (name === '' ? '' : `${root}/${name}`))) {
    for (const name of [
      'readFileSync',
      'statSync',
      'lstatSync',
      'openSync',
      'readdirSync',
      'readlinkSync',
      'existsSync',
      'accessSync',
      'opendirSync',
    ] as const) {
      note([
        name,
        path.slice(0, 300),
        attempt(() => {
          const result = (fs[name] as Any)(path);
          if (name === 'openSync') return fs.closeSync(result);
          if (name === 'opendirSync') return result.closeSync();
          return Array.isArray(result) ? result.sort() : result;
        }),
      ]);
    }
    note(attempt(() => fs.truncateSync(path, 1)));
    note(attempt(() => fs.chmodSync(path, 0o755)));
    note(attempt(() => fs.utimesSync(path, 1, 2)));
    note(attempt(() => fs.chownSync(path, -1 >>> 0, -1 >>> 0)));
    note(attempt(() => fs.copyFileSync(path, `${root}/copy`)));
    fs.rmSync(`${root}/copy`, { force: true }); // libuv removes it after an error, whosever it was
    note(attempt(() => fs.linkSync(path, `${root}/link`)));
    note(attempt(() => fs.linkSync(`${root}/f`, path)));
    note(attempt(() => fs.symlinkSync('x', path)));
    note(attempt(() => fs.unlinkSync(path)));
    note(attempt(() => fs.mkdirSync(path)));
    note(attempt(() => fs.writeFileSync(path, 'y')));
    note(attempt(() => fs.rmdirSync(path)));
  }
  return fs.readdirSync(root).sort();
});

both('wrong arguments', (fs, root, note) => {
  const file = `${root}/f`;
  fs.writeFileSync(file, 'abc');
  const fd = fs.openSync(file, 'r+');
  const wrong: (() => unknown)[] = [
    () => fs.readFileSync(undefined as Any),
    () => fs.readFileSync(null as Any),
    () => fs.readFileSync({} as Any),
    () => fs.statSync([] as Any),
    () => fs.openSync(true as Any),
    () => fs.readFileSync('a\0b'),
    () => fs.readFileSync(file, 'nonsense' as Any),
    () => fs.openSync(file, 'nonsense'),
    () => fs.openSync(file, 'r', 'abc'),
    () => fs.openSync(file, 'r', 1.5),
    () => fs.closeSync('1' as Any),
    () => fs.closeSync(-1),
    () => fs.closeSync(1.5),
    () => fs.closeSync(100000),
    () => fs.readSync(fd, 'x' as Any),
    () => fs.readSync(fd, Buffer.alloc(3), 4),
    () => fs.readSync(fd, Buffer.alloc(3), -1),
    () => fs.readSync(fd, Buffer.alloc(3), 1, 5),
    () => fs.readSync(fd, Buffer.alloc(3), 1, -5),
    () => fs.readSync(fd, Buffer.alloc(3), 0, 3, 'x' as Any),
    () => fs.writeSync(fd, Buffer.alloc(3), 4),
    () => fs.writeSync(fd, Buffer.alloc(3), 1, 5),
    () => fs.writeSync(fd, {} as Any),
    () => fs.ftruncateSync(fd, 1.5),
    () => fs.ftruncateSync(fd, 'x' as Any),
    () => fs.chmodSync(file, 'x'),
    () => fs.chmodSync(file, -1),
    () => fs.chownSync(file, 'x' as Any, 0),
    () => fs.utimesSync(file, {} as Any, 0),
    () => fs.accessSync(file, 9),
    () => fs.writeFileSync(file, 5 as Any),
    () => fs.mkdirSync(`${root}/q`, { recursive: 'x' as Any }),
    () => fs.readFileSync(new URL('http://x/y')),
    () => fs.readFileSync(new URL('file:///a%2fb')),
    () => fs.writevSync(fd, 'x' as Any),
    () => fs.readFile(file, undefined as Any),
    () => fs.stat(file, 5 as Any),
    () => fs.copyFileSync(file, `${root}/g`, 8),
    () => fs.renameSync(file, undefined as Any),
    () => fs.symlinkSync(undefined as Any, file),
  ];
  for (const action of wrong) note([String(action), attempt(action)]);
  fs.closeSync(fd);
});

both('descriptors', (fs, root, note) => {
  const file = `${root}/f`;
  const fd = fs.openSync(file, 'w+');
  note(fs.writeSync(fd, 'hello world'));
  note(fs.writeSync(fd, Buffer.from('HELLO'), 1, 3, 2));
  note(fs.writeSync(fd, 'x', 20));
  note(fs.fstatSync(fd));
  const buffer = Buffer.alloc(30, '.');
  note([fs.readSync(fd, buffer, 0, 30, 0), buffer]);
  note([fs.readSync(fd, buffer, { position: 3, length: 4 }), buffer]);
  note([fs.readSync(fd, buffer, 25, 5, null), buffer]);
  note(fs.readSync(fd, buffer, 0, 0));
  note(fs.readSync(fd, buffer, 0, 10, 1000));
  note([fs.readvSync(fd, [Buffer.alloc(3), buffer], 1), buffer]);
  note(fs.writevSync(fd, [Buffer.from('ab'), Buffer.from('cd')], 30));
  fs.ftruncateSync(fd, 32);
  note(fs.readFileSync(file));
  fs.ftruncateSync(fd);
  note(fs.readFileSync(file));
  fs.fsyncSync(fd);
  fs.fdatasyncSync(fd);
  fs.futimesSync(fd, 100.25, 200.5);
  note([fs.fstatSync(fd).atimeMs, fs.fstatSync(fd).mtimeMs, fs.fstatSync(fd, { bigint: true }).mtimeNs]);
  fs.fchmodSync(fd, 0o640);
  note(fs.fstatSync(fd));
  fs.unlinkSync(file);
  note(fs.writeSync(fd, 'still', 0));
  note(fs.fstatSync(fd).size);
  fs.closeSync(fd);
  note(attempt(() => fs.fstatSync(fd)));
  const writer = fs.openSync(file, 'a');
  fs.writeSync(writer, 'one');
  fs.writeSync(writer, 'two', 0);
  note(fs.readFileSync(file, 'utf8'));
  note(attempt(() => fs.readSync(writer, buffer)));
  fs.closeSync(writer);
  const reader = fs.openSync(file, 'r');
  note(attempt(() => fs.writeSync(reader, 'x')));
  note(attempt(() => fs.ftruncateSync(reader, 1)));
  fs.closeSync(reader);
  for (const flags of [
    'wx',
    'ax',
    'r+',
    'w',
    'a+',
    'rs+',
    fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_EXCL,
  ])
    note(attempt(() => fs.closeSync(fs.openSync(file, flags))));
  fs.symlinkSync('f', `${root}/s`);
  note(attempt(() => fs.openSync(`${root}/s`, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW)));
  note(attempt(() => fs.openSync(file, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY)));
  note(attempt(() => fs.openSync(root, 'w')));
});

both('times and modes', (fs, root, note) => {
  const file = `${root}/f`;
  fs.writeFileSync(file, '');
  for (const [atime, mtime] of [
    [0, 0],
    [1, 2],
    [1700000000.125, 1600000000.75],
    [new Date(5000), new Date(6001)],
    ['7', '8'],
    [1.5, 2.25],
  ] as Any) {
    fs.utimesSync(file, atime, mtime);
    const stats = fs.statSync(file);
    const big = fs.statSync(file, { bigint: true });
    note([stats.atimeMs, stats.mtimeMs, stats.mtime.toISOString(), big.mtimeMs, big.mtimeNs, big.atimeNs]);
  }
  fs.symlinkSync('f', `${root}/s`);
  fs.lutimesSync(`${root}/s`, 11, 12);
  note([fs.lstatSync(`${root}/s`).mtimeMs, fs.statSync(`${root}/s`).mtimeMs]);
  fs.utimesSync(file, 1700000000.123456, 1600000000.654321);
  note(Math.abs(fs.statSync(file).mtimeMs - 1600000000654.321) < 0.0015);
  for (const mode of [0o777, 0o600, '644', 0o4755]) {
    fs.chmodSync(file, mode);
    note(fs.statSync(file));
  }
  fs.mkdirSync(`${root}/d`, 0o700);
  fs.mkdirSync(`${root}/e`, { mode: 0o755 });
  note([fs.statSync(`${root}/d`), fs.statSync(`${root}/e`)]);
  const before = fs.statSync(file).ctimeMs;
  const { birthtimeMs } = fs.statSync(file);
  fs.writeFileSync(file, 'x');
  note(fs.statSync(file).ctimeMs >= before && fs.statSync(file).birthtimeMs === birthtimeMs);
  note(fs.statSync(`${root}/none`, { throwIfNoEntry: false }));
  if (node > 20) note(fs.statSync(`${root}/f/none`, { throwIfNoEntry: false }));
  note(fs.lstatSync(`${root}/f/none`, { throwIfNoEntry: false }));
});

both('directories', (fs, root, note) => {
  note(fs.mkdirSync(`${root}/a/b/c`, { recursive: true }));
  note(fs.mkdirSync(`${root}/a/b/c`, { recursive: true }));
  note(fs.mkdirSync(`${root}/a/b/d/`, { recursive: true }));
  fs.writeFileSync(`${root}/a/f`, '');
  fs.symlinkSync('b', `${root}/a/s`);
  note(attempt(() => fs.mkdirSync(`${root}/a/f/x`, { recursive: true })));
  note(attempt(() => fs.mkdirSync(`${root}/a/f`, { recursive: true })));
  note(fs.readdirSync(`${root}/a`).sort());
  note(fs.readdirSync(`${root}/a`, { withFileTypes: true }).sort((x: Any, y: Any) => (x.name < y.name ? -1 : 1)));
  note((fs.readdirSync(`${root}/a`, 'buffer') as Any).map(String).sort());
  note((fs.readdirSync(`${root}/a/b`, { recursive: true }) as string[]).sort());
  note(
    fs
      .readdirSync(`${root}/a/b`, { recursive: true, withFileTypes: true })
      .map((entry: Any) => `${entry.parentPath}/${entry.name}`)
      .sort(),
  );
  const names = Array.from({ length: 300 }, (_, i) => `näme-${i}-${'x'.repeat(i % 50)}`);
  for (const name of names) fs.writeFileSync(`${root}/a/b/${name}`, '');
  note(fs.readdirSync(`${root}/a/b`).sort());
  const dir = fs.opendirSync(`${root}/a/b`);
  const seen: string[] = [];
  for (let entry = dir.readSync(); entry !== null; entry = dir.readSync()) seen.push(entry.name);
  dir.closeSync();
  note(seen.sort());
  note(attempt(() => dir.readSync()));
  note(attempt(() => fs.rmdirSync(`${root}/a`)));
  note(attempt(() => fs.rmSync(`${root}/a`)));
  fs.rmSync(`${root}/a/s`);
  fs.rmSync(`${root}/a`, { recursive: true });
  note(attempt(() => fs.rmSync(`${root}/a`)));
  fs.rmSync(`${root}/a`, { force: true });
  note(fs.mkdtempSync(`${root}/tmp-`).length - root.length);
  note(attempt(() => fs.mkdtempSync(`${root}/none/tmp-`)));
});

both('rename, link, symlink, realpath', (fs, root, note) => {
  const at = (name: string): string => `${root}/${name}`;
  fs.mkdirSync(at('d/e'), { recursive: true });
  fs.mkdirSync(at('x'));
  fs.writeFileSync(at('f'), 'f');
  fs.writeFileSync(at('g'), 'g');
  for (const [from, to] of [
    ['f', 'h'],
    ['h', 'g'],
    ['g', 'd'],
    ['d', 'g'],
    ['d', 'd/e/q'],
    ['d/e', 'd'],
    ['x', 'd'],
    ['d', 'x'],
    ['none', 'q'],
    ['g', 'none/q'],
    ['g', 'g'],
    ['x', 'x'],
    ['g', 'q/'],
    ['x', 'y/'],
    ['g/', 'q'],
    ['y/.', 'q'],
    ['y/..', 'q'],
    ['y', '.'],
    ['y', 'y/e'],
  ] as const) {
    note([from, to, attempt(() => fs.renameSync(at(from), at(to)))]);
  }
  note((fs.readdirSync(root, { recursive: true }) as string[]).sort());
  fs.linkSync(at('g'), at('g2'));
  note(fs.statSync(at('g2')));
  note(attempt(() => fs.renameSync(at('g'), at('g2'))));
  note(fs.readdirSync(root).sort());
  fs.writeFileSync(at('g2'), 'changed');
  note(fs.readFileSync(at('g'), 'utf8'));
  fs.symlinkSync('g', at('s1'));
  fs.symlinkSync(at('s1'), at('s2'));
  fs.symlinkSync('../y', at('y/up'));
  note([fs.readlinkSync(at('s1')), fs.readlinkSync(at('s2')), fs.readlinkSync(at('s1'), 'buffer' as Any)]);
  note([fs.realpathSync(at('s2')), fs.realpathSync(at('y/up/up/up')), fs.realpathSync(at('y/../y/./up'))]);
  note(fs.readFileSync(at('s2'), 'utf8'));
  fs.mkdirSync(at('far/near'), { recursive: true });
  fs.writeFileSync(at('far/g'), 'another');
  fs.writeFileSync(at('far/only'), 'nothing of that name above');
  fs.symlinkSync('far/near', at('into')); // by its text into/../g is g, and by the way far/g
  for (const [name, text] of [
    ['to-file', 'g/'],
    ['to-below-file', 'g/x'],
    ['to-none', 'none'],
    ['to-none-far', 'y/up/none/x'],
    ['to-winding', 'into/../g'],
    ['to-winding-far', './into/../../g'],
    ['to-winding-only', 'into/../only'],
    ['to-winding-up', 'into/../near/../../g'],
    ['to-winding-slash', 'into/../near/'],
    ['to-winding-file', 'g/../g'],
    ['to-itself', 'to-itself'],
  ] as const) {
    fs.symlinkSync(text, at(name));
    for (const path of [name, `${name}/x`, `y/up/${name}`, `y/up/${name}/x/y`])
      note([path, attempt(() => fs.realpathSync(at(path)))]);
    fs.unlinkSync(at(name));
  }
  fs.rmSync(at('far'), { recursive: true });
  fs.unlinkSync(at('into'));
  for (const path of ['none', 'none/x', 'g/x', 's1/x', 'y/up/none', 'y/up/g/x/y'])
    note(attempt(() => fs.realpathSync(at(path))));
  const { native } = fs.realpathSync;
  for (const path of ['s2', 's2/', 'y/up/up/up', 'y/../y/./up', 'y/up/../up/.', 'none', 'none/x', 'y/up/up/none/'])
    note(attempt(() => native(at(path))));
  const bytes = Buffer.from('\xff\xfe', 'latin1'); // no UTF-8
  fs.mkdirSync(Buffer.concat([Buffer.from(at('')), bytes]));
  fs.symlinkSync(bytes, at('bytes'));
  note([native(at('bytes'), 'latin1'), native(at('bytes')), native(at('bytes'), 'buffer')]);
  note(native(new Uint8Array(Buffer.concat([Buffer.from(at('')), bytes])), 'latin1'));
  note(Buffer.isBuffer(native(at('bytes'), 'buffer')));
  fs.writeFileSync(at('s2'), 'through');
  note([fs.lstatSync(at('s2')), fs.readFileSync(at('g'), 'utf8')]);
  fs.symlinkSync('made', at('s3'));
  fs.writeFileSync(at('s3'), 'x');
  fs.symlinkSync('none/', at('s4'));
  note(attempt(() => fs.writeFileSync(at('s4'), 'x')));
  note(fs.readFileSync(at('made'), 'utf8'));
  note(attempt(() => fs.writeFileSync(at('s3'), 'y', { flag: 'wx' })));
  note(fs.existsSync(pathToFileURL(at('g'))));
  note(fs.readFileSync(Buffer.from(at('g'))));
});

both('copies', (fs, root, note) => {
  const at = (name: string): string => `${root}/${name}`;
  fs.mkdirSync(at('a/b'), { recursive: true });
  fs.writeFileSync(at('a/f'), 'f', { mode: 0o755 });
  fs.writeFileSync(at('a/b/g'), 'g');
  fs.symlinkSync('f', at('a/s'));
  fs.copyFileSync(at('a/f'), at('c'));
  note([fs.readFileSync(at('c'), 'utf8'), fs.statSync(at('c'))]);
  note(attempt(() => fs.copyFileSync(at('a/f'), at('c'), fs.constants.COPYFILE_EXCL)));
  note(attempt(() => fs.copyFileSync(at('a/f'), at('none/x'))));
  fs.cpSync(at('a'), at('copy'), { recursive: true });
  note((fs.readdirSync(at('copy'), { recursive: true }) as string[]).sort());
  note([fs.readlinkSync(at('copy/s')), fs.readFileSync(at('copy/b/g'), 'utf8'), fs.statSync(at('copy/f'))]);
  fs.cpSync(at('a'), at('deref'), {
    recursive: true,
    dereference: true,
    filter: (path: string) => !path.endsWith('g'),
  });
  note((fs.readdirSync(at('deref'), { recursive: true }) as string[]).sort());
  note(fs.lstatSync(at('deref/s')));
  for (const [from, to, options] of [
    ['a', 'x', {}],
    ['a', 'a/b/c', { recursive: true }],
    ['c', 'a', {}],
    ['a', 'c', { recursive: true }],
    ['c', 'copy/f', { force: false, errorOnExist: true }],
    ['c', 'c', {}],
  ] as Any) {
    note((attempt(() => fs.cpSync(at(from), at(to), options)) as Any)?.code);
  }
});

both('links that end in a slash', (fs, root, note) => {
  fs.writeFileSync(`${root}/f`, 'x');
  fs.mkdirSync(`${root}/d`);
  fs.symlinkSync('loop', `${root}/loop`);
  fs.symlinkSync('nowhere', `${root}/dangling`);
  fs.symlinkSync('f', `${root}/link`);
  for (const name of ['f', 'd', 'none', 'none/x', 'f/x', 'loop', 'dangling', 'link', 'd/..', 'd/.'])
    for (const target of [`${name}/`, `${root}/${name}/`]) {
      fs.symlinkSync(target, `${root}/slash`);
      for (const path of ['slash', 'slash/', `${name}/`]) {
        for (const flag of ['r', 'w', 'a', 'wx', 'r+'])
          note(attempt(() => fs.closeSync(fs.openSync(`${root}/${path}`, flag))));
        note(attempt(() => fs.writeFileSync(`${root}/${path}`, 'y')));
        note(attempt(() => fs.statSync(`${root}/${path}`)));
        note(attempt(() => fs.truncateSync(`${root}/${path}`, 1)));
        note(attempt(() => fs.readdirSync(`${root}/${path}`).length));
      }
      fs.unlinkSync(`${root}/slash`);
    }
  for (const name of node < 24 ? ['loop/', 'dangling/', 'link/'] : [])
    note((attempt(() => fs.rmSync(`${root}/${name}`, { recursive: true, force: true })) as Any)?.code);
  return fs.readdirSync(root).sort();
});

test('a refused path does not affect the next one', () => {
  ours.writeFileSync('/abc', '1');
  ours.writeFileSync('/abx', '2');
  ours.statSync('/abc');
  assert.throws(() => ours.statSync('/abx\0'), { code: 'ERR_INVALID_ARG_VALUE' });
  assert.equal(ours.readFileSync('/abc', 'latin1'), '1');
  ours.unlinkSync('/abc');
  ours.unlinkSync('/abx');
});

test('short strings are written as UTF-16 if requested', () => {
  for (const fs of [nodeFs, ours, mounted] as AnyFs[]) {
    fs.mkdirSync(scratch, { recursive: true }); // a case before this one may have removed it
    fs.writeFileSync(`${scratch}/utf16`, 'hi', 'utf16le');
    assert.equal(fs.readFileSync(`${scratch}/utf16`, 'hex'), '68006900');
    fs.unlinkSync(`${scratch}/utf16`);
  }
});

test('names that are not UTF-8 are listed in every encoding, and can be removed', { timeout: 20000 }, () => {
  for (const fs of [nodeFs, ours, mounted] as AnyFs[]) {
    const top = `${scratch}/bytes`;
    fs.mkdirSync(`${top}/in`, { recursive: true });
    fs.writeFileSync(Buffer.concat([Buffer.from(`${top}/in/`), Buffer.from([255, 97])]), '');
    fs.mkdirSync(Buffer.concat([Buffer.from(`${top}/`), Buffer.from([254])]));
    assert.equal(fs.readdirSync(`${top}/in`, 'hex').join(), 'ff61');
    assert.equal(fs.readdirSync(`${top}/in`, 'latin1').join(), '\u00ffa');
    assert.deepEqual([...fs.readdirSync(`${top}/in`, 'buffer')[0]], [255, 97]);
    assert.equal(fs.readdirSync(`${top}/in`, { encoding: 'hex', withFileTypes: true })[0].name, 'ff61');
    fs.rmSync(top, { recursive: true });
    assert.equal(fs.existsSync(top), false);
  }
});

test('invalid limits are refused, and the present ones stay', () => {
  ours.setLimits({ bytes: 2 ** 28, files: 2 ** 20 });
  const before = ours.statfsSync('/');
  const refused = [
    { bytes: Number.NaN },
    { bytes: -1 },
    { bytes: '1' },
    { bytes: 1n },
    { files: -1 },
    { files: 2 ** 32 },
  ];
  for (const limits of [...refused, undefined, null, 5] as Any[])
    assert.throws(() => ours.setLimits(limits), { code: /^ERR_(INVALID_ARG_TYPE|OUT_OF_RANGE)$/ });
  assert.deepEqual(ours.statfsSync('/'), before);
  ours.setLimits({});
});

checkAtEnd();

// Not beside node:fs: that of Node 20 fails.
test('a tree that is too deep for a path is removed', () => {
  const chain = 'd/'.repeat(1000);
  const top = '/deep';
  for (const name of ['a', 'b', 'c']) ours.mkdirSync(`${top}/${name}/${chain}`, { recursive: true });
  ours.writeFileSync(`${top}/c/${chain}file`, 'x');
  ours.renameSync(`${top}/c`, `${top}/b/${chain}next`);
  ours.renameSync(`${top}/b`, `${top}/a/${chain}next`);
  ours.mkdirSync(`${top}/e/${chain}`, { recursive: true });
  ours.renameSync(`${top}/a`, `${top}/e/${chain}next`);
  ours.rmSync(`${top}/e`, { recursive: true });
  assert.deepEqual(ours.readdirSync(top), []);
  ours.rmSync(top, { recursive: true });
  ours.check();
});
