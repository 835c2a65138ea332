/** What does an allocator cost before it is used much: code, and memory for the first block? Wasm only. */

import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { measureFirstMalloc } from './measure/wasm.js';
import { familyFile, optimise } from './peers/build.js';
import { WASM } from './peers/index.js';
import { prepareEntrants } from './questions/workload.js';

export default {
  title: 'The malloc family alone in a module; memory after the first malloc(64), over a program without an allocator',
  entrants: [],
  columns: [
    { key: 'linked', label: 'as linked, bytes', digits: 0 },
    { key: 'code', label: 'after wasm-opt -O2, bytes', digits: 0, ratio: true },
    { key: 'packed', label: 'gzip, bytes', digits: 0 },
    { key: 'first', label: 'first malloc, KiB', digits: 0 },
  ],

  prepare() {
    const { entrants, versions } = prepareEntrants(WASM);
    const files = Object.fromEntries(entrants.map(({ allocator }) => [allocator, familyFile(allocator)]));
    this.entrants.push(...entrants);
    return { files, none: familyFile(), versions };
  },

  measure(entrant, { files, none }) {
    const linked = [files[entrant.allocator], none];
    const [ours, nothing] = linked.map((file) => readFileSync(optimise(file)));
    const packed = (bytes) => gzipSync(bytes, { level: 9 }).length;
    return {
      linked: readFileSync(linked[0]).length - readFileSync(linked[1]).length,
      code: ours.length - nothing.length,
      packed: packed(ours) - packed(nothing),
      first: measureFirstMalloc(entrant) / 1024,
    };
  },

  conclude: (rows, { versions }) => ({ rows, notes: [], versions, threads: 'one thread' }),
};
