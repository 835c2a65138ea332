/*
 * carve: slices that are carved into pages, and which of their pages are unused.
 *
 * Each thread heap has slices of its own, so that threads do not work side by side in one slice: their processors
 * prefetch lines, and would take these from each other. Only if the memory cannot grow any more, a thread takes pages
 * from another thread heap's slices.
 *
 * Invariants, under the lock
 * - A slice with an unused page is on its owner's list for its page size. `used` has a bit for each page in use. Both
 *   are derived: a page is in use if its owner word is not 0.
 * - A slice's page records lie in one piece. They remain the slice's, whatever it is used for later. While it stays
 *   carved in one way, each record stands for the same place. When it is carved anew, no entry of the page map names a
 *   record any more.
 */
#include "internal.h"

#define RESERVED_AT_ONCE 8u /* at least so many page records are reserved at once; a slice has 1, 2, 4, 8 or 16 */

PLAIT_COLD_BEGIN

static struct plait_link *partial_list(plait_ref_t theap, uint32_t shift) {
  return &((struct plait_thread_heap *)plait_at(theap))->partial[shift - PLAIT__SMALLEST_SHIFT].link;
}

void plait__partial_link(struct plait_slice *slice, uint32_t shift) {
  plait__link_put(partial_list(plait_get(&slice->owner), shift), &slice->link);
}

/* The first slice on the list; 0 if it is empty. */
static uint32_t first_partial(plait_ref_t theap, uint32_t shift) {
  struct plait_link *list = partial_list(theap, shift);
  plait_ref_t first = plait_get(&list->next);
  return first == plait_ref(list) ? 0 : plait_get(&((struct plait_slice *)plait_at(first))->back) % PLAIT__NUMBERED;
}

static uint32_t all_used(uint32_t shift) {
  return (uint32_t)((1ull << (PLAIT_SLICE_SIZE >> shift)) - 1);
}

void plait__slice_adopt(struct plait_thread_heap *theap, uint32_t index) {
  struct plait_slice *slice = plait__slice(index);
  uint32_t shift = plait__rest(plait_get(&slice->tag)), partial = plait_get(&slice->used) != all_used(shift);
  if (partial) plait__link_take(&slice->link);
  plait_put(&slice->owner, plait_ref(theap));
  if (partial) plait__partial_link(slice, shift);
}

/* A slice of any thread heap with an unused page of this size; 0 if there is none. */
static uint32_t slice_of_others(uint32_t shift) {
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    plait_ref_t theap = plait_get(&plait_heap()->thread_heaps[i]);
    uint32_t index = theap == 0 ? 0 : first_partial(theap, shift);
    if (index != 0) return index;
  }
  return 0;
}

/*
 * Metadata memory for `count` page records, separate from those of other threads for the same reason; 0 if there is
 * none.
 */
static plait_ref_t page_records_reserve(struct plait_thread_heap *theap, uint32_t count) {
  uint32_t reserved = plait_get(&theap->reserved), left = reserved % 32;
  if (left < count) {
    left = count < RESERVED_AT_ONCE ? RESERVED_AT_ONCE : count;
    reserved = plait__meta(left * (uint32_t)sizeof(struct plait_page));
    if (reserved == 0) return 0;
  }
  plait_ref_t at = reserved & ~31u;
  plait_put(&theap->reserved, (at + count * (uint32_t)sizeof(struct plait_page)) | (left - count));
  return at;
}

/* A slice of the thread heap with an unused page of this size, carved now if necessary; 0 if there is no room. */
static uint32_t slice_of_own(struct plait_thread_heap *theap, uint32_t shift) {
  uint32_t index = first_partial(plait_ref(theap), shift), pages = PLAIT_SLICE_SIZE >> shift;
  if (index != 0) return index;
  struct plait_slice *slice;
  for (plait_ref_t page_records = 0;;) {
    index = plait__span_find(1);
    if (index == 0) return 0;
    slice = plait__slice(index);
    if (plait_get(&slice->capacity) >= pages) break;
    if (page_records != 0) {
      plait_put(&slice->pages, page_records);
      plait_put(&slice->capacity, pages);
      break;
    }
    page_records = page_records_reserve(theap, pages); /* may take the slice that was found */
    if (page_records == 0) return 0;
  }
  plait__page_map_clear(
      plait__page_map_entry(plait__chunk(index), index * PLAIT_SLICE_SIZE), PLAIT_SLICE_SIZE / PLAIT_HEAP_GRANULE);
  plait_put(&slice->used, 0);
  plait_put(&slice->owner, plait_ref(theap));
  plait__span_take(index, 1, plait__tag(PLAIT__PAGES, shift));
  plait_put(&slice->back, PLAIT__NUMBERED | index);
  plait__partial_link(slice, shift);
  return index;
}

uint32_t plait__carve_find(struct plait_thread_heap *theap, uint32_t shift, int any) {
  uint32_t index = slice_of_own(theap, shift);
  return index == 0 && any ? slice_of_others(shift) : index;
}

void plait__carve_take(uint32_t index, uint32_t at) {
  struct plait_slice *slice = plait__slice(index);
  uint32_t shift = plait__rest(plait_get(&slice->tag)), used = plait_get(&slice->used) | 1u << at;
  plait_put(&slice->used, used);
  if (used == all_used(shift)) plait__link_take(&slice->link);
}

void plait__carve_give(uint32_t index, uint32_t at) {
  struct plait_slice *slice = plait__slice(index);
  uint32_t shift = plait__rest(plait_get(&slice->tag)), used = plait_get(&slice->used);
  if (used == all_used(shift)) plait__partial_link(slice, shift);
  used &= ~(1u << at);
  plait_put(&slice->used, used);
  if (used != 0) return;
  plait__link_take(&slice->link);
  plait__span_free(index, 1);
}

PLAIT_COLD_END
