/**
 * Lines of native transcripts that may differ, and why. Everything else must be equal.
 * `on` are toolchains; `line` matches the native line, `other` the program's.
 */
const ACCEPTED = [
  {
    program: 'paths',
    on: ['zig', 'clang', 'hosted', 'mounted'],
    line: /^closed, .*: openat/,
    why: 'wasi-libc looks at the descriptor before the path',
  },
  {
    program: 'paths',
    on: ['zig', 'clang', 'hosted', 'mounted'],
    line: /^(cwd, )?"": /,
    why: 'wasi-libc takes an empty path for the working directory',
  },
  {
    program: 'paths',
    on: ['zig', 'clang', 'hosted', 'mounted'],
    line: /^(\w+, )?"\/": (unlinkat REMOVEDIR|.*remove)/,
    why: 'wasi-libc turns "/" into "."',
  },
  {
    program: 'paths',
    on: ['zig', 'clang', 'emscripten', 'hosted', 'mounted'],
    line: /^\w+, "\/": (renameat|linkat).*EXDEV/,
    why: 'natively, "/" is another file system',
  },
  {
    program: 'open',
    on: ['zig', 'clang', 'hosted', 'mounted'],
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
    on: ['zig', 'clang', 'emscripten', 'hosted', 'mounted'],
    line: /^removed, "(\.\.\/?|256 bytes|[\w-]+\/)": /,
    why: 'Linux lets ".." lead out of a directory that was removed, and finds errors in paths there in another order',
  },
  {
    program: '*',
    on: ['hosted', 'mounted'],
    line: /./,
    other: /errno 76/, // ENOTCAPABLE
    why: 'a hosted program cannot leave the directories that it was given',
  },
  {
    program: '*',
    on: ['hosted', 'mounted'],
    line: /^\w+, .*: linkat from FOLLOW/,
    other: /: EINVAL$/,
    why: 'a hosted program cannot link to what a link leads to; the WASI test suite wants that',
  },
  {
    program: 'io',
    on: ['hosted', 'mounted'],
    line: /^(p?read\(fd, buffer, 1(, 0)?\): EISDIR|ftruncate\(fd, 1\): EINVAL)$/,
    other: /: EBADF$/,
    why: 'the descriptor of a directory has no right to read bytes',
  },
  {
    program: 'open',
    on: ['hosted', 'mounted'],
    line: /^open (to-)?dir.*: d0 read EISDIR /,
    other: /: d0 read EBADF /,
    why: 'the descriptor of a directory has no right to read bytes',
  },
  {
    program: 'io',
    on: ['mounted'],
    line: /\.\d{9}|now$/,
    why: 'times that are set in a mount have microseconds',
  },
];

export const isAccepted = (program, toolchain, line, other) =>
  ACCEPTED.some(
    (one) =>
      (one.program === program || one.program === '*') &&
      one.on.includes(toolchain) &&
      line !== undefined &&
      one.line.test(line) &&
      (one.other?.test(other) ?? true),
  );
