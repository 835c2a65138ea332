/*
 * pages: small blocks. A page is 4 to 32 KiB of a slice, cut into blocks of one size; its record lies apart.
 *
 * Invariants
 * - A block is in use when its state is LIVE and its bit in `remote` is not set; else it is free. Where no block is, no state is LIVE.
 * - Only the owner writes states, tally and links; others set bits of `remote`, of LIVE blocks. The owner collects them by putting them onto
 *   the page's list, which changes the state, and clearing the bits then: between the two both say the same.
 * - The list of free blocks, and the tally, are made from states and bits, and made anew after a death.
 * - A page whose owner word names a record is on that record's list for its class. The record allocates from the page that its
 *   spot for the class names: one on that list, or `empty`. Freeing may move it; any would do.
 *   An ABANDONED page is on no list and had no free block when it was given up.
 * - Giving up is: store ABANDONED, then look at `remote`. Freeing is: set the bit in `remote`, then look at the owner.
 *   So one of the two sees the other (both in sequential consistency), and whoever wins the exchange of the owner word
 *   has the page. A bit that was seen by nobody, because its thread died in between, is found by the next free into the
 *   page, or by the next recovery.
 * - `freed` spares the owner a look at `remote` in pages that nobody else frees into: it is set before the first bit there, and stays. Whoever
 *   gives a page up, or gets one, looks in any case.
 * - A page whose class is no size class is kept by its owner; none of its states is LIVE, before, while and after it gets a class again.
 * - A POOLED page is on the heap's list for its class; it enters and leaves under the lock, whose holder is its owner. Its last free block is
 *   noticed in the same way: pooling stores the owner, then looks whether all blocks are free; freeing the other way round. Of two that free the
 *   last two, the later one sees both.
 */
#include "internal.h"

#define FEW_BLOCKS 40u  /* classes from here on have so few blocks in a page that pages are worth being emptied */
#define MOST_LOOKS 32u  /* pages that are looked at for that */
#define FIRST_LOOKS 8u  /* pages of a list that are looked at for a free block before another page is had */
#define KEPT_PAGES 1u   /* so many pages of a size, without blocks in use, stay their owner's for any class */
#define LONG_RUN 16u     /* a page with so many free blocks lasts, */
#define LONG_WORTH 4u    /* and makes up for three that do not */
#define RUNS 64u         /* so many of those, and each free looks where the next block is to come from */
#define LONG_AIMED 4096u /* so many pages later it is tried without */
#define AIM_SELDOM 256u  /* a record's limit: only whoever frees a page's last block looks */
#define AIM_ALWAYS UINT32_MAX
#define FORGETFUL 16384u /* so many refills, and a class is thought to be shared by nobody until it is seen again */

/* Page sizes by four classes, a digit each: at most PLAIT__MOST_BLOCKS blocks, or somewhat more, which are left out; at least 8, and in whole slices 4. Class 0 has the smallest. */
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
    for (; size <= most; size += 16) heap->class_of_unit[unit++] = (uint8_t)class;
  }
  plait_put(&heap->empty.tally, UINT32_MAX); /* none, and fewer than any other page has */
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
  struct plait_page_list *list = &lists[plait_get8(&page->class)];
  plait__list_put(plait__link(plait_get(&list->link.prev)), &page->link);
  plait_put(&list->count, plait_get(&list->count) + 1);
}

static PLAIT_COLD void page_unlink(struct plait_page_list *lists, struct plait_page *page) {
  struct plait_page_list *list = &lists[plait_get8(&page->class)];
  plait__list_take(&page->link);
  plait_put(&list->count, plait_get(&list->count) - 1);
}

/* From where a class's blocks come, until some are found or freed. */
PLAIT_TINY void aim_at_nothing(plait_word_t *spot) {
  plait_put(spot, plait_ref(&plait_heap()->empty));
}

/*
 * The record goes on with a page that has so many free blocks. Aiming, the look at each free at where the next block comes from, pays
 * where pages last for a few blocks only, and is a tenth of a small block's time where they last long. So it begins when more than three of four
 * pages have not lasted for a while, and it is tried without each LONG_AIMED pages.
 */
PLAIT_TINY void note_run(struct plait_record *record, uint32_t free) {
  uint32_t limit = plait_get(&record->limit), runs = plait_get(&record->runs) - 1;
  if (limit == AIM_SELDOM && free >= LONG_RUN && runs < RUNS) runs += LONG_WORTH;
  if (runs == 0) {
    plait_put(&record->limit, limit ^ AIM_SELDOM ^ AIM_ALWAYS);
    runs = limit == AIM_SELDOM ? LONG_AIMED : RUNS;
  }
  plait_put(&record->runs, runs);
}

PLAIT_COLD void plait__own_link(struct plait_record *record, struct plait_page *page) {
  plait_put(&page->spot, plait_ref(&record->spots[plait_get8(&page->class)]));
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
  plait_put(&record->limit, AIM_SELDOM);
  plait_put(&record->runs, RUNS);
}

/* ---- pages; under the lock ---- */

