/*
 * heap: which of the room's parts a block is for, and the counters. See heap.h for the whole.
 */
#include "internal.h"

static plait_ref_t failed(plait_ref_t block) {
  if (block == 0) atomic_fetch_add_explicit(&plait_heap()->failed, 1, memory_order_relaxed);
  return block;
}

/* The hot path: one word of the page at the list's head, no fence, no branch that is not foreseen. */
static inline plait_ref_t small_alloc(uint32_t class) {
  struct plait_record *record = plait__mine();
  if (record == NULL) return plait__small_alloc_slow(class);
  struct plait_page *page = plait_at(plait_get(&record->classes[class].head));
  uint32_t word = plait_get(&page->cursor);
  uint64_t bits = plait_get64(&page->local[word]);
  if (bits == 0) return plait__small_alloc_slow(class);
  plait_put64(&page->local[word], bits & (bits - 1));
  return plait_get(&page->first) + (word * 64 + (uint32_t)__builtin_ctzll(bits)) * plait_get(&page->size);
}

/* `fresh`: whether the bytes are zero because they have never been used. */
static plait_ref_t alloc(uint32_t size, uint32_t roomy, int *fresh) {
  *fresh = 0;
  if (size <= PLAIT_HEAP_SMALL_LIMIT) return small_alloc(plait__class_of(size));
  if (size <= PLAIT_HEAP_MEDIUM_LIMIT) return plait__medium_alloc(size, 16, roomy);
  return plait__large_alloc(size, 1, fresh);
}

PLAIT_EXPORT plait_ref_t plait_heap_alloc(uint32_t size) {
  int fresh;
  plait_ref_t block = alloc(size, 0, &fresh);
  return block != 0 ? block : failed(0);
}

PLAIT_EXPORT plait_ref_t plait_heap_alloc_zeroed(uint32_t size) {
  int fresh;
  plait_ref_t block = alloc(size, 0, &fresh);
  if (block == 0) return failed(0);
  if (!fresh) memset(plait_at(block), 0, size);
  return block;
}

PLAIT_EXPORT plait_ref_t plait_heap_alloc_aligned(uint32_t size, uint32_t alignment) {
  int fresh;
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) return failed(0);
  if (alignment <= 16) return plait_heap_alloc(size);
  if (size == 0) size = 1;
  uint64_t rounded = ((uint64_t)size + alignment - 1) & ~(uint64_t)(alignment - 1);
  /* Pages start at multiples of 4 KiB: a block is aligned if its size is. */
  if (rounded <= PLAIT_HEAP_SMALL_LIMIT) {
    uint32_t class = plait__class_of((uint32_t)rounded);
    while (class < PLAIT_HEAP_CLASS_COUNT && plait__class_size(class) % alignment != 0) class++;
    if (class < PLAIT_HEAP_CLASS_COUNT) return failed(small_alloc(class));
  }
  if (size <= PLAIT_HEAP_MEDIUM_LIMIT && alignment < PLAIT_SLICE_SIZE)
    return failed(plait__medium_alloc(size, alignment, 0));
  return failed(plait__large_alloc(size, alignment, &fresh));
}

/* The slice of a reference, NULL if it lies outside of the heap. */
static inline struct plait_slice *slice_of(plait_ref_t block) {
  struct plait_heap *heap = plait_heap();
  uint32_t index = block / PLAIT_SLICE_SIZE;
  if (index < plait_get(&heap->first) || index >= plait_load(&heap->end)) return NULL;
  return plait__slice(index);
}

PLAIT_EXPORT int plait_heap_free(plait_ref_t block) {
  struct plait_slice *slice = slice_of(block);
  if (slice == NULL) return -PLAIT_EINVAL;
  /* acquire: pairs with the release in set_tag. */
  enum plait__slice_kind kind = plait__kind(plait_load(&slice->tag));
  if (kind == PLAIT__PAGES) return plait__small_free(slice, block);
  if (kind == PLAIT__REGION || kind == PLAIT__PART) return plait__medium_free(slice, block);
  if (kind == PLAIT__LARGE && block % PLAIT_SLICE_SIZE == 0) return plait__large_free(block / PLAIT_SLICE_SIZE);
  return -PLAIT_EINVAL;
}

PLAIT_EXPORT uint32_t plait_heap_size(plait_ref_t block) {
  struct plait_slice *slice = slice_of(block);
  if (slice == NULL) return 0;
  uint32_t tag = plait_load(&slice->tag);
  enum plait__slice_kind kind = plait__kind(tag);
  if (kind == PLAIT__PAGES) return plait__small_size(slice, block);
  if (kind == PLAIT__REGION || kind == PLAIT__PART) return plait__medium_size(slice, block);
  if (kind == PLAIT__LARGE && block % PLAIT_SLICE_SIZE == 0) return plait__rest(tag) * PLAIT_SLICE_SIZE;
  return 0;
}

