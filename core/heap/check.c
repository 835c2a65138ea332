/*
 * heap check: walks the slice table, every page, every block of every region, and every list, and compares what it
 * finds with what is derived from it. An exited thread may have lost a block that was on its way to its owner. Such a
 * block is REMOTE and on no remote free list, which is allowed.
 *
 * Invariant: plait__fault_set() names what is being checked, so that it says what was wrong when a check ends early.
 */
#include "internal.h"

PLAIT_COLD_BEGIN

static void checking(enum plait_heap_fault_kind kind, const void *structure) {
  plait__fault_set(kind, plait_ref(structure), 0);
}

static int fail(void) {
  return -PLAIT_EILSEQ;
}

/* Whether a header may lie there. If a reference was overwritten, what it names is not read. */
static int is_inside(plait_ref_t header) {
  uint32_t index = header / PLAIT_SLICE_SIZE;
  return header % 16 == 0 && index >= plait_get(&plait_heap()->first) && index < plait_get(&plait_heap()->end);
}

static int is_thread_heap(uint32_t owner) {
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++)
    if (owner != 0 && plait_get(&plait_heap()->thread_heaps[i]) == owner) return 1;
  return 0;
}

/* Whether the page map's entries for the page's blocks name it, and yield the right numbers. */
static int is_mapped(struct plait_page *page, uint32_t base, uint32_t shift) {
  struct plait_metadata_chunk *chunk =
      plait_at(plait_get(&plait_heap()->chunks[base / PLAIT_SLICE_SIZE / PLAIT_HEAP_CHUNK_SLICES]));
  for (uint32_t at = base; at < base + (1u << shift); at += PLAIT_HEAP_GRANULE) {
    struct plait_page_map_entry *entry = plait__page_map_entry(chunk, at);
    uint32_t word = plait_get(&entry->page);
    if (plait__mapped_page(word) != page) return 0;
    for (uint32_t n = 0; n < plait_get8(&page->count); n++)
      if (plait__number(entry, word, base + n * plait_get16(&page->step)) != n) return 0;
  }
  return 1;
}

/*
 * Whether the page's free list agrees with its states and its free state. Blocks that other threads have freed are on
 * the list after its owner has collected them.
 */
static int is_listed(struct plait_page *page, uint32_t count) {
  uint32_t free_state = plait_get(&page->free_state), number = free_state % 256, used = plait__used(free_state),
           free = count - used;
  for (uint32_t n = 0; n < PLAIT_PAGE_STATES; n++) {
    uint32_t state = plait_get8(plait__state(page, n));
    if (n >= count && state != PLAIT__SMALL_END) return 0;
    if (state != PLAIT__SMALL_LIVE && plait__is_remote(page, n)) return 0;
    used -= state == PLAIT__SMALL_LIVE;
  }
  for (; number != PLAIT__SMALL_END && free > 0; free--) {
    if (number >= count) return 0;
    number = plait_get8(plait__state(page, number));
  }
  return used == 0 && free == 0 && number == PLAIT__SMALL_END;
}

static int check_page(struct plait_page *page, uint32_t base, uint32_t shift) {
  uint32_t owner = plait_load(&page->owner), count = plait_get8(&page->count), step = plait_get16(&page->step);
  if (owner == 0) return 0;
  checking(PLAIT_FAULT_PAGE, page);
  if (plait_get(&page->base) != base) return fail();
  if (plait_get8(&page->class) >= PLAIT_HEAP_CLASS_COUNT || plait__class_size(plait_get8(&page->class)) != step)
    return fail();
  if (count == 0 || count > PLAIT__MOST_BLOCKS || count * step > 1u << shift) return fail();
  if (owner != PLAIT__ABANDONED && owner != PLAIT__SHARED && (!is_thread_heap(owner))) return fail();
  if (!is_mapped(page, base, shift)) return fail();
  if (owner == PLAIT__ABANDONED &&
      (plait_get(&page->free_state) & ~PLAIT__PREFER_EMPTIER) != (count << 8 | PLAIT__SMALL_END))
    return fail();
  struct plait_thread_heap *theap = owner % 2 == 0 ? plait_at(owner) : NULL;
  int stale = theap != NULL && plait_get(&theap->stale) != 0;
  if (theap != NULL && !stale &&
      (plait_get(&page->free_state) & PLAIT__PREFER_EMPTIER) != plait_get(&theap->prefer_emptier))
    return fail();
  if (!stale && !is_listed(page, count)) return fail();
  return 0;
}

