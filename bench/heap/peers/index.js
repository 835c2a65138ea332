/**
 * The allocators. In Wasm each is linked with the workload; natively the workload runs with each in front of the C
 * library's own.
 *
 *     name        as the tables say it; `plait` is what the others are compared with
 *     host        'wasm' or 'native'
 *     allocator   the name of its files
 *     source      what it must have: how to get it is in fetch.js
 */

export const WASM = [
  { name: 'plait', host: 'wasm', allocator: 'plait' },
  { name: 'dlmalloc', host: 'wasm', allocator: 'dlmalloc', source: 'emscripten' },
  { name: 'emmalloc', host: 'wasm', allocator: 'emmalloc', source: 'emscripten' },
  { name: 'mimalloc', host: 'wasm', allocator: 'mimalloc', source: 'mimalloc' },
];

export const NATIVE = [
  { name: 'native plait', host: 'native', allocator: 'plait' },
  { name: 'native glibc', host: 'native', allocator: 'glibc' },
  { name: 'native mimalloc', host: 'native', allocator: 'mimalloc', source: 'mimalloc' },
  { name: 'native jemalloc', host: 'native', allocator: 'jemalloc', source: 'jemalloc' },
  { name: 'native tcmalloc', host: 'native', allocator: 'tcmalloc', source: 'tcmalloc' },
];

export const ALL = [...WASM, ...NATIVE];
