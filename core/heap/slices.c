/*
 * slices: the address-indexed table, runs of slices, growth, and large blocks. See heap.h for the whole.
 *
 * Invariants, under the lock
 * - Walking from `first` by each run's length meets exactly `end`. Every change that a walk can see is one store to one
 *   tag, made after all that it reveals is in place. Tags inside a run do not count; those that could be taken for a
 *   live block are wiped before the lock is given back.
 * - Each free run is on the bin of its length, and its last slice says how long it is. No two free runs touch.
 *   These are derived: plait__repair() makes them from the tags.
 * - One change is made without the lock: who frees a large block turns LARGE into FREED, which nobody else touches but to
 *   make it free, under the lock: its thread when it has the lock next (`freed` says where to look), or whoever
 *   finds that memory ends or grows over it, or a repair. If it has been made free before, the tag says so.
 */
#include "internal.h"

PLAIT_COLD_BEGIN

#define LEAF_BYTES ((uint32_t)sizeof(struct plait_leaf))
#define RUNS_LOOKED_AT 32 /* how many runs of a bin are looked at before the next bin is taken */
#define MOST_PUT_OFF 16u  /* slices of a block that is freed without the lock */
#define ENDS_APART 4096u  /* bytes between two places where a large block may end */
#define MOST_SLICES 65535u /* so that the end of the last one is still a number of 32 bits */

#ifdef __wasm__
_Alignas(64) struct plait_heap plait__heap_root;
#endif

PLAIT_COLD struct plait_slice *plait__slice(uint32_t index) {
  return plait__slice_inline(index);
}

/* Without a fence: who looks at a block's tag has the block from whoever allocated it, or has the lock. */
static PLAIT_COLD void set_tag(uint32_t index, uint32_t tag) {
  plait_put(&plait__slice(index)->tag, tag);
}

static PLAIT_COLD uint32_t tag_of(uint32_t index) {
  return plait_get(&plait__slice(index)->tag);
}

/* ---- the lock ---- */

int plait__runs_try(void) {
  int rc = plait_lock_try(&plait_heap()->runs);
  plait__reach();
  if (PLAIT_DEATHS && rc == PLAIT_LOCK_TAKEN_OVER) plait__repair();
  return rc < 0 ? rc : 0;
}

PLAIT_COLD_END

void plait__runs_unlock(void) {
  plait_lock_release(&plait_heap()->runs);
}

PLAIT_TINY void set_tag_inline(uint32_t index, uint32_t tag) {
  plait_put(&plait__slice_inline(index)->tag, tag);
}

PLAIT_TINY uint32_t tag_inline(uint32_t index) {
  return plait_get(&plait__slice_inline(index)->tag);
}

/* ---- free runs; all under the lock ---- */

/* Lengths up to 32 have a bin each; above, two for each power of two. */
PLAIT_TINY uint32_t run_bin(uint32_t slices) {
  if (slices <= 32) return slices - 1;
  uint32_t log = 31u - (uint32_t)__builtin_clz(slices);
  return 32 + (log - 5) * 2 + (slices >> (log - 1) & 1);
}

/*
 * Where there is no neighbour, `nobody` takes what would be written into it: whether there is one is as good as random, and a
 * processor that guesses wrong loses more time than the store takes.
 */
PLAIT_ONCE void plait__run_link(uint32_t index, uint32_t slices) {
  struct plait_heap *heap = plait_heap();
  struct plait_slice *slice = plait__slice_inline(index);
  uint32_t bin = run_bin(slices), head = plait_get(&heap->run_bins[bin]);
  struct plait_slice *second = plait__slice_inline(head);
  plait_put(&slice->next, head);
  plait_put(&slice->prev, 0);
  plait_put(head != 0 ? &second->prev : &heap->nobody, index);
  plait_put(&heap->run_bins[bin], index);
  plait_put64(&heap->run_mask, plait_get64(&heap->run_mask) | 1ull << bin);
  plait_put(&plait__slice_inline(index + slices - 1)->back, slices);
}

