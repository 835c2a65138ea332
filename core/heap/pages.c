/*
 * pages: small blocks. A page is 4 to 64 KiB of a slice, divided into blocks of one size. Its record lies elsewhere.
 *
 * Invariants
 * - A block is in use if its state is LIVE and its bit in `remote` is not set; else it is free. Where no block is, no
 *   state is LIVE.
 * - Only the owner writes states, free state and links. Other threads set bits of `remote`, and only those of LIVE
 *   blocks. The owner collects them: it puts the blocks onto the page's free list, which changes their states, and then
 *   clears the bits. Between the two, both say that the block is free.
 * - The free list and the free state are derived from states and bits, and rebuilt after a thread has exited.
 * - A page whose owner word names a thread heap is on that thread heap's list for its class. The thread heap allocates
 *   from its current page for the class: one on that list, or `empty`. Freeing may change which page is current,
 *   because any of them would do. An ABANDONED page is on no list, and had no free block when it was abandoned.
 * - Abandoning a page means: store ABANDONED, then read `remote`. Freeing means: set the bit in `remote`, then read the
 *   owner. Both are sequentially consistent, so one of the two sees the other. The thread whose exchange of the owner
 *   word succeeds has the page. If a thread exits between setting the bit and reading the owner, nobody may have seen
 *   the bit. The next free into the page finds it, or the next recovery.
 * - `freed` spares the owner a read of `remote` in pages that no other thread frees into. It is set before the first
 *   bit, and stays set. A thread that abandons or receives a page reads `remote` in any case.
 * - The PREFER_EMPTIER bit in the free state of each page on a thread heap's lists equals the thread heap's
 *   `prefer_emptier`. Linking the page ensures that, after an exit, too.
 * - `empty_page` of a thread heap is only a hint. Its page may have been given back, may have another owner, or may be
 *   in use by now. The page's owner and free state tell.
 * - A SHARED page is on the shared page list for its class. It enters and leaves the list under the lock, and the
 *   lock's holder is its owner. Its last remote free is noticed in the same way: sharing a page stores the owner, then
 *   tests whether all blocks are free; freeing does the reverse. If two threads free the last two blocks, the later one
 *   sees both.
 */
#include "fast.h"

#define FEW_BLOCKS 40u   /* from this class on a page has so few blocks that emptying pages pays */
#define PAGE_PROBES 8u   /* pages of a list that are searched for a free block before another page is fetched */
#define FEW_PAGES 8u     /* see few_pages() */
#define FEW_MEDIUM 8u    /* up to so many blocks in regions are few */
#define EMPTIER_FROM 24u /* from this class on, above 512 bytes, a page has at most 28 blocks, so pages soon run out */
/* one of so many pages that run out decides whether each free chooses the page of the next block */
#define DECIDE_EACH 64u
/* one of so many pages that run out clears `remotely_freed` of its class, until the next remote free is seen */
#define FORGETFUL 65536u

/*
 * Page sizes by class; from class 8 on a digit stands for four classes. Pages of the smallest blocks hold
 * PLAIT__MOST_BLOCKS, or slightly more, which are left out. Other pages hold at least 8, and whole slices at least 4.
 */
#define SMALLEST_SHIFTS 0x32222110u
#define SHIFTS 0x444442222332200ull

/*
 * Block sizes are multiples of 16 up to 128, then eight for each power of two up to 1 KiB. The larger ones divide a
 * slice into 60 blocks, 56, 52 and so on to 28 (15 to 8 in a page of 16 KiB), then 25, 22, 20, 18, 16, 14, 13, 12 and
 * so on down to 4. So little is left at a page's end.
 */
