/*
 * pages: small blocks. A page is 4 to 32 KiB of a slice, cut into blocks of one size; its record lies apart.
 *
 * Invariants
 * - A block is free when its bit is set in `local` or in `remote`, else it is in use. Each change is one store.
 * - Only the page's owner writes `local` and the list links; others set bits of `remote`. The owner moves remote bits
 *   over by setting them in `local` first and clearing them in `remote` then: between the two they are in both.
 * - Where a word has no block its bit is set in `remote`, always, and never in `local`: so a word is wholly free when both
 *   together are all ones.
 * - A page whose owner word names a record is on that record's list for its class. The record allocates from the word that its
 *   spot for the class names: one of a page on that list, or one of `empty`. Freeing moves it; any would do.
 *   An ABANDONED page is on no list and had no free block when it was given up.
 * - Giving up is: store ABANDONED, then look at `remote`. Freeing is: set the bit in `remote`, then look at the owner.
 *   So one of the two sees the other (both in sequential consistency), and whoever wins the exchange of the owner word
 *   has the page. A bit that was seen by nobody, because its thread died in between, is found by the next free into the
 *   page, or by the next recovery.
 * - A page whose class is no size class is kept by its owner, all its blocks free whatever the bits say.
 * - A POOLED page is on the heap's list for its class; it enters and leaves under the lock, whose holder is its owner. Its last free block is
 *   noticed in the same way: pooling stores the owner, then looks whether all blocks are free; freeing the other way round.
 *   Freeing looks at the other words only if its own is all free by then: whoever fills the last word sees the others full.
 */
#include "internal.h"

#define FEW_BLOCKS 40u  /* classes from here on have so few blocks in a page that pages are worth being emptied */
#define MOST_LOOKS 32u  /* pages that are looked at for that */
#define FIRST_LOOKS 8u  /* pages of a list that are looked at for a free block before another page is had */
#define KEPT_PAGES 1u   /* so many pages of a size, without blocks in use, stay their owner's for any class */
#define FORGETFUL 16384u /* so many refills, and a class is thought to be shared by nobody until it is seen again */

/* Page sizes by four classes, a digit each: at most 256 blocks; at least 8, and in whole slices 4. Class 0 has the smallest. */
#define SHIFTS 0x444442222332221ull

/*
 * Multiples of 16 up to 128; then eight for each power of two up to 1 KiB; then what cuts a slice into 60 blocks, 56, 52 and so on to 28
 * (15 to 8 in a page of 16 KiB), 25, 22, 20, 18, 16, 14, 13, 12 and so on down to 4: so little is left at a page's end.
 */
PLAIT_COLD void plait__classes_init(void) {
  struct plait_heap *heap = plait_heap();
  for (uint32_t class = 0, unit = 0, size = 0, most = 0, blocks = 60; class < PLAIT_HEAP_CLASS_COUNT; class++) {
    uint32_t shift = class == 0 ? 0 : (uint32_t)(SHIFTS >> (class & ~3u)) & 15;
    if (class < 32) most += class < 8 ? 16 : 8u << class / 8;
    else most = PLAIT_SLICE_SIZE / blocks & ~31u, blocks -= blocks > 28 ? 4 : blocks / 8 + (blocks < 8);
    heap->class_info[class] = (uint16_t)(most | shift);
    for (; size <= most; size += size < PLAIT_HEAP_FINE_LIMIT ? 16 : 128) heap->class_of_unit[unit++] = (uint8_t)class;
  }
  plait__pages_clear(heap->pooled, PLAIT_HEAP_CLASS_COUNT);
}

/* ---- lists of a record ---- */

/*
 * So many pages of a class may be full and yet stay their owner's, who will free into them. If others free them, too, it
 * keeps none: they would wait for it, half empty, while others run. Of whole slices fewer: what
 * an owner keeps that does nothing any more is lost to the others until it comes back.
 */
static inline uint32_t full_pages(struct plait_page_list *list, uint32_t class) {
  if (plait_get(&list->shared)) return 0;
  return class >= FEW_BLOCKS ? 32 : 64;
}

