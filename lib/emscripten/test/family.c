/*
 * family: every function of the malloc family, under every name that programs use. Each block is filled with a byte of
 * its own, and checked before it is freed.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "expect.h"

#define SLOTS 512
#define ROUNDS 40000

static uint32_t seed = 1;

static uint32_t pick(uint32_t range) {
  seed ^= seed << 13, seed ^= seed >> 17, seed ^= seed << 5;
  return (uint32_t)(((uint64_t)seed * range) >> 32);
}

static struct block {
  uint8_t *at;
  size_t size;
  uint8_t byte;
} blocks[SLOTS];

static int is_filled(const struct block *block) {
  for (size_t i = 0; i < block->size; i++)
    if (block->at[i] != block->byte) return 0;
  return 1;
}

static void *allocate(size_t size) {
  size_t alignment = (size_t)16 << pick(9);
  void *block = NULL;
  switch (pick(6)) {
    case 0: return memalign(alignment, size);
    case 1: return aligned_alloc(alignment, size + (alignment - size % alignment) % alignment);
    case 2: return posix_memalign(&block, alignment, size) == 0 ? block : NULL;
    case 3: return calloc(size / 8 + 1, 8);
    default: return malloc(size);
  }
}

static void replace_at_random(void) {
  for (int i = 0; i < ROUNDS; i++) {
    struct block *block = &blocks[pick(SLOTS)];
    size_t size = pick(100) == 0 ? pick(300000) : pick(2000);
    if (block->at != NULL && pick(3) == 0) {
      block->at = realloc(block->at, size + 1);
      EXPECT(block->at != NULL);
      if (size + 1 < block->size) block->size = size + 1;
      EXPECT(is_filled(block));
    } else {
      EXPECT(is_filled(block));
      free(block->at);
      block->at = allocate(size + 1);
      EXPECT(block->at != NULL);
    }
    block->size = size + 1, block->byte = (uint8_t)i;
    EXPECT(malloc_usable_size(block->at) >= block->size);
    memset(block->at, block->byte, block->size);
  }
  for (int i = 0; i < SLOTS; i++) {
    EXPECT(is_filled(&blocks[i]));
    free(blocks[i].at);
  }
}

static void is_aligned_and_zero(void) {
  for (size_t alignment = 16; alignment <= 65536; alignment *= 2) {
    void *block;
    EXPECT(posix_memalign(&block, alignment, 100) == 0 && (uintptr_t)block % alignment == 0);
    void *other = memalign(alignment, 1);
    EXPECT((uintptr_t)other % alignment == 0);
    free(block), free(other);
  }
  for (size_t size = 1; size < 1000000; size = size * 3 + 1) {
    char *dirty = malloc(size);
    memset(dirty, 1, size);
    free(dirty);
    char *zeroed = calloc(1, size);
    for (size_t i = 0; i < size; i++) EXPECT(zeroed[i] == 0);
    free(zeroed);
  }
  void *page = valloc(10);
  EXPECT(page != NULL && (uintptr_t)page % (uintptr_t)getpagesize() == 0);
  free(page);
}

/* Kept from the compiler, which knows that no object is so large, and that nobody needs a block that is not used. */
static volatile size_t too_large = SIZE_MAX - 100, half = SIZE_MAX / 2 + 2;
static void *volatile refused;

static void refuses(void) {
#ifndef ABORTING /* -sABORTING_MALLOC or a sanitizer ends the program */
  void *unaligned = NULL;
  EXPECT(posix_memalign(&unaligned, 3, 100) == EINVAL);
  errno = 0, refused = malloc(too_large);
  EXPECT(refused == NULL && last_error() == ENOMEM);
  errno = 0, refused = calloc(half, 2);
  EXPECT(refused == NULL && last_error() == ENOMEM);
  errno = 0, refused = reallocarray(NULL, half, 2);
  EXPECT(refused == NULL && last_error() == ENOMEM);
  char *block = strdup("kept");
  errno = 0, refused = realloc(block, too_large);
  EXPECT(refused == NULL && last_error() == ENOMEM && strcmp(block, "kept") == 0);
  free(block);
#endif
  free(NULL);
  void *empty = malloc(0), *other = malloc(0);
  EXPECT(empty != NULL && other != NULL && empty != other);
  free(empty), free(other);
  int *array = reallocarray(NULL, 10, sizeof *array);
  EXPECT(array != NULL);
  free(array);
}

int main(void) {
  is_aligned_and_zero();
  refuses();
  replace_at_random();
  return expected("family");
}