PLAIT_COLD void plait__classes_init(void) {
  struct plait_heap *heap = plait_heap();
  for (uint32_t class = 0, unit = 0, size = 0, most = 0, blocks = 60; class < PLAIT_HEAP_CLASS_COUNT; class++) {
    uint32_t shift = class < 8 ? SMALLEST_SHIFTS >> 4 * class & 15 : (uint32_t)(SHIFTS >> (class & ~3u)) & 15;
    if (class < 32) most += class < 8 ? 16 : 8u << class / 8;
    else most = PLAIT_SLICE_SIZE / blocks & ~31u, blocks -= blocks > 28 ? 4 : blocks / 8 + (blocks < 8);
    heap->class_info[class] = (uint16_t)(most | shift);
    for (; size <= most; size += 16) heap->class_of_unit[unit++] = (uint8_t)class;
  }
  plait_put(&heap->empty.free_state, UINT32_MAX); /* no free block, and fewer than any other page has */
  plait__lists_clear(heap->shared_pages, PLAIT_HEAP_CLASS_COUNT);
}

/* ---- lists of a thread heap ---- */

/*
 * How many full pages a thread keeps of a class whose blocks other threads free, too. None of larger blocks, because no
 * other thread could use them.
 */
static inline uint32_t few_pages(uint32_t class) {
  return class < EMPTIER_FROM ? FEW_PAGES : 0;
}

/*
 * How many full pages of a class stay their owner's, because it is likely to free into them. If other threads free into
 * them, too, the owner keeps few: the pages would wait for it, half empty, while other threads run. Of whole slices it
 * keeps fewer, because what an idle owner keeps is lost to the others until it is active again. What each
 * number gains: docs/lab/2026-11-heap-tried.md.
 */
static inline uint32_t full_pages(struct plait_page_list *list, uint32_t class) {
  if (plait_get(&list->remotely_freed)) return few_pages(class);
  return class >= FEW_BLOCKS ? 32 : 64;
}

/* A thread that has so many pages of a class adopts no more. Full pages count, too. */
static inline uint32_t enough_pages(struct plait_page_list *list, uint32_t class) {
  return plait_get(&list->remotely_freed) ? few_pages(class) + 1 : 32;
}

static inline struct plait_page *first_of(struct plait_page_list *list) {
  return plait_at(plait_get(&list->link.next));
}

PLAIT_COLD void plait__page_link(struct plait_page_list *list, struct plait_link *before, struct plait_page *page) {
  plait__link_put(before, &page->link);
  plait_put(&list->count, plait_get(&list->count) + 1);
}

static PLAIT_COLD void page_unlink(struct plait_page_list *list, struct plait_page *page) {
  plait__link_take(&page->link);
  plait_put(&list->count, plait_get(&list->count) - 1);
}

/* The class has no current page, until one is found or a block is freed. */
PLAIT_TINY void clear_current(plait_word_t *current) {
  plait_put(current, plait_ref(&plait_heap()->empty));
}

/* The page gets the preference of its owner: whether each free into it chooses the page of the next block. */
static PLAIT_COLD void copy_preference(struct plait_thread_heap *theap, struct plait_page *page) {
  plait_put(
      &page->free_state, (plait_get(&page->free_state) & ~PLAIT__PREFER_EMPTIER) | plait_get(&theap->prefer_emptier));
}

/*
 * A page of the class has run out of blocks. Choosing the page of the next block at each free pays if pages run out
 * after a few blocks. It costs a tenth of a small block's time if they last long. So now and then the page that ran out
 * decides, because most pages that run out are of that kind. The choice holds for all pages at once, because a
 * processor cannot predict it page by page.
 */
PLAIT_TINY void note_end(struct plait_thread_heap *theap, uint32_t class) {
  uint32_t ends = plait_get(&theap->ends) + 1, prefer_emptier = class >= EMPTIER_FROM ? PLAIT__PREFER_EMPTIER : 0;
  plait_put(&theap->ends, ends);
  if (ends % DECIDE_EACH != 0) return;
  if (ends % FORGETFUL == 0) plait_put(&theap->classes[class].remotely_freed, 0);
  if (plait_get(&theap->prefer_emptier) == prefer_emptier) return;
  plait_put(&theap->prefer_emptier, prefer_emptier);
  for (uint32_t i = 0; i < PLAIT_HEAP_CLASS_COUNT; i++)
    for (plait_ref_t at = plait_get(&theap->classes[i].link.next); at != plait_ref(&theap->classes[i]);
        at = plait_get(&plait__link(at)->next))
      copy_preference(theap, plait_at(at));
}

