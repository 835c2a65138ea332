/* heap: the API; chooses the part of the heap that handles a block. See heap.h for the whole. */
#include "fast.h"

#define MOST_SLICES 65535u /* so that the end of the last slice still fits 32 bits */

_Thread_local int plait__fresh;
#ifndef PLAIT_HEAP_LIBRARY
_Thread_local enum plait_heap_use plait__use;
#endif

PLAIT_COLD int plait_heap_init(plait_ref_t first, uint32_t maximum_pages) {
  struct plait_heap *heap = plait_heap();
  uint32_t limit = maximum_pages < MOST_SLICES ? maximum_pages : MOST_SLICES;
  first = (first + PLAIT_HEAP_GRANULE - 1) & ~(PLAIT_HEAP_GRANULE - 1);
  uint32_t index = (first + PLAIT_SLICE_SIZE - 1) / PLAIT_SLICE_SIZE;
  /* else the memory itself fails when it is to grow */
  if (PLAIT_PLATFORM_ALONE && index >= limit) return -PLAIT_ENOMEM;
  plait_put(&heap->first, index);
  plait_put(&heap->end, index);
  plait_put(&heap->touched, index);
  plait_put(&heap->limit, limit);
  plait_put(&heap->meta, first); /* the rest of the first slice serves as metadata memory */
  plait__spans_clear();
  plait__classes_init();
  /* if the memory has more than the statics need; else it grows at the first request */
  plait__extend(index, plait_platform_first_pages());
  return 0;
}

static PLAIT_COLD plait_ref_t failed(plait_ref_t block) {
  if (block == 0) near_fetch_add(&plait_heap()->failed, 1, memory_order_relaxed);
  return block;
}

static PLAIT_COLD plait_ref_t small_alloc(uint32_t class, int any_place) {
  struct plait_thread_heap *theap = plait__bind();
  return theap == NULL ? 0 : plait__small_alloc(theap, class, any_place);
}

static PLAIT_COLD plait_ref_t alloc(uint32_t size) {
  plait_ref_t block = 0;
  if (size > PLAIT_HEAP_MEDIUM_LIMIT) return plait__large_alloc(size, 1);
  if (size <= PLAIT_HEAP_SMALL_LIMIT) block = small_alloc(plait__class_of(size), 1);
  struct plait_thread_heap *theap = block == 0 ? plait__bind() : NULL;
  return theap != NULL ? plait__medium_alloc_at(theap, size, 16) : block;
}

PLAIT_COLD plait_ref_t plait__alloc_cold(uint32_t size) {
  return failed(alloc(size));
}

static PLAIT_ONCE plait_ref_t alloc_more(uint32_t size) {
  plait_ref_t block = plait__alloc_more(size);
  return block != 0 ? block : plait__alloc_cold(size);
}

PLAIT_EXPORT plait_ref_t plait_heap_alloc(uint32_t size) {
  plait_ref_t block = plait__alloc_small(size);
  return block != 0 ? block : alloc_more(size);
}

PLAIT_EXPORT PLAIT_COLD plait_ref_t plait_heap_alloc_zeroed(uint32_t size) {
  plait_ref_t block = plait__alloc_cold(size);
  if (block != 0 && !plait__is_zero(size)) plait_zero_near(plait_at(block), size);
  return block;
}

PLAIT_EXPORT PLAIT_COLD plait_ref_t plait_heap_alloc_aligned(uint32_t size, uint32_t alignment) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) return failed(0);
  if (alignment <= 16) return plait__alloc_cold(size);
  if (size == 0) size = 1;
  /*
   * Pages start at multiples of 4 KiB, so a block is aligned if its size is. The largest size is a multiple of all
   * alignments.
   */
  if (((size - 1) | (alignment - 1)) < PLAIT_HEAP_SMALL_LIMIT) {
    uint32_t class = plait__class_of((size + alignment - 1) & ~(alignment - 1));
    while (plait__class_size(class) % alignment != 0) class++;
    plait_ref_t block = small_alloc(class, 0);
    if (block != 0) return block;
  }
  if (size <= PLAIT_HEAP_MEDIUM_LIMIT && alignment < PLAIT_SLICE_SIZE) {
    struct plait_thread_heap *theap = plait__bind();
    return failed(theap == NULL ? 0 : plait__medium_alloc_at(theap, size, alignment));
  }
  return failed(plait__large_alloc(size, alignment));
}

