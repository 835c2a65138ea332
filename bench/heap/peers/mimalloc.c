/*
 * mimalloc 3 without Emscripten: its own part for WASI over sbrk(), and what that asks of a C library.
 *
 * Kinder to it than what Emscripten ships: its locks are real ones (WASI's build has locks that give up), and the clock
 * stands still, where Emscripten's port calls Date.now() for nearly every page that becomes free.
 */
#define MIMALLOC
#define __wasi__ 1
#define MI_USE_PTHREADS
#define MI_MALLOC_OVERRIDE
/* The least that it takes on 32 bits, in KiB; by default the first block costs 33 MiB. */
#define MI_DEFAULT_ARENA_RESERVE 8192
#include "libc.h"
#include "static.c"

int __dso_handle;

int clock_gettime(int clock, struct timespec *time) {
  (void)clock;
  *time = (struct timespec){1, 0};
  return 0;
}

int fputs(const char *text, FILE *file) {
  (void)text;
  (void)file;
  return 0;
}

char *getenv(const char *name) {
  (void)name;
  return NULL;
}

long strtol(const char *text, char **end, int base) {
  (void)base;
  *end = (char *)text;
  return 0;
}

size_t strlen(const char *text) {
  size_t length = 0;
  while (text[length] != 0) length++;
  return length;
}

int atexit(void (*function)(void)) {
  (void)function;
  return 0;
}

int __cxa_atexit(void (*function)(void *), void *argument, void *handle) {
  (void)function;
  (void)argument;
  (void)handle;
  return 0;
}

unsigned sleep(unsigned seconds) {
  (void)seconds;
  return 0;
}

void bench_thread_done(void) {
  mi_thread_done();
}
