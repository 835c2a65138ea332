/*
 * libc: the little of a C library that the peers' sources ask for, under every header name that they include.
 *
 * The mutex is a real one, as pthread_mutex_t is in Emscripten: a compare-and-swap when it is free, a short spin, then
 * memory.atomic.wait32. Copying and filling are the processor's own (bulk memory), not calls.
 */
#ifndef BENCH_LIBC_H
#define BENCH_LIBC_H

/* As Emscripten's ABI has it; wasm32-freestanding would say 16, because of its long double. */
#define __CLANG_MAX_ALIGN_T_DEFINED
typedef struct {
  _Alignas(8) long long value;
} max_align_t;

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define assert(condition) ((void)0)
#define static_assert _Static_assert

#define memcpy(to, from, count) __builtin_memcpy(to, from, count)
#define memmove(to, from, count) __builtin_memmove(to, from, count)
#define memset(to, byte, count) __builtin_memset(to, byte, count)

#define _SC_PAGE_SIZE 30 /* so that dlmalloc asks for Emscripten's page of 4096 */
#define EXIT_FAILURE 1
#define ENOENT 2
#define EAGAIN 11
#define ENOMEM 12
#define EFAULT 14
#define EINVAL 22
#define ENOSYS 38
#define EOVERFLOW 75
extern _Thread_local int bench_errno;
#define errno bench_errno

void *sbrk(intptr_t increment);
_Noreturn void abort(void);

typedef struct {
  _Atomic uint32_t word; /* 0 free, 1 held, 2 held and perhaps waited for */
} pthread_mutex_t;
typedef int pthread_mutexattr_t;
#define PTHREAD_MUTEX_INITIALIZER {0}
int pthread_mutex_wait(pthread_mutex_t *mutex);

static inline int pthread_mutex_trylock(pthread_mutex_t *mutex) {
  uint32_t expected = 0;
  return !__c11_atomic_compare_exchange_strong(&mutex->word, &expected, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline int pthread_mutex_lock(pthread_mutex_t *mutex) {
  return pthread_mutex_trylock(mutex) == 0 ? 0 : pthread_mutex_wait(mutex);
}

static inline int pthread_mutex_unlock(pthread_mutex_t *mutex) {
  if (__c11_atomic_exchange(&mutex->word, 0, __ATOMIC_RELEASE) == 2)
    __builtin_wasm_memory_atomic_notify((int *)(void *)&mutex->word, 1);
  return 0;
}

static inline int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes) {
  (void)attributes;
  __c11_atomic_store(&mutex->word, 0, __ATOMIC_RELAXED);
  return 0;
}

static inline int pthread_mutexattr_init(pthread_mutexattr_t *attributes) {
  *attributes = 0;
  return 0;
}

static inline int pthread_mutexattr_destroy(pthread_mutexattr_t *attributes) {
  (void)attributes;
  return 0;
}

static inline int pthread_mutex_destroy(pthread_mutex_t *mutex) {
  (void)mutex;
  return 0;
}

/* Named by functions that nobody calls. */
#ifdef EMMALLOC
struct mallinfo {
  int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
size_t emscripten_get_heap_size(void);
size_t emscripten_get_heap_max(void);
#endif

/* What Emscripten's hooks for tracing are in a build without them. */
#define emscripten_trace_record_allocation(address, size) ((void)0)
#define emscripten_trace_record_reallocation(old, new, size) ((void)0)
#define emscripten_trace_record_free(address) ((void)0)
#define MAIN_THREAD_ASYNC_EM_ASM(...) ((void)0)
#define EM_ASM(...) ((void)0)

/* mimalloc only */
#ifdef MIMALLOC
typedef int wchar_t;
typedef int FILE;
#define stdout ((FILE *)0)
#define stderr ((FILE *)0)
#define CLOCK_MONOTONIC 1
struct timespec {
  long long tv_sec;
  long tv_nsec;
};
int clock_gettime(int clock, struct timespec *time);
int fputs(const char *text, FILE *file);
char *getenv(const char *name);
long strtol(const char *text, char **end, int base);
size_t strlen(const char *text);
int atexit(void (*function)(void));
unsigned sleep(unsigned seconds);
#endif

#endif
