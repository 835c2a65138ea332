/*
 * heap stats: what the heap is used for, counted from the slice table, the page records and the thread heaps.
 *
 * Invariant: blocks themselves are never read, and no reference is followed to memory that could go away. Entries of
 * the slice table, page records and thread heaps keep their places for good. So counting is safe while other threads
 * work. Each number is right at some instant, and none is below zero.
 */
#include "internal.h"

PLAIT_COLD_BEGIN

/* How many blocks of the page are free. */
static uint32_t count_free(struct plait_page *page, uint32_t count) {
  uint32_t free = 0;
  while (count-- > 0) free += (uint32_t)plait__is_free(page, count);
  return free;
}

/* The entry of the thread heap that owns a page, NULL if none does. The search starts at the last result. */
static struct plait_heap_thread_stats *entry_of(
    struct plait_heap_details *out, const plait_ref_t *theaps, uint32_t owner, uint32_t *last) {
  for (uint32_t i = 0; i < out->thread_count; i++, *last = (*last + 1) % out->thread_count)
    if (theaps[*last] == owner) return &out->threads[*last];
  return NULL;
}

/* Small blocks in use in the slice's pages. `out`: NULL, or where the details are added. */
static uint32_t add_pages(struct plait_slice *slice, uint32_t shift, struct plait_heap_details *out,
    const plait_ref_t *theaps, uint32_t *last) {
  uint32_t live = 0;
  for (uint32_t i = 0; i < PLAIT_SLICE_SIZE >> shift; i++) {
    struct plait_page *page = (struct plait_page *)plait_at(plait_get(&slice->pages)) + i;
    uint32_t owner = plait_load(&page->owner), count = plait_get8(&page->count), class = plait_get8(&page->class);
    if (owner == 0) continue;
    struct plait_heap_thread_stats *thread = out == NULL ? NULL : entry_of(out, theaps, owner, last);
    if (thread != NULL) thread->pages++;
    uint32_t free = count_free(page, count);
    live += count - free;
    if (out == NULL) continue;
    out->classes[class].pages++;
    out->classes[class].used += count - free;
    out->classes[class].free += free;
  }
  return live;
}

/*
 * Medium blocks in use, by thread heap. `theaps`: filled with the references of the thread heaps that have an entry in
 * `out`.
 */
static uint32_t add_thread_heaps(struct plait_heap_details *out, plait_ref_t *theaps) {
  uint32_t live = 0;
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    plait_ref_t ref = plait_load(&plait_heap()->thread_heaps[i]);
    if (ref == 0) continue;
    struct plait_thread_heap *theap = plait_at(ref);
    uint32_t medium = plait_get(&theap->medium_live), freed = (uint32_t)(plait_get64(&theap->remote) >> 32);
    medium = medium > freed ? medium - freed : 0;
    live += medium;
    if (out == NULL) continue;
    struct plait_heap_thread_stats *entry = &out->threads[out->thread_count];
    entry->thread = plait_get(&theap->thread);
    entry->host_id = entry->thread == 0 ? 0 : plait_get(&plait_slot_of(entry->thread)->host_id);
    entry->slices = plait_get(&theap->slices);
    entry->blocks = medium;
    theaps[out->thread_count++] = ref;
  }
  return live;
}

/* Removes the entries of thread heaps without a thread that own nothing. */
static void drop_empty(struct plait_heap_details *out) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < out->thread_count; i++) {
    const struct plait_heap_thread_stats *entry = &out->threads[i];
    if (entry->thread != 0 || entry->pages != 0 || entry->slices != 0) out->threads[kept++] = *entry;
  }
  out->thread_count = kept;
}

/*
 * Counts everything in one walk over the slice table, from span to span. Another thread may split or join a span
 * meanwhile. Then some slices are missed, or read inside of a span, where they count for nothing. `more`: NULL, or
 * zeroed.
 */
static void count(struct plait_heap_stats *out, struct plait_heap_details *more) {
  struct plait_heap *heap = plait_heap();
  plait_ref_t theaps[PLAIT_SLOT_LIMIT];
  uint32_t live = add_thread_heaps(more, theaps), first = plait_get(&heap->first), end = plait_load(&heap->end),
           last = 0;
  uint32_t used = plait_get(&heap->used), freed = 0;
  for (uint32_t index = first, length; index < end; index += length) {
    struct plait_slice *slice = plait__slice(index);
    uint32_t tag = plait_load(&slice->tag), rest = plait__rest(tag);
    enum plait__slice_kind kind = plait__kind(tag);
    int alone = kind == PLAIT__PAGES || kind == PLAIT__NONE || kind == PLAIT__PART;
    length = alone || rest == 0 || rest > end - index ? 1 : rest;
    if (kind == PLAIT__PAGES) live += add_pages(slice, rest, more, theaps, &last);
    if (kind == PLAIT__LARGE) live++;
    if (kind == PLAIT__FREED) freed += rest;
    if (more == NULL) continue;
    if (kind == PLAIT__PAGES) more->page_slices++;
    if (kind == PLAIT__REGION) more->region_slices += rest;
    if (kind == PLAIT__META) more->meta_slices += rest;
    if (kind == PLAIT__LARGE) more->large_blocks++, more->large_slices += rest;
  }
  out->reserved_bytes = (uint64_t)(end - first) * PLAIT_SLICE_SIZE;
  out->used_bytes = (uint64_t)(used > freed ? used - freed : 0) * PLAIT_SLICE_SIZE;
  out->peak_bytes = (uint64_t)plait_get(&heap->peak) * PLAIT_SLICE_SIZE;
  out->live_blocks = live;
  out->failed = plait_get(&heap->failed);
#ifdef PLAIT_HEAP_DEBUG
  out->live_blocks -= plait__debug_kept();
#endif
}

void plait_heap_stats(struct plait_heap_stats *out) {
  count(out, NULL);
}

void plait_heap_details(struct plait_heap_details *out) {
  plait_zero_near(out, sizeof *out);
  for (uint32_t class = 0; class < PLAIT_HEAP_CLASS_COUNT; class++) out->classes[class].size = plait__class_size(class);
  count(&out->total, out);
  drop_empty(out);
}

PLAIT_COLD_END