/*
 * Writes down what the numbers of the page's blocks are guessed from. The reference of block n is `base + (odd * n << turn)`, and `base` a
 * multiple of the page's size, 2^shift. Times the inverse of `odd`, modulo 2^32, it is a multiple of 2^shift, + (n << turn): so the places
 * from `turn` on and below `shift` are n. The factor has those above shifted out already; those below `turn` are 0 for a block, and rotated to the top.
 * Different places in the page have different numbers, and the blocks have the lowest: so all others have the number of no block.
 */
PLAIT_TINY void note_hints(struct plait_page *page, uint32_t base, uint32_t size, uint32_t shift) {
  uint32_t turn = (uint32_t)__builtin_ctz(size), odd = size >> turn, inverse = odd; /* right in its last 3 bits */
  for (int i = 0; i < 4; i++) inverse *= 2 - odd * inverse; /* in twice as many each time */
  uint32_t known = (plait_ref(page) - plait_ref(&plait_heap()->empty)) | (32 - shift + turn);
  struct plait_hint *hint = plait__hint(plait__leaf(base / PLAIT_SLICE_SIZE), base), *end = hint + (1u << shift) / PLAIT_HEAP_GRANULE;
  for (; hint < end; hint++) {
    plait_put(&hint->page, known);
    plait_put(&hint->factor, inverse << (32 - shift));
  }
}