/* A thread that has so many of a class does not take over more. Those that are full count, too. */
static inline uint32_t enough_pages(struct plait_page_list *list) {
  return plait_get(&list->shared) ? 1 : 32;
}

static inline struct plait_page *first_of(struct plait_page_list *list) {
  return plait_at(plait_get(&list->link.next));
}

PLAIT_COLD void plait__page_link(struct plait_page_list *lists, struct plait_page *page) {
  struct plait_page_list *list = &lists[plait_get(&page->class)];
  plait__list_put(plait__link(plait_get(&list->link.prev)), &page->link);
  plait_put(&list->count, plait_get(&list->count) + 1);
}

static PLAIT_COLD void page_unlink(struct plait_page_list *lists, struct plait_page *page) {
  struct plait_page_list *list = &lists[plait_get(&page->class)];
  plait__list_take(&page->link);
  plait_put(&list->count, plait_get(&list->count) - 1);
}

/* From where a class's blocks come, until some are found or freed. */
PLAIT_TINY void aim_at_nothing(plait_word_t *spot) {
  plait_put(spot, plait_ref(plait_heap()->empty.local));
}

PLAIT_COLD void plait__own_link(struct plait_record *record, struct plait_page *page) {
  plait_put(&page->spot, plait_ref(&record->spots[plait_get(&page->class)]));
  plait__page_link(record->classes, page);
}

static PLAIT_COLD void own_unlink(struct plait_record *record, struct plait_page *page) {
  aim_at_nothing(plait_at(plait_get(&page->spot)));
  page_unlink(record->classes, page);
}

PLAIT_COLD void plait__pages_clear(struct plait_page_list *lists, uint32_t count) {
  for (; count-- > 0; lists++) {
    plait__list_clear(&lists->link);
    plait_put(&lists->count, 0);
    plait_put(&lists->shared, 0);
  }
}

PLAIT_COLD void plait__own_clear(struct plait_record *record) {
  plait__pages_clear(record->classes, PLAIT_HEAP_LIST_COUNT);
  for (uint32_t class = 0; class < PLAIT_HEAP_LIST_COUNT; class++) aim_at_nothing(&record->spots[class]);
}

/* ---- pages; under the lock ---- */

/*
 * Writes down what the numbers of the page's blocks are guessed from. The reference of block n is `base + (odd * n << turn)`, and `base` a
 * multiple of the page's size, 2^shift. Times the inverse of `odd`, modulo 2^32, it is a multiple of 2^shift, + (n << turn): so the places
 * from `turn` on and below `shift` are n. The factor has those above shifted out already.
 */
PLAIT_TINY void note_hints(struct plait_page *page, uint32_t base, uint32_t size, uint32_t shift) {
  uint32_t turn = (uint32_t)__builtin_ctz(size), odd = size >> turn, inverse = odd; /* right in its last 3 bits */
  for (int i = 0; i < 4; i++) inverse *= 2 - odd * inverse; /* in twice as many each time */
  struct plait_leaf *leaf = plait_at(plait_get(&plait_heap()->leaves[base / (PLAIT_SLICE_SIZE * PLAIT_HEAP_LEAF_SLICES)]));
  struct plait_hint *hint = &leaf->hints[base / PLAIT_HEAP_GRANULE % PLAIT_HEAP_LEAF_PAGES], *end = hint + (1u << shift) / PLAIT_HEAP_GRANULE;
  for (; hint < end; hint++) {
    plait_put(&hint->page, plait_ref(page) | (32 - shift + turn));
    plait_put(&hint->factor, inverse << (32 - shift));
  }
}

