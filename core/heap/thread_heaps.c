/*
 * thread heaps: which thread allocates from what, and what happens to it after the thread has exited.
 *
 * Invariants
 * - A thread heap is changed by the thread that is bound to it. If there is none, it is changed under the lock. The
 *   owner words of pages and regions are authoritative; absorb() derives lists, bins and counters from them.
 * - `stale` is set before the lists stop being right for the next thread, and cleared when they are right again. So if
 *   a thread exits while it adopts or rebuilds a thread heap, the thread heap stays stale, and the next thread starts
 *   over.
 */
#include "internal.h"

PLAIT_COLD_BEGIN

static struct plait_thread_heap *theap_at(uint32_t index) {
  plait_ref_t ref = plait_load_near(&plait_heap()->thread_heaps[index]);
  return ref == 0 ? NULL : plait_at(ref);
}

static void clear_lists(struct plait_thread_heap *theap) {
  plait__own_clear(theap);
  plait_put64(&theap->bin_mask, 0);
  plait_put(&theap->empty_page, 0);
  plait_put(&theap->top, 0);
  plait_put(&theap->grower, 0);
  plait_put(&theap->last, 0);
  plait_put(&theap->spare, 0);
  plait_put(&theap->slices, 0);
  plait_put(&theap->medium_live, 0);
}

static int owns_memory(struct plait_thread_heap *theap) {
  if (plait_get(&theap->stale) != 0 || plait_get(&theap->slices) != 0 || plait_get64(&theap->remote) != 0) return 1;
  for (uint32_t class = 0; class < PLAIT_HEAP_CLASS_COUNT; class++)
    if (plait_get(&theap->classes[class].count) != 0) return 1;
  return 0;
}

static void count_orphans(void) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    struct plait_thread_heap *theap = theap_at(i);
    if (theap != NULL && plait_get(&theap->thread) == 0 && owns_memory(theap)) count++;
  }
  plait_put(&plait_heap()->orphans, count);
}

/* ---- adopting, under the lock ---- */

/* The thread heap gets the region, whatever state its blocks were left in. */
static void absorb_region(struct plait_thread_heap *theap, uint32_t index, uint32_t slices) {
  plait_ref_t at = index * PLAIT_SLICE_SIZE, end = at + slices * PLAIT_SLICE_SIZE - PLAIT__HEADER, free = 0;
  uint32_t before = 0, live = 0;
  /* the first slice last: its owner is the region's, in case this thread exits now */
  for (uint32_t i = slices; i-- > 0;) {
    struct plait_slice *slice = plait__slice(index + i);
    near_store(&slice->owner, plait_ref(theap), memory_order_seq_cst); /* see plait__remote_push() */
    if (i != 0) plait_put(&slice->tag, plait__tag(PLAIT__PART, i));
  }
  while (at < end) {
    struct plait_block *block = plait_at(at);
    uint32_t tag = plait_get(&block->tag), state = tag & 15u, size = tag & ~15u;
    /*
     * An END before the end: its thread was making the region longer or shorter. Anything else that does not fit was
     * overwritten by the program. It stays as it is, in one piece, and is never allocated.
     */
    if (PLAIT_EXITS_NOTICED && state == PLAIT__BLOCK_END) state = PLAIT__BLOCK_FREE, size = end - at;
    if (size == 0 || size > end - at || state == 0 || state > PLAIT__BLOCK_END)
      state = PLAIT__BLOCK_LIVE, size = end - at;
    /* Only a wrong tag is written, because another thread may free a live block at this time. */
    if ((size | state) != tag) plait_put(&block->tag, size | state);
    /* its thread was about to free it */
    else if (state != PLAIT__BLOCK_FREE) plait_put(plait__mark_of(at), plait__mark(at));
    if (state == PLAIT__BLOCK_FREE && free != 0) { /* two free blocks that are not joined */
      before += size;
    } else {
      if (free != 0) plait__block_put(theap, free, before);
      free = state == PLAIT__BLOCK_FREE ? at : 0;
      live += free == 0;
      plait_put(&block->before, before);
      before = size;
    }
    at += size;
  }
  if (free != 0) plait__block_put(theap, free, before);
  struct plait_block *last = plait_at(end);
  plait_put(&last->before, before);
  plait_put(&last->tag, PLAIT__BLOCK_END);
  plait_put(&theap->last, index);
  plait_put(&theap->slices, plait_get(&theap->slices) + slices);
  plait_put(&theap->medium_live, plait_get(&theap->medium_live) + live);
}

