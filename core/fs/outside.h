/*
 * outside: reading into memory that is not the space's: that of a program which runs over the core (module wasi). What
 * links the core with PLAIT_WASI_HOSTED defines the two functions; in wasm32 they are imports. They copy, and do nothing
 * else. The caller has checked that the memory reaches that far.
 */
#ifndef PLAIT_FS_OUTSIDE_H
#define PLAIT_FS_OUTSIDE_H

#include "../platform/platform.h"

#ifdef __wasm__
#define PLAIT_GUEST(name) __attribute__((import_module("guest"), import_name(#name)))
#else
#define PLAIT_GUEST(name)
#endif
PLAIT_GUEST(put) void plait_outside_put(uint32_t to, const void *from, uint32_t length);
PLAIT_GUEST(zero) void plait_outside_zero(uint32_t to, uint32_t length);

/* As plait_fs_read_as(), but `to` is an address outside. Bytes arrive as they were at one instant, with one copy. */
int plait_fs_read_outside(int fd, uint32_t uses, uint32_t to, uint32_t length, double position);

#endif