PLAIT_ONCE void plait__run_unlink(uint32_t index, uint32_t slices) {
  struct plait_heap *heap = plait_heap();
  struct plait_slice *slice = plait__slice_inline(index);
  uint32_t bin = run_bin(slices), next = plait_get(&slice->next), prev = plait_get(&slice->prev);
  struct plait_slice *before = plait__slice_inline(prev), *after = plait__slice_inline(next);
  plait_put(next != 0 ? &after->prev : &heap->nobody, prev);
  plait_put(prev != 0 ? &before->next : &heap->run_bins[bin], next);
  plait_put64(&heap->run_mask, plait_get64(&heap->run_mask) & ~((uint64_t)((prev | next) == 0) << bin));
  plait_put(&plait__slice_inline(index + slices - 1)->back, 0);
}

PLAIT_ONCE uint32_t plait__run_find(uint32_t slices) {
  struct plait_heap *heap = plait_heap();
  uint32_t bin = run_bin(slices);
  if (bin >= 32) { /* the bin holds a range of lengths */
    uint32_t index = plait_get(&heap->run_bins[bin]);
    for (int i = 0; index != 0 && i < RUNS_LOOKED_AT; i++, index = plait_get(&plait__slice_inline(index)->next))
      if (plait__rest(tag_inline(index)) >= slices) return index;
    bin++;
  }
  uint64_t mask = plait_get64(&heap->run_mask) & ~0ull << bin;
  return mask == 0 ? 0 : plait_get(&heap->run_bins[__builtin_ctzll(mask)]);
}

static inline void count_used(int32_t slices) {
  struct plait_heap *heap = plait_heap();
  uint32_t used = plait_get(&heap->used) + (uint32_t)slices;
  plait_put(&heap->used, used);
  if (used > plait_get(&heap->peak)) plait_put(&heap->peak, used);
}

void plait__touch(uint32_t behind) {
  struct plait_heap *heap = plait_heap();
  if (behind > plait_get(&heap->touched)) plait_put(&heap->touched, behind);
}

PLAIT_ONCE void plait__run_take(uint32_t index, uint32_t skip, uint32_t slices, uint32_t tag) {
  uint32_t length = plait__rest(tag_inline(index)), behind = index + skip + slices, rest = length - skip - slices;
  plait__touch(behind);
  plait__run_unlink(index, length);
  if (rest != 0) {
    set_tag_inline(behind, plait__tag(PLAIT__FREE, rest));
    plait__run_link(behind, rest);
  }
  set_tag_inline(index + skip, tag);
  if (skip != 0) {
    set_tag_inline(index, plait__tag(PLAIT__FREE, skip));
    plait__run_link(index, skip);
  }
  count_used((int32_t)slices);
}

/* Makes the run at `index`, whatever its tag, free, together with the free runs around it. */
PLAIT_ONCE static void join(uint32_t index, uint32_t slices) {
  struct plait_heap *heap = plait_heap();
  uint32_t behind = index + slices, start = index, length = slices, after = 0;
  uint32_t next = behind < plait_get(&heap->end) ? tag_inline(behind) : 0;
  if (plait__kind(next) == PLAIT__FREE) {
    after = plait__rest(next);
    plait__run_unlink(behind, after);
    length += after;
  }
  uint32_t back = index > plait_get(&heap->first) ? plait_get(&plait__slice_inline(index - 1)->back) : 0;
  if (back != 0) {
    start = index - back;
    plait__run_unlink(start, back);
    length += back;
  }
  set_tag_inline(start, plait__tag(PLAIT__FREE, length));
  if (back != 0) set_tag_inline(index, PLAIT__NONE);
  if (after != 0) set_tag_inline(behind, PLAIT__NONE);
  plait__run_link(start, length);
}

void plait__run_give(uint32_t index, uint32_t slices) {
  count_used(-(int32_t)slices);
  join(index, slices);
}

/* The large block that the caller has freed without the lock, if it is still FREED, becomes free. */
PLAIT_TINY void settle_freed(struct plait_record *mine) {
  uint32_t index = mine == NULL ? 0 : plait_get(&mine->freed);
  if (index == 0) return;
  uint32_t tag = plait_load_near(&plait__slice_inline(index)->tag);
  plait_put(&mine->freed, 0);
  if (plait__kind(tag) == PLAIT__FREED) plait__run_give(index, plait__rest(tag));
}

