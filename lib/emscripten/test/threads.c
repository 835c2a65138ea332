/*
 * threads: blocks that another thread frees, many threads that start and exit, and the memory that they leave behind.
 */
#include <emscripten/heap.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"

enum { AT_ONCE = 4, BLOCKS = 2000, GENERATIONS = 20, IN_TURN = 300, MIB = 1 << 20 };

static void *allocates(void *count) {
  char **blocks = malloc((uintptr_t)count * sizeof *blocks);
  for (uintptr_t i = 0; i < (uintptr_t)count; i++) {
    blocks[i] = malloc(16 + i % 500);
    memset(blocks[i], (int)i, 16 + i % 500);
  }
  return blocks;
}

/* The blocks of a thread that has exited. */
static void free_all(char **blocks, uintptr_t count) {
  for (uintptr_t i = 0; i < count; i++) {
    EXPECT(blocks[i][0] == (char)i && blocks[i][15 + i % 500] == (char)i);
    free(blocks[i]);
  }
  free(blocks);
}

static void generation(uintptr_t count) {
  pthread_t threads[AT_ONCE];
  for (int i = 0; i < AT_ONCE; i++) EXPECT(pthread_create(&threads[i], NULL, allocates, (void *)count) == 0);
  for (int i = 0; i < AT_ONCE; i++) {
    void *blocks;
    EXPECT(pthread_join(threads[i], &blocks) == 0);
    free_all(blocks, count);
  }
}

/* A megabyte of blocks of all sizes, which the thread frees itself. */
static void *allocates_and_frees(void *unused) {
  char *blocks[400];
  for (int i = 0; i < 400; i++) memset(blocks[i] = malloc(16 + i * 13), i, 16 + i * 13);
  for (int i = 0; i < 400; i++) free(blocks[i]);
  return unused;
}

static void one_after_the_other(int count) {
  for (int i = 0; i < count; i++) {
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, allocates_and_frees, NULL) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
  }
}

/* Threads that have exited leave nothing: their memory serves the next ones. */
static void expect_reuse(size_t before, size_t most) {
  size_t more = emscripten_get_heap_size() - before;
  EXPECT(more <= most);
  if (more > most) printf("%zu bytes more than before\n", more);
}

int main(void) {
  generation(BLOCKS);
  generation(BLOCKS);
  one_after_the_other(AT_ONCE);
  size_t before = emscripten_get_heap_size();
  for (int i = 0; i < GENERATIONS; i++) generation(BLOCKS);
  one_after_the_other(IN_TURN);
  expect_reuse(before, 4 * MIB);
  return expected("threads");
}
