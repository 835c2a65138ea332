/*
 * pages: small blocks. A page is 4 to 32 KiB of a slice, cut into blocks of one size; its record lies apart.
 *
 * Invariants
 * - A block is free when its bit is set in `local` or in `remote`, else it is in use. Each change is one store.
 * - Only the page's owner writes `local` and the list links; others set bits of `remote`. The owner moves remote bits
 *   over by setting them in `local` first and clearing them in `remote` then: between the two they are in both.
 * - A page whose owner word names a record is on that record's list for its class; the list's head is where the record
 *   allocates. An ABANDONED page is on no list and had no free block when it was given up.
 * - Giving up is: store ABANDONED, then look at `remote`. Freeing is: set the bit in `remote`, then look at the owner.
 *   So one of the two sees the other (both in sequential consistency), and whoever wins the exchange of the owner word
 *   has the page. A bit that was seen by nobody, because its thread died in between, is found by the next free into the
 *   page, or by the next recovery.
 * - A page whose class is no size class is kept by its owner, all its blocks free whatever the bits say.
 * - A POOLED page is on the heap's list for its class; it enters and leaves under the lock. Its last free block is
 *   noticed in the same way: pooling stores the owner, then looks whether all blocks are free; freeing the other way round.
 *   Freeing looks at the other words only if its own is all free by then: whoever fills the last word sees the others full.
 */
#include "internal.h"

#define FEW_BLOCKS 40u  /* classes from here on have so few blocks in a page that pages are worth being emptied */
#define MOST_LOOKS 32u  /* pages that are looked at for that */
#define FIRST_LOOKS 8u  /* pages of a list that are looked at for a free block before another page is had */
#define KEPT_PAGES 2u   /* so many pages of a size, without blocks in use, stay their owner's for any class */
#define FORGETFUL 16384u /* so many refills, and a class is thought to be shared by nobody until it is seen again */

PLAIT_COLD uint32_t plait__page_number(struct plait_page *page, plait_ref_t block) {
  return plait__page_number_inline(page, block);
}

PLAIT_COLD uint64_t plait__page_full(uint32_t count, uint32_t word) {
  if (count >= (word + 1) * 64) return ~0ull;
  return count <= word * 64 ? 0 : (1ull << count % 64) - 1;
}

/*
 * Multiples of 16 up to 128; then eight for each power of two up to 2 KiB; then what cuts a slice into 28, 25, 22, 20, 18, 16, 14,
 * 12, 11, 10 and so on down to 4.
 */
static PLAIT_COLD uint32_t size_of_class(uint32_t class) {
  if (class < 8) return (class + 1) * 16;
  if (class < FEW_BLOCKS) return (class % 8 + 9) << (class / 8 + 3);
  uint32_t at = class - FEW_BLOCKS, count = 19 - at;
  if (at < 7) count += 7 - at;
  if (at < 2) count += 2 - at;
  return PLAIT_SLICE_SIZE / count & ~15u;
}

/* Page sizes by four classes, a digit each: at most 256 blocks; at least 8, and in whole slices 4. Class 0 has the smallest. */
#define SHIFTS 0x44442222332221ull

PLAIT_COLD void plait__classes_init(void) {
  struct plait_heap *heap = plait_heap();
  for (uint32_t class = 0, unit = 0, size = 0; class < PLAIT_HEAP_CLASS_COUNT; class++) {
    uint32_t most = size_of_class(class), shift = class == 0 ? 0 : (uint32_t)(SHIFTS >> (class & ~3u)) & 15;
    heap->class_info[class] = (uint16_t)(most | shift);
    for (; size <= most; size += size < PLAIT_HEAP_FINE_LIMIT ? 16 : 128) heap->class_of_unit[unit++] = (uint8_t)class;
  }
}

/* ---- lists of a record ---- */

/* Whether others have freed blocks of the class in the record's own pages, of late. */
static inline int is_shared(struct plait_record *record, uint32_t class) {
  return (int)(plait_get64(&record->shared) >> class & 1);
}

/*
 * So many pages of a class may be full and yet stay their owner's, who will free into them. If others free them, too, it
 * keeps the one that it allocates from: the rest would wait for it, half empty, while others run. Of whole slices fewer: what
 * an owner keeps that does nothing any more is lost to the others until it comes back.
 */
static inline uint32_t full_pages(struct plait_record *record, uint32_t class) {
  if (is_shared(record, class)) return 1;
  return class >= FEW_BLOCKS ? 32 : 64;
}

