/*
 * heap fast: the hot paths, shared by plait_heap_alloc() and malloc(). None has a fence. Only those of large blocks
 * take a lock.
 */
#ifndef PLAIT_HEAP_FAST_H
#define PLAIT_HEAP_FAST_H

#include "internal.h"

/* ---- small blocks; see pages.c ---- */

/* Takes the first block on the page's free list. `free_state`: the page's, which says that there is one. */
PLAIT_TINY plait_ref_t plait__page_take(struct plait_page *page, uint32_t free_state) {
  uint32_t number = free_state % 256;
  plait_byte_t *state = plait__state(page, number);
  plait_put(&page->free_state, free_state + 256 - number + plait_get8(state));
  plait_put8(state, PLAIT__SMALL_LIVE);
  return plait_get(&page->base) + number * plait_get16(&page->step);
}

/* A block of the class from the thread heap's current page; 0 if that page has none. */
PLAIT_TINY plait_ref_t plait__page_alloc(struct plait_thread_heap *theap, uint32_t class) {
  struct plait_page *page = plait_at(plait_get(&theap->current[class]));
  uint32_t free_state = plait_get(&page->free_state);
  return free_state % 256 == PLAIT__SMALL_END ? 0 : plait__page_take(page, free_state);
}

/*
 * A block has been freed into the page. The next block of the class comes from there, because it is still in a cache.
 * The exception: the current page has more free blocks. The fewer free blocks a page has, the sooner it runs out, and a
 * processor does not predict that.
 */
PLAIT_TINY void plait__page_prefer_emptier(struct plait_page *page, uint32_t free_state) {
  plait_word_t *current = plait_at(plait_get(&page->current_word));
  plait_ref_t now = plait_get(current);
  uint32_t other = plait_get(&((struct plait_page *)plait_at(now))->free_state);
  /* shifted: without the bit PREFER_EMPTIER */
  plait_put(current, free_state << 1 <= other << 1 ? plait_ref(page) : now);
}

/* Frees block `number` of the thread heap's own page: 1, or 0 if that block is not in use. */
PLAIT_TINY int plait__small_free_local(struct plait_thread_heap *theap, struct plait_page *page, uint32_t number) {
  plait_byte_t *state = plait__state(page, number);
  if (plait_get8(state) != PLAIT__SMALL_LIVE) return 0;
  uint32_t free_state = plait_get(&page->free_state);
  plait_put8(state, free_state);
  free_state = ((free_state & ~255u) | number) - 256;
  plait_put(&page->free_state, free_state);
  if (__builtin_expect((int32_t)free_state < 256, 0)) { /* PREFER_EMPTIER is set, or it was the last block in use */
    plait__page_prefer_emptier(page, free_state);
    if (plait__used(free_state) == 0) plait__page_release_if_empty(theap, page);
  }
  return 1;
}

/* ---- medium blocks; see regions.c ---- */

/*
 * A live block in front of the thread heap's top grows into a part of the top, or is long enough already: 1. 0 if it is
 * another block, or is to shrink, or to grow beyond the top. Accepts any reference: the thread heap says which block it
 * is. Nothing that is read here depends on distant stores of the last call.
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

/* A block larger than small ones; 0 if there is none, or the thread has no thread heap yet. */
PLAIT_TINY plait_ref_t plait__alloc_more(uint32_t size) {
  struct plait_thread_heap *theap = plait__mine();
  if (theap == NULL || size <= PLAIT_HEAP_SMALL_LIMIT) return 0;
  return size <= PLAIT_HEAP_MEDIUM_LIMIT ? plait__medium_alloc(theap, size) : plait__large_alloc(size, 1);
}

/* A small block; 0 if there is none, `size` is not small, or the thread has no thread heap yet. */
PLAIT_TINY plait_ref_t plait__alloc_small(uint32_t size) {
  struct plait_thread_heap *theap = plait__mine();
  if (theap == NULL || size > PLAIT_HEAP_SMALL_LIMIT) return 0;
  uint32_t class = plait__class_of(size);
  plait_ref_t block = plait__page_alloc(theap, class);
  return block != 0 ? block : plait__small_alloc(theap, class, 1);
}

/*
 * Frees a block: 1; 0 if it is no live block, then nothing changes. The caller needs no thread heap. What is read about
 * a block was made visible to the caller together with the block. If there is no block, a description may be read while
 * another thread makes it. That is safe: it is found through references, and each was stored after what it refers to.
 */
static inline __attribute__((always_inline)) int plait__free(plait_ref_t block) {
  struct plait_thread_heap *theap = plait__mine();
  plait_ref_t mine = plait_ref(theap);
  /*
   * Small programs have no other chunk, and a load from a fixed address need not wait for the block's address. Where
   * there is a thread heap, this chunk exists.
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