/* How many bytes the live large block has room for, 0 if there is none. `tag`: the slice's. */
PLAIT_TINY uint32_t large_size(struct plait_slice *slice, uint32_t tag, plait_ref_t block) {
  uint32_t offset = block % PLAIT_SLICE_SIZE;
  return plait__kind(tag) == PLAIT__LARGE && offset == plait_get(&slice->used)
      ? plait__rest(tag) * PLAIT_SLICE_SIZE - offset
      : 0;
}

/* The slice of a reference; NULL outside of the described memory. */
static inline struct plait_slice *slice_of(plait_ref_t block) {
  uint32_t index = block / PLAIT_SLICE_SIZE;
  /* acquire: pairs with the release in plait__extend(), so that a slice without a description reads as no slice. */
  plait_ref_t chunk = plait_load_near(&plait_heap()->chunks[index / PLAIT_HEAP_CHUNK_SLICES]);
  return chunk == 0 ? NULL : &((struct plait_metadata_chunk *)plait_at(chunk))->slices[index % PLAIT_HEAP_CHUNK_SLICES];
}

PLAIT_EXPORT int plait_heap_free(plait_ref_t block) {
  return plait__free(block) ? 0 : -PLAIT_EINVAL;
}

PLAIT_EXPORT PLAIT_COLD uint32_t plait_heap_size(plait_ref_t block) {
  uint32_t small = plait__small_size(block);
  if (small != 0) return small;
  struct plait_slice *slice = slice_of(block);
  uint32_t tag = slice == NULL ? 0 : plait_load(&slice->tag);
  enum plait__slice_kind kind = plait__kind(tag);
  if (kind != PLAIT__REGION && kind != PLAIT__PART) return large_size(slice, tag, block);
  plait_ref_t header = plait__medium_header(slice, block);
  return header == 0 ? 0 : plait__medium_room(header);
}

PLAIT_EXPORT PLAIT_COLD enum plait_heap_place plait_heap_place(plait_ref_t block) {
  struct plait_slice *slice = slice_of(block);
  uint32_t first = plait_get(&plait_heap()->first), index = block / PLAIT_SLICE_SIZE;
  if (slice == NULL || index < first || index >= plait_load_near(&plait_heap()->end)) return PLAIT_PLACE_OUTSIDE;
  enum plait__slice_kind kind = plait__kind(plait_load(&slice->tag));
  if (kind == PLAIT__PAGES) return plait__small_place(slice, block);
  if (kind == PLAIT__REGION || kind == PLAIT__PART) return plait__medium_place(block);
  if (large_size(slice, plait_load(&slice->tag), block) != 0) return PLAIT_PLACE_LIVE;
  /* Inside a span: its first slice is some way back. */
  while (index > first && plait__kind(plait_load(&plait__slice(index)->tag)) == PLAIT__NONE) index--;
  kind = plait__kind(plait_load(&plait__slice(index)->tag));
  if (kind == PLAIT__LARGE) return PLAIT_PLACE_INSIDE;
  /* the place where the last block of the span began */
  int starts = index == block / PLAIT_SLICE_SIZE && block % PLAIT_SLICE_SIZE == plait_get(&slice->used);
  if (starts && (kind == PLAIT__FREE || kind == PLAIT__FREED)) return PLAIT_PLACE_FREE;
  return PLAIT_PLACE_UNUSED;
}

/*
 * In the library for wasm32, own_malloc() and own_free() of lib/heap/malloc.c do the same as plait_heap_alloc() and
 * plait_heap_free(). They are called here, because the code is smaller without a second copy of the hot paths.
 */
