/*
 * info: mallinfo() and the other calls by which programs ask a malloc what it holds, or tune it. The structures and
 * results are those of glibc and dlmalloc; docs/reference/malloc.md says what each number is here.
 *
 * In the archives it is an object of its own, because malloc_stats() needs the program's C library. The names are weak,
 * as those of malloc are (names.c).
 */
#include <stddef.h>
#include <stdint.h>

#include "info.h"
#if defined(__EMSCRIPTEN__) || !defined(__wasm__)
#include <stdio.h>
#include <unistd.h>
#else
/* wasi-libc's; the archive is compiled without its headers */
long write(int descriptor, const void *bytes, size_t count);
#endif

#ifdef __wasm__
#define OFFERED __attribute__((visibility("default"), weak))
#else
#define OFFERED __attribute__((visibility("default")))
#endif

#define FIELDS(type)                                                         \
  type arena;    /* bytes that the heap has taken from the system */         \
  type ordblks;  /* free pieces, small blocks apart */                       \
  type smblks;   /* free small blocks */                                     \
  type hblks;    /* 0: no block is mapped on its own */                      \
  type hblkhd;   /* 0 */                                                     \
  type usmblks;  /* the most bytes that were ever in use */                  \
  type fsmblks;  /* bytes in free small blocks */                            \
  type uordblks; /* bytes in blocks that are allocated */                    \
  type fordblks; /* arena - uordblks: free memory, and the heap's records */ \
  type keepcost; /* 0: nothing can be returned to the system */

struct mallinfo2 {
  FIELDS(size_t)
};

OFFERED struct mallinfo2 mallinfo2(void) {
  struct plait_heap_totals totals;
  plait_heap_totals(&totals);
  size_t free_bytes = (size_t)(totals.reserved_bytes - totals.block_bytes);
  return (struct mallinfo2){
      .arena = (size_t)totals.reserved_bytes,
      .ordblks = totals.other_free,
      .smblks = totals.small_free,
      .usmblks = (size_t)totals.peak_bytes,
      .fsmblks = (size_t)totals.small_free_bytes,
      .uordblks = (size_t)totals.block_bytes,
      .fordblks = free_bytes,
  };
}

/* int in glibc, size_t in dlmalloc. In wasm32 both have the same bits. Natively, numbers from 2 GiB on are negative. */
struct mallinfo {
  FIELDS(int)
};

OFFERED struct mallinfo mallinfo(void) {
  struct mallinfo2 wide = mallinfo2();
  return (struct mallinfo){(int)wide.arena, (int)wide.ordblks, (int)wide.smblks, 0, 0, (int)wide.usmblks,
      (int)wide.fsmblks, (int)wide.uordblks, (int)wide.fordblks, 0};
}

/* 0: not set. Plait's heap has nothing to tune. */
OFFERED int mallopt(int parameter, int value) {
  (void)parameter, (void)value;
  return 0;
}

/* 0: nothing was returned to the system. The memory of a Wasm module never shrinks. */
OFFERED int malloc_trim(size_t pad) {
  (void)pad;
  return 0;
}

/* A line of dlmalloc's: the label in 16 columns, and the number in 10 or more. Returns where the next line starts. */
static char *put_line(char *at, const char *label, uint64_t number) {
  char digits[20];
  size_t count = 0;
  do digits[count++] = (char)('0' + number % 10);
  while ((number /= 10) != 0);
  while (*label != 0) *at++ = *label++;
  for (size_t i = count; i < 10; i++) *at++ = ' ';
  while (count > 0) *at++ = digits[--count];
  *at++ = '\n';
  return at;
}

/* Three lines on standard error. It allocates nothing. */
OFFERED void malloc_stats(void) {
  struct plait_heap_totals totals;
  char text[3 * 48], *at = text;
  plait_heap_totals(&totals);
  at = put_line(at, "max system bytes = ", totals.reserved_bytes);
  at = put_line(at, "system bytes     = ", totals.reserved_bytes);
  at = put_line(at, "in use bytes     = ", totals.block_bytes);
  for (const char *from = text; from < at;) {
    long wrote = (long)write(2, from, (size_t)(at - from));
    if (wrote <= 0) return;
    from += wrote;
  }
}
