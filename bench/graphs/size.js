/** How large are the allocators' code, and a whole program with files? Bytes of the Wasm module. */

import { statSync } from 'node:fs';
import { buildAll, FILES, HEAPS } from './questions/emscripten.js';

const NOTHING = {
  name: 'none',
  flags: ['-sMALLOC=none', '-sERROR_ON_UNDEFINED_SYMBOLS=0', '-sWARN_ON_UNDEFINED_SYMBOLS=0'],
};

const bytesOf = ({ file }) => statSync(file.replace(/\.js$/, '.wasm')).size;

/** Each allocator's code: the module of family.c, less the one without an allocator. */
function codeOf(flags) {
  const { entrants } = buildAll('family', [...HEAPS, NOTHING], flags);
  const none = bytesOf(entrants.at(-1));
  return Object.fromEntries(HEAPS.map(({ name }, i) => [name, bytesOf(entrants[i]) - none]));
}

export default {
  title: 'Code of the malloc family; a module of files.c with its heap and its files',
  entrants: [],
  columns: [
    { key: 'single', label: 'malloc family, bytes', digits: 0, ratio: true },
    { key: 'threaded', label: 'with -pthread, bytes', digits: 0, ratio: true },
    { key: 'module', label: 'heap and files, bytes', digits: 0, ratio: true },
  ],

  prepare() {
    const single = codeOf(['-O2', '-sALLOW_MEMORY_GROWTH']);
    const threaded = codeOf(['-O2', '-pthread']);
    const files = buildAll('files', FILES, ['-O2', '-pthread']);
    const modules = Object.fromEntries(files.entrants.map((each) => [each.name, bytesOf(each)]));
    const names = new Set([...Object.keys(single), ...Object.keys(modules)]);
    const samples = [...names].map((name) => [
      name,
      { single: single[name], threaded: threaded[name], module: modules[name] },
    ]);
    this.entrants.push(...[...names].map((name) => ({ name })));
    return { versions: files.versions, samples: Object.fromEntries(samples) };
  },

  measure: ({ name }, { samples }) => samples[name],

  conclude: (rows, { versions }) => ({ rows, notes: [], versions, threads: 'no thread' }),
};
