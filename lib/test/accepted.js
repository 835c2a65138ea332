/**
 * Lines of native transcripts that may differ, and why. Everything else must be equal.
 * `on` are toolchains; `line` matches the native line.
 */
const ACCEPTED = [
  {
    program: 'paths',
    on: ['zig', 'clang'],
    line: /^closed, .*: openat/,
    why: 'wasi-libc looks at the descriptor before the path',
  },
  {
    program: 'paths',
    on: ['zig', 'clang'],
    line: /^(cwd, )?"": /,
    why: 'wasi-libc takes an empty path for the working directory',
  },
  {
    program: 'paths',
    on: ['zig', 'clang'],
    line: /^(\w+, )?"\/": (unlinkat REMOVEDIR|.*remove)/,
    why: 'wasi-libc turns "/" into "."',
  },
  {
    program: 'paths',
    on: ['zig', 'clang', 'emscripten'],
    line: /^\w+, "\/": (renameat|linkat).*EXDEV/,
    why: 'natively, "/" is another file system',
  },
  {
    program: 'open',
    on: ['zig', 'clang'],
    line: /^open .*(WRONLY|RDWR).*DIRECTORY/,
    why: 'preview1 cannot say which error comes first if a directory is to be opened for writing',
  },
  {
    program: 'io',
    on: ['clang'],
    line: /^(utimensat|futimens) (\d [45]|[45] \d): /,
    why: "Debian's wasi-libc refuses UTIME_NOW and UTIME_OMIT",
  },
  {
    program: 'descriptors',
    on: ['emscripten'],
    line: /^isatty\([01]\): 0/,
    why: 'Emscripten takes each standard stream for a terminal',
  },
  {
    program: 'paths',
    on: ['zig', 'clang', 'emscripten'],
    line: /^removed, "(\.\.\/?|256 bytes|[\w-]+\/)": /,
    why: 'Linux lets ".." lead out of a directory that was removed, and finds errors in paths there in another order',
  },
];

export const isAccepted = (program, toolchain, line) =>
  ACCEPTED.some(
    (one) => one.program === program && one.on.includes(toolchain) && line !== undefined && one.line.test(line),
  );
