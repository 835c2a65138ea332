/*
 * heap internals: how tags are read, and what the files of core/heap call of each other. For core/heap only.
 *
 * "Under the lock" below means heap->lock. Names that start with plait__ are internal to the core.
 */
#ifndef PLAIT_HEAP_INTERNAL_H
#define PLAIT_HEAP_INTERNAL_H

#include "heap.h"

/* A slice's tag: the kind in the low four bits. Above it lies a number, which the comments below name. */
enum plait__slice_kind {
  PLAIT__NONE = 0,  /* inside a span; ignored */
  PLAIT__FREE = 1,  /* length: first slice of a free span */
  PLAIT__LARGE = 2, /* length: first slice of a large block */
  /* length: a large block that was freed, but not yet joined with its neighbors; still counted as used */
  PLAIT__FREED = 3,
  PLAIT__PAGES = 4,  /* page size as a power of two: carved into pages */
  PLAIT__REGION = 5, /* length: first slice of a region */
  PLAIT__PART = 6,   /* distance to the region's first slice */
  PLAIT__META = 7,   /* length: metadata */
  PLAIT__GAP = 8,    /* length: not the heap's, because other code has grown the memory */
};

PLAIT_TINY enum plait__slice_kind plait__kind(uint32_t tag) {
  return (enum plait__slice_kind)(tag & 15u);
}

PLAIT_TINY uint32_t plait__rest(uint32_t tag) {
  return tag >> 4;
}

PLAIT_TINY uint32_t plait__tag(enum plait__slice_kind kind, uint32_t rest) {
  return rest << 4 | kind;
}

/* A medium block's state: the low four bits of its tag; the rest is its size, a multiple of 16. */
enum plait__block_state {
  PLAIT__BLOCK_FREE = 1,
  PLAIT__BLOCK_LIVE = 2,
  PLAIT__BLOCK_REMOTE = 3, /* freed by a thread that does not own the region; on its way to the owner */
  PLAIT__BLOCK_END = 4,    /* the 16 bytes at the end of a region; size 0 */
};

#define PLAIT__HEADER ((uint32_t)sizeof(struct plait_block))
/* Values of a page's owner word that name no thread heap: odd, unlike every reference to one. */
#define PLAIT__ABANDONED 1u /* no owner: it was full when it was abandoned */
/* no owner: it is on the shared page list of its class; changes under the lock only */
#define PLAIT__SHARED UINT32_MAX
/* a thread without a thread heap passes this in place of a reference to one; it owns nothing */
#define PLAIT__NO_THREAD_HEAP 3u

/* The value that a live header's mark must have. Other bytes hardly ever look like a header of exactly this place. */
PLAIT_TINY uint32_t plait__mark(plait_ref_t header) {
  return header ^ 0x5EED5EEDu; /* odd, unlike every reference that may stand in its place */
}

/*
 * From here on the caller reaches all memory that the heap has now (see platform.h). Needed with the lock, because
 * other threads may have grown the heap in the meantime: everything that the caller finds lies below `end`. A thread
 * that accesses a single thing without the lock reaches for that alone. A thread reaches what it allocates from, for
 * one of three reasons: it had the lock when that became its own, it reached for it then, or it did when it entered. So
 * it has asked for the memory's size since the memory of its blocks was grown. Engines need that for the program, too.
 */
PLAIT_TINY void plait__reach(void) {
#ifdef __wasm_atomics__
  uint32_t end = plait_get(&plait_heap()->end);
  if (__builtin_expect(end > __builtin_wasm_memory_size(0), 0))
    plait_platform_observe_growth(end * PLAIT_SLICE_SIZE - 1);
#endif
}

/* The metadata chunk that describes slice `index`. pre: index < heap->end. */
PLAIT_TINY struct plait_metadata_chunk *plait__chunk(uint32_t index) {
  return plait_at(plait_get(&plait_heap()->chunks[index / PLAIT_HEAP_CHUNK_SLICES % PLAIT_HEAP_CHUNK_LIMIT]));
}

PLAIT_TINY struct plait_slice *plait__slice_inline(uint32_t index) {
  return &plait__chunk(index)->slices[index % PLAIT_HEAP_CHUNK_SLICES];
}

/* The same as a function, for the many callers that are not hot. */
struct plait_slice *plait__slice(uint32_t index);

/* The calling thread's thread heap, NULL if it has none yet. */
PLAIT_TINY struct plait_thread_heap *plait__mine(void) {
  return plait__get_thread_heap();
}

/* ---- slices.c ---- */

