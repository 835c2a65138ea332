/*
 * reuse: threads that have exited leave nothing: their memory serves the next ones, and so do the blocks that other
 * threads free after that.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 4, BLOCKS = 2000, GENERATIONS = 20, IN_TURN = 300, MOST_PAGES = 64 };

static int wrong;

static void *allocates(void *unused) {
  (void)unused;
  char **blocks = malloc(BLOCKS * sizeof *blocks);
  for (int i = 0; i < BLOCKS; i++) memset(blocks[i] = malloc(16 + (size_t)i % 500), i, 16 + (size_t)i % 500);
  return blocks;
}

static void generation(void) {
  pthread_t threads[AT_ONCE];
  for (int i = 0; i < AT_ONCE; i++) wrong += pthread_create(&threads[i], NULL, allocates, NULL) != 0;
  for (int i = 0; i < AT_ONCE; i++) {
    void *result;
    wrong += pthread_join(threads[i], &result) != 0;
    char **blocks = result;
    for (int k = 0; k < BLOCKS; k++) {
      wrong += blocks[k][0] != (char)k || blocks[k][15 + k % 500] != (char)k;
      free(blocks[k]);
    }
    free(blocks);
  }
}

/* Two megabytes of blocks of all sizes, which the thread frees itself. */
static void *allocates_and_frees(void *unused) {
  char *blocks[600];
  for (int i = 0; i < 600; i++) memset(blocks[i] = malloc(16 + (size_t)i * 13), i, 16 + (size_t)i * 13);
  for (int i = 0; i < 600; i++) free(blocks[i]);
  return unused;
}

static void one_after_the_other(int count) {
  for (int i = 0; i < count; i++) {
    pthread_t thread;
    wrong += pthread_create(&thread, NULL, allocates_and_frees, NULL) != 0 || pthread_join(thread, NULL) != 0;
  }
}

static long pages(void) {
#ifdef __wasm__
  return (long)__builtin_wasm_memory_size(0);
#else
  return 0;
#endif
}

int main(void) {
  generation();
  one_after_the_other(AT_ONCE);
  long before = pages();
  for (int i = 0; i < GENERATIONS; i++) generation();
  one_after_the_other(IN_TURN);
  long more = pages() - before;
  if (more > MOST_PAGES) printf("%ld pages more than before\n", more);
  printf("%d wrong\n", wrong);
  return 0;
}
