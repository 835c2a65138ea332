/** How large are the allocators' code, and a whole program with files? Bytes of the Wasm module. */

import { statSync } from 'node:fs';
import { buildAll, FILES, HEAPS } from './questions/emscripten.js';

const NOTHING = { name: 'none', flags: ['-sMALLOC=none', '-sERROR_ON_UNDEFINED_SYMBOLS=0', '-Wno-undefined'] };
const FLAGS = ['-O3', '-pthread'];

const bytesOf = ({ file }) => statSync(file.replace(/\.js$/, '.wasm')).size;

export default {
  title: 'The malloc family beyond a module without one; a module of files.c with its heap and its files',
  entrants: [],
  columns: [
    { key: 'heap', label: 'malloc family, bytes', digits: 0, ratio: true },
    { key: 'module', label: 'heap and files, bytes', digits: 0, ratio: true },
  ],

  prepare() {
    const heaps = buildAll('family', [...HEAPS, NOTHING], FLAGS);
    const files = buildAll('files', FILES, [...FLAGS, '-sFORCE_FILESYSTEM']);
    const none = bytesOf(heaps.entrants.pop());
    const samples = Object.fromEntries(heaps.entrants.map((each) => [each.name, { heap: bytesOf(each) - none }]));
    for (const each of files.entrants) samples[each.name] = { ...samples[each.name], module: bytesOf(each) };
    this.entrants.push(...Object.keys(samples).map((name) => ({ name })));
    return { versions: files.versions, samples };
  },

  measure: ({ name }, { samples }) => samples[name],

  conclude: (rows, { versions }) => ({ rows, notes: [], versions, threads: 'no thread' }),
};
