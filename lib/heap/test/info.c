/*
 * info: a program that asks malloc what it holds, with mallinfo() and the rest. It names nothing of Plait's. What it
 * checks is also true of glibc, if its caches are off:
 *
 *     GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0 build/examples/info
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The C libraries of wasm32 do not declare these. */
#ifdef __wasm__
struct mallinfo {
  int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
struct mallinfo2 {
  size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
struct mallinfo mallinfo(void);
struct mallinfo2 mallinfo2(void);
int malloc_trim(size_t pad);
void malloc_stats(void);
int mallopt(int parameter, int value);
#else
#include <malloc.h>
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* glibc's mallinfo */
#endif

enum { COUNT = 300 };

static int failures;

static void check(int good, const char *what, size_t size) {
  if (good) return;
  printf("wrong: %s, %zu bytes\n", what, size);
  failures++;
}

static size_t in_use(void) {
  struct mallinfo2 all = mallinfo2();
  check(all.arena == all.uordblks + all.fordblks, "arena is what is in use and what is free", 0);
  return all.uordblks + all.hblkhd;
}

/* Blocks of this size count from their allocation to their end, and no more than they should. */
static void test_size(size_t size) {
  static void *blocks[COUNT];
  size_t before = in_use(), all = size * COUNT;
  for (int i = 0; i < COUNT; i++) {
    blocks[i] = malloc(size);
    memset(blocks[i], 1, size);
  }
  size_t most = in_use() - before;
  check(most >= all, "in use", size);
  check(most <= all + all / 4 + COUNT * (size > 65536 ? 65536 : 32), "in use, no more than there is", size);
  for (int i = 0; i < COUNT; i += 2) free(blocks[i]);
  size_t half = in_use() - before;
  check(half >= all / 2 && half <= most / 2 + 64, "half of them are in use", size);
  for (int i = 1; i < COUNT; i += 2) free(blocks[i]);
  check(in_use() == before, "none is in use", size);
}

/* A block that grows and shrinks. */
static void test_realloc(void) {
  size_t before = in_use();
  char *volatile block = NULL; /* otherwise the compiler removes the last realloc() */
  for (size_t size = 10; size < 3000000; size += size / 3) {
    block = realloc(block, size);
    size_t now = in_use() - before;
    check(now >= size && now <= size + size / 4 + 65536 + 32, "a block that grows", size);
  }
  block = realloc(block, 20);
  check(in_use() - before < 65536 + 32, "a block that has shrunk", 20);
  free(block);
  check(in_use() == before, "a block that has grown", 0);
}

int main(void) {
  void *first = malloc(100); /* and what the C library allocates for itself */
  printf("%s", "");
  test_size(1);
  test_size(24);
  test_size(1000);
  test_size(5000);
  test_size(16000);
  test_size(30000);
  test_size(60000);
  test_size(200000);
  test_realloc();
  struct mallinfo2 wide = mallinfo2();
  struct mallinfo narrow = mallinfo();
  check((size_t)narrow.uordblks == wide.uordblks && (size_t)narrow.arena == wide.arena &&
          (size_t)narrow.fordblks == wide.fordblks && narrow.keepcost == (int)wide.keepcost,
      "mallinfo says the same as mallinfo2", 0);
  check(wide.ordblks + wide.smblks > 0, "there are free blocks", 0);
  mallopt(-1, 128 * 1024); /* M_TRIM_THRESHOLD: set or not, allocating goes on */
  int trimmed = malloc_trim(0);
  check(trimmed == 0 || trimmed == 1, "malloc_trim", 0);
  check(first != NULL, "the first block", 100);
  malloc_stats();
  free(first);
  printf("info: %s\n", failures == 0 ? "good" : "FAILED");
  return failures != 0;
}
