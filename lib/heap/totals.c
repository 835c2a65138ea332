/*
 * totals: counts the bytes in all blocks, for info.c. Part of malloc.c's translation unit, because it reads what is the
 * heap's own.
 *
 * Invariant: regions are walked under the heap's lock. So none is given back meanwhile, and each step of a walk is one
 * store to one tag (core/heap/regions.c).
 */
#include "info.h"

/* Adds the region of `slices` that starts at slice `index`. */
static PLAIT_COLD void add_region(struct plait_heap_totals *out, uint32_t index, uint32_t slices) {
  plait_ref_t at = index * PLAIT_SLICE_SIZE, end = at + slices * PLAIT_SLICE_SIZE - PLAIT__HEADER;
  for (uint32_t size; at < end; at += size) {
    uint32_t tag = plait_get(&plait__block(at)->tag), kind = tag & 15u;
    size = tag & ~15u;
    if (size == 0 || size > end - at) return; /* a thread exited while it made the region longer or shorter */
    if (kind == PLAIT__BLOCK_LIVE) out->block_bytes += size;
    else out->other_free++;
  }
}

/* pre: the caller has the heap's lock. */
static PLAIT_COLD void add_slices(struct plait_heap_totals *out) {
  uint32_t end = plait_get(&plait_heap()->end);
  for (uint32_t index = plait_get(&plait_heap()->first), length; index < end; index += length) {
    uint32_t tag = plait__tag_of(index);
    enum plait__slice_kind kind = plait__kind(tag);
    length = kind == PLAIT__PAGES ? 1 : plait__rest(tag);
    if (length == 0 || length > end - index) return; /* the table was overwritten */
    if (kind == PLAIT__REGION) add_region(out, index, length);
    if (kind == PLAIT__LARGE) out->block_bytes += (uint64_t)length * PLAIT_SLICE_SIZE;
    if (kind == PLAIT__FREE || kind == PLAIT__FREED) out->other_free++;
  }
}

PUBLIC void plait_heap_totals(struct plait_heap_totals *out) {
  struct plait_heap_details details;
  *out = (struct plait_heap_totals){0};
  int how = ready();
  if (how == 0) return;
  int locked = plait__heap_lock() == 0;
  plait_heap_details(&details);
  if (locked) {
    add_slices(out);
    plait__heap_unlock();
  }
  done(how);
  out->reserved_bytes = details.total.reserved_bytes;
  out->peak_bytes = details.total.peak_bytes;
  for (uint32_t class = 0; class < PLAIT_HEAP_CLASS_COUNT; class++) {
    const struct plait_heap_class_stats *small = &details.classes[class];
    out->block_bytes += (uint64_t)small->used * small->size;
    out->small_free_bytes += (uint64_t)small->free * small->size;
    out->small_free += small->free;
  }
}
