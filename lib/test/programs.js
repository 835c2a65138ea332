/**
 * The test programs: {name, sources, flags, wasi, args, threads, long, strict}. Without `sources` it is NAME.c.
 * `wasi` are flags for wasi-libc alone. `threads` needs pthreads. `long` ones run only when they are named.
 */
export const PROGRAMS = [
  { name: 'open' },
  { name: 'paths' },
  { name: 'io' },
  { name: 'names' },
  { name: 'directories' },
  { name: 'deep' },
  { name: 'descriptors' },
  { name: 'stdio' },
  { name: 'threads', threads: true },
];
