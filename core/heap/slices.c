/*
 * slices: the slice table, spans of slices, growth. See heap.h for the whole.
 *
 * Invariants, under the lock
 * - A walk from `first` by each span's length meets exactly `end`. Every change that a walk can see is one store to one
 *   tag, made after all that it reveals is in place. Tags inside a span do not count. Those that could be taken for a
 *   live block are cleared before the lock is released.
 * - Each free span is on the list for its length. Its first slice says where it lies, its last one how long it is. No
 *   two free spans are adjacent. All of this is derived: plait__repair() rebuilds it from the tags.
 * - Only the first slice of a free span has the tag of one. So `back` of the slice in front of a span may be the length
 *   of a free span. It is, if the tag that many slices back says the same.
 * - One change is made without the lock: a thread that frees a large block turns its tag from LARGE to FREED. After
 *   that, the tag only changes when the span becomes free, under the lock. The same thread does that when it has the
 *   lock next; `freed` names the span. Or a thread that runs out of memory or grows over the span does it, or a repair.
 *   The tag tells whether it was made free before.
 */
#include "internal.h"

PLAIT_COLD_BEGIN

#define CHUNK_BYTES ((uint32_t)sizeof(struct plait_metadata_chunk))
#define KEPT_PART 32u  /* of the limit: for each step of enum plait_heap_use, one of so many parts is kept */
#define MOST_KEPT 256u /* slices: 16 MiB, enough for a hundred threads */

#ifdef __wasm__
_Alignas(64) struct plait_heap plait__heap_root;
#endif

PLAIT_COLD struct plait_slice *plait__slice(uint32_t index) {
  return plait__slice_inline(index);
}

PLAIT_COLD void plait__link_put(struct plait_link *before, struct plait_link *link) {
  plait__list_put(before, link);
}

PLAIT_COLD void plait__link_take(struct plait_link *link) {
  plait__list_take(link);
}

PLAIT_COLD void plait__tag_set(uint32_t index, uint32_t tag) {
  plait_put(&plait__slice(index)->tag, tag);
}

PLAIT_COLD uint32_t plait__tag_of(uint32_t index) {
  return plait_get(&plait__slice(index)->tag);
}

/* ---- the lock ---- */

int plait__heap_try_lock(void) {
  int rc = plait_lock_try(&plait_heap()->lock);
  plait__reach();
  if (PLAIT_EXITS_NOTICED && rc == PLAIT_LOCK_TAKEN_OVER) plait__repair();
  return rc < 0 ? rc : 0;
}

PLAIT_COLD_END

void plait__heap_unlock(void) {
  plait_lock_release(&plait_heap()->lock);
}

/* ---- free spans; all under the lock ---- */

/* Each length up to 16 has a list; above there is one for each power of two. Length 0 is that of `no_span`. */
PLAIT_TINY uint32_t span_bin(uint32_t slices) {
  return slices <= 16 ? slices : 44u - (uint32_t)__builtin_clz(slices);
}

/*
 * If a neighbor is not free, `no_span` stands for it: a free span of no slices, on no list, or on its own. Whether a
 * neighbor is free is close to random, and a mispredicted branch costs more time than the stores.
 */
PLAIT_TINY struct plait_slice *if_free(struct plait_slice *slice) {
  return plait__kind(plait_get(&slice->tag)) == PLAIT__FREE ? slice : &plait_heap()->no_span;
}

/* The free span that ends in front of slice `index`, or `no_span`. */
PLAIT_TINY struct plait_slice *span_before(uint32_t index) {
  struct plait_heap *heap = plait_heap();
  uint32_t back = index > plait_get(&heap->first) ? plait_get(&plait__slice_inline(index - 1)->back) : 0;
  struct plait_slice *slice = plait__slice_inline(index - back);
  return plait_get(&slice->tag) == plait__tag(PLAIT__FREE, back) ? slice : &heap->no_span;
}

/* Takes the free span off its list and returns its length. A search that finds the list empty corrects the mask. */
PLAIT_TINY uint32_t span_unlink(struct plait_slice *slice) {
  plait__list_take(&slice->link);
  return plait__rest(plait_get(&slice->tag));
}