/* Makes the page one of the class, all of whose blocks are free. The class is the commit, for a page that was kept. */
static PLAIT_ONCE void page_init(struct plait_page *page, uint32_t base, uint32_t class) {
  uint32_t size = plait__class_size(class), shift = plait__class_shift(class), count = (1u << shift) / size;
  note_hints(page, base, size, shift);
  plait_put(&page->count, count);
  for (uint32_t word = 0; word < PLAIT_PAGE_WORDS; word++) {
    int32_t blocks = (int32_t)(count - word * 64);
    uint64_t full = blocks >= 64 ? ~0ull : blocks <= 0 ? 0 : (1ull << blocks) - 1;
    plait_put64(&page->blocks[word], full);
    plait_put64(&page->remote[word], ~0ull); /* in a page that was kept each bit stays set in one of the two, whatever it has stood for */
    plait_put64(&page->local[word], full);
    plait_put64(&page->remote[word], ~full);
  }
  plait_put(&page->base, base);
  plait_put(&page->step, size);
  plait_put(&page->class, class);
}

/* A fresh page of the class for the record, from others' slices if `any`: NULL if there is no room. Under the lock. */
static PLAIT_COLD struct plait_page *page_create(struct plait_record *record, uint32_t class, int any) {
  uint32_t shift = plait__class_shift(class), index = plait__cut_find(record, shift, any);
  if (index == 0) return NULL;
  struct plait_slice *slice = plait__slice(index);
  uint32_t at = (uint32_t)__builtin_ctz(~plait_get(&slice->used));
  struct plait_page *page = (struct plait_page *)plait_at(plait_get(&slice->pages)) + at;
  page_init(page, index * PLAIT_SLICE_SIZE + (at << shift), class);
  /* The commit; release: pairs with the acquire of whoever frees into it. */
  near_store(&page->owner, plait_ref(record), memory_order_release);
  plait__cut_take(index, at);
  return page;
}

/* ---- the owner's side ---- */

PLAIT_COLD int plait__page_is_freed_into(struct plait_page *page) {
  uint64_t bits = 0;
  for (uint32_t word = 0; word < PLAIT_PAGE_WORDS; word++) bits |= plait__page_remote(page, word);
  return bits != 0;
}

PLAIT_COLD uint32_t plait__page_collect(struct plait_page *page) {
  uint32_t free = 0, count = plait_get(&page->count);
  for (uint32_t word = 0; word * 64 < count; word++) {
    uint64_t bits = plait__page_remote(page, word), local = plait_get64(&page->local[word]);
    if (bits != 0) { /* see the invariant on giving up */
      plait_put64(&page->local[word], local |= bits);
      near_fetch_and(&page->remote[word], ~bits, memory_order_acq_rel);
      free |= PLAIT__COLLECTED;
    }
    free += (uint32_t)__builtin_popcountll(local);
  }
  return free;
}

/* Whether all blocks of the page are free. Its owner; under the lock if it is pooled. */
static int is_empty(struct plait_page *page) {
  return plait__page_collect(page) % PLAIT__COLLECTED == plait_get(&page->count);
}

/* Gives a page without blocks in use, which is on no list any more, back to its slice. Under the lock. */
static PLAIT_COLD void page_destroy(struct plait_page *page) {
  uint32_t base = plait_get(&page->base), index = base / PLAIT_SLICE_SIZE;
  near_store(&page->owner, 0, memory_order_release);
  plait__cut_give(index, base % PLAIT_SLICE_SIZE >> plait__rest(plait_load_near(&plait__slice(index)->tag)));
}

PLAIT_COLD int plait__pages_release_empty(struct plait_record *record) {
  int given = 0;
  for (uint32_t class = 0; class < PLAIT_HEAP_LIST_COUNT; class++) {
    struct plait_page_list *list = &record->classes[class];
    for (plait_ref_t next = plait_get(&list->link.next); next != plait_ref(list);) {
      struct plait_page *page = plait_at(next);
      next = plait_get(&page->link.next);
      if (class < PLAIT_HEAP_CLASS_COUNT && !is_empty(page)) continue;
      own_unlink(record, page);
      page_destroy(page);
      given = 1;
    }
  }
  return given;
}

