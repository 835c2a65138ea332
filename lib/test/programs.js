/**
 * The test programs. Without `sources` one is NAME.c.
 *
 *     sources     relative to the repository
 *     flags       for all compilers
 *     wasi        for wasi-libc, and for the native build to compare with
 *     wasm        for wasi-libc alone
 *     wasix       for WASIX's C library, which has pthreads
 *     on          toolchains that can build it; otherwise all
 *     threads     it needs pthreads where there are any
 *     package     it is made of a crate's sources, which programs.mk fetches; not part of `make test`
 */

import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const VENDOR = 'build/lib-test/vendor';

/** The C files of a folder, without those named. */
function filesIn(folder, ...except) {
  if (!existsSync(ROOT + folder)) return [];
  const names = readdirSync(ROOT + folder).filter((name) => name.endsWith('.c') && !except.includes(name));
  return names.sort().map((name) => `${folder}/${name}`);
}

const LUA = `${VENDOR}/lua-src/lua-5.4.9`;
const SQLITE = `${VENDOR}/libsqlite3-sys/sqlite3`;
const ZSTD = `${VENDOR}/zstd-sys/zstd/lib`;
const QUICKJS = `${VENDOR}/rquickjs-sys/quickjs`;

export const PROGRAMS = [
  { name: 'open' },
  { name: 'paths' },
  { name: 'io' },
  { name: 'names' },
  { name: 'directories' },
  { name: 'deep' },
  { name: 'descriptors' },
  { name: 'stdio' },
  { name: 'others', on: ['emscripten'] },
  { name: 'threads', threads: true, on: ['emscripten', 'wasix'] },
  { name: 'reuse', threads: true, on: ['emscripten', 'wasix'] },
  {
    name: 'sqlite',
    package: true,
    threads: true,
    sources: ['lib/test/packages/sqlite.c', `${SQLITE}/sqlite3.c`],
    flags: [`-I${SQLITE}`, '-w', '-DSQLITE_OMIT_LOAD_EXTENSION', '-DSQLITE_TEMP_STORE=1'],
    wasi: ['-DSQLITE_THREADSAFE=0', '-DSQLITE_OMIT_WAL'],
  },
  {
    name: 'lua',
    package: true,
    threads: true,
    sources: ['lib/test/packages/lua.c', ...filesIn(LUA)],
    flags: [`-I${LUA}`, '-w'],
    // Without setjmp: the script raises no errors.
    wasi: ['-Dluai_jmpbuf=int', '-DLUAI_THROW(L,c)=abort()', '-DLUAI_TRY(L,c,a)={a}'],
    wasm: [
      '-Ilib/test/packages/wasi',
      '-Dl_system(command)=0',
      '-Dlua_tmpnam(b,e)={e=1;}',
      '-DLUA_TMPNAMBUFSIZE=1',
      '-Dtmpfile=no_tmpfile',
    ],
  },
  {
    name: 'zstd',
    package: true,
    threads: true,
    sources: [
      'lib/test/packages/zstd.c',
      ...filesIn(`${ZSTD}/common`),
      ...filesIn(`${ZSTD}/compress`),
      ...filesIn(`${ZSTD}/decompress`),
    ],
    flags: [`-I${ZSTD}`, '-w', '-DZSTD_DISABLE_ASM', '-DZSTD_MULTITHREAD'],
    wasi: ['-UZSTD_MULTITHREAD'],
  },
  {
    name: 'quickjs',
    package: true,
    threads: true,
    sources: [
      'lib/test/packages/quickjs.c',
      ...['quickjs', 'quickjs-libc', 'libregexp', 'libunicode', 'dtoa'].map((name) => `${QUICKJS}/${name}.c`),
    ],
    flags: [`-I${QUICKJS}`, '-w', '-D_GNU_SOURCE'],
  },
];