/* Where a search of the class starts: the current page, or the list itself if there is none. */
PLAIT_TINY struct plait_link *search_start(struct plait_thread_heap *theap, uint32_t class) {
  plait_ref_t current = plait_get(&theap->current[class]);
  return current == plait_ref(&plait_heap()->empty) ? &theap->classes[class].link : plait__link(current);
}

PLAIT_COLD void plait__own_link(struct plait_thread_heap *theap, struct plait_page *page) {
  uint32_t class = plait_get8(&page->class);
  copy_preference(theap, page);
  plait_put(&page->current_word, plait_ref(&theap->current[class]));
  plait__page_link(&theap->classes[class], search_start(theap, class), page);
}

static PLAIT_COLD void own_unlink(struct plait_thread_heap *theap, struct plait_page *page) {
  struct plait_page_list *list = &theap->classes[plait_get8(&page->class)];
  plait_word_t *current = plait_at(plait_get(&page->current_word));
  plait_ref_t prev = plait_get(&page->link.prev);
  if (plait_get(current) == plait_ref(page))
    plait_put(current, prev == plait_ref(list) ? plait_ref(&plait_heap()->empty) : prev);
  page_unlink(list, page);
}

PLAIT_COLD void plait__lists_clear(struct plait_page_list *lists, uint32_t count) {
  for (; count-- > 0; lists++) {
    plait__list_clear(&lists->link);
    plait_put(&lists->count, 0);
    plait_put(&lists->remotely_freed, 0);
  }
}

PLAIT_COLD void plait__own_clear(struct plait_thread_heap *theap) {
  plait__lists_clear(theap->classes, PLAIT_HEAP_CLASS_COUNT);
  for (uint32_t class = 0; class < PLAIT_HEAP_CLASS_COUNT; class++) clear_current(&theap->current[class]);
}

/* ---- pages; under the lock ---- */

/*
 * Writes the page's entries in the page map, from which block numbers are computed. The reference of block n is `base +
 * (odd * n << turn)`; `base` is a multiple of the page's size, 2^shift. Multiplied by the inverse of `odd`, modulo
 * 2^32, it is a multiple of 2^shift, plus (n << turn). So the bits from `turn` on and below `shift` are n. The factor
 * has the bits above shifted out already. The bits below `turn` are 0 for a block, and are rotated to the top.
 * Different places in the page have different numbers, and the blocks have the lowest. So every other place has a
 * number that no block has.
 */
PLAIT_TINY void map_page(struct plait_page *page, uint32_t base, uint32_t size, uint32_t shift) {
  uint32_t turn = (uint32_t)__builtin_ctz(size), odd = size >> turn, inverse = odd; /* correct in its last 3 bits */
  /* each step doubles the correct bits */
  for (int i = 0; i < 4; i++) inverse *= 2 - odd * inverse;
  uint32_t word = plait_ref(page) | (32 - shift + turn);
  struct plait_page_map_entry *entry = plait__page_map_entry(plait__chunk(base / PLAIT_SLICE_SIZE), base),
                              *end = entry + (1u << shift) / PLAIT_HEAP_GRANULE;
  for (; entry < end; entry++) {
    plait_put(&entry->page, word);
    plait_put(&entry->factor, inverse << (32 - shift));
  }
}

/* Makes the page one of the class. All blocks are free, and listed in order. */
static PLAIT_ONCE void page_init(struct plait_page *page, uint32_t base, uint32_t class) {
  uint32_t size = plait__class_size(class), shift = plait__class_shift(class), count = (1u << shift) / size;
  if (count > PLAIT__MOST_BLOCKS) count = PLAIT__MOST_BLOCKS;
  map_page(page, base, size, shift);
  plait_put8(&page->count, count);
  for (uint32_t number = 0; number < PLAIT_PAGE_STATES; number++)
    plait_put8(&page->states[number], number + 1 < count ? number + 1 : PLAIT__SMALL_END);
  for (uint32_t word = 0; word < 4; word++) plait_put64(&page->remote[word], 0);
  plait_put(&page->freed, 0);
  plait_put(&page->free_state, 0);
  plait_put(&page->base, base);
  plait_put16(&page->step, size);
  plait_put8(&page->class, class);
}

