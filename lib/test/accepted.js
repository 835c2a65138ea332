/**
 * Lines of native transcripts that may differ, and why. Everything else must be equal.
 * `on` are toolchains; `line` matches the native line.
 */
const ACCEPTED = [
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
];

export const isAccepted = (program, toolchain, line) =>
  ACCEPTED.some((one) => one.program === program && one.on.includes(toolchain) && line !== undefined && one.line.test(line));
