/*
 * platform for a native process: the space is a shared anonymous mapping of its whole maximum size. The kernel commits
 * each OS page when it is first touched.
 *
 * Invariants: the first 64 bytes of the mapping hold `struct posix_head`, so that processes agree on the size. The
 * mapping starts at a multiple of its size, rounded up to a power of two. So a reference is aligned as its address is.
 */
#ifndef __wasm__

#define _GNU_SOURCE
#include "posix.h"

#include <errno.h>
#include <limits.h>
#include <sys/mman.h>
#include <time.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#ifdef MAP_NORESERVE
# define NO_RESERVE MAP_NORESERVE
#else
# define NO_RESERVE 0
#endif

struct posix_head {
  plait_word_t pages;
  uint32_t maximum;
};

uint8_t *plait_platform_base;

static struct posix_head *posix_head(void) {
  return (struct posix_head *)plait_platform_base;
}

/* Addresses for `bytes` bytes at a multiple of `alignment`, a power of two; NULL if there are none. */
static uint8_t *reserve(size_t bytes, size_t alignment) {
  uint8_t *range = mmap(NULL, bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | NO_RESERVE, -1, 0);
  if (range == MAP_FAILED) return NULL;
  size_t front = (0 - (uintptr_t)range) & (alignment - 1);
  if (front != 0) munmap(range, front);
  munmap(range + front + bytes, alignment - front);
  return range + front;
}

static int map(uint32_t initial, uint32_t maximum, int flags) {
  if (initial == 0 || initial > maximum || maximum > 65536) return -PLAIT_EINVAL;
  size_t bytes = (size_t)maximum * PLAIT_PAGE_SIZE, alignment = PLAIT_PAGE_SIZE;
  while (alignment < bytes) alignment *= 2;
  uint8_t *range = reserve(bytes, alignment);
  if (range == NULL) return -PLAIT_ENOMEM;
  if (mmap(range, bytes, PROT_READ | PROT_WRITE, flags | NO_RESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
    munmap(range, bytes);
    return -PLAIT_ENOMEM;
  }
  plait_platform_base = range;
  posix_head()->maximum = maximum;
  atomic_store(&posix_head()->pages, initial);
  return 0;
}

int plait_posix_map(uint32_t initial, uint32_t maximum) {
  return map(initial, maximum, MAP_SHARED | MAP_ANONYMOUS);
}

int plait_posix_map_private(uint32_t initial, uint32_t maximum) {
  return map(initial, maximum, MAP_PRIVATE | MAP_ANONYMOUS);
}

void plait_posix_unmap(void) {
  munmap(plait_platform_base, (size_t)posix_head()->maximum * PLAIT_PAGE_SIZE);
  plait_platform_base = NULL;
}

plait_ref_t plait_platform_first(void) {
  return 64;
}

uint32_t plait_platform_first_pages(void) {
  return plait_platform_pages();
}

uint32_t plait_platform_pages(void) {
  return atomic_load(&posix_head()->pages);
}

int64_t plait_platform_grow(uint32_t pages) {
  uint32_t now = atomic_load(&posix_head()->pages);
  do {
    if (pages > posix_head()->maximum - now) return -PLAIT_ENOMEM;
  } while (!atomic_compare_exchange_weak(&posix_head()->pages, &now, now + pages));
  return now;
}

#ifdef __linux__

enum plait_wait_result plait_platform_wait(plait_word_t *word, uint32_t expected, int64_t timeout_ns) {
  struct timespec limit = {.tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000};
  int kept = errno; /* free() must not change errno */
  long rc = syscall(SYS_futex, word, FUTEX_WAIT, expected, timeout_ns < 0 ? NULL : &limit, NULL, 0);
  int why = rc == 0 ? EINTR : errno;
  errno = kept;
  if (why == EINTR) return PLAIT_WAIT_WOKEN;
  return why == ETIMEDOUT ? PLAIT_WAIT_TIMED_OUT : PLAIT_WAIT_NOT_EQUAL;
}

uint32_t plait_platform_notify(plait_word_t *word, uint32_t count) {
  long woken = syscall(SYS_futex, word, FUTEX_WAKE, count > INT_MAX ? INT_MAX : count, NULL, NULL, 0);
  return woken < 0 ? 0 : (uint32_t)woken;
}

#else

/*
 * Systems without a documented futex across processes poll the word every 50 microseconds: correct, but slow to wake.
 */
enum plait_wait_result plait_platform_wait(plait_word_t *word, uint32_t expected, int64_t timeout_ns) {
  const int64_t step = 50000;
  for (int64_t waited = 0; atomic_load(word) == expected; waited += step) {
    if (timeout_ns >= 0 && waited >= timeout_ns) return PLAIT_WAIT_TIMED_OUT;
    nanosleep(&(struct timespec){.tv_nsec = step}, NULL);
  }
  return PLAIT_WAIT_NOT_EQUAL;
}

uint32_t plait_platform_notify(plait_word_t *word, uint32_t count) {
  (void)word, (void)count;
  return 0;
}

#endif

void plait_platform_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

#endif
