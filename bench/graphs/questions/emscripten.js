/**
 * Programs built by Emscripten 6 in the change-root that tools/emscripten-root.sh makes, and run on this Node.
 *
 * An entrant is a set of flags: the same program with another allocator or other files.
 */

import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { mayFail, reasonOf } from '../../harness/failure.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const PROGRAMS = join(ROOT, 'bench/graphs/programs');
const BUILT = join(ROOT, 'build/graphs');
const PORT = join(ROOT, 'lib/emscripten/plait.py');
const FILES_OF_PLAIT = join(ROOT, 'lib/emscripten/fs.c');

/** The program's own thread limit. */
const THREAD_LIMIT = 8;
/** 1, 2, 3, 4, and on larger machines 6 and 8. */
export const THREADS = [1, 2, 3, 4, 6, 8].filter((count) => count <= Math.max(4, availableParallelism()));

/** Memory of a fixed size, and the threads are there when main starts: neither is what is measured. */
export const THREADED = words(`-O3 -pthread -sPTHREAD_POOL_SIZE=${THREAD_LIMIT} -sINITIAL_MEMORY=512MB`);

export const HEAPS = [
  { name: 'plait', flags: [`--use-port=${PORT}`] },
  { name: 'dlmalloc', flags: [] },
  { name: 'emmalloc', flags: ['-sMALLOC=emmalloc'] },
  { name: 'mimalloc', flags: ['-sMALLOC=mimalloc'] },
];

export const FILES = [
  ...(existsSync(FILES_OF_PLAIT) ? [{ name: 'plait', flags: [`--use-port=${PORT}:files=1`] }] : []),
  { name: 'WasmFS', flags: words('-sWASMFS -sMALLOC=mimalloc') },
  { name: 'JavaScript FS', flags: [] },
];

const execute = promisify(execFile);

/** Builds a program for each entrant, with `file` as its path. @returns { entrants, versions } */
export function buildAll(source, entrants, flags, sources = []) {
  execFileSync(join(ROOT, 'tools/emscripten-root.sh'), { cwd: ROOT, stdio: 'inherit' });
  mkdirSync(BUILT, { recursive: true });
  writeFileSync(join(BUILT, 'package.json'), '{ "type": "commonjs" }'); // as Emscripten writes, unlike this package
  const built = entrants.map((entrant) => {
    const file = join(BUILT, `${source}-${entrant.name.replaceAll(' ', '-')}.js`);
    const inputs = [join(PROGRAMS, `${source}.c`), ...sources.map((path) => join(ROOT, path))];
    inside(['emcc', ...inputs, ...flags, ...entrant.flags, '-o', file]);
    return { ...entrant, file };
  });
  return { entrants: built, versions: { Emscripten: inside(['emcc', '-dumpversion']).trim() } };
}

/** Runs a program. @returns the sample that it prints; it ends with another code than 0 if an answer was wrong */
export async function sampleOf(file, ...parameters) {
  const running = execute(process.execPath, [file, ...parameters.map(String)]);
  const { stdout } = await running.catch((error) => {
    throw new Error(error.stderr.trim() || error.message);
  });
  return JSON.parse(stdout);
}

/** A sample with a part per number of threads: `run(count)` gives { ns }. */
export async function sampleEach(entrant, threads, run) {
  const sample = {};
  for (const count of threads) {
    try {
      sample[`ns${count}`] = (await run(count)).ns;
    } catch (error) {
      if (!mayFail(entrant)) throw error;
      sample[`ns${count}`] = reasonOf(error);
    }
  }
  return sample;
}

export const columnsOf = (threads, digits) =>
  threads.map((count) => ({
    key: `ns${count}`,
    label: `${count} ${count === 1 ? 'thread' : 'threads'}, ns`,
    digits,
    ratio: true,
  }));

/** A question that runs one program on each number of threads. */
export function threadedQuestion({ title, source, sources, entrants, digits, threads = THREADS, parameters = [] }) {
  return {
    title,
    entrants: [],
    columns: columnsOf(threads, digits),

    prepare() {
      const built = buildAll(source, entrants, THREADED, sources);
      this.entrants.push(...built.entrants);
      return { versions: built.versions };
    },

    measure: (entrant) => sampleEach(entrant, threads, (count) => sampleOf(entrant.file, ...parameters, count)),

    conclude: (rows, { versions }) => ({ rows, notes: [], versions, threads: `${threads.join(', ')} threads` }),
  };
}

function inside(command) {
  return execFileSync(join(ROOT, 'tools/emscripten-run.sh'), command, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

function words(text) {
  return text.split(' ');
}