static int check_pages(uint32_t index, uint32_t shift) {
  struct plait_slice *slice = plait__slice(index);
  uint32_t used = 0, pages = PLAIT_SLICE_SIZE >> shift;
  checking(PLAIT_FAULT_TABLE, slice);
  if (shift < 12 || shift > 16 || plait_get(&slice->capacity) < pages) return fail();
  for (uint32_t i = 0; i < pages; i++) {
    struct plait_page *page = (struct plait_page *)plait_at(plait_get(&slice->pages)) + i;
    if (check_page(page, index * PLAIT_SLICE_SIZE + (i << shift), shift) != 0) return fail();
    if (plait_load(&page->owner) != 0) used |= 1u << i;
  }
  checking(PLAIT_FAULT_TABLE, slice);
  return used == plait_get(&slice->used) && used != 0 ? 0 : fail();
}

/* Counts into `live` and `listed`: blocks that are not free, and free ones that belong on a bin. */
static int check_region(uint32_t index, uint32_t slices, uint32_t *live, uint32_t *listed) {
  plait_ref_t at = index * PLAIT_SLICE_SIZE, end = at + slices * PLAIT_SLICE_SIZE - PLAIT__HEADER;
  uint32_t before = 0, was_free = 0, owner = plait_get(&plait__slice(index)->owner);
  plait_ref_t neighbour = 0;
  for (uint32_t i = 1; i < slices; i++) {
    struct plait_slice *part = plait__slice(index + i);
    checking(PLAIT_FAULT_TABLE, part);
    if (plait_get(&part->tag) != plait__tag(PLAIT__PART, i) || plait_get(&part->owner) != owner) return fail();
  }
  while (at < end) {
    struct plait_block *block = plait_at(at);
    uint32_t tag = plait_load(&block->tag), state = tag & 15u, size = tag & ~15u;
    plait__fault_set(PLAIT_FAULT_BLOCK, at, neighbour);
    if (size < PLAIT__HEADER || size > end - at || plait_get(&block->before) != before) return fail();
    if (state < PLAIT__BLOCK_FREE || state > PLAIT__BLOCK_REMOTE) return fail();
    if (state == PLAIT__BLOCK_FREE && was_free) return fail();
    if (state != PLAIT__BLOCK_FREE && plait_get(plait__mark_of(at)) != plait__mark(at)) return fail();
    was_free = state == PLAIT__BLOCK_FREE;
    *live += !was_free;
    *listed += was_free && size >= 2048;
    neighbour = at + PLAIT__HEADER;
    before = size;
    at += size;
  }
  struct plait_block *last = plait_at(end);
  plait__fault_set(PLAIT_FAULT_BLOCK, end, neighbour);
  return plait_get(&last->tag) == PLAIT__BLOCK_END && plait_get(&last->before) == before ? 0 : fail();
}

/* The lists hold `pages` pages, and `owner` owns all of them. */
static int check_lists(const struct plait_page_list *lists, uint32_t count_of_lists, uint32_t owner, uint32_t pages) {
  for (uint32_t class = 0; class < count_of_lists; class++) {
    plait_ref_t list = plait_ref(&lists[class]), prev = list, ref = plait_get(&lists[class].link.next);
    uint32_t count = 0;
    checking(PLAIT_FAULT_PAGES, &lists[class]);
    for (; ref != list; prev = ref, ref = plait_get(&plait__link(ref)->next)) {
      struct plait_page *page = plait_at(ref);
      if (plait_get(&page->owner) != owner || plait_get8(&page->class) != class) return fail();
      if (plait_get(&page->link.prev) != prev || count++ == pages) return fail();
    }
    if (plait_get(&lists[class].link.prev) != prev || plait_get(&lists[class].count) != count) return fail();
    pages -= count;
  }
  return pages == 0 ? 0 : fail();
}

