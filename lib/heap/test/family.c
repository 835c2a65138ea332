/*
 * family: a program for WASI that uses the whole malloc family and names nothing of Plait's. Each function's blocks can
 * be freed, and are used again: if one were another allocator's, the memory would grow with every round.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Some C libraries declare only a part of these. */
void *memalign(size_t alignment, size_t size);
void *valloc(size_t size);
void *reallocarray(void *block, size_t count, size_t size);
size_t malloc_usable_size(void *block);
void *sbrk(intptr_t bytes);

enum { ROUNDS = 3000, BYTES = 50000, PAGE = 65536 };

static int failures;

static void check(int good, const char *what) {
  if (good) return;
  printf("wrong: %s\n", what);
  failures++;
}

static void use(void *block, size_t size, size_t alignment, const char *what) {
  check(block != NULL && (uintptr_t)block % alignment == 0 && malloc_usable_size(block) >= size, what);
  if (block != NULL) memset(block, 1, size);
  free(block);
}

static void test_all(void) {
  void *block;
  use(malloc(BYTES), BYTES, 16, "malloc");
  use(calloc(BYTES, 1), BYTES, 16, "calloc");
  use(realloc(malloc(10), BYTES), BYTES, 16, "realloc");
  use(reallocarray(malloc(10), BYTES / 10, 10), BYTES, 16, "reallocarray");
  use(aligned_alloc(256, BYTES), BYTES, 256, "aligned_alloc");
  use(memalign(512, BYTES), BYTES, 512, "memalign");
  use(valloc(BYTES), BYTES, PAGE, "valloc");
  check(posix_memalign(&block, 1024, BYTES) == 0, "posix_memalign");
  use(block, BYTES, 1024, "posix_memalign");
  block = strdup("text");
  use(block, 5, 16, "strdup");
}

static void test_errors(void) {
  void *volatile block = NULL;
  size_t volatile most = SIZE_MAX - 100, half = SIZE_MAX / 2;
  errno = 0;
  block = malloc(most);
  check(block == NULL && errno == ENOMEM, "errno of malloc");
  errno = 0;
  block = calloc(half, 4);
  check(block == NULL && errno == ENOMEM, "errno of calloc");
  errno = 0;
  block = reallocarray(NULL, half, 4);
  check(block == NULL && errno == ENOMEM, "errno of reallocarray");
  errno = 0;
  block = memalign(48, 100);
  check(block == NULL && errno == EINVAL, "errno of memalign");
  void *got = NULL;
  check(posix_memalign(&got, 48, 100) == EINVAL && posix_memalign(&got, 64, most) == ENOMEM, "posix_memalign's errors");
}

static void test_sbrk(void) {
  char *start = sbrk(0), *first = sbrk(PAGE), *second = sbrk(PAGE);
  check(first == start && second == first + PAGE && (char *)sbrk(0) == second + PAGE, "sbrk");
  memset(first, 2, 2 * PAGE);
  char *block = malloc(BYTES);
  check(block + BYTES <= first || block >= second + PAGE, "a block lies in what sbrk has given");
  free(block);
}

int main(void) {
  test_sbrk();
  test_errors();
  test_all();
  size_t before = __builtin_wasm_memory_size(0);
  for (int i = 0; i < ROUNDS; i++) test_all();
  size_t grown = __builtin_wasm_memory_size(0) - before;
  check(grown <= 4, "the memory grows: blocks are lost");
  printf("%d wrong, %zu pages more after %d rounds\n", failures, grown, ROUNDS);
  return failures != 0;
}
