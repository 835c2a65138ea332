/*
 * plait_fs: libplait_fs as one translation unit: the heap as malloc, and files in the memory of the program that links
 * it. docs/guide/files.md says how to build and link.
 *
 * The program's C library calls preview1 (wasi-libc) or Linux's system calls (Emscripten). The functions that it would
 * import from its host are defined here: calls.c, and lib/emscripten/. What stays the host's are clocks, random
 * numbers, arguments, the end of the program and the standard streams.
 */
#include "../heap/malloc.c"

#include "fs/journal.c"
#include "fs/items.c"
#include "fs/open_file.c"
#include "fs/directory.c"
#include "fs/path.c"
#include "fs/contents.c"
#include "fs/ranges.c"
#include "fs/mounts.c"
#include "fs/tree.c"
#include "fs/open.c"
#include "wasi/descriptors.c"
#include "wasi/preview1_files.c"
#ifndef __EMSCRIPTEN__
#include "wasi/preview1_paths.c"
#include "wasi/preview1_poll.c"
#endif

#include "tar.c"
#include "linked.c"
#include "calls.c"
#ifdef __EMSCRIPTEN__
#include "../emscripten/paths.c"
#include "../emscripten/files.c"
#include "../emscripten/mmap.c"
#endif