/*
 * A new page of the class for the thread heap; NULL if there is no room. `any`: also from slices of other thread heaps.
 * Under the lock.
 */
static PLAIT_COLD struct plait_page *page_create(struct plait_thread_heap *theap, uint32_t class, int any) {
  uint32_t shift = plait__class_shift(class), index = plait__carve_find(theap, shift, any);
  if (index == 0) return NULL;
  struct plait_slice *slice = plait__slice(index);
  uint32_t at = (uint32_t)__builtin_ctz(~plait_get(&slice->used));
  struct plait_page *page = (struct plait_page *)plait_at(plait_get(&slice->pages)) + at;
  page_init(page, index * PLAIT_SLICE_SIZE + (at << shift), class);
  /* The commit; release: pairs with the acquire of a thread that frees into the page. */
  near_store(&page->owner, plait_ref(theap), memory_order_release);
  plait__carve_take(index, at);
  return page;
}

/* ---- what the owner does ---- */

PLAIT_ONCE uint32_t plait__page_remote(struct plait_page *page) {
  uint32_t count = 0;
  for (uint32_t word = 0; word < 4; word++)
    count += (uint32_t)__builtin_popcountll(near_load(&page->remote[word], memory_order_seq_cst));
  return count;
}

static uint32_t free_count(struct plait_page *page) {
  return plait_get8(&page->count) - plait__used(plait_get(&page->free_state));
}

PLAIT_ONCE int plait__page_collect(struct plait_page *page) {
  uint32_t free_state = plait_get(&page->free_state);
  int collected = 0;
  for (uint32_t word = 0; word < 4; word++) {
    uint64_t bits = near_load(&page->remote[word], memory_order_seq_cst);
    if (bits == 0) continue;
    collected = 1;
    for (uint64_t left = bits; left != 0; left &= left - 1) {
      uint32_t number = word * 64 + (uint32_t)__builtin_ctzll(left);
      plait_byte_t *state = plait__state(page, number);
      /* freed twice at the same instant, or its owner exited here */
      if (plait_get8(state) != PLAIT__SMALL_LIVE) continue;
      plait_put8(state, free_state);
      free_state = ((free_state & ~255u) | number) - 256;
    }
    plait_put(&page->free_state, free_state);                         /* first: see is_all_freed() */
    near_fetch_and(&page->remote[word], ~bits, memory_order_seq_cst); /* see the invariant on abandoning */
  }
  return collected;
}

#if PLAIT_EXITS_NOTICED
PLAIT_COLD void plait__page_rebuild(struct plait_page *page) {
  uint32_t used = 0, head = PLAIT__SMALL_END;
  plait__page_collect(page); /* the free state may be wrong, but then no bit is left of a block that is not LIVE */
  for (uint32_t number = plait_get8(&page->count); number-- > 0;) {
    plait_byte_t *state = plait__state(page, number);
    if (plait_get8(state) == PLAIT__SMALL_LIVE) {
      used++;
    } else {
      plait_put8(state, head);
      head = number;
    }
  }
  plait_put(&page->free_state, used << 8 | head);
}
#endif

/* Whether all blocks of the page are free. For the page's owner; under the lock if it is SHARED. */
static int is_empty(struct plait_page *page) {
  plait__page_collect(page);
  return plait__used(plait_get(&page->free_state)) == 0;
}

/* Gives a page back to its slice. It has no block in use and is on no list. Under the lock. */
static PLAIT_COLD void page_destroy(struct plait_page *page) {
  uint32_t base = plait_get(&page->base), index = base / PLAIT_SLICE_SIZE;
  near_store(&page->owner, 0, memory_order_release);
  plait__carve_give(index, base % PLAIT_SLICE_SIZE >> plait__rest(plait_load_near(&plait__slice(index)->tag)));
}