PLAIT_ONCE int plait__runs_lock(void) {
  int rc = plait_lock_acquire(&plait_heap()->runs);
  if (rc < 0) return rc;
  plait__reach();
  if (PLAIT_DEATHS && rc == PLAIT_LOCK_TAKEN_OVER) plait__repair();
  settle_freed(plait__mine());
  return 0;
}

PLAIT_COLD_BEGIN

int plait__make_free(uint32_t index, uint32_t slices) {
  uint32_t length = 0;
  while (length < slices && index + length < plait_get(&plait_heap()->end)) {
    uint32_t tag = plait_load_near(&plait__slice(index + length)->tag);
    if (plait__kind(tag) == PLAIT__FREED) plait__run_give(index + length, plait__rest(tag));
    else if (plait__kind(tag) != PLAIT__FREE || length != 0) return 0;
    length = plait__rest(tag_of(index));
  }
  return length >= slices;
}

/* ---- bookkeeping memory ---- */

static plait_ref_t meta_bump(uint32_t bytes) {
  struct plait_heap *heap = plait_heap();
  plait_ref_t ref = plait_get(&heap->meta_next);
  if (plait_get(&heap->meta_end) - ref < bytes) return 0;
  plait_zero_near(plait_at(ref), bytes);
  plait_put(&heap->meta_next, ref + bytes);
  return ref;
}

static void meta_begin(uint32_t index) {
  struct plait_heap *heap = plait_heap();
  plait_put(&heap->meta_start, index * PLAIT_SLICE_SIZE);
  plait_put(&heap->meta_next, index * PLAIT_SLICE_SIZE);
  plait_put(&heap->meta_end, (index + 1) * PLAIT_SLICE_SIZE);
}

plait_ref_t plait__meta(uint32_t bytes) {
  struct plait_heap *heap = plait_heap();
  if (plait_get(&heap->meta_end) - plait_get(&heap->meta_next) < bytes) {
    uint32_t index = plait__run_find(1);
    if (index == 0) return 0;
    meta_begin(index); /* first: a slice of bookkeeping that nobody knows would be lost */
    plait__run_take(index, 0, 1, plait__tag(PLAIT__META, 1));
  }
  return meta_bump(bytes);
}

/* ---- growth ---- */

void plait__extend(uint32_t at, uint32_t to) {
  struct plait_heap *heap = plait_heap();
  uint32_t end = plait_get(&heap->end), limit = plait_get(&heap->limit);
  if (PLAIT_PLATFORM_ALONE) at = end, to = plait_platform_pages();
  if (to > limit) to = limit;
  if (at >= to) return;
  uint32_t donor = at; /* slices from `at` to here are taken for bookkeeping */
  for (uint32_t leaf = end / PLAIT_HEAP_LEAF_SLICES; leaf <= (to - 1) / PLAIT_HEAP_LEAF_SLICES; leaf++) {
    if (plait_get(&heap->leaves[leaf]) != 0) continue;
    plait_ref_t ref = plait__meta(LEAF_BYTES); /* of what is free already: new slices are to lie behind the old ones */
    if (ref == 0 && donor < to) {
      meta_begin(donor++);
      ref = meta_bump(LEAF_BYTES);
    }
    if (ref == 0) return;
    near_store(&heap->leaves[leaf], ref, memory_order_release);
  }
  if (at > end) set_tag(end, plait__tag(PLAIT__GAP, at - end));
  if (donor > at) set_tag(at, plait__tag(PLAIT__META, donor - at));
  if (donor < to) set_tag(donor, plait__tag(PLAIT__FREE, to - donor));
  if (donor > plait_get(&heap->touched)) plait_put(&heap->touched, donor);
  /* The commit; release: pairs with the acquire of whoever checks a reference against it. */
  near_store(&heap->end, to, memory_order_release);
  count_used((int32_t)(donor - at));
  if (donor < to) join(donor, to - donor);
}

