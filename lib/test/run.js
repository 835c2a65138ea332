/**
 * Runs the test programs of this folder: node run.js TOOLCHAIN [PROGRAM ...]
 *
 * Each program is built natively and by the toolchain (zig, clang, emscripten or wasix), linked with libplait_fs as
 * docs/guide/linked-files.md says. Or it is built without it, and run by plait/wasi: hosted, on files in memory, or
 * mounted, on a directory of the host. Both run in an empty file system. What they print must be equal, line by line.
 * The differences are in build/lib-test/TOOLCHAIN/PROGRAM.diff. All programs are run, whatever becomes of one.
 */

import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { isAccepted } from './accepted.js';
import { PROGRAMS } from './programs.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const BUILT = join(ROOT, 'build/lib-test');
/** What every program is made of beside its sources. */
const HEADERS = ['lib/test/transcript.h', 'lib/test/workers.h'];
const PORT = 'lib/emscripten';
const PORT_FILES = readdirSync(join(ROOT, PORT)).map((name) => join(PORT, name));
const ARCHIVE = 'build/libplait_fs_single.a';
const ARCHIVES = [ARCHIVE, 'build/libplait_fs.a', 'build/libplait_heap_pthread.a'];
const CLANG = process.env.CLANG ?? 'clang-19';
const SYSROOT = process.env.WASI_SYSROOT ?? '/usr';
const WASIX = process.env.WASIX_SYSROOT ?? 'build/wasix/usr';
const LIMIT_MS = 600_000;
/** What a linked module may import: no call that concerns files. */
const ALLOWED = new Set(
  (
    'clock_time_get clock_res_get proc_exit random_get sched_yield poll_oneoff fd_read fd_write fd_fdstat_get ' +
    'args_get args_sizes_get environ_get environ_sizes_get'
  ).split(' '),
);

const execute = promisify(execFile);

/** @returns what the command printed, and how it ended */
async function run(command, args, cwd) {
  const started = Date.now();
  const end = await execute(command, args, { cwd, timeout: LIMIT_MS, maxBuffer: 2 ** 28 }).catch((error) => error);
  const how = end.killed ? `no end within ${LIMIT_MS / 1000} s` : (end.signal ?? end.code ?? 0);
  return { text: end.stdout ?? '', errors: end.stderr || (end.message ?? ''), how, ms: Date.now() - started };
}

/** Builds the file, unless it is newer than what it is made of and was made by the same command. */
async function build(to, program, command, args) {
  const line = [command, ...args].join(' ');
  const made = `${to}.command`;
  const parts = [...sourcesOf(program), ...HEADERS, ...ARCHIVES, ...PORT_FILES]
    .map((path) => join(ROOT, path))
    .filter(existsSync);
  const newest = Math.max(...parts.map((path) => statSync(path).mtimeMs));
  if (existsSync(made) && statSync(made).mtimeMs > newest && readFileSync(made, 'utf8') === line) return;
  const { how, errors } = await run(command, args, ROOT);
  if (how !== 0) throw new Error(`does not build: ${line}\n${errors}`);
  writeFileSync(made, line);
}

const sourcesOf = (program) => program.sources ?? [`lib/test/${program.name}.c`];
const flagsOf = (program) => ['-Wall', '-Wextra', ...(program.package ? [] : ['-Werror']), ...(program.flags ?? [])];

/** Emscripten's imports that concern files: all system calls but those that ask who and where the program is. */
const FILE_CALLS = /^__syscall_(?!gete?[ug]id32$|getp?pid$|uname$)|^fd_(?!(read|write|fdstat_get)$)|^path_/;

/** As docs/guide/linked-files.md says, with the limits of lib/examples/wasi-threads.js. */
const THREADS = ['-pthread', '-matomics', '-mbulk-memory'];
const MEMORY = [
  '-Wl,--import-memory,--export-memory,--shared-memory',
  '-Wl,--initial-memory=16777216,--max-memory=2147483648,-z,stack-size=1048576',
];

/** The parts of wasi-libc that a program must ask for. */
const EMULATED = ['mman', 'process-clocks', 'signal', 'getpid'];

/** How a linked program starts; its imports are few. */
const LINKED = {
  start: (file) => [join(ROOT, 'lib/examples/wasi.js'), file],
  isAllowed: (name) => ALLOWED.has(name),
};