/* A thread that has so many of a class does not take over more. Those that are full count, too. */
static inline uint32_t enough_pages(struct plait_record *record, uint32_t class) {
  return is_shared(record, class) ? 1 : 32;
}

PLAIT_COLD void plait__page_link(struct plait_page_list *lists, struct plait_page *page) {
  struct plait_page_list *list = &lists[plait_get(&page->class)];
  uint32_t tail = plait_get(&list->tail), ref = plait_ref(page);
  plait_put(&page->next, 0);
  plait_put(&page->prev, tail);
  if (tail != 0) plait_put(&((struct plait_page *)plait_at(tail))->next, ref);
  else plait_put(&list->head, ref);
  plait_put(&list->tail, ref);
  plait_put(&list->count, plait_get(&list->count) + 1);
}

static PLAIT_COLD void page_unlink(struct plait_page_list *lists, struct plait_page *page) {
  struct plait_page_list *list = &lists[plait_get(&page->class)];
  uint32_t next = plait_get(&page->next), prev = plait_get(&page->prev);
  if (prev != 0) plait_put(&((struct plait_page *)plait_at(prev))->next, next);
  else plait_put(&list->head, next != 0 ? next : plait_ref(&plait_heap()->empty));
  if (next != 0) plait_put(&((struct plait_page *)plait_at(next))->prev, prev);
  else plait_put(&list->tail, prev);
  plait_put(&list->count, plait_get(&list->count) - 1);
}

PLAIT_TINY void aim_at(struct plait_spot *spot, struct plait_page *page, uint32_t word) {
  uint32_t step = plait_get(&page->step);
  plait_put(&spot->word, plait_ref(&page->local[word]));
  plait_put(&spot->origin, plait_get(&page->base) + word * 64 * step);
  plait_put(&spot->size, step);
}

PLAIT_COLD void plait__aim(struct plait_record *record, uint32_t class) {
  struct plait_page *page = plait_at(plait_get(&record->classes[class].head));
  aim_at(&record->spots[class], page, plait_get(&page->cursor));
}

PLAIT_COLD void plait__own_link(struct plait_record *record, struct plait_page *page) {
  uint32_t class = plait_get(&page->class);
  plait__page_link(record->classes, page);
  if (class < PLAIT_HEAP_CLASS_COUNT) plait__aim(record, class);
}

static PLAIT_COLD void own_unlink(struct plait_record *record, struct plait_page *page) {
  uint32_t class = plait_get(&page->class);
  page_unlink(record->classes, page);
  if (class < PLAIT_HEAP_CLASS_COUNT) plait__aim(record, class);
}

/* ---- pages; under the lock ---- */

