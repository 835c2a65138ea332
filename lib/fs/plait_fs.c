/*
 * plait_fs: libplait_fs as one translation unit: the heap as malloc, and files in the memory of the program that links
 * it. docs/guide/linked-files.md says how to build and link.
 *
 * The program's C library calls preview1 (wasi-libc) or Linux's system calls (Emscripten). The functions that it would
 * import from its host are defined here: calls.c, and lib/emscripten/. What stays the host's are clocks, random
 * numbers, arguments, the end of the program and the standard streams.
 */
#define PLAIT_FS_MOUNTS 0 /* nothing is mounted in the memory of a program */
#include "../heap/malloc.c"

#ifdef __clang__
#pragma clang diagnostic ignored "-Wundefined-internal" /* functions of mounts, whose calls are not compiled */
#endif

PRIVATE_BEGIN
#include "../../core/fs/journal.c"
#include "../../core/fs/items.c"
#include "../../core/fs/open_file.c"
#include "../../core/fs/directory.c"
#include "../../core/fs/path.c"
#include "../../core/fs/contents.c"
#include "../../core/fs/ranges.c"
#include "no_mounts.c"
#include "../../core/fs/tree.c"
#include "../../core/fs/open.c"
#include "../../core/wasi/descriptors.c"
#include "../../core/wasi/preview1_error.c"
#include "../../core/wasi/preview1_files.c"
#ifndef __EMSCRIPTEN__
#include "../../core/wasi/preview1_paths.c"
#include "../../core/wasi/preview1_poll.c"
#endif

PRIVATE_END

#ifdef __EMSCRIPTEN__
#include "../emscripten/input.c"
#endif
#include "tar.c"
#include "linked.c"
#include "calls.c"
#include "javascript.c"
#ifdef __EMSCRIPTEN__
#include "../emscripten/paths.c"
#include "../emscripten/files.c"
#include "../emscripten/mmap.c"
#else
#include "wasix.c"
#endif