/**
 * names: most of it follows from a link that a hosted program cannot make. deep: it leaves its directories, and in a mount
 * no path is longer than 4095 bytes. directories: it compares .. with what it cannot reach.
 */
const NOT_HOSTED = { memory: ['names', 'deep', 'directories'], mounted: ['names', 'deep'] };

function hostedBy(where) {
  return {
    builds: ({ name }) => !NOT_HOSTED[where].includes(name),
    start: (file) => [join(ROOT, 'lib/test/hosted.js'), where, file],
    isAllowed: () => true,
  };
}

const ZIG = ['.venv/bin/python', ['-m', 'ziglang', 'cc', '--target=wasm32-wasi', '-s']];

/** Each toolchain: what it can build, how it links, how its programs start. */
const TOOLCHAINS = {
  native: native([]),
  'native-wasi': native(['-DWASI=1'], (program) => program.wasi ?? []),
  // zig cc names its libc before what it is told to link: only what is linked whole comes before it.
  zig: wasi(...ZIG, ['-Wl,--whole-archive', ARCHIVE, '-Wl,--no-whole-archive']),
  hosted: wasi(...ZIG, [], hostedBy('memory')),
  mounted: wasi(...ZIG, [], hostedBy('mounted')),
  clang: wasi(CLANG, ['--target=wasm32-wasi', `--sysroot=${SYSROOT}`, '-s'], [ARCHIVE]),
  emscripten: {
    native: 'native',
    async build(program, to) {
      const port = `--use-port=${join(ROOT, PORT, 'plait.py')}:files=1`;
      const threads = program.threads ? ['-pthread', '-sPROXY_TO_PTHREAD', '-sEXIT_RUNTIME'] : [];
      const link = [port, ...threads, '-sALLOW_MEMORY_GROWTH', '-sSTACK_SIZE=1MB', '-Wno-pthreads-mem-growth'];
      const args = ['-O2', ...flagsOf(program), ...sourcesOf(program), ...link, '-o', `${to}.cjs`];
      await build(to, program, join(ROOT, 'tools/emscripten-run.sh'), ['emcc', ...args]);
      checkImports(`${to}.wasm`, (name) => !FILE_CALLS.test(name));
    },
    start: (_, file) => [process.env.EMSCRIPTEN_NODE ?? process.execPath, [`${file}.cjs`]],
  },
  // clang with WASIX's C library: only programs with threads, because the others are the same with wasi-libc.
  wasix: {
    native: 'native',
    builds: (program) => program.threads === true,
    async build(program, to) {
      const flags = [...THREADS, '-DWASI=0', '-DHERE="/"', ...flagsOf(program), ...(program.wasix ?? [])];
      const link = [...MEMORY, ARCHIVES[1], '-Wl,--whole-archive', ARCHIVES[2], '-Wl,--no-whole-archive'];
      const args = [...flags, ...sourcesOf(program), 'lib/test/wasix.c', ...link, '-o', to];
      await build(to, program, CLANG, ['--target=wasm32-wasi', `--sysroot=${WASIX}`, '-s', '-O2', ...args]);
      checkImports(to, (name) => ALLOWED.has(name) || name === 'thread-spawn' || name === 'thread_exit');
    },
    start: (_, file) => [process.execPath, ['--no-warnings', join(ROOT, 'lib/examples/wasi-threads.js'), file]],
  },
};

function native(flags, more = () => []) {
  return {
    async build(program, to) {
      const cc = (process.env.CC ?? 'cc').split(' ');
      const all = [...cc.slice(1), '-O2', ...flags, ...flagsOf(program), ...more(program), ...sourcesOf(program)];
      await build(to, program, cc[0], [...all, '-o', to, '-pthread', '-lm']);
    },
    start: (_, file) => [file, []],
  };
}

function defines() {
  return EMULATED.map((part) => `-D_WASI_EMULATED_${part.replace('-', '_').toUpperCase()}`);
}

function emulated() {
  return EMULATED.map((part) => `-lwasi-emulated-${part}`);
}

