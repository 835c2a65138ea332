/*
 * heap check: walks every run, every block of every chunk and every free list, and compares what it counts with the
 * counters. Deaths may have lost a block each: such a block is tagged free but on no list, or live and owned by nobody,
 * so counts of free blocks are compared with "at most", never taken on trust.
 */
#include "internal.h"

static int check_guard(plait_ref_t header) {
  return atomic_load(&plait__heap_header(header)->guard) == plait__heap_guard(header);
}

/* Every block of a chunk has a whole header of the chunk's class, live or free. */
static int check_chunk(plait_ref_t chunk, uint32_t granules) {
  struct plait_heap *heap = plait_heap();
  uint32_t header = sizeof(struct plait_block);
  uint32_t class = plait__heap_rest_of(atomic_load(&plait__heap_header(chunk + header)->tag));
  if (class >= PLAIT_HEAP_CLASS_LIMIT) return -PLAIT_EILSEQ;
  uint32_t size = atomic_load(&heap->classes[class].size);
  if (size < 2 * header) return -PLAIT_EILSEQ;
  uint32_t count = (granules * PLAIT_HEAP_GRANULE - header) / size;
  for (uint32_t i = 0; i < count; i++) {
    plait_ref_t at = chunk + header + i * size;
    uint32_t tag = atomic_load(&plait__heap_header(at)->tag);
    if (!check_guard(at) || plait__heap_rest_of(tag) != class) return -PLAIT_EILSEQ;
    enum plait__heap_kind kind = plait__heap_kind_of(tag);
    if (kind != PLAIT__SMALL_FREE && kind != PLAIT__SMALL_LIVE) return -PLAIT_EILSEQ;
  }
  return 0;
}

static int check_runs(int quiescent) {
  struct plait_heap *heap = plait_heap();
  uint32_t granule = atomic_load(&heap->first), end = atomic_load(&heap->end);
  uint32_t rover = atomic_load(&heap->rover);
  int rover_met = rover == end;
  while (granule < end) {
    plait_ref_t header = granule * PLAIT_HEAP_GRANULE;
    uint32_t tag = atomic_load(&plait__heap_header(header)->tag);
    enum plait__heap_kind kind = plait__heap_kind_of(tag);
    uint32_t length = plait__heap_rest_of(tag);
    if (!check_guard(header) || length == 0 || length > end - granule) return -PLAIT_EILSEQ;
    if (kind != PLAIT__RUN_FREE && kind != PLAIT__RUN_LARGE && kind != PLAIT__RUN_CHUNK) return -PLAIT_EILSEQ;
    if (quiescent && kind == PLAIT__RUN_CHUNK && check_chunk(header, length) != 0) return -PLAIT_EILSEQ;
    if (granule == rover) rover_met = 1;
    granule += length;
  }
  return granule == end && rover_met ? 0 : -PLAIT_EILSEQ;
}

/* Threads that have died, recovered or not yet. */
static int64_t count_deaths(void) {
  int64_t deaths = atomic_load(&plait_space()->deaths);
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++)
    deaths += (atomic_load(&plait_space()->slots[i].life) & 255u) == PLAIT_SLOT_DEAD;
  return deaths;
}

/* Every listed block is free, of the class, inside the heap; the list ends; live and listed blocks are at most all. */
static int check_lists(void) {
  struct plait_heap *heap = plait_heap();
  uint64_t low = (uint64_t)atomic_load(&heap->first) * PLAIT_HEAP_GRANULE;
  uint64_t high = (uint64_t)atomic_load(&heap->end) * PLAIT_HEAP_GRANULE;
  for (uint32_t class = 0; class < PLAIT_HEAP_CLASS_LIMIT; class++) {
    struct plait_heap_class *entry = &heap->classes[class];
    uint32_t total = atomic_load(&entry->total), live = atomic_load(&entry->live), listed = 0;
    plait_ref_t block = (plait_ref_t)atomic_load(&entry->head);
    for (; block != 0; listed++) {
      if (block < low || block >= high || block % 16 != 0 || listed >= total || !check_guard(block))
        return -PLAIT_EILSEQ;
      struct plait_block *header = plait__heap_header(block);
      if (atomic_load(&header->tag) != plait__heap_tag(PLAIT__SMALL_FREE, class)) return -PLAIT_EILSEQ;
      block = atomic_load(&header->next);
    }
    /* A death loses a block, or a chunk cut and not listed; it may leave `live` one too high, and the block listed. */
    int64_t missing = (int64_t)total - live - listed, deaths = count_deaths();
    if (missing < -deaths || missing > deaths * 2047) return -PLAIT_EILSEQ;
  }
  return 0;
}

int plait_heap_check(int quiescent) {
  struct plait_heap *heap = plait_heap();
  int rc = plait_lock_acquire(&heap->runs);
  if (rc < 0) return rc;
  rc = check_runs(quiescent);
  plait_lock_release(&heap->runs);
  if (rc == 0 && quiescent) rc = check_lists();
  return rc;
}
