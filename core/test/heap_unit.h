/*
 * heap unit: functions for the unit tests of the heap. Most tests act as several threads in turn, so that everything
 * happens in one order.
 */
#ifndef PLAIT_TEST_HEAP_UNIT_H
#define PLAIT_TEST_HEAP_UNIT_H

#include "harness.h"

#include "../heap/internal.h"

/* From now on the calling thread is this one, and has a thread heap. */
static inline void be(plait_thread_t thread) {
  plait_slot_enter(thread, 1);
  CHECK(plait__bind() != NULL);
}

/*
 * A thread's first few small blocks lie in a region, because they may grow. This allocates them, so that the next ones
 * lie in pages.
 */
static inline void take_first(void) {
  for (int i = 0; i < 8; i++) {
    plait_ref_t block = plait_heap_alloc(1);
    CHECK(block != 0 && plait__kind(plait_get(&plait__slice(block / PLAIT_SLICE_SIZE)->tag)) == PLAIT__REGION);
  }
}

/* Allocates blocks of `size` bytes until memory is exhausted, and returns their number. Fails if there are `limit`. */
static inline uint32_t fill(plait_ref_t *blocks, uint32_t limit, uint32_t size) {
  uint32_t count = 0;
  while (count < limit && (blocks[count] = plait_heap_alloc(size)) != 0) count++;
  CHECK(count < limit);
  return count;
}

/* The kind of the slice in which the block starts. */
static inline uint32_t kind_at(plait_ref_t block) {
  return plait__kind(plait_get(&plait__slice(block / PLAIT_SLICE_SIZE)->tag));
}

#endif