/* Makes the page one of the class, all of whose blocks are free. The class is the commit, for a page that was kept. */
static PLAIT_COLD void page_init(struct plait_page *page, uint32_t base, uint32_t class) {
  uint32_t size = plait__class_size(class), count = (1u << plait__class_shift(class)) / size;
  uint32_t turn = (uint32_t)__builtin_ctz(size), odd = size >> turn, inverse = odd; /* right in its last 3 bits */
  for (int i = 0; i < 4; i++) inverse *= 2 - odd * inverse; /* in twice as many each time */
  for (uint32_t word = 0; word < PLAIT_PAGE_WORDS; word++) {
    plait_put64(&page->local[word], plait__page_full(count, word));
    plait_put64(&page->remote[word], 0);
  }
  plait_put(&page->cursor, 0);
  plait_put(&page->words, (count + 63) / 64);
  plait_put64(&page->whole, plait_get64(&page->local[0]));
  plait_put64(&page->tail, plait_get64(&page->local[(count - 1) / 64]));
  plait_put(&page->base, base);
  plait_put(&page->step, size);
  plait_put(&page->inverse, inverse);
  plait_put(&page->turn, turn);
  plait_put(&page->count, count);
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

PLAIT_COLD int plait__page_collect(struct plait_page *page) {
  int found = 0;
  for (uint32_t word = 0, words = plait_get(&page->words); word < words; word++) {
    uint64_t bits = near_load(&page->remote[word], memory_order_seq_cst); /* see the invariant on giving up */
    if (bits == 0) continue;
    /* Who frees a block a second time may set a bit that the page has lost since: it had another class, with more blocks. */
    plait_put64(&page->local[word], plait_get64(&page->local[word]) | (bits & plait__page_full(plait_get(&page->count), word)));
    near_fetch_and(&page->remote[word], ~bits, memory_order_acq_rel);
    found = 1;
  }
  return found;
}

/* Whether all blocks are free, as far as the caller can see: exact for the owner, and under the lock for a pooled page. */
static PLAIT_COLD int is_empty(struct plait_page *page) {
  uint32_t count = plait_get(&page->count), words = plait_get(&page->words);
  for (uint32_t word = 0; word < words; word++) {
    uint64_t bits = near_load(&page->remote[word], memory_order_seq_cst) | plait_get64(&page->local[word]);
    if ((~bits & plait__page_full(count, word)) != 0) return 0;
  }
  return 1;
}

/* Gives a page without blocks in use, which is on no list any more, back to its slice. Under the lock. */
static PLAIT_COLD void page_destroy(struct plait_page *page) {
  uint32_t base = plait_get(&page->base), index = base / PLAIT_SLICE_SIZE;
  near_store(&page->owner, 0, memory_order_release);
  plait__cut_give(index, base % PLAIT_SLICE_SIZE >> plait__rest(plait_load_near(&plait__slice(index)->tag)));
}

PLAIT_COLD int plait__pages_release_empty(struct plait_record *record) {
  int given = 0;
  for (uint32_t list = 0; list < PLAIT_HEAP_LIST_COUNT; list++) {
    for (uint32_t i = plait_get(&record->classes[list].count), next = plait_get(&record->classes[list].head); i > 0; i--) {
      struct plait_page *page = plait_at(next);
      next = plait_get(&page->next);
      if (list < PLAIT_HEAP_CLASS_COUNT && !is_empty(page)) continue;
      own_unlink(record, page);
      page_destroy(page);
      given = 1;
    }
  }
  return given;
}

/*
 * A page that is wholly free is kept for another class, or goes back to its slice; not if its list has no other, and it
 * is a small one.
 */
PLAIT_COLD void plait__page_release_if_empty(struct plait_record *record, struct plait_page *page) {
  uint32_t class = plait_get(&page->class), kept = PLAIT_HEAP_CLASS_COUNT + plait__class_shift(class) - PLAIT__SMALLEST_SHIFT;
  if ((plait_get(&record->classes[class].count) == 1 && class < FEW_BLOCKS) || !is_empty(page)) return;
  if (plait_get(&record->classes[kept].count) < KEPT_PAGES) {
    own_unlink(record, page);
    plait_put(&page->class, kept); /* from now on its bits do not count */
    plait__own_link(record, page);
    return;
  }
  if (plait__runs_try() != 0) return; /* it stays; the next free into it tries again */
  own_unlink(record, page);
  page_destroy(page);
  plait__runs_unlock();
}

/* A page of the record's own, on no list, goes to whoever needs one. 0 if the lock is not to be had at once. */
static PLAIT_COLD int pool(struct plait_page *page) {
  if (plait__runs_try() != 0) return 0;
  plait__page_link(plait_heap()->pooled, page);
  near_store(&page->owner, PLAIT__POOLED, memory_order_seq_cst);
  if (is_empty(page)) {
    page_unlink(plait_heap()->pooled, page);
    page_destroy(page);
  }
  plait__runs_unlock();
  return 1;
}

/* Whether others have freed into the page. */
static inline int has_remote(struct plait_page *page) {
  for (uint32_t word = 0, words = plait_get(&page->words); word < words; word++)
    if (plait_get64(&page->remote[word]) != 0) return 1;
  return 0;
}

/* Makes an abandoned page the record's, on no list yet: 0 if another thread was quicker. */
PLAIT_TINY int claim(struct plait_record *record, struct plait_page *page) {
  uint32_t owner = PLAIT__ABANDONED;
  return near_compare_exchange(&page->owner, &owner, plait_ref(record), memory_order_seq_cst,
                                                 memory_order_relaxed);
}

/* A page that was claimed, and has free blocks, goes onto its list; or to others, if there are enough. */
static PLAIT_COLD void take_in(struct plait_record *record, struct plait_page *page) {
  if (has_remote(page)) plait__page_collect(page);
  uint32_t class = plait_get(&page->class);
  if (plait_get(&record->classes[class].count) >= enough_pages(record, class) && pool(page)) return;
  plait__own_link(record, page);
  plait__page_release_if_empty(record, page);
}

/* The list's head has no free block: nobody's, until somebody frees into it. */
static PLAIT_COLD void abandon(struct plait_record *record, struct plait_page *page) {
  own_unlink(record, page);
  near_store(&page->owner, PLAIT__ABANDONED, memory_order_seq_cst);
  for (uint32_t word = 0, words = plait_get(&page->words); word < words; word++) {
    if (near_load(&page->remote[word], memory_order_seq_cst) == 0) continue;
    if (claim(record, page)) take_in(record, page);
    return;
  }
}

/* The next block out of the list's head, whose cursor moves to a word with free blocks: 0 if its owner knows of none. */
static PLAIT_ONCE plait_ref_t page_search(struct plait_record *record, struct plait_page *page, uint32_t class) {
  uint32_t word = plait_get(&page->cursor), words = plait_get(&page->words);
  for (uint32_t i = 0; i < words; i++) {
    if (plait_get64(&page->local[word]) != 0) {
      plait_put(&page->cursor, word);
      aim_at(&record->spots[class], page, word);
      return plait__page_alloc(record, class);
    }
    if (++word >= words) word = 0;
  }
  return 0;
}

/* Takes the page that was pooled first: NULL if there is none. Under the lock. */
static PLAIT_COLD struct plait_page *page_from_pool(struct plait_record *record, uint32_t class) {
  struct plait_page_list *list = &plait_heap()->pooled[class];
  if (plait_get(&list->count) == 0) return NULL;
  struct plait_page *page = plait_at(plait_get(&list->head));
  page_unlink(plait_heap()->pooled, page);
  near_store(&page->owner, plait_ref(record), memory_order_seq_cst);
  plait__page_collect(page);
  return page;
}

static struct plait_page_list *kept_list(struct plait_record *record, uint32_t class) {
  return &record->classes[PLAIT_HEAP_CLASS_COUNT + plait__class_shift(class) - PLAIT__SMALLEST_SHIFT];
}

/* Puts a page at the head of its list. */
static PLAIT_COLD void own_link_first(struct plait_record *record, struct plait_page *page) {
  uint32_t class = plait_get(&page->class), ref = plait_ref(page);
  struct plait_page_list *list = &record->classes[class];
  uint32_t head = plait_get(&list->head);
  if (plait_get(&list->count) == 0) {
    plait__own_link(record, page);
    return;
  }
  plait_put(&page->next, head);
  plait_put(&page->prev, 0);
  plait_put(&((struct plait_page *)plait_at(head))->prev, ref);
  plait_put(&list->head, ref);
  plait_put(&list->count, plait_get(&list->count) + 1);
  plait__aim(record, class);
}

/* A page that the record has kept becomes the head of its list for the class. */
static PLAIT_COLD void use_kept(struct plait_record *record, uint32_t class) {
  struct plait_page *page = plait_at(plait_get(&kept_list(record, class)->head));
  own_unlink(record, page);
  page_init(page, plait_get(&page->base), class);
  own_link_first(record, page);
}

/* Of the first pages of the list the one that has least to give, and anything, becomes its head: others get empty. */
static PLAIT_COLD void fullest_first(struct plait_record *record, uint32_t class) {
  uint32_t least = 65;
  struct plait_page *best = NULL;
  plait_ref_t ref = plait_get(&record->classes[class].head);
  for (uint32_t i = plait_get(&record->classes[class].count), looks = MOST_LOOKS; i > 0 && looks > 0; i--, looks--) {
    struct plait_page *page = plait_at(ref);
    uint32_t free = (uint32_t)__builtin_popcountll(plait_get64(&page->local[0]) | plait_get64(&page->remote[0]));
    if (free != 0 && free < least) least = free, best = page;
    ref = plait_get(&page->next);
  }
  if (best == NULL || plait_get(&best->prev) == 0) return;
  own_unlink(record, best);
  own_link_first(record, best);
}

/* Puts a page with free blocks at the head of the record's list: 0, or -PLAIT_ENOMEM. */
static PLAIT_COLD int refill(struct plait_record *record, uint32_t class) {
  uint32_t refills = plait_get(&record->refills) + 1;
  plait_put(&record->refills, refills);
  if (refills % FORGETFUL == 0) plait_put64(&record->shared, plait_get64(&record->shared) & ~(1ull << class));
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

/* The list's head has no free block: it goes to the list's end. pre: there are others. Who calls it aims. */
PLAIT_TINY void rotate(struct plait_page_list *list, struct plait_page *page) {
  uint32_t next = plait_get(&page->next), tail = plait_get(&list->tail), ref = plait_ref(page);
  plait_put(&((struct plait_page *)plait_at(next))->prev, 0);
  plait_put(&list->head, next);
  plait_put(&page->next, 0);
  plait_put(&page->prev, tail);
  plait_put(&((struct plait_page *)plait_at(tail))->next, ref);
  plait_put(&list->tail, ref);
}

/* The same when the list's head has nothing left. */
static PLAIT_ONCE plait_ref_t alloc_elsewhere(struct plait_record *record, uint32_t class) {
  struct plait_page_list *list = &record->classes[class];
  for (uint32_t looks = FIRST_LOOKS;;) {
    if (class >= FEW_BLOCKS) fullest_first(record, class);
    for (uint32_t i = plait_get(&list->count), left = looks; i > 0 && left > 0; i--, left--) { /* each page once at most */
      struct plait_page *page = plait_at(plait_get(&list->head));
      if (has_remote(page)) {
        plait__page_collect(page);
        plait_put64(&record->shared, plait_get64(&record->shared) | 1ull << class);
      }
      plait_ref_t block = page_search(record, page, class);
      if (block != 0) return block;
      if (plait_get(&list->count) > full_pages(record, class)) abandon(record, page);
      else if (plait_get(&page->next) != 0) rotate(list, page);
      /* A page that is wholly free lasts longer than those that are just being freed into. */
      if (plait_get(&kept_list(record, class)->count) != 0) break;
    }
    plait__aim(record, class);
    if (plait_get(&kept_list(record, class)->count) != 0) use_kept(record, class);
    else if (refill(record, class) != 0) {
      if (looks == UINT32_MAX) return 0;
      looks = UINT32_MAX; /* the others may have some */
      continue;
    }
    plait_ref_t block = page_search(record, plait_at(plait_get(&list->head)), class);
    if (block != 0) return block;
  }
}

plait_ref_t plait__small_alloc_slow(struct plait_record *record, uint32_t class) {
  plait_ref_t block = page_search(record, plait_at(plait_get(&record->classes[class].head)), class);
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
      if (claim(mine, page)) take_in(mine, page);
      return;
    }
  } else if (!is_empty(page)) {
    return;
  }
  if (plait__runs_lock() != 0) return;
  uint32_t abandoned = PLAIT__ABANDONED;
  if (near_compare_exchange(&page->owner, &abandoned, PLAIT__POOLED, memory_order_seq_cst, memory_order_relaxed))
    plait__page_link(plait_heap()->pooled, page);
  if (plait_load_near(&page->owner) == PLAIT__POOLED && is_empty(page)) {
    page_unlink(plait_heap()->pooled, page);
    page_destroy(page);
  }
  plait__runs_unlock();
}