PLAIT_COLD int plait__pages_release_empty(struct plait_thread_heap *theap) {
  int given = 0;
  for (uint32_t class = 0; class < PLAIT_HEAP_CLASS_COUNT; class++) {
    struct plait_page_list *list = &theap->classes[class];
    for (plait_ref_t next = plait_get(&list->link.next); next != plait_ref(list);) {
      struct plait_page *page = plait_at(next);
      next = plait_get(&page->link.next);
      if (!is_empty(page)) continue;
      own_unlink(theap, page);
      page_destroy(page);
      given = 1;
    }
  }
  return given;
}

/*
 * A page whose blocks are all on its free list goes back to its slice when the next such page appears. So a program
 * that allocates and frees in turn does not make a page each time. The exception: a page of small blocks that is the
 * only one on its list stays.
 */
PLAIT_COLD void plait__page_release_if_empty(struct plait_thread_heap *theap, struct plait_page *page) {
  uint32_t class = plait_get8(&page->class);
  plait_ref_t kept = plait_get(&theap->empty_page);
  if (plait__used(plait_get(&page->free_state)) != 0 || kept == plait_ref(page)) return;
  if (plait_get(&theap->classes[class].count) == 1 && class < FEW_BLOCKS) return;
  plait_put(&theap->empty_page, plait_ref(page));
  if (kept == 0) return;
  page = plait_at(kept);
  if (plait_get(&page->owner) != plait_ref(theap) || plait__used(plait_get(&page->free_state)) != 0) return;
  if (plait__heap_try_lock() != 0) return; /* the page stays, and may be used again; a later free into it tries again */
  own_unlink(theap, page);
  page_destroy(page);
  plait__heap_unlock();
}

/*
 * A page whose owner word is SHARED goes onto the shared page list. If all its blocks are free, it goes back to its
 * slice. Under the lock.
 */
static PLAIT_COLD void settle_shared(struct plait_page *page, int listed) {
  struct plait_page_list *list = &plait_heap()->shared_pages[plait_get8(&page->class)];
  if (!listed) plait__page_link(list, plait__link(plait_get(&list->link.prev)), page);
  if (!is_empty(page)) return;
  page_unlink(list, page);
  page_destroy(page);
}

/*
 * Puts a page of the caller's own, which is on no list, onto the shared page list. 0 if the lock is not free at once.
 */
static PLAIT_COLD int share_page(struct plait_page *page) {
  if (plait__heap_try_lock() != 0) return 0;
  near_store(&page->owner, PLAIT__SHARED, memory_order_seq_cst);
  settle_shared(page, 0);
  plait__heap_unlock();
  return 1;
}

/*
 * The thread heap adopts an abandoned page and puts it onto its list. If it has enough pages, it shares the page
 * instead. Another thread may be faster. No other page is changed, because find_own() walks from one to the next.
 */
static PLAIT_COLD void adopt_page(struct plait_thread_heap *theap, struct plait_page *page) {
  uint32_t owner = PLAIT__ABANDONED;
  if (!near_compare_exchange(&page->owner, &owner, plait_ref(theap), memory_order_seq_cst, memory_order_relaxed))
    return;
  /* the blocks: a thread that frees has reached for the page record only */
  plait_platform_reach(plait_at(plait_get(&page->base)));
  plait__page_collect(page);
  uint32_t class = plait_get8(&page->class);
  struct plait_page_list *list = &theap->classes[class];
  if (plait_get(&list->count) >= enough_pages(list, class) && share_page(page)) return;
  plait__own_link(theap, page);
}

/* A page of the thread heap without a free block: it has no owner until a thread frees into it. */
static PLAIT_COLD void abandon(struct plait_thread_heap *theap, struct plait_page *page) {
  own_unlink(theap, page);
  near_store(&page->owner, PLAIT__ABANDONED, memory_order_seq_cst);
  if (plait__page_remote(page) != 0) adopt_page(theap, page);
}