/* plait__list_put() and plait__list_take() as functions, for callers that are not hot. */
void plait__link_put(struct plait_link *before, struct plait_link *link);
void plait__link_take(struct plait_link *link);

/*
 * A slice's tag, without a fence: a thread that reads a block's tag has received the block from the thread that
 * allocated it, or has the lock.
 */
void plait__tag_set(uint32_t index, uint32_t tag);
uint32_t plait__tag_of(uint32_t index);

int plait__heap_lock(void);
int plait__heap_try_lock(void);
void plait__heap_unlock(void);

/* Covers newly grown memory with a free span. `at`, `to`: what the caller's growth returned. Under the lock. */
void plait__extend(uint32_t at, uint32_t to);

/*
 * Makes the memory larger by at least `slices`. Fails if that would exceed the limit, or take what is reserved for
 * other uses.
 * pre: the caller does not have the lock. 0, -PLAIT_ENOMEM.
 */
int plait__grow(uint32_t slices);

/*
 * The first slice of a free span of at least `slices`; 0 if there is none that the calling thread may take. Under the
 * lock.
 */
uint32_t plait__span_find(uint32_t slices);

/*
 * Whether a free span of at least `slices` starts at `index`, and the calling thread may take it. Makes free what is
 * FREED there, if needed. 1, or 0 if not, or -1 if growth of the memory would make it so. Under the lock.
 */
int plait__make_free(uint32_t index, uint32_t slices);

/* Takes the first `slices` of the free span at `index`. Storing their `tag` is the commit. Under the lock. */
void plait__span_take(uint32_t index, uint32_t slices, uint32_t tag);

/*
 * For rebuilding the lists of free spans. The first empties them; the second puts a span that is on no list onto its
 * list. Under the lock.
 */
void plait__spans_clear(void);
void plait__span_put(uint32_t index, uint32_t slices);

/* A span in use becomes free and is joined with its neighbors. Under the lock. */
void plait__span_free(uint32_t index, uint32_t slices);

/* Metadata memory, zeroed; 0 if a slice is needed and none is free. It is never freed. Under the lock. */
plait_ref_t plait__meta(uint32_t bytes);

/*
 * From now on bytes below slice `behind` may be other than zero. Under the lock, before the first of them is written.
 */
void plait__touch(uint32_t behind);

/* Makes `count` entries name the page without blocks. */
void plait__page_map_clear(struct plait_page_map_entry *entry, uint32_t count);

/* ---- large.c ---- */

/*
 * A block with a span of its own; 0 if there is no room. Freeing returns 1, or 0 if it is no such block. Resizing: as
 * plait__medium_resize().
 */
plait_ref_t plait__large_alloc(uint32_t size, uint32_t alignment);
int plait__large_free(struct plait_slice *slice, plait_ref_t block);
int plait__large_resize(plait_ref_t block, uint32_t size);

/* ---- room.c ---- */

/*
 * The thread heap has no free block. Drains its remote free list, takes the lock, and adopts one thread heap. Returns 1
 * if it has adopted: then the caller searches its own blocks again. Returns 0 if not: then the caller takes free
 * memory. Returns the lock's negative error otherwise. `theap` may be NULL here, and below.
 */
int plait__room_enter(struct plait_thread_heap *theap);
/*
 * The caller has found no free memory. Releases the lock. Then grows the memory by at least `slices`, or gives back
 * what the thread heap keeps. Returns nonzero if there may be more room than before: then the caller starts over. pre:
 * it has not adopted.
 */
int plait__room_more(struct plait_thread_heap *theap, uint32_t slices);
/* Gives back what the thread heap keeps without a block in use: nonzero if there was any. Without the lock. */
int plait__relinquish(struct plait_thread_heap *theap);

/* ---- carve.c; all under the lock ---- */

#define PLAIT__SMALLEST_SHIFT 12u /* a page has 4 KiB at least */
/* greater than every slice index: with this bit an index is never taken for the length of a free span */
#define PLAIT__NUMBERED 65536u

/*
 * A slice with an unused page of this size: the thread heap's own, or carved for it. With `any`, if there is neither,
 * another thread heap's. 0 if there is no room.
 */
uint32_t plait__carve_find(struct plait_thread_heap *theap, uint32_t shift, int any);
/* Page number `at` of the slice is now in use. */
void plait__carve_take(uint32_t index, uint32_t at);
/* Page number `at` of the slice is unused again. A slice without a page in use becomes free. */
void plait__carve_give(uint32_t index, uint32_t at);
/* Puts a carved slice onto its owner's list of slices with unused pages. */
void plait__partial_link(struct plait_slice *slice, uint32_t shift);
/* The thread heap now owns the unused pages of the carved slice. */
void plait__slice_adopt(struct plait_thread_heap *theap, uint32_t index);

