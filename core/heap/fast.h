/*
 * heap fast: the hot paths, for plait_heap_alloc() and malloc() alike. None has a fence, or a lock but for large
 * blocks.
 */
#ifndef PLAIT_HEAP_FAST_H
#define PLAIT_HEAP_FAST_H

#include "internal.h"

/* ---- small blocks; see pages.c ---- */

/* The first block on the page's list. `tally`: the page's, which says that there is one. */
PLAIT_TINY plait_ref_t plait__page_take(struct plait_page *page, uint32_t free_state) {
  uint32_t number = free_state % 256;
  plait_byte_t *state = plait__state(page, number);
  plait_put(&page->free_state, free_state + 256 - number + plait_get8(state));
  plait_put8(state, PLAIT__SMALL_LIVE);
  return plait_get(&page->base) + number * plait_get16(&page->step);
}

/* A block of the class from the page that the record's spot names; 0 if that has none. */
PLAIT_TINY plait_ref_t plait__page_alloc(struct plait_thread_heap *theap, uint32_t class) {
  struct plait_page *page = plait_at(plait_get(&theap->current[class]));
  uint32_t free_state = plait_get(&page->free_state);
  return free_state % 256 == PLAIT__SMALL_END ? 0 : plait__page_take(page, free_state);
}

/*
 * A block has been freed into the page: the next one of the class comes from there, because it is still in a cache. But
 * not if more blocks are free in the page that the spot names: the fewer a page has, the sooner it has none, which a
 * processor does not guess.
 */
PLAIT_TINY void plait__page_prefer_emptier(struct plait_page *page, uint32_t free_state) {
  plait_word_t *current = plait_at(plait_get(&page->current_word));
  plait_ref_t now = plait_get(current);
  uint32_t other = plait_get(&((struct plait_page *)plait_at(now))->free_state);
  plait_put(current, free_state << 1 <= other << 1 ? plait_ref(page) : now); /* without the bit for PREFER_EMPTIER */
}

/* Frees block `number` of the record's own page: 1, or 0 if it is none that is in use. */
PLAIT_TINY int plait__small_free_local(struct plait_thread_heap *theap, struct plait_page *page, uint32_t number) {
  plait_byte_t *state = plait__state(page, number);
  if (plait_get8(state) != PLAIT__SMALL_LIVE) return 0;
  uint32_t free_state = plait_get(&page->free_state);
  plait_put8(state, free_state);
  free_state = ((free_state & ~255u) | number) - 256;
  plait_put(&page->free_state, free_state);
  if (__builtin_expect((int32_t)free_state < 256, 0)) { /* PREFER_EMPTIER, or it was the last block in use */
    plait__page_prefer_emptier(page, free_state);
    if (plait__used(free_state) == 0) plait__page_release_if_empty(theap, page);
  }
  return 1;
}

/* ---- medium blocks; see regions.c ---- */

/*
 * A live block that lies in front of the record's top becomes longer by a part of that, or is long enough: 1; 0 if it
 * is another one, or is to become shorter, or longer than that. Any reference will do: the record says which it is, and
 * what it reads depends on nothing that the last step has written far away.
 */
PLAIT_TINY int plait__medium_grow(struct plait_thread_heap *theap, plait_ref_t block, uint32_t size) {
  plait_ref_t header = block - PLAIT__HEADER;
  if (header != plait_get(&theap->grower)) return 0;
  uint32_t have = plait_get(&plait__block(header)->tag) - PLAIT__BLOCK_LIVE,
           all = plait_get(&theap->grower_end) - header;
  if (have % 16 != 0 || size > all - 2 * PLAIT__LEAST_REST) return 0;
  uint32_t total = plait__total_of(size);
  if (total <= have) return total == have || have == PLAIT__LEAST;
  plait__lay_with_top(theap, header, all, total);
  return 1;
}

/* ---- any block ---- */

/* A block of more than the small sizes; 0 if there is none, or the thread has no record yet. */
PLAIT_TINY plait_ref_t plait__alloc_more(uint32_t size) {
  struct plait_thread_heap *theap = plait__mine();
  if (theap == NULL || size <= PLAIT_HEAP_SMALL_LIMIT) return 0;
  return size <= PLAIT_HEAP_MEDIUM_LIMIT ? plait__medium_alloc(theap, size) : plait__large_alloc(size, 1);
}

/* A small block; 0 if there is none, it is no small one, or the thread has no record yet. */
PLAIT_TINY plait_ref_t plait__alloc_small(uint32_t size) {
  struct plait_thread_heap *theap = plait__mine();
  if (theap == NULL || size > PLAIT_HEAP_SMALL_LIMIT) return 0;
  uint32_t class = plait__class_of(size);
  plait_ref_t block = plait__page_alloc(theap, class);
  return block != 0 ? block : plait__small_alloc(theap, class, 1);
}

/*
 * Frees a block: 1, or 0 if there is none; then nothing is done. With a record or without. What it reads was made
 * visible to the caller together with the block. Of what is no block the description may be read while it is being
 * made: it is found by way of references, and each of these was stored after what it refers to.
 */
static inline __attribute__((always_inline)) int plait__free(plait_ref_t block) {
  struct plait_thread_heap *theap = plait__mine();
  plait_ref_t mine = plait_ref(theap);
  /*
   * Small programs have no other: what comes from one place need not wait for the block. Where there is a record, there
   * is this one.
   */
  plait_ref_t chunk_ref = plait_get(&plait_heap()->chunks[0]);
  if (theap == NULL) {
    if (chunk_ref == 0) return 0;
    mine = PLAIT__NO_THREAD_HEAP;
  }
  if (block >= PLAIT_SLICE_SIZE * PLAIT_HEAP_CHUNK_SLICES) {
    chunk_ref = plait_get(&plait_heap()->chunks[block / (PLAIT_SLICE_SIZE * PLAIT_HEAP_CHUNK_SLICES)]);
    if (chunk_ref == 0) return 0;
  }
  struct plait_metadata_chunk *chunk = plait_at(chunk_ref);
  struct plait_page_map_entry *entry = plait__page_map_entry(chunk, block);
  uint32_t word = plait_get(&entry->page), number = plait__number(entry, word, block);
  if (number < PLAIT_PAGE_STATES) {
    struct plait_page *page = plait__mapped_page(word);
    int own = plait__is_undisturbed(page, mine);
    if (!own) {
      uint32_t owner = plait_get(&page->owner);
      own = owner == mine;
      if (own ? plait__is_remote(page, number) : owner != 0) return own ? 0 : plait__small_free_remote(page, number);
    }
    if (own) return plait__small_free_local(theap, page, number);
  }
  struct plait_slice *slice = &chunk->slices[block / PLAIT_SLICE_SIZE % PLAIT_HEAP_CHUNK_SLICES];
  enum plait__slice_kind kind = plait__kind(plait_get(&slice->tag));
  if (kind == PLAIT__LARGE) return plait__large_free(slice, block);
  return (kind == PLAIT__REGION || kind == PLAIT__PART) && plait__medium_free(mine, slice, block);
}

#endif
