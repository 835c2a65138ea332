/**
 * Gets the peers' sources and libraries, once, into build/bench-heap/sources; nothing is installed.
 *
 * Invariant: a folder that is there is complete: it gets its name when everything is in it. The file `version` in it
 * says what it is.
 */

import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const WORKSHOP = fileURLToPath(new URL('../../../build/bench-heap/', import.meta.url));
export const SOURCES = join(WORKSHOP, 'sources');

/** The crate brings mimalloc 3.3.2. */
const CRATE = 'libmimalloc-sys';
const CRATE_VERSION = '0.1.49';
const DEBIAN_LIBRARIES = 'usr/lib';
const TIME_LIMIT_MS = 300_000;

const ways = {
  emscripten: (folder) => {
    const { root, version } = debian(folder, 'emscripten', './usr/share/emscripten/system/lib/*malloc.c');
    const from = join(root, 'usr/share/emscripten/system/lib');
    for (const file of ['dlmalloc.c', 'emmalloc.c']) cpSync(join(from, file), join(folder, file));
    rmSync(root, { recursive: true });
    return `Emscripten ${version}`;
  },
  mimalloc: (folder) => {
    const vendor = crate(folder);
    const from = join(vendor, CRATE, 'c_src/mimalloc/v3');
    for (const part of ['include', 'src']) cpSync(join(from, part), join(folder, part), { recursive: true });
    rmSync(vendor, { recursive: true });
    const [, major, minor, patch] = /MI_MALLOC_VERSION\s+(\d)(\d\d)(\d\d)/.exec(
      readFileSync(join(folder, 'include/mimalloc.h'), 'utf8'),
    );
    return `mimalloc ${[major, minor, patch].map(Number).join('.')}`;
  },
  jemalloc: (folder) => `jemalloc ${library(folder, 'libjemalloc2', /^libjemalloc\.so\.\d+$/)}`,
  tcmalloc: (folder) =>
    `tcmalloc ${library(folder, 'libtcmalloc-minimal4', /^libtcmalloc_minimal\.so\.\d+\.\d+\.\d+$/)}`,
};

/** @returns the folder of a source, and its version; throws if it cannot be had */
export function fetchSource(source) {
  const folder = join(SOURCES, source);
  if (!existsSync(folder)) {
    mkdirSync(SOURCES, { recursive: true });
    const scratch = mkdtempSync(join(SOURCES, '.'));
    try {
      writeFileSync(join(scratch, 'version'), ways[source](scratch));
      renameSync(scratch, folder);
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  }
  return { folder, version: readFileSync(join(folder, 'version'), 'utf8') };
}

/** Unpacks the files of a Debian package that match a pattern of tar's. */
function debian(folder, name, pattern) {
  run(folder, 'apt-get', ['download', name]);
  const file = readdirSync(folder).find((entry) => entry.endsWith('.deb'));
  const root = join(folder, 'root');
  mkdirSync(root);
  const unpack = 'dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --wildcards --no-wildcards-match-slash "$3"';
  run(folder, 'sh', ['-c', unpack, 'sh', file, root, pattern]);
  const version = run(folder, 'dpkg-deb', ['-f', file, 'Version']).trim();
  rmSync(join(folder, file));
  return { root, version };
}

/** A shared library of a Debian package, as `library.so`. */
function library(folder, name, pattern) {
  const { root, version } = debian(folder, name, `./${DEBIAN_LIBRARIES}/*/*`);
  const files = readdirSync(join(root, DEBIAN_LIBRARIES), { recursive: true });
  const found = files.find((file) => pattern.test(file.split('/').at(-1)));
  cpSync(join(root, DEBIAN_LIBRARIES, found), join(folder, 'library.so'), { dereference: true });
  rmSync(root, { recursive: true });
  return version;
}

/** The sources of the crate, through cargo. */
function crate(folder) {
  const scratch = join(folder, 'crate');
  mkdirSync(scratch);
  const manifest = ['[package]', 'name = "peers"', 'version = "0.0.0"', '[lib]', 'path = "lib.rs"', '[dependencies]'];
  writeFileSync(join(scratch, 'Cargo.toml'), `${manifest.join('\n')}\n${CRATE} = "=${CRATE_VERSION}"\n`);
  writeFileSync(join(scratch, 'lib.rs'), '');
  run(scratch, 'cargo', ['vendor', '--quiet', '../vendor']);
  rmSync(scratch, { recursive: true });
  return join(folder, 'vendor');
}

function run(cwd, command, parameters) {
  return execFileSync(command, parameters, {
    cwd,
    timeout: TIME_LIMIT_MS,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