/* The thread heap's bins hold `listed` free blocks of its own regions, and its counters agree. */
static int check_thread_heap(struct plait_thread_heap *theap, uint32_t live, uint32_t listed) {
  checking(PLAIT_FAULT_THREAD_HEAP, theap);
  if (plait_get(&theap->medium_live) != live) return fail();
  for (uint32_t bin = 0; bin < PLAIT_HEAP_BIN_COUNT; bin++) {
    struct plait_link *list = &theap->bins[bin];
    plait_ref_t prev = plait_ref(list);
    checking(PLAIT_FAULT_BINS, list);
    if ((plait_get64(&theap->bin_mask) >> bin & 1) == 0) continue;
    for (plait_ref_t header = plait_get(&list->next); header != plait_ref(list);
        prev = header, header = plait_get(&plait__link(header)->next)) {
      struct plait_block *block = plait_at(header);
      if (!is_inside(header)) return fail();
      checking(PLAIT_FAULT_BINS, block);
      if ((plait_get(&block->tag) & 15u) != PLAIT__BLOCK_FREE || plait_get(&block->link.prev) != prev) return fail();
      if (plait_get(&plait__slice(header / PLAIT_SLICE_SIZE)->owner) != plait_ref(theap) || listed-- == 0)
        return fail();
    }
    if (plait_get(&list->prev) != prev) return fail();
  }
  plait_ref_t top = plait_get(&theap->top);
  plait__fault_set(PLAIT_FAULT_BINS, top, 0);
  if (top == 0) return listed == 0 && plait_get(&theap->grower) == 0 ? 0 : fail();
  if (!is_inside(top) || plait_get(&plait__slice(top / PLAIT_SLICE_SIZE)->owner) != plait_ref(theap)) return fail();
  uint32_t tag = plait_get(&((struct plait_block *)plait_at(top))->tag);
  if ((tag & 15u) != PLAIT__BLOCK_FREE || listed != (tag >= 2048)) return fail();
  plait_ref_t grower = plait_get(&theap->grower);
  if (grower == 0) return 0;
  int before = grower == top - plait_get(&((struct plait_block *)plait_at(top))->before);
  return before && plait_get(&theap->grower_end) == top + (tag & ~15u) ? 0 : fail();
}

/*
 * The current pages are on the thread heap's lists. Each page names the word where the class's current page is noted.
 */
static int check_current(struct plait_thread_heap *theap) {
  for (uint32_t class = 0; class < PLAIT_HEAP_CLASS_COUNT; class++) {
    struct plait_page_list *list = &theap->classes[class];
    plait_ref_t current = plait_get(&theap->current[class]), ref = plait_get(&list->link.next);
    int found = current == plait_ref(&plait_heap()->empty);
    checking(PLAIT_FAULT_PAGES, &theap->current[class]);
    for (; ref != plait_ref(list); ref = plait_get(&plait__link(ref)->next)) {
      struct plait_page *page = plait_at(ref);
      if (plait_get(&page->current_word) != plait_ref(&theap->current[class])) return fail();
      found |= current == ref;
    }
    if (!found) return fail();
  }
  return 0;
}

/* Subtracts from `partial` the slices in which the thread heap has unused pages. */
static int check_partial(struct plait_thread_heap *theap, uint32_t *partial) {
  for (uint32_t i = 0; i < PLAIT_HEAP_SHIFT_COUNT; i++) {
    plait_ref_t list = plait_ref(&theap->partial[i]), prev = list, ref = plait_get(&theap->partial[i].link.next);
    checking(PLAIT_FAULT_THREAD_HEAP, &theap->partial[i]);
    for (; ref != list; prev = ref, ref = plait_get(&plait__link(ref)->next)) {
      struct plait_slice *slice = plait_at(ref);
      uint32_t index = plait_get(&slice->back) - PLAIT__NUMBERED;
      if (index >= plait_get(&plait_heap()->end) || plait__slice(index) != slice) return fail();
      if (plait_get(&slice->tag) != plait__tag(PLAIT__PAGES, PLAIT__SMALLEST_SHIFT + i) ||
          plait_get(&slice->link.prev) != prev)
        return fail();
      if (plait_get(&slice->owner) != plait_ref(theap) || (*partial)-- == 0) return fail();
    }
  }
  return 0;
}

/* How many pages have this owner. */
static uint32_t count_pages(uint32_t owner) {
  struct plait_heap *heap = plait_heap();
  uint32_t pages = 0;
  for (uint32_t index = plait_get(&heap->first); index < plait_get(&heap->end); index++) {
    struct plait_slice *slice = plait__slice(index);
    uint32_t tag = plait_load(&slice->tag);
    if (plait__kind(tag) != PLAIT__PAGES) continue;
    for (uint32_t at = 0; at < PLAIT_SLICE_SIZE >> plait__rest(tag); at++)
      pages += plait_load(&((struct plait_page *)plait_at(plait_get(&slice->pages)) + at)->owner) == owner;
  }
  return pages;
}

static int check_thread_heaps(void) {
  struct plait_heap *heap = plait_heap();
  uint32_t end = plait_get(&heap->end);
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    plait_ref_t ref = plait_load(&heap->thread_heaps[i]);
    if (ref == 0) continue;
    struct plait_thread_heap *theap = plait_at(ref);
    uint32_t live = 0, listed = 0, slices = 0;
    checking(PLAIT_FAULT_THREAD_HEAP, theap);
    if (plait_get(&theap->index) != i || (plait_get(&theap->stale) != 0 && plait_get(&theap->thread) != 0))
      return fail();
    for (uint32_t index = plait_get(&heap->first); index < end; index++) {
      struct plait_slice *slice = plait__slice(index);
      uint32_t tag = plait_load(&slice->tag);
      if (plait__kind(tag) != PLAIT__REGION || plait_get(&slice->owner) != ref) continue;
      slices += plait__rest(tag);
      if (check_region(index, plait__rest(tag), &live, &listed) != 0) return fail();
    }
    if (plait_get(&theap->stale) != 0) continue;
    checking(PLAIT_FAULT_THREAD_HEAP, theap);
    if (slices != plait_get(&theap->slices) || check_thread_heap(theap, live, listed) != 0) return fail();
    if (check_lists(theap->classes, PLAIT_HEAP_CLASS_COUNT, ref, count_pages(ref)) != 0) return fail();
    if (check_current(theap) != 0) return fail();
  }
  return check_lists(heap->shared_pages, PLAIT_HEAP_CLASS_COUNT, PLAIT__SHARED, count_pages(PLAIT__SHARED));
}