/* Makes `slices` slices from `slice`, at `index`, a free span: the tag is the commit. */
static PLAIT_ONCE void span_put(struct plait_slice *slice, uint32_t index, uint32_t slices) {
  struct plait_heap *heap = plait_heap();
  uint32_t bin = span_bin(slices);
  plait_put(&slice->owner, index);
  plait__list_put(&heap->span_bins[bin], &slice->link);
  plait_put(&heap->span_mask, plait_get(&heap->span_mask) | 1u << bin);
  plait_put(&plait__slice_inline(index + slices - 1)->back, slices);
  plait_put(&slice->tag, plait__tag(PLAIT__FREE, slices));
}

PLAIT_COLD void plait__span_put(uint32_t index, uint32_t slices) {
  span_put(plait__slice(index), index, slices);
}

PLAIT_COLD void plait__spans_clear(void) {
  struct plait_heap *heap = plait_heap();
  for (uint32_t i = 0; i < PLAIT_HEAP_SPAN_BIN_COUNT; i++) plait__list_clear(&heap->span_bins[i]);
  plait__list_clear(&heap->no_span.link);
  plait_put(&heap->span_mask, 0);
}

#ifdef PLAIT_HEAP_LIBRARY
PLAIT_TINY int may_take(uint32_t slices) {
  return (void)slices, 1;
}
#else
/*
 * Whether enough stays free for other uses, as enum plait_heap_use says. Exact under the lock, approximate without it.
 */
static int may_take(uint32_t slices) {
  struct plait_heap *heap = plait_heap();
  uint32_t limit = plait_get(&heap->limit), part = limit / KEPT_PART < MOST_KEPT ? limit / KEPT_PART + 1 : MOST_KEPT;
  uint32_t kept = part * (uint32_t)plait__use, used = plait_get(&heap->first) + plait_get(&heap->used);
  return kept == 0 || (uint64_t)used + slices + kept <= limit;
}
#endif

PLAIT_ONCE uint32_t plait__span_find(uint32_t slices) {
  struct plait_heap *heap = plait_heap();
  if (!may_take(slices)) return 0;
  /*
   * A list of several lengths may hold no span that is long enough. It is searched to its end, because each of its
   * spans is longer than 1 MiB. The span at the end of the memory is taken last: so the block in front of it can grow.
   */
  uint32_t end = plait_get(&heap->end), last = 0;
  for (uint32_t mask = plait_get(&heap->span_mask) & ~0u << span_bin(slices); mask != 0; mask &= mask - 1) {
    struct plait_link *list = &heap->span_bins[__builtin_ctz(mask)];
    plait_ref_t ref = plait_get(&list->next);
    if (ref == plait_ref(list)) plait_put(&heap->span_mask, plait_get(&heap->span_mask) & ~(mask & -mask));
    for (; ref != plait_ref(list); ref = plait_get(&plait__link(ref)->next)) {
      struct plait_slice *slice = plait_at(ref);
      uint32_t length = plait__rest(plait_get(&slice->tag)), index = plait_get(&slice->owner);
      if (length < slices) continue;
      if (index + length != end) return index;
      last = index;
    }
  }
  return last;
}

inline void plait__touch(uint32_t behind) {
  struct plait_heap *heap = plait_heap();
  if (behind > plait_get(&heap->touched)) plait_put(&heap->touched, behind);
}

/* Counts `slices` more in use. */
PLAIT_TINY void count_used(uint32_t slices) {
  struct plait_heap *heap = plait_heap();
  uint32_t used = plait_get(&heap->used) + slices;
  plait_put(&heap->used, used);
  if (used > plait_get(&heap->peak)) plait_put(&heap->peak, used);
}

