/*
 * cuts: slices that are cut into pages, and which of their pages are unused.
 *
 * Each record has its own, so that threads do not work in one slice side by side: their processors fetch lines ahead,
 * and would take them from each other. Only when the memory cannot grow any more a thread takes pages of another's.
 *
 * Invariants, under the lock
 * - A slice with an unused page is on the list of its owner for its page size; `used` has a bit for each other page.
 *   Both are derived: a page is in use when its owner word is not 0.
 * - A slice's page records lie in one piece, and stay its own whatever it is used for later. As long as it is cut in
 *   one way, each stands for the same place; when it is cut anew, no hint names one any more.
 */
#include "internal.h"

#define APART 8u /* page records that are set apart at once, at least; a slice has 1, 2, 4, 8 or 16 */

PLAIT_COLD_BEGIN

static struct plait_link *partial_list(plait_ref_t record, uint32_t shift) {
  return &((struct plait_record *)plait_at(record))->partial[shift - PLAIT__SMALLEST_SHIFT].link;
}

void plait__partial_link(struct plait_slice *slice, uint32_t shift) {
  plait__link_put(partial_list(plait_get(&slice->owner), shift), &slice->link);
}

/* The first slice on the list; 0 if it is empty. */
static uint32_t first_partial(plait_ref_t record, uint32_t shift) {
  struct plait_link *list = partial_list(record, shift);
  plait_ref_t first = plait_get(&list->next);
  return first == plait_ref(list) ? 0 : plait_get(&((struct plait_slice *)plait_at(first))->back) % PLAIT__NUMBERED;
}

static uint32_t all_used(uint32_t shift) {
  return (uint32_t)((1ull << (PLAIT_SLICE_SIZE >> shift)) - 1);
}

void plait__slice_inherit(struct plait_record *record, uint32_t index) {
  struct plait_slice *slice = plait__slice(index);
  uint32_t shift = plait__rest(plait_get(&slice->tag)), partial = plait_get(&slice->used) != all_used(shift);
  if (partial) plait__link_take(&slice->link);
  plait_put(&slice->owner, plait_ref(record));
  if (partial) plait__partial_link(slice, shift);
}

/* A slice of anybody's with an unused page of this size; 0 if there is none. */
static uint32_t slice_of_others(uint32_t shift) {
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    plait_ref_t record = plait_get(&plait_heap()->records[i]);
    uint32_t index = record == 0 ? 0 : first_partial(record, shift);
    if (index != 0) return index;
  }
  return 0;
}

/*
 * Bookkeeping memory for `count` page records, apart from those of other threads for the same reason; 0 if there is
 * none.
 */
static plait_ref_t page_records(struct plait_record *record, uint32_t count) {
  uint32_t apart = plait_get(&record->apart), left = apart % 32;
  if (left < count) {
    left = count < APART ? APART : count;
    apart = plait__meta(left * (uint32_t)sizeof(struct plait_page));
    if (apart == 0) return 0;
  }
  plait_ref_t at = apart & ~31u;
  plait_put(&record->apart, (at + count * (uint32_t)sizeof(struct plait_page)) | (left - count));
  return at;
}

/* A slice of the record's with an unused page of this size, cut now if need be; 0 if there is no room. */
static uint32_t slice_of_own(struct plait_record *record, uint32_t shift) {
  uint32_t index = first_partial(plait_ref(record), shift), pages = PLAIT_SLICE_SIZE >> shift;
  if (index != 0) return index;
  struct plait_slice *slice;
  for (plait_ref_t records = 0;;) {
    index = plait__run_find(1);
    if (index == 0) return 0;
    slice = plait__slice(index);
    if (plait_get(&slice->room) >= pages) break;
    if (records != 0) {
      plait_put(&slice->pages, records);
      plait_put(&slice->room, pages);
      break;
    }
    records = page_records(record, pages); /* may take the slice that was found */
    if (records == 0) return 0;
  }
  plait__hints_clear(plait__hint(plait__leaf(index), index * PLAIT_SLICE_SIZE), PLAIT_SLICE_SIZE / PLAIT_HEAP_GRANULE);
  plait_put(&slice->used, 0);
  plait_put(&slice->owner, plait_ref(record));
  plait__run_take(index, 1, plait__tag(PLAIT__PAGES, shift));
  plait_put(&slice->back, PLAIT__NUMBERED | index);
  plait__partial_link(slice, shift);
  return index;
}

uint32_t plait__cut_find(struct plait_record *record, uint32_t shift, int any) {
  uint32_t index = slice_of_own(record, shift);
  return index == 0 && any ? slice_of_others(shift) : index;
}

void plait__cut_take(uint32_t index, uint32_t at) {
  struct plait_slice *slice = plait__slice(index);
  uint32_t shift = plait__rest(plait_get(&slice->tag)), used = plait_get(&slice->used) | 1u << at;
  plait_put(&slice->used, used);
  if (used == all_used(shift)) plait__link_take(&slice->link);
}

void plait__cut_give(uint32_t index, uint32_t at) {
  struct plait_slice *slice = plait__slice(index);
  uint32_t shift = plait__rest(plait_get(&slice->tag)), used = plait_get(&slice->used);
  if (used == all_used(shift)) plait__partial_link(slice, shift);
  used &= ~(1u << at);
  plait_put(&slice->used, used);
  if (used != 0) return;
  plait__link_take(&slice->link);
  plait__run_give(index, 1);
}

PLAIT_COLD_END