/* ---- pages.c ---- */

/*
 * A block of the class, from any source; 0 if there is no room. Tries the current page, then other pages, then makes
 * one. `any_place`: the block may lie in a region, where blocks are aligned to 16 only.
 */
plait_ref_t plait__small_alloc(struct plait_thread_heap *theap, uint32_t class, int any_place);
/* The page is the caller's own and may be wholly free now. */
void plait__page_release_if_empty(struct plait_thread_heap *theap, struct plait_page *page);
/*
 * Frees block `number` of a page with any owner: 1, or 0 if that block is not in use. If the caller itself owns the
 * page, it collects the block later, like a remote free.
 */
int plait__small_free_remote(struct plait_page *page, uint32_t number);
/* The size of the live small block, 0 if it is none. Accepts any reference. */
uint32_t plait__small_size(plait_ref_t block);
enum plait_heap_place plait__small_place(struct plait_slice *slice, plait_ref_t block);
/* The smallest class for blocks of `size` bytes. pre: size <= PLAIT_HEAP_SMALL_LIMIT. */
PLAIT_TINY uint32_t plait__class_of(uint32_t size) {
  return plait_heap()->class_of_unit[(size + 15) / 16];
}
PLAIT_TINY uint32_t plait__class_size(uint32_t class) {
  return plait_heap()->class_info[class] & ~15u;
}
/* The size of a page for such blocks, as a power of two. */
PLAIT_TINY uint32_t plait__class_shift(uint32_t class) {
  return (plait_heap()->class_info[class] & 15u) + PLAIT__SMALLEST_SHIFT;
}
/* Computes the sizes of the classes, and the class of each size. Empties the shared page lists. Once. */
void plait__classes_init(void);
/*
 * A block's state. Any other byte says that the block is free, that its page's owner knows, and which block follows it
 * on the free list: its number, or END. Where no block is, the state is always END.
 */
enum plait__small_state { PLAIT__SMALL_LIVE = 254, PLAIT__SMALL_END = 255 };
#define PLAIT__MOST_BLOCKS 253u /* in a page */
/*
 * A bit of a page's free state: each free into the page decides whether the next blocks come from there. See
 * plait__page_prefer_emptier().
 */
#define PLAIT__PREFER_EMPTIER 0x80000000u

/* How many blocks of the page are not on its free list: in use, or freed by other threads and not collected yet. */
PLAIT_TINY uint32_t plait__used(uint32_t free_state) {
  return free_state >> 8 & 255;
}

PLAIT_TINY plait_byte_t *plait__state(struct plait_page *page, uint32_t number) {
  /* In this order the offset of `states` is a constant in each instruction. */
  return (plait_byte_t *)((uint8_t *)page + number) + offsetof(struct plait_page, states);
}

/* Whether another thread has freed the block, and the caller, which owns the page, has not collected it. */
PLAIT_TINY int plait__is_remote(struct plait_page *page, uint32_t number) {
  return plait_get64(&page->remote[number / 64]) >> number % 64 & 1;
}

/*
 * Whether the block is free; then the caller reaches the page's record. `remote` is read first, with acquire. The owner
 * changes the state before it clears the bit, so a free block shows in one of them.
 */
PLAIT_TINY int plait__is_free(struct plait_page *page, uint32_t number) {
  uint64_t bits = atomic_load_explicit(&page->remote[number / 64], memory_order_acquire);
  return (bits >> number % 64 & 1) != 0 || plait_get8(plait__state(page, number)) != PLAIT__SMALL_LIVE;
}

/* Whether the thread heap owns the page, and no other thread has freed into it. One load answers both. */
PLAIT_TINY int plait__is_undisturbed(struct plait_page *page, plait_ref_t theap) {
#ifdef __wasm__
  return *(const volatile uint64_t *)(const volatile void *)&page->owner == theap;
#else
  return plait_get(&page->owner) == theap && plait_get(&page->freed) == 0;
#endif
}

/* How many blocks of the page other threads have freed, and its owner has not collected. */
uint32_t plait__page_remote(struct plait_page *page);
/*
 * Puts blocks that other threads have freed onto the page's free list: whether there were any. For the page's owner;
 * under the lock if it is SHARED.
 */