/* The thread heap gets pages of the slice that `former` owned, or that were lost between two owners. */
static void absorb_pages(struct plait_thread_heap *theap, uint32_t former, struct plait_slice *slice) {
  uint32_t pages = PLAIT_SLICE_SIZE >> plait__rest(plait_get(&slice->tag));
  for (uint32_t i = 0; i < pages; i++) {
    struct plait_page *page = (struct plait_page *)plait_at(plait_get(&slice->pages)) + i;
    uint32_t owner = plait_load_near(&page->owner);
    if (owner != former && (owner != PLAIT__ABANDONED || plait__page_remote(page) == 0)) continue;
    if (owner != plait_ref(theap) &&
        !near_compare_exchange(&page->owner, &owner, plait_ref(theap), memory_order_seq_cst, memory_order_relaxed))
      continue; /* another thread was faster */
    plait__page_rebuild(page);
    plait__own_link(theap, page);
  }
}

/* The thread heap gets all that the thread heap `former` owned. It is put onto its lists. */
static void absorb(struct plait_thread_heap *theap, uint32_t former) {
  struct plait_heap *heap = plait_heap();
  for (uint32_t index = plait_get(&heap->first); index < plait_get(&heap->end);) {
    struct plait_slice *slice = plait__slice(index);
    uint32_t tag = plait_load_near(&slice->tag), length = plait__rest(tag);
    if (plait__kind(tag) == PLAIT__PAGES) {
      absorb_pages(theap, former, slice);
      if (plait_get(&slice->owner) == former && former != plait_ref(theap)) plait__slice_adopt(theap, index);
      length = 1;
    } else if (plait__kind(tag) == PLAIT__REGION && plait_get(&slice->owner) == former) {
      absorb_region(theap, index, length);
    }
    if (length == 0) return; /* the table was overwritten */
    index += length;
  }
}

/*
 * Frees the blocks on the remote free list and on `draining`, or passes them on. `draining` may be a part of `remote`:
 * then its thread exited after it had named the block and before it took the list.
 */
static void settle(struct plait_thread_heap *theap) {
  plait_ref_t draining = plait_get(&theap->draining);
  plait_ref_t header = (plait_ref_t)near_load(&theap->remote, memory_order_acquire);
  for (; header != 0 && draining != 0; header = plait_get(plait__remote_next(header)))
    if (header == draining) plait_put(&theap->draining, draining = 0);
  plait__remote_settle(theap);
  if (near_load(&theap->remote, memory_order_seq_cst) != 0) plait__remote_drain(theap);
}

static void rebuild(struct plait_thread_heap *theap) {
  plait_put(&theap->stale, 1);
  clear_lists(theap);
  absorb(theap, plait_ref(theap));
  settle(theap);
  plait__pages_release_empty(theap);
  plait__sweep(theap);
  plait_put(&theap->stale, 0);
}

void plait__stranded(void) {
  if (plait__heap_lock() != 0) return;
  plait_put(&plait_heap()->orphans, plait_get(&plait_heap()->orphans) + 1); /* a search for it counts anew */
  plait__heap_unlock();
}

static int adopt_one(struct plait_thread_heap *theap) {
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    struct plait_thread_heap *from = theap_at(i);
    if (from == NULL || from == theap || plait_get(&from->thread) != 0 || !owns_memory(from)) continue;
    plait_put(&from->stale, 1);
    absorb(theap, plait_ref(from));
    clear_lists(from);
    settle(from); /* it owns nothing any more: all is passed on */
    plait_put(&from->stale, 0);
    plait__remote_drain(theap); /* the blocks passed on may be all that the caller can get */
    plait__pages_release_empty(theap);
    plait__sweep(theap);
    count_orphans();
    return 1;
  }
  count_orphans();
  return 0;
}

