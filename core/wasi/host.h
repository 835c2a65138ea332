/*
 * host: what the host of a hosted program provides. In wasm32 they are imports of module host, which never throw.
 * Addresses are the core's: the bytes go through the calling thread's scratch block, because JavaScript never writes
 * into the memory of a program.
 */
#ifndef PLAIT_WASI_HOST_H
#define PLAIT_WASI_HOST_H

#include "../platform/platform.h"

#ifdef __wasm__
#define PLAIT_HOST(name) __attribute__((import_module("host"), import_name(#name)))
#else
#define PLAIT_HOST(name)
#endif

/* The time of a clock of preview1 in milliseconds; negative: there is no such clock. */
PLAIT_HOST(clock) double plait_host_clock(uint32_t id);

/* Fills the bytes from the host's generator. */
PLAIT_HOST(random) void plait_host_random(void *to, uint32_t length);

/* Reads from, or writes to, a file descriptor of the host, and waits for it: the number of bytes, or a negative errno. */
PLAIT_HOST(read) int plait_host_read(uint32_t descriptor, void *to, uint32_t length);
PLAIT_HOST(write) int plait_host_write(uint32_t descriptor, const void *from, uint32_t length);

/* Whether the descriptor is that of a terminal. */
PLAIT_HOST(terminal) int plait_host_terminal(uint32_t descriptor);

enum { CLOCK_REALTIME_ID = 0, CLOCK_MONOTONIC_ID = 1, CLOCK_IDS = 4 }; /* preview1's clocks */

#endif
