/*
 * block: random numbers, and blocks that know whether they are whole.
 *
 * Invariant: while a block lives, its first four bytes are its head and its last byte is of its tag. Whoever frees it
 * looks at both first: a block that was handed out twice, overlaps another one or lost its bytes ends the run.
 */
#ifndef BENCH_BLOCK_H
#define BENCH_BLOCK_H

#include "workload.h"

#include <stddef.h>

void *malloc(size_t size);
void *realloc(void *block, size_t size);
void free(void *block);

enum { SIZE_BITS = 21, TAG_SHIFT = SIZE_BITS };

/* A block as its owner knows it: what must lie at its begin. */
struct slot {
  uint8_t *block;
  uint32_t head; /* the size, above it the tag */
};

struct thread {
  _Alignas(64) uint32_t random;
  uint32_t index;
  uint32_t cursor; /* article, realloc: where the last chunk stopped */
  struct slot *slots;
};

static inline uint32_t next_random(struct thread *thread) {
  uint32_t x = thread->random;
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return thread->random = x;
}

/* least .. least + range - 1, equally likely */
static inline uint32_t pick(struct thread *thread, uint32_t least, uint32_t range) {
  return least + (uint32_t)(((uint64_t)next_random(thread) * range) >> 32);
}

static inline uint32_t size_of(uint32_t head) {
  return head & ((1u << SIZE_BITS) - 1);
}

static inline void sign(uint8_t *block, uint32_t head) {
  *(uint32_t *)(void *)block = head;
  block[size_of(head) - 1] = (uint8_t)(head >> TAG_SHIFT);
}

static inline void check(const uint8_t *block, uint32_t head) {
  if (*(const uint32_t *)(const void *)block != head || block[size_of(head) - 1] != (uint8_t)(head >> TAG_SHIFT))
    bench_host_fail(BENCH_DAMAGED);
}

/* A head for a block of `size` bytes, with a tag that hardly any other one has. */
static inline uint32_t new_head(struct thread *thread, uint32_t size) {
  return size | thread->random << TAG_SHIFT;
}

static inline struct slot make(struct thread *thread, uint32_t size) {
  struct slot made = {malloc(size), new_head(thread, size)};
  if (made.block == NULL) bench_host_fail(BENCH_NO_MEMORY);
  sign(made.block, made.head);
  return made;
}

static inline void drop(struct slot slot) {
  check(slot.block, slot.head);
  free(slot.block);
}

#endif