static uint32_t kept_class(uint32_t class) {
  return PLAIT_HEAP_CLASS_COUNT + plait__class_shift(class) - PLAIT__SMALLEST_SHIFT;
}

/*
 * A page that is wholly free is kept for another class, or goes back to its slice; not if its list has no other, and it
 * is a small one.
 */
PLAIT_COLD void plait__page_release_if_empty(struct plait_record *record, struct plait_page *page) {
  uint32_t class = plait_get(&page->class), kept = kept_class(class);
  if ((plait_get(&record->classes[class].count) == 1 && class < FEW_BLOCKS) || !is_empty(page)) return;
  int keep = plait_get(&record->classes[kept].count) < KEPT_PAGES;
  if (!keep && plait__runs_try() != 0) return; /* it stays; the next free into it tries again */
  own_unlink(record, page);
  if (keep) {
    plait_put(&page->class, kept); /* from now on its bits do not count */
    plait__own_link(record, page);
  } else {
    page_destroy(page);
    plait__runs_unlock();
  }
}

/* A page whose owner word says POOLED by now goes onto its list, or if all its blocks are free, back to its slice. Under the lock. */
static PLAIT_COLD void settle_pooled(struct plait_page *page, int listed) {
  struct plait_page_list *lists = plait_heap()->pooled;
  if (!listed) plait__page_link(lists, page);
  if (!is_empty(page)) return;
  page_unlink(lists, page);
  page_destroy(page);
}

/* A page of the record's own, on no list, goes to whoever needs one. 0 if the lock is not to be had at once. */
static PLAIT_COLD int pool(struct plait_page *page) {
  if (plait__runs_try() != 0) return 0;
  near_store(&page->owner, PLAIT__POOLED, memory_order_seq_cst);
  settle_pooled(page, 0);
  plait__runs_unlock();
  return 1;
}

/* Makes an abandoned page the record's, and puts it onto its list; or leaves it to others, if there are enough. Another thread may be quicker. */
static PLAIT_COLD void take_in(struct plait_record *record, struct plait_page *page) {
  uint32_t owner = PLAIT__ABANDONED;
  if (!near_compare_exchange(&page->owner, &owner, plait_ref(record), memory_order_seq_cst, memory_order_relaxed)) return;
  plait_platform_reach(plait_at(plait_get(&page->base))); /* the blocks; whoever frees has asked for the record alone */
  plait__page_collect(page);
  struct plait_page_list *list = &record->classes[plait_get(&page->class)];
  if (plait_get(&list->count) >= enough_pages(list) && pool(page)) return;
  plait__own_link(record, page);
  plait__page_release_if_empty(record, page);
}

/* A page of the record's without a free block: nobody's, until somebody frees into it. */
static PLAIT_COLD void abandon(struct plait_record *record, struct plait_page *page) {
  own_unlink(record, page);
  near_store(&page->owner, PLAIT__ABANDONED, memory_order_seq_cst);
  if (plait__page_is_freed_into(page)) take_in(record, page);
}

/* The next block out of any word of the record's page, and more from there: 0 if its owner knows of none. */
static PLAIT_ONCE plait_ref_t alloc_from(struct plait_record *record, struct plait_page *page, uint32_t class) {
  for (uint32_t word = 0; word < PLAIT_PAGE_WORDS; word++) { /* those that are not in use are 0 */
    uint64_t bits = plait_get64(&page->local[word]);
    if (bits == 0) continue;
    plait_ref_t spot = plait_ref(&page->local[word]);
    plait_put(&record->spots[class], spot);
    return plait__page_take(spot, bits);
  }
  return 0;
}

/* Turns the ring: the list starts with the page; if it is the list itself, as it did. */
static PLAIT_COLD void start_list_at(struct plait_page_list *list, plait_ref_t page) {
  if (page == plait_ref(list)) return;
  plait__list_take(&list->link);
  plait__list_put(plait__link(plait_get(&plait__link(page)->prev)), &list->link);
}