/* Takes the page that was shared first: NULL if there is none. Under the lock. */
static PLAIT_COLD struct plait_page *page_from_shared(struct plait_thread_heap *theap, uint32_t class) {
  struct plait_page_list *list = &plait_heap()->shared_pages[class];
  if (plait_get(&list->count) == 0) return NULL;
  struct plait_page *page = first_of(list);
  page_unlink(list, page);
  near_store(&page->owner, plait_ref(theap), memory_order_seq_cst);
  plait__page_collect(page);
  return page;
}

/*
 * Searches the thread heap's pages for one with free blocks, starting with the current page; other threads may have
 * freed into them. It takes the first one. Of a class with few blocks in a page it takes the one with fewest free
 * blocks, so that others become empty. That page is current then: 1, or 0 if none is found. If the list holds too many
 * full pages, they are abandoned, starting with the page that was just exhausted.
 */
PLAIT_TINY int find_own(struct plait_thread_heap *theap, uint32_t class, uint32_t probes) {
  struct plait_page_list *list = &theap->classes[class];
  struct plait_page *best = NULL;
  plait_word_t *current = &theap->current[class];
  uint32_t pages = plait_get(&list->count);
  plait_ref_t next = plait_ref(search_start(theap, class));
  for (uint32_t least = UINT32_MAX; probes > 0 && pages > 0; probes--, pages--) {
    if (next == plait_ref(list)) next = plait_get(&list->link.next);
    struct plait_page *page = plait_at(next);
    next = plait_get(&page->link.next);
    if (plait_get(&page->freed) != 0 && plait__page_collect(page)) plait_put(&list->remotely_freed, 1);
    uint32_t free = free_count(page);
    if (free == 0) {
      plait_put(current, plait_ref(page)); /* the next search starts here */
      if (plait_get(&list->count) > full_pages(list, class)) abandon(theap, page);
    } else if (free < least) {
      least = free, best = page;
      if (class < FEW_BLOCKS) break;
    }
  }
  if (best != NULL) plait_put(current, plait_ref(best));
  return best != NULL;
}

/*
 * Makes a page with free blocks the current one, or adopts pages: 1, or 0 if there is no room. The out-of-memory
 * sequence: see room.c. `any`: as in page_create().
 */
static PLAIT_COLD int refill(struct plait_thread_heap *theap, uint32_t class, int any) {
  for (;;) {
    int adopted = plait__room_enter(theap);
    if (adopted < 0) return 0;
    struct plait_page *page = NULL;
    if (!adopted && (page = page_from_shared(theap, class)) == NULL) page = page_create(theap, class, any);
    if (page != NULL) {
      plait__own_link(theap, page);
      plait_put(&theap->current[class], plait_ref(page));
    }
    if (page != NULL || adopted) {
      plait__heap_unlock();
      return 1;
    }
    if (!plait__room_more(theap, 1)) return 0;
  }
}

/*
 * Places a small block in a region, where it can grow; or returns 0. Only if the class has no page, and the thread heap
 * has few blocks in regions: such a thread needs no pages. But not if the block freed last in a region had not grown
 * long, because then the thread works with small blocks.
 */
static PLAIT_COLD plait_ref_t lay_small(struct plait_thread_heap *theap, uint32_t class) {
  if (class >= FEW_BLOCKS || plait_get(&theap->classes[class].count) != 0 ||
      plait_get(&theap->medium_live) >= FEW_MEDIUM)
    return 0;
  return plait__has_grown(plait_get(&theap->released)) ? plait__medium_alloc_roomy(theap, plait__class_size(class), 1)
                                                       : 0;
}