/* Makes the page one of the class, all of whose blocks are free and listed in order. The class is the commit, for a page that was kept. */
static PLAIT_ONCE void page_init(struct plait_page *page, uint32_t base, uint32_t class) {
  uint32_t size = plait__class_size(class), shift = plait__class_shift(class), count = (1u << shift) / size;
  if (count > PLAIT__MOST_BLOCKS) count = PLAIT__MOST_BLOCKS;
  note_hints(page, base, size, shift);
  plait_put8(&page->count, count);
  for (uint32_t number = 0; number < PLAIT_PAGE_STATES; number++)
    plait_put8(&page->states[number], number + 1 < count ? number + 1 : PLAIT__SMALL_END);
  for (uint32_t word = 0; word < 4; word++) plait_put64(&page->remote[word], 0);
  plait_put(&page->freed, 0);
  plait_put(&page->tally, 0);
  plait_put(&page->base, base);
  plait_put16(&page->step, size);
  plait_put8(&page->class, class);
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

PLAIT_ONCE uint32_t plait__page_remote(struct plait_page *page) {
  uint32_t count = 0;
  for (uint32_t word = 0; word < 4; word++) count += (uint32_t)__builtin_popcountll(near_load(&page->remote[word], memory_order_seq_cst));
  return count;
}

static uint32_t free_count(struct plait_page *page) {
  return plait_get8(&page->count) - (plait_get(&page->tally) >> 8);
}

PLAIT_ONCE int plait__page_collect(struct plait_page *page) {
  uint32_t tally = plait_get(&page->tally);
  int collected = 0;
  for (uint32_t word = 0; word < 4; word++) {
    uint64_t bits = near_load(&page->remote[word], memory_order_seq_cst);
    if (bits == 0) continue;
    collected = 1;
    for (uint64_t left = bits; left != 0; left &= left - 1) {
      uint32_t number = word * 64 + (uint32_t)__builtin_ctzll(left);
      plait_byte_t *state = plait__state(page, number);
      if (plait_get8(state) != PLAIT__SMALL_LIVE) continue; /* freed twice at the same instant, or its owner died here */
      plait_put8(state, tally);
      tally = ((tally & ~255u) | number) - 256;
    }
    plait_put(&page->tally, tally); /* first: see is_all_freed() */
    near_fetch_and(&page->remote[word], ~bits, memory_order_seq_cst); /* see the invariant on giving up */
  }
  return collected;
}

#if PLAIT_DEATHS
PLAIT_COLD void plait__page_rebuild(struct plait_page *page) {
  uint32_t used = 0, head = PLAIT__SMALL_END;
  plait__page_collect(page); /* the tally may be wrong, but no bit is left of what is not LIVE */
  for (uint32_t number = plait_get8(&page->count); number-- > 0;) {
    plait_byte_t *state = plait__state(page, number);
    if (plait_get8(state) == PLAIT__SMALL_LIVE) {
      used++;
    } else {
      plait_put8(state, head);
      head = number;
    }
  }
  plait_put(&page->tally, used << 8 | head);
}
#endif

/* Whether all blocks of the page are free. Its owner; under the lock if it is pooled. */
static int is_empty(struct plait_page *page) {
  plait__page_collect(page);
  return plait_get(&page->tally) < 256;
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
 * A page that is wholly free, and listed so, is kept for another class, or goes back to its slice; not if its list has no other, and it
 * is a small one.
 */
PLAIT_COLD void plait__page_release_if_empty(struct plait_record *record, struct plait_page *page) {
  uint32_t class = plait_get8(&page->class), kept = kept_class(class);
  if ((plait_get(&record->classes[class].count) == 1 && class < FEW_BLOCKS) || plait_get(&page->tally) >= 256) return;
  int keep = plait_get(&record->classes[kept].count) < KEPT_PAGES;
  if (!keep && plait__runs_try() != 0) return; /* it stays; the next free into it tries again */
  own_unlink(record, page);
  if (keep) {
    plait_put8(&page->class, kept); /* from now on its blocks do not count */
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
  struct plait_page_list *list = &record->classes[plait_get8(&page->class)];
  if (plait_get(&list->count) >= enough_pages(list) && pool(page)) return;
  plait__own_link(record, page);
  plait__page_release_if_empty(record, page);
}

/* A page of the record's without a free block: nobody's, until somebody frees into it. */
static PLAIT_COLD void abandon(struct plait_record *record, struct plait_page *page) {
  own_unlink(record, page);
  near_store(&page->owner, PLAIT__ABANDONED, memory_order_seq_cst);
  if (plait__page_remote(page) != 0) take_in(record, page);
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
  start_list_at(&record->classes[plait_get8(&page->class)], plait_ref(page));
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
    if (plait_get(&page->freed) != 0 && plait__page_collect(page)) plait_put(&list->shared, 1);
    uint32_t free = free_count(page);
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

/* A page with free blocks of the record's own, or one that it has kept, as the one in use: 0 if there is none. */
static PLAIT_COLD int go_on(struct plait_record *record, uint32_t class, uint32_t looks) {
  struct plait_page_list *kept = &record->classes[kept_class(class)];
  struct plait_page *page = find_own(record, class, looks);
  if (page == NULL && plait_get(&kept->count) != 0) {
    page = first_of(kept);
    own_unlink(record, page);
    page_init(page, plait_get(&page->base), class);
    own_link_first(record, page);
  }
  if (page == NULL) return 0;
  note_run(record, free_count(page));
  plait_put(&record->spots[class], plait_ref(page));
  return 1;
}

PLAIT_ONCE plait_ref_t plait__small_alloc(struct plait_record *record, uint32_t class) {
  for (uint32_t looks = class >= FEW_BLOCKS ? MOST_LOOKS : FIRST_LOOKS;;) {
    plait_ref_t block = plait__page_alloc(record, class);
    if (block != 0) return block;
    if (go_on(record, class, looks) || refill(record, class) == 0) continue;
    if (looks == UINT32_MAX) return 0;
    looks = UINT32_MAX; /* the others may have some */
  }
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

/* Whether no block of the pooled page is in use. The bits are read first: what its holder clears meanwhile has left the tally before. */
PLAIT_TINY int is_all_freed(struct plait_page *page) {
  return plait__page_remote(page) >= plait_get(&page->tally) >> 8;
}

PLAIT_ONCE int plait__small_free_remote(struct plait_page *page, uint32_t number) {
  if (plait__is_free(page, number)) return 0;
  plait_word64_t *remote = &page->remote[number / 64];
  uint64_t bit = 1ull << number % 64;
  if (plait_get(&page->freed) == 0) plait_put(&page->freed, 1);
  if (near_fetch_or(remote, bit, memory_order_seq_cst) & bit) return 0;
  uint32_t owner = near_load(&page->owner, memory_order_seq_cst);
  if (owner == PLAIT__ABANDONED || (owner == PLAIT__POOLED && is_all_freed(page))) freed_into(page, owner);
  return 1;
}

PLAIT_ONCE uint64_t plait__small_find(plait_ref_t block) {
  plait_ref_t leaf = plait_get(&plait_heap()->leaves[block / (PLAIT_SLICE_SIZE * PLAIT_HEAP_LEAF_SLICES)]);
  if (leaf == 0) return 0;
  struct plait_hint *hint = plait__hint(plait_at(leaf), block);
  uint32_t known = plait_get(&hint->page), number = plait__number(hint, known, block);
  struct plait_page *page = plait__hinted(known);
  return number >= PLAIT_PAGE_STATES || plait_get(&page->owner) == 0 ? 0 : (uint64_t)plait_ref(page) << 32 | number;
}

PLAIT_ONCE uint32_t plait__small_size(plait_ref_t block) {
  uint64_t found = plait__small_find(block);
  struct plait_page *page = plait_at((plait_ref_t)(found >> 32));
  return found == 0 || plait__is_free(page, (uint32_t)found) ? 0 : plait_get16(&page->step);
}

PLAIT_COLD enum plait_heap_place plait__small_place(struct plait_slice *slice, plait_ref_t block) {
  struct plait_page *page = plait__page_around(slice, plait_load(&slice->tag), block);
  uint32_t owner = plait_load(&page->owner), step = plait_get16(&page->step), offset = block - plait_get(&page->base);
  if (owner == 0 || offset / step >= plait_get8(&page->count)) return PLAIT_PLACE_UNUSED;
  if (plait__is_free(page, offset / step)) return offset % step == 0 ? PLAIT_PLACE_FREE : PLAIT_PLACE_UNUSED;
  return offset % step == 0 ? PLAIT_PLACE_LIVE : PLAIT_PLACE_INSIDE;
}