/* Puts a page with free blocks at the start of the record's list. */
static PLAIT_COLD void own_link_first(struct plait_record *record, struct plait_page *page) {
  plait__own_link(record, page);
  start_list_at(&record->classes[plait_get(&page->class)], plait_ref(page));
}

/* Takes the page that was pooled first: NULL if there is none. Under the lock. */
static PLAIT_COLD struct plait_page *page_from_pool(struct plait_record *record, uint32_t class) {
  struct plait_page_list *list = &plait_heap()->pooled[class];
  if (plait_get(&list->count) == 0) return NULL;
  struct plait_page *page = first_of(list);
  page_unlink(plait_heap()->pooled, page);
  near_store(&page->owner, plait_ref(record), memory_order_seq_cst);
  plait__page_collect(page);
  return page;
}

/*
 * A page with free blocks of the record's own: the first that is met, or, of a class with few blocks in a page, the one that
 * has least of them, so that others get empty. The list starts there then: full pages in front of it have gone to its end, or
 * been given up. NULL if none is met.
 */
static PLAIT_COLD struct plait_page *find_own(struct plait_record *record, uint32_t class, uint32_t looks) {
  struct plait_page_list *list = &record->classes[class];
  struct plait_page *best = NULL;
  plait_ref_t next = plait_get(&list->link.next);
  for (uint32_t least = UINT32_MAX; looks > 0 && next != plait_ref(list); looks--) {
    struct plait_page *page = plait_at(next);
    next = plait_get(&page->link.next);
    uint32_t free = plait__page_collect(page);
    if (free >= PLAIT__COLLECTED) plait_put(&list->shared, 1);
    free %= PLAIT__COLLECTED;
    if (free == 0) {
      if (plait_get(&list->count) > full_pages(list, class)) abandon(record, page);
    } else if (free < least) {
      least = free, best = page;
      if (class < FEW_BLOCKS) break;
    }
  }
  start_list_at(list, best != NULL ? plait_ref(best) : next);
  return best;
}

/* Puts a page with free blocks onto the record's list, or what a record of nobody has had: 0, or -PLAIT_ENOMEM. */
static PLAIT_COLD int refill(struct plait_record *record, uint32_t class) {
  uint32_t refills = plait_get(&record->refills) + 1;
  plait_put(&record->refills, refills);
  if (refills % FORGETFUL == 0) plait_put(&record->classes[class].shared, 0);
  for (int any = 0;;) {
    if (plait_get64(&record->remote) != 0) plait__medium_drain(record);
    if (plait__runs_lock() != 0) return -PLAIT_ENOMEM;
    struct plait_page *page = page_from_pool(record, class);
    int adopted = page == NULL && plait__adopt(record);
    if (page == NULL && !adopted) page = page_create(record, class, any);
    if (page != NULL) own_link_first(record, page);
    plait__runs_unlock();
    if (adopted || page != NULL) return 0;
    if (any && !plait__relinquish(record)) return -PLAIT_ENOMEM;
    any = plait__grow(1) != 0;
  }
}

/* The same when the page that was looked at last has nothing left. */
static PLAIT_COLD plait_ref_t alloc_elsewhere(struct plait_record *record, uint32_t class) {
  struct plait_page_list *kept = &record->classes[kept_class(class)];
  for (uint32_t looks = class >= FEW_BLOCKS ? MOST_LOOKS : FIRST_LOOKS;;) {
    struct plait_page *page = find_own(record, class, looks);
    if (page == NULL && plait_get(&kept->count) != 0) {
      page = first_of(kept);
      own_unlink(record, page);
      page_init(page, plait_get(&page->base), class);
      own_link_first(record, page);
    }
    if (page != NULL) return alloc_from(record, page, class);
    if (refill(record, class) == 0) continue;
    if (looks == UINT32_MAX) return 0;
    looks = UINT32_MAX; /* the others may have some */
  }
}

plait_ref_t plait__small_alloc_slow(struct plait_record *record, uint32_t class) {
  plait_ref_t block = alloc_from(record, plait__page_of_spot(plait_get(&record->spots[class])), class);
  return block != 0 ? block : alloc_elsewhere(record, class);
}