PLAIT_ONCE plait_ref_t plait__small_alloc(struct plait_thread_heap *theap, uint32_t class, int any_place) {
  plait_ref_t block;
  if (plait_get(&((struct plait_page *)plait_at(plait_get(&theap->current[class])))->free_state) % 256 ==
      PLAIT__SMALL_END)
    note_end(theap, class);
  for (uint32_t probes = PAGE_PROBES;;) {
    if (!find_own(theap, class, probes)) {
      if (any_place && (block = lay_small(theap, class)) != 0) return block;
      if (!refill(theap, class, probes == UINT32_MAX)) {
        if (probes == UINT32_MAX) return 0;
        probes = UINT32_MAX; /* the last attempt: all of its own pages, and other thread heaps' slices */
      }
    }
    block = plait__page_alloc(theap, class);
    if (block != 0) return block;
  }
}

/* ---- freeing ---- */

/*
 * A thread has freed into a page without an owner. The page gets an owner, or goes back to its slice if it is wholly
 * free. A thread that has no thread heap, and gets none, shares the page.
 */
static PLAIT_COLD void freed_into(struct plait_page *page, uint32_t owner) {
  struct plait_thread_heap *mine = plait__mine();
  if (owner == PLAIT__ABANDONED) {
    /* Binding may grow the memory, which must not happen while a lock is held. */
    if (mine == NULL && !plait_self_holds()) mine = plait__bind();
    if (mine != NULL) {
      adopt_page(mine, page);
      if (plait_get(&page->owner) == plait_ref(mine)) plait__page_release_if_empty(mine, page);
      return;
    }
  }
  if (plait__heap_lock() != 0) return;
  uint32_t seen = PLAIT__ABANDONED;
  near_compare_exchange(&page->owner, &seen, PLAIT__SHARED, memory_order_seq_cst, memory_order_seq_cst);
  if (seen == PLAIT__ABANDONED || seen == PLAIT__SHARED) settle_shared(page, seen == PLAIT__SHARED);
  plait__heap_unlock();
}

/*
 * Whether no block of the SHARED page is in use. The bits are read first: a bit that the owner clears in the meantime
 * has left the free state before.
 */
PLAIT_TINY int is_all_freed(struct plait_page *page) {
  return plait__page_remote(page) >= plait__used(plait_get(&page->free_state));
}

PLAIT_ONCE int plait__small_free_remote(struct plait_page *page, uint32_t number) {
  if (plait__is_free(page, number)) return 0;
  plait_word64_t *remote = &page->remote[number / 64];
  uint64_t bit = 1ull << number % 64;
  if (plait_get(&page->freed) == 0) plait_put(&page->freed, 1);
  if (near_fetch_or(remote, bit, memory_order_seq_cst) & bit) return 0;
  uint32_t owner = near_load(&page->owner, memory_order_seq_cst);
  if (owner == PLAIT__ABANDONED || (owner == PLAIT__SHARED && is_all_freed(page))) freed_into(page, owner);
  return 1;
}

PLAIT_ONCE uint32_t plait__small_size(plait_ref_t block) {
  plait_ref_t chunk = plait_get(&plait_heap()->chunks[block / (PLAIT_SLICE_SIZE * PLAIT_HEAP_CHUNK_SLICES)]);
  if (chunk == 0) return 0;
  struct plait_page_map_entry *entry = plait__page_map_entry(plait_at(chunk), block);
  uint32_t word = plait_get(&entry->page), number = plait__number(entry, word, block);
  struct plait_page *page = plait__mapped_page(word);
  return number >= PLAIT_PAGE_STATES || plait_get(&page->owner) == 0 || plait__is_free(page, number)
      ? 0
      : plait_get16(&page->step);
}

PLAIT_COLD enum plait_heap_place plait__small_place(struct plait_slice *slice, plait_ref_t block) {
  struct plait_page *page = plait__page_around(slice, plait_load(&slice->tag), block);
  uint32_t owner = plait_load(&page->owner), step = plait_get16(&page->step), offset = block - plait_get(&page->base);
  if (owner == 0 || offset / step >= plait_get8(&page->count)) return PLAIT_PLACE_UNUSED;
  if (plait__is_free(page, offset / step)) return offset % step == 0 ? PLAIT_PLACE_FREE : PLAIT_PLACE_UNUSED;
  return offset % step == 0 ? PLAIT_PLACE_LIVE : PLAIT_PLACE_INSIDE;
}