PLAIT_EXPORT enum plait_heap_place plait_heap_place(plait_ref_t block) {
  struct plait_slice *slice = slice_of(block);
  if (slice == NULL) return PLAIT_PLACE_OUTSIDE;
  enum plait__slice_kind kind = plait__kind(plait_load(&slice->tag));
  if (kind == PLAIT__PAGES) return plait__small_place(slice, block);
  if (kind == PLAIT__REGION || kind == PLAIT__PART) return plait__medium_place(block);
  if (block % PLAIT_SLICE_SIZE == 0 && kind == PLAIT__LARGE) return PLAIT_PLACE_LIVE;
  /* Inside a run: its first slice is some way back. */
  uint32_t first = plait_get(&plait_heap()->first), index = block / PLAIT_SLICE_SIZE;
  while (index > first && plait__kind(plait_load(&plait__slice(index)->tag)) == PLAIT__NONE) index--;
  kind = plait__kind(plait_load(&plait__slice(index)->tag));
  if (kind == PLAIT__LARGE) return PLAIT_PLACE_INSIDE;
  if (index * PLAIT_SLICE_SIZE == block && (kind == PLAIT__FREE || kind == PLAIT__FREED)) return PLAIT_PLACE_FREE;
  return PLAIT_PLACE_UNUSED;
}

/* Whether the block stays where it is, with room for `size`, of which it does not waste half. */
static int resize_in_place(plait_ref_t block, uint32_t size, uint32_t has) {
  struct plait_slice *slice = slice_of(block);
  enum plait__slice_kind kind = plait__kind(plait_load(&slice->tag));
  if (kind == PLAIT__PAGES) return size <= has && size >= has / 2;
  if (kind == PLAIT__LARGE) return size > PLAIT_SLICE_SIZE / 2 && plait__large_resize(block / PLAIT_SLICE_SIZE, size);
  return size > PLAIT_HEAP_SMALL_LIMIT / 2 && size <= 2 * PLAIT_HEAP_MEDIUM_LIMIT && plait__medium_resize(slice, block, size);
}

PLAIT_EXPORT plait_ref_t plait_heap_realloc(plait_ref_t block, uint32_t size) {
  int fresh;
  if (block == 0) return plait_heap_alloc(size);
  uint32_t has = plait_heap_size(block);
  if (has == 0) return failed(0);
  if (resize_in_place(block, size, has)) return block;
  /* Who grows a block once will do it again: it is laid where there is room behind it. */
  plait_ref_t moved = alloc(size, size > has ? size * 4 : 0, &fresh);
  if (moved == 0) return size <= has ? block : failed(0);
  memcpy(plait_at(moved), plait_at(block), size < has ? size : has);
  plait_heap_free(block);
  return moved;
}

/* Small blocks in use, counted by the bits of all pages. Others may be at work: each page is right at some instant. */
static uint32_t count_small(void) {
  struct plait_heap *heap = plait_heap();
  uint32_t live = 0, end = plait_load(&heap->end);
  for (uint32_t index = plait_get(&heap->first); index < end; index++) {
    struct plait_slice *slice = plait__slice(index);
    uint32_t tag = plait_load(&slice->tag);
    if (plait__kind(tag) != PLAIT__PAGES) continue;
    for (uint32_t i = 0; i < PLAIT_SLICE_SIZE >> plait__rest(tag); i++) {
      struct plait_page *page = (struct plait_page *)plait_at(plait_get(&slice->pages)) + i;
      if (plait_load(&page->owner) == 0) continue;
      live += plait_get(&page->count);
      for (uint32_t word = 0; word < PLAIT_PAGE_WORDS; word++)
        live -= (uint32_t)__builtin_popcountll(plait_get64(&page->local[word]) | plait_get64(&page->remote[word]));
    }
  }
  return live;
}

void plait_heap_stats(struct plait_heap_stats *out) {
  struct plait_heap *heap = plait_heap();
  uint32_t live = count_small() + plait_get(&heap->large_live);
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    plait_ref_t ref = plait_load(&heap->records[i]);
    if (ref == 0) continue;
    struct plait_record *record = plait_at(ref);
    live += plait_get(&record->medium_live) - (uint32_t)(plait_get64(&record->remote) >> 32);
  }
  out->reserved_bytes = (uint64_t)(plait_load(&heap->end) - plait_get(&heap->first)) * PLAIT_SLICE_SIZE;
  out->used_bytes = (uint64_t)plait_get(&heap->used) * PLAIT_SLICE_SIZE;
  out->peak_bytes = (uint64_t)plait_get(&heap->peak) * PLAIT_SLICE_SIZE;
  out->live_blocks = live;
  out->failed = plait_get(&heap->failed);
}