int plait__page_collect(struct plait_page *page);
/* The same after a thread has exited: rebuilds free list and free state from states and bits. */
#if PLAIT_EXITS_NOTICED
void plait__page_rebuild(struct plait_page *page);
#else
#define plait__page_rebuild(page) plait__page_collect(page)
#endif
/* Puts the page onto the list for its class, behind `before`: a page there, or the list itself. */
void plait__page_link(struct plait_page_list *list, struct plait_link *before, struct plait_page *page);
/* The same for the thread heap's own list, behind the current page. */
void plait__own_link(struct plait_thread_heap *theap, struct plait_page *page);
/* Makes the thread heap one without pages. */
void plait__own_clear(struct plait_thread_heap *theap);
/* Empties lists. */
void plait__lists_clear(struct plait_page_list *lists, uint32_t count);
/* Gives back every page of the thread heap that has no block in use: nonzero if there was any. Under the lock. */
int plait__pages_release_empty(struct plait_thread_heap *theap);
/* The record of the page that `block` lies in. pre: the slice has this tag, and is carved into pages. */
static inline struct plait_page *plait__page_around(struct plait_slice *slice, uint32_t tag, plait_ref_t block) {
  return (struct plait_page *)plait_at(plait_get(&slice->pages)) + (block % PLAIT_SLICE_SIZE >> plait__rest(tag));
}

PLAIT_TINY struct plait_page_map_entry *plait__page_map_entry(struct plait_metadata_chunk *chunk, plait_ref_t block) {
  return &chunk->page_map[block / PLAIT_HEAP_GRANULE % PLAIT_HEAP_CHUNK_ENTRIES];
}

/* The page that an entry of the page map names. `word`: the entry's `page`. */
PLAIT_TINY struct plait_page *plait__mapped_page(uint32_t word) {
  return plait_at(word & ~31u);
}

/*
 * The number of a block in its page. A reference to anything but the start of a block has a number that no block has,
 * mostly one beyond PLAIT_PAGE_STATES.
 */
PLAIT_TINY uint32_t plait__number(struct plait_page_map_entry *entry, uint32_t word, plait_ref_t block) {
  uint32_t product = block * plait_get(&entry->factor);
  return product >> word % 32 | product << -word % 32;
}

/* ---- regions.c ---- */

/* A block larger than small ones; 0 if there is no room. */
plait_ref_t plait__medium_alloc(struct plait_thread_heap *theap, uint32_t size);
/* The same at a multiple of `alignment`. */
plait_ref_t plait__medium_alloc_at(struct plait_thread_heap *theap, uint32_t size, uint32_t alignment);
/*
 * The same for a block that grows, with room behind it if possible: a block that has grown once is likely to grow
 * again. For a small block it returns 0, unless `always`, if the block in front of the top is small, too: the last
 * block that was placed so has not grown long.
 */
plait_ref_t plait__medium_alloc_roomy(struct plait_thread_heap *theap, uint32_t size, int always);
PLAIT_TINY struct plait_block *plait__block(plait_ref_t header) {
  return plait_at(header);
}

/*
 * The mark of a header that is not FREE. It is the header's first word, so that writing beyond the block in front is
 * detected.
 */
PLAIT_TINY plait_word_t *plait__mark_of(plait_ref_t header) {
  return &plait__block(header)->link.next;
}

/* Of a REMOTE header: the next one on the remote free list. */
PLAIT_TINY plait_word_t *plait__remote_next(plait_ref_t header) {
  return &plait__block(header)->link.prev;
}

/* The header of the live block, 0 if there is none. pre: the slice belongs to a region. */
PLAIT_TINY plait_ref_t plait__medium_header_inline(struct plait_slice *slice, plait_ref_t block) {
  if (block % 16 != 0) return 0;
  if (block % PLAIT_SLICE_SIZE == 0 && plait__kind(plait_get(&slice->tag)) == PLAIT__REGION) return 0;
  plait_ref_t header = block - PLAIT__HEADER;
  /* a live header was made visible to the caller together with the block */
  uint32_t tag = plait_get(&plait__block(header)->tag);
  int live = (tag & 15u) == PLAIT__BLOCK_LIVE && plait_get(plait__mark_of(header)) == plait__mark(header);
  return live ? header : 0;
}

/* The same as a function, for callers that are not hot. */
plait_ref_t plait__medium_header(struct plait_slice *slice, plait_ref_t block);

/*
 * Frees a block in a region: 1, or 0 if it is no live block. If the region is not the caller's, the block goes onto its
 * owner's remote free list.
 */
int plait__medium_free(plait_ref_t mine, struct plait_slice *slice, plait_ref_t block);
/* How many bytes the live block behind the header has room for. */
PLAIT_TINY uint32_t plait__medium_room(plait_ref_t header) {
  return (plait_get(&plait__block(header)->tag) & ~15u) - PLAIT__HEADER;
}
enum plait_heap_place plait__medium_place(plait_ref_t block);
/*
 * Whether a block of `total` bytes, from header to header, is longer than a small block that was placed in a region: it
 * has grown. Also for 0, which says that there is no such block.
 */