/* Subtracts from `free_spans` the free spans on the list. */
static int check_bin(uint32_t bin, uint32_t *free_spans) {
  struct plait_heap *heap = plait_heap();
  struct plait_link *list = &heap->span_bins[bin];
  plait_ref_t ref = plait_get(&list->next), prev = plait_ref(list);
  checking(PLAIT_FAULT_SPANS, list);
  if (!plait__list_is_empty(list) && !(plait_get(&heap->span_mask) >> bin & 1)) return fail();
  for (; ref != plait_ref(list); prev = ref, ref = plait_get(&plait__link(ref)->next)) {
    struct plait_slice *slice = plait_at(ref);
    int there = ref % sizeof *slice == 0 && ref / PLAIT_SLICE_SIZE < plait_get(&heap->end);
    uint32_t index = there ? plait_get(&slice->owner) : 0;
    if (index < plait_get(&heap->first) || index >= plait_get(&heap->end) || plait__slice(index) != slice)
      return fail();
    if (plait__kind(plait_get(&slice->tag)) != PLAIT__FREE || plait_get(&slice->link.prev) != prev) return fail();
    if ((*free_spans)-- == 0) return fail();
  }
  return plait_get(&list->prev) == prev ? 0 : fail();
}

/* Checks the slice table, and the lists that are derived from it. */
static int check_spans(int quiescent) {
  struct plait_heap *heap = plait_heap();
  uint32_t first = plait_get(&heap->first), end = plait_get(&heap->end), used = 0, free_spans = 0, partial = 0, length;
  int was_free = 0;
  for (uint32_t index = first; index < end; index += length) {
    struct plait_slice *slice = plait__slice(index);
    uint32_t tag = plait_load(&slice->tag);
    enum plait__slice_kind kind = plait__kind(tag);
    checking(PLAIT_FAULT_TABLE, slice);
    length = kind == PLAIT__PAGES ? 1 : plait__rest(tag);
    if (kind == PLAIT__NONE || kind == PLAIT__PART || kind > PLAIT__GAP) return fail();
    if (length == 0 || length > end - index) return fail();
    uint32_t back = plait_get(&plait__slice(index + length - 1)->back);
    if (kind == PLAIT__FREE && (was_free || back != length || plait_get(&slice->owner) != index)) return fail();
    was_free = kind == PLAIT__FREE;
    free_spans += was_free;
    if (!was_free && kind != PLAIT__GAP) used += length;
    if (kind == PLAIT__PAGES && quiescent) {
      if (check_pages(index, plait__rest(tag)) != 0) return fail();
      partial += plait_get(&slice->used) != (1ull << (PLAIT_SLICE_SIZE >> plait__rest(tag))) - 1;
    }
  }
  for (uint32_t bin = 1; bin < PLAIT_HEAP_SPAN_BIN_COUNT; bin++)
    if (check_bin(bin, &free_spans) != 0) return fail();
  for (uint32_t i = 0; quiescent && i < PLAIT_SLOT_LIMIT; i++) {
    plait_ref_t theap = plait_get(&heap->thread_heaps[i]);
    if (theap != 0 && check_partial(plait_at(theap), &partial) != 0) return fail();
  }
  checking(PLAIT_FAULT_SPANS, heap);
  return free_spans == 0 && (!quiescent || partial == 0) && used == plait_get(&heap->used) ? 0 : fail();
}

int plait_heap_check(int quiescent) {
  int rc = plait__heap_lock();
  if (rc < 0) return rc;
  rc = check_spans(quiescent);
  if (rc == 0 && quiescent) rc = check_thread_heaps();
#ifdef PLAIT_HEAP_DEBUG
  if (rc == 0 && quiescent) rc = plait__debug_check();
#endif
  if (rc == 0) plait__fault_set(PLAIT_FAULT_NONE, 0, 0);
  plait__heap_unlock();
  return rc;
}

PLAIT_COLD_END