#if PLAIT_EXITS_NOTICED
int plait__adopt(struct plait_thread_heap *theap) {
  return plait_get(&plait_heap()->orphans) != 0 && adopt_one(theap);
}
#else
/*
 * Where no exit is ever detected, there is nothing to adopt before a thread has left. So only programs that call
 * plait_heap_leave() link the code for it. Volatile, or the compiler would name the function here.
 */
static int (*volatile adopting)(struct plait_thread_heap *theap);

int plait__adopt(struct plait_thread_heap *theap) {
  return plait_get(&plait_heap()->orphans) != 0 && adopting(theap);
}
#endif

/* ---- a thread and its thread heap ---- */

/* The thread heap of slot `index`, made if there is none: NULL if metadata needs a slice. Under the lock. */
static struct plait_thread_heap *theap_create(uint32_t index) {
  struct plait_thread_heap *theap = theap_at(index);
  if (theap != NULL) return theap;
  /* The statics' last slice may have room for a thread heap before the heap has a slice: see plait__free(). */
  plait_ref_t ref = plait_get(&plait_heap()->chunks[0]) == 0 ? 0 : plait__meta(sizeof(struct plait_thread_heap));
  if (ref == 0) return NULL;
  theap = plait_at(ref);
  plait_put(&theap->index, index);
  plait__own_clear(theap);
  plait__lists_clear(theap->partial, PLAIT_HEAP_SHIFT_COUNT); /* all other fields are zero */
  near_store(&plait_heap()->thread_heaps[index], ref, memory_order_release);
  return theap;
}

/* Binds the thread heap to the caller. Threads that share a slot share its thread heap. Under the lock. */
static void theap_take(struct plait_thread_heap *theap, plait_thread_t self) {
  uint32_t thread = plait_get(&theap->thread);
  if (PLAIT_EXITS_NOTICED && ((thread != 0 && thread != self) || plait_get(&theap->stale) != 0)) rebuild(theap);
  plait_put(&theap->thread, self); /* it may be counted in `orphans`; a search counts anew */
}

struct plait_thread_heap *plait__bind(void) {
  struct plait_thread_heap *theap = plait__mine();
  plait_thread_t self = plait_self_id();
  while (theap == NULL && self != 0) {
    if (plait__room_enter(NULL) != 0) return NULL;
    theap = theap_create(plait_thread_index(self));
    if (theap == NULL) {
      if (!plait__room_more(NULL, 1)) return NULL;
      continue;
    }
    theap_take(theap, self);
    plait__heap_unlock();
  }
  plait__set_thread_heap(theap);
  return theap;
}

void plait_heap_leave(void) {
  struct plait_thread_heap *theap = plait__mine();
  int locked = theap != NULL && plait__heap_lock() == 0;
  plait__set_thread_heap(NULL);
  if (!locked) return;
  plait_put(&theap->thread, 0);
  count_orphans();
#if !PLAIT_EXITS_NOTICED
  adopting = adopt_one;
#endif
  plait__heap_unlock();
}

void plait_heap_recover(plait_thread_t exited) {
  struct plait_heap *heap = plait_heap();
  struct plait_thread_heap *theap = theap_at(plait_thread_index(exited));
  int concerned = theap != NULL && plait_get(&theap->thread) == exited;
  if (plait__heap_lock() == 0) {
    plait__repair(); /* it may have freed a large block, and not joined it with its neighbors */
    if (concerned) {
      rebuild(theap);
      plait_put(&theap->thread, 0);
      count_orphans();
    }
    plait__heap_unlock();
  }
  plait_lock_wake(&heap->lock);
}

/* ---- after the exit of a thread that held the lock ---- */

/* Memory that was about to become metadata is none. What lies behind the end does not count. */
static void repair_meta(void) {
  struct plait_heap *heap = plait_heap();
  uint32_t end = plait_get(&heap->end), index = (plait_get(&heap->meta) - 1) / PLAIT_SLICE_SIZE;
  int known = index < end && plait__kind(plait_get(&plait__slice(index)->tag)) == PLAIT__META;
  if (index >= plait_get(&heap->first) && !known) plait_put(&heap->meta, 0);
  for (uint32_t i = 0; i < PLAIT_HEAP_CHUNK_LIMIT; i++)
    if (plait_get(&heap->chunks[i]) / PLAIT_SLICE_SIZE >= end) plait_put(&heap->chunks[i], 0);
}

