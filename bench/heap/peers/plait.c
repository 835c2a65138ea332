/*
 * Plait's heap comes as an archive. It wants to hear of a thread's end, and the two functions that any C compiler asks
 * of a program; with bulk memory each is one instruction, not a call of itself.
 */
#include <stddef.h>

void plait_heap_thread_done(void);
void bench_thread_done(void);

void bench_thread_done(void) {
  plait_heap_thread_done();
}

__attribute__((weak)) void *memcpy(void *restrict to, const void *restrict from, size_t count) {
  return __builtin_memcpy(to, from, count);
}

__attribute__((weak)) void *memset(void *to, int byte, size_t count) {
  return __builtin_memset(to, byte, count);
}