function wasi(command, args, libraries, { start, isAllowed, builds } = LINKED) {
  const after = [...libraries, ...emulated(), '-Wl,-z,stack-size=1048576'];
  return {
    native: 'native-wasi',
    builds,
    async build(program, to) {
      const flags = [...flagsOf(program), ...(program.wasi ?? []), ...(program.wasm ?? []), ...defines()];
      await build(to, program, command, [...args, '-O2', ...flags, ...sourcesOf(program), ...after, '-o', to]);
      checkImports(to, isAllowed);
    },
    start: (_, file) => [process.execPath, ['--no-warnings', ...start(file)]],
  };
}

function checkImports(file, isAllowed) {
  const imports = WebAssembly.Module.imports(new WebAssembly.Module(readFileSync(file)));
  const others = imports.filter(({ kind, name }) => kind === 'function' && !isAllowed(name)).map(({ name }) => name);
  if (others.length > 0) throw new Error(`imports ${others.join(', ')}`);
}

/** A folder in memory, where the host has one. */
const emptyFolder = () => mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'plait-'));

async function transcriptOf(program, name) {
  const toolchain = TOOLCHAINS[name];
  const file = join(BUILT, name, program.name);
  mkdirSync(join(BUILT, name), { recursive: true });
  await toolchain.build(program, file);
  const folder = emptyFolder();
  try {
    const { text, errors, how, ms } = await run(...toolchain.start(program, file), folder);
    writeFileSync(`${file}.txt`, text);
    return { lines: [...text.split('\n'), `ended: ${how}`], errors, ms };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Pairs of lines that differ. A line that only one of both has is paired with nothing. */
function differencesOf(right, wrong) {
  const differences = [];
  const REACH = 40;
  let i = 0;
  let j = 0;
  while (i < right.length || j < wrong.length) {
    if (right[i] === wrong[j]) {
      i++;
      j++;
      continue;
    }
    let [skipRight, skipWrong] = [1, 1];
    search: for (let sum = 1; sum < REACH; sum++) {
      for (let a = 0; a <= sum; a++) {
        if (right[i + a] !== undefined && right[i + a] === wrong[j + sum - a]) {
          [skipRight, skipWrong] = [a, sum - a];
          break search;
        }
      }
    }
    for (let k = 0; k < Math.max(skipRight, skipWrong); k++) {
      differences.push([k < skipRight ? right[i + k] : undefined, k < skipWrong ? wrong[j + k] : undefined]);
    }
    i += skipRight;
    j += skipWrong;
  }
  return differences;
}

/** @returns one cell of the table */
async function compare(program, name) {
  const file = join(BUILT, name, program.name);
  try {
    const native = await transcriptOf(program, TOOLCHAINS[name].native);
    const tested = await transcriptOf(program, name);
    const all = differencesOf(native.lines, tested.lines);
    const differences = all.filter(([right, wrong]) => !isAccepted(program.name, name, right, wrong));
    const shown = differences.map(([right, wrong]) => `- ${right ?? ''}\n+ ${wrong ?? ''}\n`).join('');
    writeFileSync(`${file}.diff`, `${shown}${tested.errors}`);
    const accepted = all.length > differences.length ? `, ${all.length - differences.length} as accepted.js says` : '';
    const ok = differences.length === 0;
    const text = (ok ? 'equal' : `${differences.length} lines differ`) + accepted;
    return { text, ok, lines: native.lines.length, ms: tested.ms };
  } catch (error) {
    writeFileSync(`${file}.diff`, String(error.message));
    return { text: error.message.split('\n')[0].slice(0, 70), ok: false, lines: 0, ms: 0 };
  }
}

const [toolchain, ...names] = process.argv.slice(2);
if (!(toolchain in TOOLCHAINS)) {
  console.error(`usage: run.js ${Object.keys(TOOLCHAINS).join('|')} [PROGRAM ...]`);
  process.exit(2);
}
const chosen = names.length > 0 ? (program) => names.includes(program.name) : (program) => !program.package;
let failed = 0;
for (const program of PROGRAMS.filter(chosen)) {
  if (program.on !== undefined && !program.on.includes(toolchain)) continue;
  if (TOOLCHAINS[toolchain].builds?.(program) === false) continue;
  const { text, ok, lines, ms } = await compare(program, toolchain);
  if (!ok) failed++;
  const figures = `${String(lines).padStart(6)} lines ${String(ms).padStart(7)} ms`;
  console.log(`${toolchain.padEnd(11)}${program.name.padEnd(14)}${figures}  ${text}`);
}
process.exitCode = failed === 0 ? 0 : 1;