/* How many slices to grow by, so that a run of `slices` fits; 0 if the limit is too near. */
static uint32_t growth(uint32_t slices, uint32_t from) {
  uint32_t end = plait_load_near(&plait_heap()->end), left = plait_get(&plait_heap()->limit) - from, more = from / 32;
  uint32_t back = plait_get(&plait__slice(end - 1)->back); /* a hint: the run that the heap ends with needs less */
  if (from == end && back < slices) slices -= back;
  if (slices > left) return 0;
  if (more > left) more = left;
  return more > slices ? more : slices; /* a 32nd more each time: growth costs little in the long run */
}

#if PLAIT_PLATFORM_ALONE

int plait__grow(uint32_t slices) {
  struct plait_heap *heap = plait_heap();
  uint32_t pages = plait_platform_pages(), end = plait_load_near(&heap->end), limit = plait_get(&heap->limit);
  if (pages > limit) pages = limit;
  if (pages <= end) { /* else another thread has grown, and is about to tell */
    uint32_t want = growth(slices, end);
    if (want == 0 || (plait_platform_grow(want) < 0 && (want <= slices || plait_platform_grow(slices) < 0)))
      return end < limit && (plait_load_near(&heap->end) > end || plait_platform_pages() > end) ? 0 : -PLAIT_ENOMEM; /* quicker */
  }
  if (plait__runs_lock() != 0) return -PLAIT_ENOMEM;
  plait__extend(0, 0);
  plait__runs_unlock();
  return 0;
}

#else

/* Under the lock, so that what this heap grows comes in order; between may lie what others have grown. */
int plait__grow(uint32_t slices) {
  if (plait__runs_lock() != 0) return -PLAIT_ENOMEM;
  uint32_t pages = plait_platform_pages(), end = plait_get(&plait_heap()->end);
  uint32_t limit = plait_get(&plait_heap()->limit), from = pages > end ? pages : end;
  uint32_t want = from < limit ? growth(slices, from) : 0;
  int64_t at = want == 0 ? -1 : plait_platform_grow(want);
  if (at < 0 && want > slices) at = plait_platform_grow(want = slices);
  if (at >= 0) plait__extend((uint32_t)at, (uint32_t)at + want);
  plait__runs_unlock();
  return at < 0 ? -PLAIT_ENOMEM : 0;
}

#endif

int plait_heap_init(plait_ref_t first, uint32_t maximum_pages) {
  struct plait_heap *heap = plait_heap();
  uint32_t limit = maximum_pages < MOST_SLICES ? maximum_pages : MOST_SLICES;
  first = (first + PLAIT_HEAP_GRANULE - 1) & ~(PLAIT_HEAP_GRANULE - 1);
  uint32_t index = (first + PLAIT_SLICE_SIZE - 1) / PLAIT_SLICE_SIZE;
  uint32_t pages = plait_platform_pages();
  if (index + 1 > limit) return -PLAIT_ENOMEM;
  if (pages < index + 1 && plait_platform_grow(index + 1 - pages) < 0) return -PLAIT_ENOMEM;
  plait_put(&heap->first, index);
  plait_put(&heap->end, index);
  plait_put(&heap->touched, index);
  plait_put(&heap->limit, limit);
  plait_put(&heap->meta_start, first); /* what is left of the first slice serves for bookkeeping */
  plait_put(&heap->meta_next, first);
  plait_put(&heap->meta_end, index * PLAIT_SLICE_SIZE);
  plait__classes_init();
  plait__extend(index, plait_platform_pages());
  return 0;
}

/* ---- large blocks ---- */

PLAIT_TINY uint32_t slices_for(uint32_t size) {
  return (uint32_t)(((uint64_t)size + PLAIT_SLICE_SIZE - 1) / PLAIT_SLICE_SIZE);
}

/*
 * How far behind its run's start a block begins, as far as there is room: such that it ends in one of 16 lines of its last slice,
 * which one of them being a matter of the size, and begins in one of the first 64 lines of its first slice. So what begins or
 * ends in a slice does so where something has before, in lines that a cache still has. If all began at multiples of 64 KiB, they would
 * end in any of 1024 lines, which are in no cache, and their first lines would share a few sets of every cache.
 */
PLAIT_TINY uint32_t start_of(uint32_t behind, uint32_t size, uint32_t room) {
  uint32_t offset = ((behind * 0x9E3779B1u >> 26) * 64 - size) & (ENDS_APART - 64);
  return offset <= room - size ? offset : 0;
}