PLAIT_ONCE int plait__small_free_remote(struct plait_page *page, uint32_t number) {
  uint64_t bit = 1ull << number % 64;
  plait_word64_t *local = &page->local[number / 64], *remote = &page->remote[number / 64];
  if ((plait_get64(local) | plait_get64(remote)) & bit) return -PLAIT_EINVAL; /* free already */
  plait__reach();
  uint64_t known = near_fetch_or(remote, bit, memory_order_seq_cst);
  if (known & bit) return -PLAIT_EINVAL;
  uint32_t owner = near_load(&page->owner, memory_order_seq_cst);
  if (owner == PLAIT__POOLED) { /* nobody writes `local` now */
    known |= bit | plait_get64(local);
    if (known != plait_get64(&page->whole) && known != plait_get64(&page->tail)) return 0;
  }
  if (owner == PLAIT__POOLED || owner == PLAIT__ABANDONED) freed_into(page, owner);
  return 0;
}

static int is_free(struct plait_page *page, uint32_t number) {
  uint64_t known = plait_get64(&page->local[number / 64]) | plait_get64(&page->remote[number / 64]);
  return known >> number % 64 & 1;
}

uint32_t plait__small_size(struct plait_slice *slice, uint32_t tag, plait_ref_t block) {
  struct plait_page *page = plait__page_around(slice, tag, block);
  uint32_t owner = plait_get(&page->owner), number = plait__page_number(page, block);
  return owner == 0 || number == UINT32_MAX || is_free(page, number) ? 0 : plait_get(&page->step);
}

PLAIT_COLD enum plait_heap_place plait__small_place(struct plait_slice *slice, plait_ref_t block) {
  struct plait_page *page = plait__page_around(slice, plait_load(&slice->tag), block);
  uint32_t owner = plait_load(&page->owner), step = plait_get(&page->step), offset = block - plait_get(&page->base);
  if (owner == 0 || offset / step >= plait_get(&page->count)) return PLAIT_PLACE_UNUSED;
  if (is_free(page, offset / step)) return offset % step == 0 ? PLAIT_PLACE_FREE : PLAIT_PLACE_UNUSED;
  return offset % step == 0 ? PLAIT_PLACE_LIVE : PLAIT_PLACE_INSIDE;
}
