/*
 * guest: how the calls of preview1 reach the program's memory and its host.
 *
 * Linked: Plait is part of the program, or a native test plays both parts, and the program's memory is the core's own.
 * So an address of the program is a reference, and a copy is a load or a store.
 *
 * Hosted (PLAIT_WASI_HOSTED): the program is a module of its own, with a memory of its own. In wasm32 the functions
 * that reach it are imports, the bridge: one instance of the core serves one thread of a program, and is given the
 * bridge to that program's memory. Every address that a program passes is checked here, before the bridge uses it.
 *
 * Invariant: the imports of a hosted core never throw, because an exception through C would leave its stack behind.
 *
 * Whoever links the core defines the functions of the host.
 */
#ifndef PLAIT_WASI_GUEST_H
#define PLAIT_WASI_GUEST_H

#include "wasi.h"
#include "../fs/outside.h"

typedef uint32_t plait_guest_t; /* an address in the program's memory */

#ifdef PLAIT_WASI_HOSTED

/* The bridge, with the two functions of outside.h. What is read or written lies in the program's memory, but for `to`. */
PLAIT_GUEST(pages) uint32_t plait_guest_pages(void);     /* as this thread has observed */
PLAIT_GUEST(observe) uint32_t plait_guest_observe(void); /* the same, after asking the engine: see platform.h */
PLAIT_GUEST(load) uint32_t plait_guest_load(plait_guest_t at);
PLAIT_GUEST(store) void plait_guest_store(plait_guest_t at, uint32_t value);
PLAIT_GUEST(store64) void plait_guest_store64(plait_guest_t at, uint64_t value);
PLAIT_GUEST(get) void plait_guest_get(void *to, plait_guest_t at, uint32_t length);

/* Whether `length` bytes at the address lie in the program's memory. Another thread may have made it larger just now. */
static inline int guest_reaches(plait_guest_t at, uint64_t length) {
  uint64_t end = at + length;
  return end <= (uint64_t)plait_guest_pages() * PLAIT_PAGE_SIZE ||
      end <= (uint64_t)plait_guest_observe() * PLAIT_PAGE_SIZE;
}
static inline uint32_t guest_load(plait_guest_t at) {
  return plait_guest_load(at);
}
static inline uint64_t guest_load64(plait_guest_t at) {
  return plait_guest_load(at) | (uint64_t)plait_guest_load(at + 4) << 32;
}
static inline void guest_store(plait_guest_t at, uint32_t value) {
  plait_guest_store(at, value);
}
static inline void guest_store64(plait_guest_t at, uint64_t value) {
  plait_guest_store64(at, value);
}
static inline void guest_get(void *to, plait_guest_t at, uint32_t length) {
  if (length == 0) return;
  plait_platform_reach((uint8_t *)to + length - 1);
  plait_guest_get(to, at, length);
}
static inline void guest_put(plait_guest_t at, const void *from, uint32_t length) {
  if (length == 0) return;
  plait_platform_reach((const uint8_t *)from + length - 1);
  plait_outside_put(at, from, length);
}

/* As plait_fs_read_as() and plait_fs_write_as(), with the bytes in the program's memory. */
static inline int guest_read(int fd, uint32_t uses, plait_guest_t to, uint32_t length, double position) {
  return plait_fs_read_outside(fd, uses, to, length, position);
}
int guest_write(int fd, uint32_t uses, plait_guest_t from, uint32_t length, double position, double now);

#else

/*
 * Whether `length` bytes at the address lie in the program's memory. A linked program's own pointers are not checked:
 * what is outside the memory traps there.
 */
static inline int guest_reaches(plait_guest_t at, uint64_t length) {
  (void)at, (void)length;
  return 1;
}
static inline uint32_t guest_load(plait_guest_t at) {
  uint32_t value;
  __builtin_memcpy(&value, plait_at(at), 4);
  return value;
}
static inline uint64_t guest_load64(plait_guest_t at) {
  uint64_t value;
  __builtin_memcpy(&value, plait_at(at), 8);
  return value;
}
static inline void guest_store(plait_guest_t at, uint32_t value) {
  __builtin_memcpy(plait_at(at), &value, 4);
}
static inline void guest_store64(plait_guest_t at, uint64_t value) {
  __builtin_memcpy(plait_at(at), &value, 8);
}
static inline void guest_get(void *to, plait_guest_t at, uint32_t length) {
  plait_copy_near(to, plait_at(at), length);
}
static inline void guest_put(plait_guest_t at, const void *from, uint32_t length) {
  plait_copy_near(plait_at(at), from, length);
}

/* As plait_fs_read_as() and plait_fs_write_as(), with the bytes in the program's memory. */
static inline int guest_read(int fd, uint32_t uses, plait_guest_t to, uint32_t length, double position) {
  return plait_fs_read_as(fd, uses, to, length, position);
}
static inline int guest_write(int fd, uint32_t uses, plait_guest_t from, uint32_t length, double position, double now) {
  return plait_fs_write_as(fd, uses, from, length, position, now);
}

#endif

/* Milliseconds since 1970. */
double plait_wasi_now(void);

/*
 * Preview1's fd_read, fd_write, fd_fdstat_get and poll_oneoff of the host. The first three act on a stream of the
 * host (0 to 2), the last one on clocks and streams. They return preview1's errors.
 */
uint32_t plait_wasi_host_read(uint32_t stream, plait_guest_t iovs, uint32_t count, plait_guest_t read);
uint32_t plait_wasi_host_write(uint32_t stream, plait_guest_t iovs, uint32_t count, plait_guest_t written);
uint32_t plait_wasi_host_is_terminal(uint32_t stream);
uint32_t plait_wasi_host_poll(plait_guest_t in, plait_guest_t out, uint32_t count, plait_guest_t events);

#endif