PLAIT_ONCE plait_ref_t plait__large_alloc(uint32_t size, uint32_t alignment) {
  struct plait_heap *heap = plait_heap();
  uint32_t slices = slices_for(size), unit = alignment > PLAIT_SLICE_SIZE ? alignment / PLAIT_SLICE_SIZE : 1;
  uint32_t need = slices + unit - 1;
  struct plait_record *mine = plait__mine();
  if (mine == NULL) mine = plait__bind();
  if (mine != NULL && plait_get64(&mine->remote) != 0) plait__medium_drain(mine);
  for (;;) {
    if (plait__runs_lock() != 0) return 0;
    uint32_t index = plait__run_find(need);
    if (index == 0 && mine != NULL && plait__adopt(mine))
      index = plait__run_find(need);
    if (index != 0) {
      uint32_t skip = (0u - index) & (unit - 1); /* a power of two */
      uint32_t at = index + skip, offset = alignment > 64 ? 0 : start_of(at + slices, size, slices * PLAIT_SLICE_SIZE);
      plait__fresh = at >= plait_get(&heap->touched);
      plait_put(&plait__slice_inline(at)->used, offset);
      plait__run_take(index, skip, slices, plait__tag(PLAIT__LARGE, slices));
      plait__runs_unlock();
      return at * PLAIT_SLICE_SIZE + offset;
    }
    plait__runs_unlock();
    if (plait__grow(need) != 0 && (mine == NULL || !plait__relinquish(mine))) return 0;
  }
}

/* Of several threads that free one block the exchange has one winner. FREED is the truth; who makes it free is open. */
PLAIT_ONCE int plait__large_free(plait_ref_t block) {
  uint32_t index = block / PLAIT_SLICE_SIZE;
  struct plait_slice *slice = plait__slice_inline(index);
  struct plait_record *mine = plait__mine();
  uint32_t tag = plait_get(&slice->tag), slices = plait__rest(tag), freed = plait__tag(PLAIT__FREED, slices);
  if (plait__kind(tag) != PLAIT__LARGE || block % PLAIT_SLICE_SIZE != plait_get(&slice->used)) return -PLAIT_EINVAL;
  if (!atomic_compare_exchange_strong_explicit(&slice->tag, &tag, freed, memory_order_acq_rel, memory_order_relaxed))
    return -PLAIT_EINVAL;
  if (mine != NULL && slices <= MOST_PUT_OFF && plait_get(&mine->freed) == 0) {
    plait_put(&mine->freed, index); /* whenever it has the lock next */
    return 0;
  }
  if (plait__runs_lock() != 0) return 0; /* the next repair makes it free */
  if (plait_load_near(&slice->tag) == freed) plait__run_give(index, slices);
  plait__runs_unlock();
  return 0;
}

int plait__large_resize(plait_ref_t block, uint32_t size) {
  uint32_t index = block / PLAIT_SLICE_SIZE, offset = block % PLAIT_SLICE_SIZE;
  if (size > UINT32_MAX - PLAIT_SLICE_SIZE || plait__runs_lock() != 0) return 0;
  uint32_t want = slices_for(size + offset), tag = tag_of(index), have = plait__rest(tag);
  uint32_t part = index + (want < have ? want : have), slices = want < have ? have - want : want - have; /* what comes or goes */
  int is_block = plait__kind(tag) == PLAIT__LARGE && plait_get(&plait__slice(index)->used) == offset;
  int fits = is_block && (want <= have || plait__make_free(part, slices));
  if (fits && slices != 0) {
    if (want > have) plait__run_take(part, 0, slices, plait__tag(PLAIT__FREED, slices)); /* nobody's yet */
    else set_tag(part, plait__tag(PLAIT__FREED, slices));
    /* The commit: an exchange, because another thread may be freeing the block. acq_rel, as there. */
    fits = near_compare_exchange(&plait__slice(index)->tag, &tag, plait__tag(PLAIT__LARGE, want), memory_order_acq_rel,
                                 memory_order_relaxed);
    if (fits == (want < have)) plait__run_give(part, slices);
    else set_tag(part, PLAIT__NONE);
  }
  plait__runs_unlock();
  return fits;
}

PLAIT_COLD_END