/* Which pages of the slice are in use. Puts its shared pages onto their lists, except those without a block in use. */
static uint32_t repair_used(uint32_t index) {
  struct plait_slice *slice = plait__slice(index);
  uint32_t shift = plait__rest(plait_get(&slice->tag)), used = 0;
  for (uint32_t i = 0; i < PLAIT_SLICE_SIZE >> shift; i++) {
    struct plait_page *page = (struct plait_page *)plait_at(plait_get(&slice->pages)) + i;
    uint32_t owner = plait_load_near(&page->owner);
    if (owner != 0) used |= 1u << i;
    if (owner != PLAIT__SHARED) continue;
    plait__page_rebuild(page);
    /* its thread was about to give it back, or to see that it can */
    if (plait__used(plait_get(&page->free_state)) == 0) {
      near_store(&page->owner, 0, memory_order_release);
      used &= ~(1u << i);
      continue;
    }
    struct plait_page_list *list = &plait_heap()->shared_pages[plait_get8(&page->class)];
    plait__page_link(list, &list->link, page);
  }
  plait_put(&slice->used, used);
  return used;
}

static void clear_inside(uint32_t from, uint32_t to) {
  for (; from < to; from++) plait_put(&plait__slice(from)->tag, PLAIT__NONE);
}

void plait__repair(void) {
  struct plait_heap *heap = plait_heap();
  repair_meta();
  plait__spans_clear();
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    struct plait_thread_heap *theap = theap_at(i);
    if (theap != NULL) plait__lists_clear(theap->partial, PLAIT_HEAP_SHIFT_COUNT);
  }
  plait__lists_clear(heap->shared_pages, PLAIT_HEAP_CLASS_COUNT);
  uint32_t end = plait_get(&heap->end), used = 0, free = 0, length;
  for (uint32_t index = plait_get(&heap->first); index < end; index += length) {
    struct plait_slice *slice = plait__slice(index);
    uint32_t tag = plait_load_near(&slice->tag);
    enum plait__slice_kind kind = plait__kind(tag);
    length = kind == PLAIT__PAGES ? 1 : plait__rest(tag);
    /* the table was overwritten: stop here */
    if (length == 0 || length > end - index) length = end - index;
    if (kind == PLAIT__PAGES && repair_used(index) == 0) kind = PLAIT__FREE;
    if (kind == PLAIT__FREED) kind = PLAIT__FREE;
    if (kind != PLAIT__REGION) clear_inside(index + 1, index + length);
    if (kind == PLAIT__FREE) { /* joined with the free slices in front; listed when all of the span is known */
      uint32_t start = free == 0 ? index : free, slices = index + length - start;
      plait_put(&plait__slice(start)->tag, plait__tag(PLAIT__FREE, slices));
      if (start != index) plait_put(&slice->tag, PLAIT__NONE);
      free = start;
      if (index + length == end) plait__span_put(start, slices);
      continue;
    }
    if (free != 0) plait__span_put(free, index - free);
    free = 0;
    if (kind != PLAIT__GAP) used += length;
    for (uint32_t i = 1; kind == PLAIT__REGION && i < length; i++) /* not FREED: `freed` of a thread heap may name it */
      plait_put(&plait__slice(index + i)->tag, plait__tag(PLAIT__PART, i));
    uint32_t shift = plait__rest(tag);
    if (kind == PLAIT__PAGES && plait_get(&slice->used) != (1ull << (PLAIT_SLICE_SIZE >> shift)) - 1)
      plait__partial_link(slice, shift);
  }
  plait_put(&heap->used, used);
  if (used > plait_get(&heap->peak)) plait_put(&heap->peak, used);
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    struct plait_thread_heap *theap = theap_at(i);
    if (theap != NULL && plait_get(&theap->stale) != 0 && plait_get(&theap->thread) == 0) rebuild(theap);
  }
  count_orphans();
}

PLAIT_COLD_END