PLAIT_ONCE void plait__span_take(uint32_t index, uint32_t slices, uint32_t tag) {
  struct plait_slice *slice = plait__slice_inline(index);
  uint32_t behind = index + slices, rest = span_unlink(slice) - slices;
  plait__touch(behind);
  span_put(rest != 0 ? plait__slice_inline(behind) : &plait_heap()->no_span, behind, rest);
  plait_put(&slice->tag, tag);
  count_used(slices);
}

/* Joins the span at `index`, whatever its tag, with the free spans around it. */
PLAIT_ONCE void plait__span_free(uint32_t index, uint32_t slices) {
  struct plait_heap *heap = plait_heap();
  struct plait_slice *slice = plait__slice_inline(index), *no_span = &heap->no_span;
  uint32_t behind = index + slices;
  plait_put(&heap->used, plait_get(&heap->used) - slices);
  struct plait_slice *after = if_free(behind < plait_get(&heap->end) ? plait__slice_inline(behind) : no_span);
  struct plait_slice *before = span_before(index);
  uint32_t more = span_unlink(after), back = span_unlink(before);
  span_put(back != 0 ? before : slice, index - back, back + slices + more);
  plait_put(&(back != 0 ? slice : no_span)->tag, PLAIT__NONE);
  plait_put(&after->tag, PLAIT__NONE);
}

/* Makes the large block free that the caller has freed without the lock, if it is still FREED. */
PLAIT_TINY void settle_freed(struct plait_thread_heap *mine) {
  uint32_t index = mine == NULL ? 0 : plait_get(&mine->freed);
  if (index == 0) return;
  uint32_t tag = plait_load_near(&plait__slice_inline(index)->tag);
  plait_put(&mine->freed, 0);
  if (plait__kind(tag) == PLAIT__FREED) plait__span_free(index, plait__rest(tag));
}

PLAIT_ONCE int plait__heap_lock(void) {
  int rc = plait_lock_acquire(&plait_heap()->lock);
  if (rc < 0) return rc;
  plait__reach();
  if (PLAIT_EXITS_NOTICED && rc == PLAIT_LOCK_TAKEN_OVER) plait__repair();
  settle_freed(plait__mine());
  return 0;
}

PLAIT_COLD_BEGIN

int plait__make_free(uint32_t index, uint32_t slices) {
  uint32_t length = 0;
  while (length < slices && index + length < plait_get(&plait_heap()->end)) {
    uint32_t tag = plait_load_near(&plait__slice(index + length)->tag);
    if (plait__kind(tag) == PLAIT__FREED) plait__span_free(index + length, plait__rest(tag));
    else if (plait__kind(tag) != PLAIT__FREE || length != 0) return 0;
    length = plait__rest(plait__tag_of(index));
  }
  return length >= slices ? may_take(slices) : -1; /* the memory ends there */
}

/* ---- metadata memory ---- */

/* The present piece of metadata memory ends where its slice does. A new piece starts with a slice. */
static void meta_take(plait_ref_t ref, uint32_t bytes) {
  plait_put(&plait_heap()->meta, ref + bytes);
  plait_zero_near(plait_at(ref), bytes);
}

plait_ref_t plait__meta(uint32_t bytes) {
  plait_ref_t ref = plait_get(&plait_heap()->meta);
  uint32_t index = 0;
  if ((0u - ref) % PLAIT_SLICE_SIZE < bytes) {
    index = plait__span_find(1);
    if (index == 0) return 0;
    ref = index * PLAIT_SLICE_SIZE;
  }
  meta_take(ref, bytes); /* first: a slice of metadata that `meta` does not name would be lost */
  if (index != 0) plait__span_take(index, 1, plait__tag(PLAIT__META, 1));
  return ref;
}

/* ---- growth ---- */

void plait__page_map_clear(struct plait_page_map_entry *entry, uint32_t count) {
  for (; count > 0; count--, entry++) plait_put(&entry->page, plait_ref(&plait_heap()->empty));
}