/* ---- freeing ---- */

/*
 * Somebody has freed into a page that is nobody's: it gets an owner, or goes back to its slice if it is wholly free. Who has
 * no record, and gets none, leaves it to the pool.
 */
static PLAIT_COLD void freed_into(struct plait_page *page, uint32_t owner) {
  struct plait_record *mine = plait__mine();
  if (owner == PLAIT__ABANDONED) {
    /* Binding may grow the memory, which nobody does with a lock. */
    if (mine == NULL && plait_get(&plait_self()->held_count) == 0) mine = plait__bind();
    if (mine != NULL) {
      take_in(mine, page);
      return;
    }
  }
  if (plait__runs_lock() != 0) return;
  uint32_t seen = PLAIT__ABANDONED;
  near_compare_exchange(&page->owner, &seen, PLAIT__POOLED, memory_order_seq_cst, memory_order_seq_cst);
  if (seen == PLAIT__ABANDONED || seen == PLAIT__POOLED) settle_pooled(page, seen == PLAIT__POOLED);
  plait__runs_unlock();
}

PLAIT_ONCE int plait__small_free_remote(struct plait_page *page, uint32_t number) {
  uint64_t bit = 1ull << number % 64;
  plait_word64_t *local = &page->local[number / 64], *remote = &page->remote[number / 64];
  uint64_t free = plait_get64(remote); /* first: see is_free() */
  if ((free | plait_get64(local)) & bit) return 0;
  plait_platform_reach(remote); /* and with it the whole record */
  uint64_t known = near_fetch_or(remote, bit, memory_order_seq_cst);
  if (known & bit) return 0;
  uint32_t owner = near_load(&page->owner, memory_order_seq_cst);
  if (owner % 2 == 0) return 1;
  /* If it is pooled: `local` has what was cleared in `remote`, which was set there before. */
  if (owner == PLAIT__ABANDONED || (known | bit | plait_get64(local)) == ~0ull) freed_into(page, owner);
  return 1;
}

/* `remote` is read first: the owner sets a bit in `local` before it clears that in `remote`, so a free block is found in one of them. */
static inline int is_free(struct plait_page *page, uint32_t number) {
  uint64_t known = plait_get64(&page->remote[number / 64]);
  known |= plait_get64(&page->local[number / 64]);
  return known >> number % 64 & 1;
}

PLAIT_ONCE uint64_t plait__small_find(plait_ref_t block) {
  plait_ref_t leaf = plait_get(&plait_heap()->leaves[block / (PLAIT_SLICE_SIZE * PLAIT_HEAP_LEAF_SLICES)]);
  uint32_t number, step;
  struct plait_page *page = leaf == 0 ? NULL : plait__page_at(plait_at(leaf), block, &number, &step);
  return page == NULL || plait_get(&page->owner) == 0 ? 0 : (uint64_t)plait_ref(page) << 32 | number;
}

PLAIT_ONCE uint32_t plait__small_size(plait_ref_t block) {
  uint64_t found = plait__small_find(block);
  struct plait_page *page = plait_at((plait_ref_t)(found >> 32));
  return found == 0 || is_free(page, (uint32_t)found) ? 0 : plait_get(&page->step);
}

PLAIT_COLD enum plait_heap_place plait__small_place(struct plait_slice *slice, plait_ref_t block) {
  struct plait_page *page = plait__page_around(slice, plait_load(&slice->tag), block);
  uint32_t owner = plait_load(&page->owner), step = plait_get(&page->step), offset = block - plait_get(&page->base);
  if (owner == 0 || offset / step >= plait_get(&page->count)) return PLAIT_PLACE_UNUSED;
  if (is_free(page, offset / step)) return offset % step == 0 ? PLAIT_PLACE_FREE : PLAIT_PLACE_UNUSED;
  return offset % step == 0 ? PLAIT_PLACE_LIVE : PLAIT_PLACE_INSIDE;
}