PLAIT_TINY int plait__has_grown(uint32_t total) {
  return total - 1 >= PLAIT_HEAP_FINE_LIMIT + PLAIT__HEADER;
}
#define PLAIT__LEAST 256u     /* no smaller medium block is split off for a request */
#define PLAIT__LEAST_REST 64u /* the rest of a split block must be worth a header */

/*
 * Bytes from one header to the next for a block of `size` bytes. If that is less than PLAIT__LEAST, a new block gets
 * PLAIT__LEAST.
 */
PLAIT_TINY uint32_t plait__total_of(uint32_t size) {
  return (size + PLAIT__HEADER + 15) & ~15u;
}

/*
 * The `all` bytes from `header` on become a live block of `total` bytes and the thread heap's top. A walk sees no more
 * than the first header of these bytes.
 */
PLAIT_TINY void plait__lay_with_top(struct plait_thread_heap *theap, plait_ref_t header, uint32_t all, uint32_t total) {
  plait_ref_t top = header + total;
  plait_put(&theap->top, top);
  plait_put(&plait__block(header + all)->before, all - total);
  plait_put(&plait__block(top)->tag, (all - total) | PLAIT__BLOCK_FREE);
  plait_put(&plait__block(top)->before, total);
  plait_put(&plait__block(header)->tag, total | PLAIT__BLOCK_LIVE);
}

/* 1: the live block behind the header now has room for `size`; 0: it is unchanged. */
int plait__medium_resize(struct plait_thread_heap *mine, struct plait_slice *slice, plait_ref_t header, uint32_t size);
/*
 * The `size` bytes from `header` on become a free block of the thread heap, on its bin. The header's tag is the commit.
 */
void plait__block_put(struct plait_thread_heap *theap, plait_ref_t header, uint32_t size);
/* A LIVE or REMOTE block in a region of the thread heap becomes free and is joined with its neighbors. */
void plait__medium_release(struct plait_thread_heap *theap, plait_ref_t header);
/*
 * Frees what waits to be freed: all FREED blocks, whichever thread has freed them, and every region of the thread heap
 * that is one free block. `theap` may be NULL. Nonzero if there was any. Under the lock.
 */
int plait__sweep(struct plait_thread_heap *theap);

/* ---- remote_frees.c ---- */

/* Pushes a REMOTE block onto the remote free list of its region's owner. */
void plait__remote_push(plait_ref_t header);
/*
 * Frees the blocks on the thread heap's remote free list. Blocks whose region has another owner by now are pushed onto
 * that owner's list.
 */
void plait__remote_drain(struct plait_thread_heap *theap);
/* Finishes a drain that its thread did not finish. */
void plait__remote_settle(struct plait_thread_heap *theap);

/* ---- thread_heaps.c ---- */

/* The calling thread's thread heap, made and bound if it has none; NULL without memory for it. */
struct plait_thread_heap *plait__bind(void);
/* The thread heap adopts what a thread heap without a thread owns: 1, or 0 if there is none. Under the lock. */
int plait__adopt(struct plait_thread_heap *theap);
/*
 * A block was pushed onto the remote free list of a thread heap that has been adopted in the meantime. It must be
 * adopted again.
 */
void plait__stranded(void);
/* After the lock's owner has exited: rebuilds the lists of the slice table from its tags. Under the lock. */
void plait__repair(void);

#ifdef PLAIT_HEAP_DEBUG
/* ---- debug.c ---- */

/* Checks the blocks that were freed last. pre: no other thread is inside. */
int plait__debug_check(void);
/* How many blocks are live only to the heap. */
uint32_t plait__debug_kept(void);
#endif

/* ---- heap.c ---- */

/* Whether the large block that the calling thread allocated last is zero, because its bytes have never been used. */
extern _Thread_local int plait__fresh;

/* The same for a block of `size` bytes. pre: the calling thread has allocated it last. */
PLAIT_TINY int plait__is_zero(uint32_t size) {
  return size > PLAIT_HEAP_MEDIUM_LIMIT && plait__fresh;
}

/* The general path: as plait_heap_alloc(). */
plait_ref_t plait__alloc_cold(uint32_t size);

/* Sets what plait_heap_fault() returns to the calling thread. */
void plait__fault_set(enum plait_heap_fault_kind kind, plait_ref_t at, plait_ref_t block);

#endif
