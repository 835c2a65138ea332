/*
 * heap stats: what the heap is used for, counted from the slice table, the page records and the threads' records. Blocks
 * themselves are never looked at, so that it is safe whatever other threads do meanwhile.
 */
#include "internal.h"

/* Small blocks in use, counted by the bits of all pages. Others may be at work: each page is right at some instant. */
static uint32_t count_small(void) {
  struct plait_heap *heap = plait_heap();
  uint32_t live = 0, end = plait_load(&heap->end);
  for (uint32_t index = plait_get(&heap->first); index < end; index++) {
    struct plait_slice *slice = plait__slice(index);
    uint32_t tag = plait_load(&slice->tag);
    if (plait__kind(tag) != PLAIT__PAGES) continue;
    for (uint32_t i = 0; i < PLAIT_SLICE_SIZE >> plait__rest(tag); i++) {
      struct plait_page *page = (struct plait_page *)plait_at(plait_get(&slice->pages)) + i;
      if (plait_load(&page->owner) == 0 || plait_get(&page->class) >= PLAIT_HEAP_CLASS_COUNT) continue;
      live += plait_get(&page->count);
      for (uint32_t word = 0; word < PLAIT_PAGE_WORDS; word++)
        live -= (uint32_t)__builtin_popcountll(plait_get64(&page->local[word]) | plait_get64(&page->remote[word]));
    }
  }
  return live;
}

void plait_heap_stats(struct plait_heap_stats *out) {
  struct plait_heap *heap = plait_heap();
  uint32_t live = count_small() + plait_get(&heap->large_live);
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    plait_ref_t ref = plait_load(&heap->records[i]);
    if (ref == 0) continue;
    struct plait_record *record = plait_at(ref);
    live += plait_get(&record->medium_live) - (uint32_t)(plait_get64(&record->remote) >> 32);
  }
  out->reserved_bytes = (uint64_t)(plait_load(&heap->end) - plait_get(&heap->first)) * PLAIT_SLICE_SIZE;
  out->used_bytes = (uint64_t)plait_get(&heap->used) * PLAIT_SLICE_SIZE;
  out->peak_bytes = (uint64_t)plait_get(&heap->peak) * PLAIT_SLICE_SIZE;
  out->live_blocks = live;
  out->failed = plait_get(&heap->failed);
}