#if defined(PLAIT_HEAP_LIBRARY) && defined(__wasm__)
static void *own_malloc(size_t size);
static void own_free(void *block);
#define ALLOC(size) plait_ref(own_malloc(size))
#define FREE(block) own_free(plait_at(block))
#else
#define ALLOC(size) plait_heap_alloc(size)
#define FREE(block) plait_heap_free(block)
#endif

/*
 * On some processors copies of more than 2 KiB are twenty times slower if target and source have the same offset in 4
 * KiB. Blocks often do.
 */
#define COPIED_AT_ONCE 1024u
/*
 * In WebAssembly a bulk copy is a call into the host. So the first bytes are copied word by word, which is faster, and
 * a small block has no others.
 */
#define COPIED_BY_WORDS 64u

/*
 * For a block that does not fit where it is, or would waste half of its room. A block that has grown once is likely to
 * grow again. So it gets a place in a region with room behind it. A small block gets one only if the last such block
 * has grown long; else it gets half as much room again.
 */
static inline plait_ref_t move(struct plait_thread_heap *mine, plait_ref_t block, uint32_t size, uint32_t has) {
  uint32_t kept = size < has ? size : has, ample = size;
  plait_ref_t moved = 0;
  if (size > has && mine != NULL && size <= PLAIT_HEAP_MEDIUM_LIMIT) {
    moved = plait__medium_alloc_roomy(mine, size, 0);
    ample += size / 2;
  }
  if (moved == 0) moved = ALLOC(ample);
  if (moved == 0) moved = alloc(size);
  if (moved == 0) return size > has ? failed(0) : block;
  plait_platform_reach(plait_at(block + kept - 1)); /* another thread may have allocated it */
  uint32_t at = 0;                                  /* both have room for whole words, and for at least one */
  do plait_put64(plait_at(moved + at), plait_get64(plait_at(block + at)));
  while ((at += 8) < kept && at < COPIED_BY_WORDS);
  for (; at < kept; at += COPIED_AT_ONCE)
    plait_copy_near(
        plait_at(moved + at), plait_at(block + at), kept - at < COPIED_AT_ONCE ? kept - at : COPIED_AT_ONCE);
  FREE(block);
  return moved;
}

/* As plait_heap_realloc(), also for the C library's API. To this function 0 is no live block. `mine`: plait__mine(). */
static inline __attribute__((always_inline)) plait_ref_t plait__realloc(
    struct plait_thread_heap *mine, plait_ref_t block, uint32_t size) {
  uint32_t has = plait__small_size(block);
  int fits = size <= has && size >= has / 2;
  if (has == 0) {
    has = plait_heap_size(block);
    if (has == 0) return failed(0);
    struct plait_slice *slice = plait__slice(block / PLAIT_SLICE_SIZE);
    if (plait__kind(plait_get(&slice->tag)) == PLAIT__LARGE)
      fits = size > PLAIT_SLICE_SIZE / 2 && plait__large_resize(block, size);
    else
      fits = size > has / 4 && size <= 2 * PLAIT_HEAP_MEDIUM_LIMIT &&
          plait__medium_resize(mine, slice, block - PLAIT__HEADER, size);
  }
  return fits ? block : move(mine, block, size, has);
}

PLAIT_EXPORT plait_ref_t plait_heap_realloc(plait_ref_t block, uint32_t size) {
  struct plait_thread_heap *mine = plait__mine();
  if (mine != NULL && plait__medium_grow(mine, block, size)) return block;
  return block == 0 ? plait__alloc_cold(size) : plait__realloc(mine, block, size);
}

/* ---- faults ---- */

static _Thread_local struct plait_heap_fault fault;

PLAIT_COLD void plait__fault_set(enum plait_heap_fault_kind kind, plait_ref_t at, plait_ref_t block) {
  fault = (struct plait_heap_fault){kind, at, block};
}

PLAIT_COLD void plait_heap_fault(struct plait_heap_fault *out) {
  *out = fault;
  plait__fault_set(PLAIT_FAULT_NONE, 0, 0);
}
