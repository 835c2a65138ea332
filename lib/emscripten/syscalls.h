/*
 * syscalls: what the files of the Emscripten form share. Emscripten's C library is musl. It calls Linux's system calls
 * as functions, __syscall_NAME, and preview1's as __wasi_NAME. With -sFILESYSTEM they are JavaScript's, and a thread
 * asks the main thread for each; here they are defined in the program, for every thread.
 *
 * A function below returns a negative error of the core; SYSCALL makes it the C library's, whose numbers are preview1's.
 */
#ifndef PLAIT_EMSCRIPTEN_SYSCALLS_H
#define PLAIT_EMSCRIPTEN_SYSCALLS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <wasi/api.h>

#define SYSCALL(expression)                              \
  do {                                                   \
    int how = begin();                                   \
    if (how == 0) return -ENOMEM;                        \
    int rc = (expression);                               \
    done(how);                                           \
    return rc < 0 ? -(int)plait_preview1_error(rc) : rc; \
  } while (0)

#define FLAG_CLOEXEC 256u     /* beside preview1's fdflags */
#define ALL_RIGHTS UINT64_MAX /* the access mode of the opening decides */

#endif