void plait__extend(uint32_t at, uint32_t to) {
  struct plait_heap *heap = plait_heap();
  uint32_t end = plait_get(&heap->end), limit = plait_get(&heap->limit);
  if (PLAIT_PLATFORM_ALONE) at = end, to = plait_platform_pages();
  if (to > limit) to = limit;
  if (at >= to) return;
  uint32_t donor = at; /* slices from `at` to here are taken for metadata */
  uint32_t from = end / PLAIT_HEAP_CHUNK_SLICES, last = (to - 1) / PLAIT_HEAP_CHUNK_SLICES;
  /* the first chunk is always made: see plait__free() */
  for (uint32_t chunk = 0; chunk <= last; chunk = chunk < from ? from : chunk + 1) {
    if (plait_get(&heap->chunks[chunk]) != 0) continue;
    /* from free slices, because new slices are to lie behind the old ones */
    plait_ref_t ref = plait__meta(CHUNK_BYTES);
    if (ref == 0) {
      if (donor == to) return;
      ref = donor++ * PLAIT_SLICE_SIZE;
      plait_put(&heap->touched, donor);
      meta_take(ref, CHUNK_BYTES);
    }
    plait__page_map_clear(((struct plait_metadata_chunk *)plait_at(ref))->page_map, PLAIT_HEAP_CHUNK_ENTRIES);
    near_store(&heap->chunks[chunk], ref, memory_order_release);
  }
  plait__tag_set(end, plait__tag(PLAIT__GAP, at - end)); /* if there is none, the next tag overwrites it */
  plait__tag_set(at, plait__tag(PLAIT__META, donor - at));
  if (donor < to) plait__tag_set(donor, plait__tag(PLAIT__FREED, to - donor));
  /* The commit; release: pairs with the acquire of a thread that compares a reference with it. */
  near_store(&heap->end, to, memory_order_release);
  plait_put(&heap->used, plait_get(&heap->used) + to - at);
  if (donor < to) plait__span_free(donor, to - donor);
}

/* How many of `slices` are missing behind `from`, where the memory ends. Approximate without the lock. */
static uint32_t lacking(uint32_t slices, uint32_t from) {
  uint32_t end = plait_load_near(&plait_heap()->end);
  uint32_t back = end == plait_get(&plait_heap()->first) ? 0 : plait_get(&plait__slice(end - 1)->back);
  /* if the heap ends with a free span, fewer are needed */
  return from == end && back < slices ? slices - back : slices;
}

/* Grows by a 64th if that is more, so that growth costs little in the long run. */
static int64_t grow_by(uint32_t *slices, uint32_t from) {
  uint32_t need = *slices;
  if (need < from / 64) *slices = from / 64;
  int64_t at = plait_platform_grow(*slices);
  return at < 0 ? plait_platform_grow(*slices = need) : at;
}

#if PLAIT_PLATFORM_ALONE

int plait__grow(uint32_t slices) {
  struct plait_heap *heap = plait_heap();
  uint32_t pages = plait_platform_pages(), end = plait_load_near(&heap->end), limit = plait_get(&heap->limit);
  if (pages > limit) pages = limit;
  if (!may_take(slices)) return -PLAIT_ENOMEM;
  if (pages <= end) { /* else another thread has grown the memory, and is about to extend the heap */
    uint32_t want = lacking(slices, end);
    if (want > limit - end || grow_by(&want, end) < 0) /* another thread was faster */
      return end < limit && (plait_load_near(&heap->end) > end || plait_platform_pages() > end) ? 0 : -PLAIT_ENOMEM;
  }
  if (plait__heap_lock() != 0) return -PLAIT_ENOMEM;
  plait__extend(0, 0);
  plait__heap_unlock();
  return 0;
}

#else

/* Under the lock, so that the heap extends itself in order. In between may lie memory that other code has grown. */
int plait__grow(uint32_t slices) {
  if (plait__heap_lock() != 0) return -PLAIT_ENOMEM;
  uint32_t from = plait_platform_pages(), want = lacking(slices, from);
  int64_t at = grow_by(&want, from);
  if (at >= 0) plait__extend((uint32_t)at, (uint32_t)at + want);
  plait__heap_unlock();
  return at < 0 ? -PLAIT_ENOMEM : 0;
}

#endif

PLAIT_COLD_END
