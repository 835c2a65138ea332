/*
 * hosted: the calls of preview1 that are not about files: arguments, environment, random numbers, the end. A linked
 * program leaves them to its host.
 */
#include "host.h"
#include "preview1.h"
#include "program.h"

PLAIT_COLD_BEGIN

static uint32_t sizes_get(const struct plait_program_strings *strings, plait_guest_t count, plait_guest_t bytes) {
  if (!guest_reaches(count, 4) || !guest_reaches(bytes, 4)) return PREVIEW1_FAULT;
  guest_store(count, plait_get(&strings->count));
  guest_store(bytes, plait_get(&strings->bytes));
  return 0;
}

static uint32_t strings_get(const struct plait_program_strings *strings, plait_guest_t table, plait_guest_t to) {
  uint32_t count = plait_get(&strings->count), bytes = plait_get(&strings->bytes);
  if (!guest_reaches(table, (uint64_t)count * 4) || !guest_reaches(to, bytes)) return PREVIEW1_FAULT;
  const uint8_t *text = plait_at(plait_get(&strings->block));
  guest_put(to, text, bytes);
  for (uint32_t i = 0, at = 0; i < count; i++) {
    guest_store(table + 4 * i, to + at);
    while (text[at++] != 0) continue;
  }
  return 0;
}

PLAIT_EXPORT uint32_t plait_preview1_args_sizes_get(plait_guest_t count, plait_guest_t bytes) {
  PREVIEW1_ENTER;
  return sizes_get(&plait_program_current()->arguments, count, bytes);
}

PLAIT_EXPORT uint32_t plait_preview1_args_get(plait_guest_t table, plait_guest_t to) {
  PREVIEW1_ENTER;
  return strings_get(&plait_program_current()->arguments, table, to);
}

PLAIT_EXPORT uint32_t plait_preview1_environ_sizes_get(plait_guest_t count, plait_guest_t bytes) {
  PREVIEW1_ENTER;
  return sizes_get(&plait_program_current()->environment, count, bytes);
}

PLAIT_EXPORT uint32_t plait_preview1_environ_get(plait_guest_t table, plait_guest_t to) {
  PREVIEW1_ENTER;
  return strings_get(&plait_program_current()->environment, table, to);
}

PLAIT_EXPORT uint32_t plait_preview1_random_get(plait_guest_t to, uint32_t length) {
  PREVIEW1_ENTER;
  if (!guest_reaches(to, length)) return PREVIEW1_FAULT;
  uint8_t *scratch = plait_at(plait_program_scratch());
  for (uint32_t part; length != 0; to += part, length -= part) {
    part = length < PLAIT_FS_SCRATCH ? length : PLAIT_FS_SCRATCH;
    plait_host_random(scratch, part);
    guest_put(to, scratch, part);
  }
  return 0;
}

/* Threads of a program are the system's: it needs no help. */
PLAIT_EXPORT uint32_t plait_preview1_sched_yield(void) {
  PREVIEW1_ENTER;
  return 0;
}

/*
 * Ends the program and this thread, by a trap: no handler of the program can catch that, as it could an exception of
 * JavaScript. The thread's host finds `end` set.
 */
PLAIT_EXPORT void plait_preview1_proc_exit(uint32_t status) {
#ifdef __wasm__
  if (plait_wasi_is_over()) __builtin_trap();
#endif
  plait_program_end(plait_ref(plait_program_current()), status, 0);
#ifdef __wasm__
  __builtin_trap();
#endif
}

PLAIT_EXPORT uint32_t plait_preview1_proc_raise(uint32_t signal) {
  PREVIEW1_ENTER;
  return (void)signal, PREVIEW1_ENOTSUP;
}

/* No descriptor is a socket. */
static uint32_t no_socket(uint32_t fd) {
  struct plait_wasi_descriptor found;
  uint32_t error = plait_preview1_find(fd, 0, &found);
  return error != 0 ? error : PREVIEW1_NOTSOCK;
}

PLAIT_EXPORT uint32_t plait_preview1_sock_accept(uint32_t fd, uint32_t flags, plait_guest_t to) {
  PREVIEW1_ENTER;
  return (void)flags, (void)to, no_socket(fd);
}

PLAIT_EXPORT uint32_t plait_preview1_sock_recv(
    uint32_t fd, plait_guest_t iovs, uint32_t count, uint32_t flags, plait_guest_t read, plait_guest_t out_flags) {
  PREVIEW1_ENTER;
  return (void)iovs, (void)count, (void)flags, (void)read, (void)out_flags, no_socket(fd);
}

PLAIT_EXPORT uint32_t plait_preview1_sock_send(
    uint32_t fd, plait_guest_t iovs, uint32_t count, uint32_t flags, plait_guest_t written) {
  PREVIEW1_ENTER;
  return (void)iovs, (void)count, (void)flags, (void)written, no_socket(fd);
}

PLAIT_EXPORT uint32_t plait_preview1_sock_shutdown(uint32_t fd, uint32_t how) {
  PREVIEW1_ENTER;
  return (void)how, no_socket(fd);
}

PLAIT_COLD_END
