/*
 * heap internals: how tags are read, and what the files of the room call of each other. For core/heap only.
 *
 * "Under the lock" below means heap->lock. Names starting with plait__ are internal to the room.
 */
#ifndef PLAIT_HEAP_INTERNAL_H
#define PLAIT_HEAP_INTERNAL_H

#include "heap.h"

/* A slice's tag: the kind in the low four bits, above it the number that the comment names. */
enum plait__slice_kind {
  PLAIT__NONE = 0,  /* inside a run; not looked at */
  PLAIT__FREE = 1,  /* length: first slice of a free run */
  PLAIT__LARGE = 2, /* length: first slice of a large block */
  /* length: a large block that was freed, and not joined with its neighbours yet; still counted as used */
  PLAIT__FREED = 3,
  PLAIT__PAGES = 4,  /* page size as a power of two: cut into pages */
  PLAIT__REGION = 5, /* length: first slice of a region */
  PLAIT__PART = 6,   /* distance to the region's first slice */
  PLAIT__META = 7,   /* length: bookkeeping */
  PLAIT__GAP = 8,    /* length: not the heap's; other code has grown the memory */
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
/* Owners of a page that are no record: odd, as no reference of one is. */
#define PLAIT__ABANDONED 1u /* nobody; it was full when it was given up */
/* whoever takes it from the heap's list for its class; changes under the lock only */
#define PLAIT__SHARED UINT32_MAX
#define PLAIT__NO_THREAD_HEAP 3u /* what a thread without a record has in place of a reference to one: no owner */

/* What a live header's `mark` must be: other bytes hardly ever look like a header of this very place. */
PLAIT_TINY uint32_t plait__mark(plait_ref_t header) {
  return header ^ 0x5EED5EEDu; /* odd, as no reference in its place is */
}

/*
 * From here on the caller reaches all that is the heap's by now (see platform.h): whatever it finds there is near.
 * Needed with the lock, because others may have grown the heap since: all lies below `end`. Who meets a single thing
 * without the lock asks for that alone. What a thread allocates from it reaches: it had the lock, or has asked for it,
 * when that became its own, or has asked when it entered.
 */
PLAIT_TINY void plait__reach(void) {
#ifdef __wasm_atomics__
  uint32_t end = plait_get(&plait_heap()->end);
  if (__builtin_expect(end > __builtin_wasm_memory_size(0), 0)) plait_platform_look_again(end * PLAIT_SLICE_SIZE - 1);
#endif
}

/* What is noted about the 8 MiB around slice `index`, and about that. pre: index < heap->end. */
PLAIT_TINY struct plait_metadata_chunk *plait__chunk(uint32_t index) {
  return plait_at(plait_get(&plait_heap()->chunks[index / PLAIT_HEAP_CHUNK_SLICES % PLAIT_HEAP_CHUNK_LIMIT]));
}

PLAIT_TINY struct plait_slice *plait__slice_inline(uint32_t index) {
  return &plait__chunk(index)->slices[index % PLAIT_HEAP_CHUNK_SLICES];
}

/* The same as a function, for the many places that are not hot. */
struct plait_slice *plait__slice(uint32_t index);

/* The calling thread's record, 0 if it has none yet. */
PLAIT_TINY struct plait_thread_heap *plait__mine(void) {
  return plait__get_thread_heap();
}

/* ---- slices.c ---- */

/* plait__list_put() and plait__list_take() as functions, for the places that are not hot. */
void plait__link_put(struct plait_link *before, struct plait_link *link);
void plait__link_take(struct plait_link *link);

/*
 * A slice's tag. Without a fence: who looks at a block's tag has the block from whoever allocated it, or has the lock.
 */
void plait__tag_set(uint32_t index, uint32_t tag);
uint32_t plait__tag_of(uint32_t index);

int plait__heap_lock(void);
int plait__heap_try_lock(void);
void plait__heap_unlock(void);

/* Covers what the memory has gained with a free run: under the lock. `at`, `to`: what the caller's growth returned. */
void plait__extend(uint32_t at, uint32_t to);

/*
 * Makes the memory larger by at least `slices`, or fails because the limit is too near, or what is kept for others.
 * pre: the caller does not have the lock. 0, -PLAIT_ENOMEM.
 */
int plait__grow(uint32_t slices);

/*
 * The first slice of a free run of at least `slices`; 0 none, or none that the calling thread may take. Under the lock.
 */
uint32_t plait__span_find(uint32_t slices);

/*
 * Whether a free run of at least `slices` that the calling thread may take starts at `index`, or does when what is
 * FREED there is made free. Under the lock.
 */
int plait__make_free(uint32_t index, uint32_t slices);

/* Takes the first `slices` of the free run at `index`; they get `tag`: the commit. Under the lock. */
void plait__span_take(uint32_t index, uint32_t slices, uint32_t tag);

/*
 * Makes the lists of free runs anew: they are empty, and a run that nobody knows is put onto its own. Under the lock.
 */
void plait__spans_clear(void);
void plait__span_put(uint32_t index, uint32_t slices);

/* A run in use becomes free and is joined with its neighbours. Under the lock. */
void plait__span_free(uint32_t index, uint32_t slices);

/* Bookkeeping memory, zeroed; 0 when a slice is needed and none is free. Never freed. Under the lock. */
plait_ref_t plait__meta(uint32_t bytes);

/* What lies below `behind` may hold other bytes than zero from now on. Under the lock, before the first is written. */
void plait__touch(uint32_t behind);

/* Makes `count` hints from there on name the page without blocks. */
void plait__page_map_clear(struct plait_page_map_entry *entry, uint32_t count);

/* ---- large.c ---- */

/* Freeing: 1, or 0 if it is none. */
plait_ref_t plait__large_alloc(uint32_t size, uint32_t alignment);
int plait__large_free(struct plait_slice *slice, plait_ref_t block);
int plait__large_resize(plait_ref_t block, uint32_t size);

/* ---- carve.c; all under the lock ---- */

#define PLAIT__SMALLEST_SHIFT 12u /* a page has 4 KiB at least */
/* more than there are: with this bit the number of a slice is never taken for the length of a free run */
#define PLAIT__NUMBERED 65536u

/*
 * A slice with an unused page of this size, the record's own or cut for it; another's if there is none and `any`. 0: no
 * room.
 */
uint32_t plait__carve_find(struct plait_thread_heap *theap, uint32_t shift, int any);
/* Page number `at` of the slice has come into use. */
void plait__carve_take(uint32_t index, uint32_t at);
/* Page number `at` of the slice is unused again. A slice without a page in use becomes free. */
void plait__carve_give(uint32_t index, uint32_t at);
/* Puts a slice of pages onto its owner's list of those with unused ones. */
void plait__partial_link(struct plait_slice *slice, uint32_t shift);
/* What the slice of pages has unused becomes the record's. */
void plait__slice_adopt(struct plait_thread_heap *theap, uint32_t index);

/* ---- pages.c ---- */

/*
 * A block of the class, from wherever there is one; 0. Looks at the page in use, at other pages, then makes one.
 * `any_place`: a region will do, where blocks are aligned to 16 and no more.
 */
plait_ref_t plait__small_alloc(struct plait_thread_heap *theap, uint32_t class, int any_place);
/* The page is the caller's own and may be wholly free now. */
void plait__page_release_if_empty(struct plait_thread_heap *theap, struct plait_page *page);
/*
 * Frees block `number` of anybody's page: 1, or 0 if it is none that is in use; the caller, if the page is its own,
 * then learns of it as of what others free.
 */
int plait__small_free_remote(struct plait_page *page, uint32_t number);
/* The size of the live small block, 0 if it is none. Any reference. */
uint32_t plait__small_size(plait_ref_t block);
enum plait_heap_place plait__small_place(struct plait_slice *slice, plait_ref_t block);
/* The class for blocks of `size` bytes: the smallest. pre: size <= PLAIT_HEAP_SMALL_LIMIT. */
PLAIT_TINY uint32_t plait__class_of(uint32_t size) {
  return plait_heap()->class_of_unit[(size + 15) / 16];
}
PLAIT_TINY uint32_t plait__class_size(uint32_t class) {
  return plait_heap()->class_info[class] & ~15u;
}
/* How large a page for such blocks is, as a power of two. */
PLAIT_TINY uint32_t plait__class_shift(uint32_t class) {
  return (plait_heap()->class_info[class] & 15u) + PLAIT__SMALLEST_SHIFT;
}
/* Writes down the sizes of the classes, and which class is for which size; there are no pooled pages yet. Once. */
void plait__classes_init(void);
/*
 * A block's state. Any other byte says that the block is free, its page's owner knows, and which block comes next on
 * the list: its number, or END. What has no block is END for good.
 */
enum plait__small_state { PLAIT__SMALL_LIVE = 254, PLAIT__SMALL_END = 255 };
#define PLAIT__MOST_BLOCKS 253u /* in a page */
/*
 * In a page's tally: whoever frees a block there looks whether the next ones are to come from there; see
 * plait__page_prefer_emptier().
 */
#define PLAIT__PREFER_EMPTIER 0x80000000u

/* How many blocks of the page are not on its list: in use, or freed by others and not collected yet. */
PLAIT_TINY uint32_t plait__used(uint32_t free_state) {
  return free_state >> 8 & 255;
}

PLAIT_TINY plait_byte_t *plait__state(struct plait_page *page, uint32_t number) {
  /* In this order the place of `states` is a constant in each instruction. */
  return (plait_byte_t *)((uint8_t *)page + number) + offsetof(struct plait_page, states);
}

/* Whether another thread has freed the block, and the caller, who owns the page, has not collected it. */
PLAIT_TINY int plait__is_remote(struct plait_page *page, uint32_t number) {
  return plait_get64(&page->remote[number / 64]) >> number % 64 & 1;
}

/*
 * Whether the block is free; the caller reaches the page's record then. `remote` is read first, and acquired: the owner
 * changes the state before it clears the bit, so a free block is seen in one of them.
 */
PLAIT_TINY int plait__is_free(struct plait_page *page, uint32_t number) {
  uint64_t bits = atomic_load_explicit(&page->remote[number / 64], memory_order_acquire);
  return (bits >> number % 64 & 1) != 0 || plait_get8(plait__state(page, number)) != PLAIT__SMALL_LIVE;
}

/* Whether the page is the record's, and nobody else has freed into it. One load asks both. */
PLAIT_TINY int plait__is_undisturbed(struct plait_page *page, plait_ref_t theap) {
#ifdef __wasm__
  return *(const volatile uint64_t *)(const volatile void *)&page->owner == theap;
#else
  return plait_get(&page->owner) == theap && plait_get(&page->freed) == 0;
#endif
}

/* How many blocks of the page others have freed, which its owner has not collected. */
uint32_t plait__page_remote(struct plait_page *page);
/*
 * What others have freed goes onto the page's list: whether there was any. Its owner; under the lock if it is pooled.
 */
int plait__page_collect(struct plait_page *page);
/* The same after a death: makes list and tally anew from states and bits. */
#if PLAIT_DEATHS
void plait__page_rebuild(struct plait_page *page);
#else
#define plait__page_rebuild(page) plait__page_collect(page)
#endif
/* Puts the page onto the list for its class, behind a page there or first. */
void plait__page_link(struct plait_page_list *list, struct plait_link *before, struct plait_page *page);
/* The same among the record's own pages, behind the one in use. */
void plait__own_link(struct plait_thread_heap *theap, struct plait_page *page);
/* A record without pages. */
void plait__own_clear(struct plait_thread_heap *theap);
/* Empties lists. */
void plait__lists_clear(struct plait_page_list *lists, uint32_t count);
/* Gives back every page of the record's that has no block in use: nonzero if there was any. Under the lock. */
int plait__pages_release_empty(struct plait_thread_heap *theap);
/* The record of the page that `block` lies in. pre: the slice, with this tag, is cut into pages. */
static inline struct plait_page *plait__page_around(struct plait_slice *slice, uint32_t tag, plait_ref_t block) {
  return (struct plait_page *)plait_at(plait_get(&slice->pages)) + (block % PLAIT_SLICE_SIZE >> plait__rest(tag));
}

PLAIT_TINY struct plait_page_map_entry *plait__page_map_entry(struct plait_metadata_chunk *chunk, plait_ref_t block) {
  return &chunk->page_map[block / PLAIT_HEAP_GRANULE % PLAIT_HEAP_CHUNK_ENTRIES];
}

/* The page that a hint names. `known`: its first word. */
PLAIT_TINY struct plait_page *plait__mapped_page(uint32_t word) {
  return plait_at(word & ~31u);
}

/*
 * The number that a block has in its page. A reference inside of a block has that of no block, mostly one beyond
 * PLAIT_PAGE_STATES.
 */
PLAIT_TINY uint32_t plait__number(struct plait_page_map_entry *entry, uint32_t word, plait_ref_t block) {
  uint32_t product = block * plait_get(&entry->factor);
  return product >> word % 32 | product << -word % 32;
}

/* ---- regions.c ---- */

/* A block of more than the small sizes; 0. */
plait_ref_t plait__medium_alloc(struct plait_thread_heap *theap, uint32_t size);
/* The same at a multiple of `alignment`. */
plait_ref_t plait__medium_alloc_at(struct plait_thread_heap *theap, uint32_t size, uint32_t alignment);
/*
 * The same for a block that grows, where there is room behind it, if there is: who grows one will do it again. A small
 * one is answered with 0, unless `always`, if the block in front of the top is a small one, too: the last one that was
 * laid so has not grown long.
 */
plait_ref_t plait__medium_alloc_roomy(struct plait_thread_heap *theap, uint32_t size, int always);
PLAIT_TINY struct plait_block *plait__block(plait_ref_t header) {
  return plait_at(header);
}

/*
 * The mark of a header that is not FREE: its first word, so that whoever writes beyond the block in front of it is
 * noticed.
 */
PLAIT_TINY plait_word_t *plait__mark_of(plait_ref_t header) {
  return &plait__block(header)->link.next;
}

/* Of a REMOTE header: the one that lies under it on the stack. */
PLAIT_TINY plait_word_t *plait__remote_next(plait_ref_t header) {
  return &plait__block(header)->link.prev;
}

/* The header of the live block, 0 if there is none. pre: the slice is a region's. */
PLAIT_TINY plait_ref_t plait__medium_header_inline(struct plait_slice *slice, plait_ref_t block) {
  if (block % 16 != 0) return 0;
  if (block % PLAIT_SLICE_SIZE == 0 && plait__kind(plait_get(&slice->tag)) == PLAIT__REGION) return 0;
  plait_ref_t header = block - PLAIT__HEADER;
  /* a live one was made visible to the caller together with the block */
  uint32_t tag = plait_get(&plait__block(header)->tag);
  int live = (tag & 15u) == PLAIT__BLOCK_LIVE && plait_get(plait__mark_of(header)) == plait__mark(header);
  return live ? header : 0;
}

/* The same as a function, for the places that are not hot. */
plait_ref_t plait__medium_header(struct plait_slice *slice, plait_ref_t block);

/*
 * Frees a block in a region, by way of its owner's stack if that is not the caller's record: 1, or 0 if it is no live
 * block.
 */
int plait__medium_free(plait_ref_t mine, struct plait_slice *slice, plait_ref_t block);
/* The room of the live block behind the header. */
PLAIT_TINY uint32_t plait__medium_room(plait_ref_t header) {
  return (plait_get(&plait__block(header)->tag) & ~15u) - PLAIT__HEADER;
}
enum plait_heap_place plait__medium_place(plait_ref_t block);
/*
 * Whether a block of so many bytes from header to header is longer than a small one that was laid in a region, and has
 * grown; or there is none: 0.
 */
PLAIT_TINY int plait__has_grown(uint32_t total) {
  return total - 1 >= PLAIT_HEAP_FINE_LIMIT + PLAIT__HEADER;
}
#define PLAIT__LEAST 256u     /* no smaller medium block is cut for a request */
#define PLAIT__LEAST_REST 64u /* what is cut off one must be worth a header */

/* Bytes from one header to the next for a block of `size` bytes, which are at least PLAIT__LEAST. */
PLAIT_TINY uint32_t plait__total_of(uint32_t size) {
  return (size + PLAIT__HEADER + 15) & ~15u;
}

/*
 * The `all` bytes from `header` on, of which a walk sees no more than the first header, become a live block of `total`
 * bytes and the record's top.
 */
PLAIT_TINY void plait__lay_with_top(struct plait_thread_heap *theap, plait_ref_t header, uint32_t all, uint32_t total) {
  plait_ref_t top = header + total;
  plait_put(&theap->top, top);
  plait_put(&plait__block(header + all)->before, all - total);
  plait_put(&plait__block(top)->tag, (all - total) | PLAIT__BLOCK_FREE);
  plait_put(&plait__block(top)->before, total);
  plait_put(&plait__block(header)->tag, total | PLAIT__BLOCK_LIVE);
}

/* 1: the live block behind the header now has room for `size`; 0: it stays as it is. */
int plait__medium_resize(struct plait_thread_heap *mine, struct plait_slice *slice, plait_ref_t header, uint32_t size);
/* The `size` bytes from `header` on become a free block of the record's, on its bin: the header's tag is the commit. */
void plait__block_put(struct plait_thread_heap *theap, plait_ref_t header, uint32_t size);
/* A block of the record's own that is LIVE or REMOTE becomes free and is joined with its neighbours. */
void plait__medium_release(struct plait_thread_heap *theap, plait_ref_t header);
/*
 * Makes free what waits for it: all FREED blocks, whoever has freed them, and every region of the record's that is one
 * free block, if there is a record: nonzero if there was any. Under the lock.
 */
int plait__sweep(struct plait_thread_heap *theap);
/* Where memory ends: gives back what the record keeps without blocks in use: nonzero if there was any. */
int plait__relinquish(struct plait_thread_heap *theap);

/* ---- remote_frees.c ---- */

/* Pushes a REMOTE block onto the stack of its region's owner. */
void plait__remote_push(plait_ref_t header);
/* Frees what others have pushed onto the record's stack; passes on what is another's by now. */
void plait__remote_drain(struct plait_thread_heap *theap);
/* Finishes a drain that its thread did not. */
void plait__remote_settle(struct plait_thread_heap *theap);

/* ---- thread_heaps.c ---- */

/* The calling thread's record, made and bound if it has none; 0 without memory for it. */
struct plait_thread_heap *plait__bind(void);
/* The record takes over one that is nobody's: 1, or 0 if there is none. Under the lock. */
int plait__adopt(struct plait_thread_heap *theap);
/*
 * A block has been pushed onto the stack of a record that has been taken over meanwhile: it is to be taken over again.
 */
void plait__stranded(void);
/* After a dead owner: makes the slice table's lists anew from its tags. Under the lock. */
void plait__repair(void);

#ifdef PLAIT_HEAP_DEBUG
/* ---- debug.c ---- */

/* Looks at what was freed last. pre: no other thread is inside. */
int plait__debug_check(void);
/* How many blocks are live to the heap only. */
uint32_t plait__debug_kept(void);
#endif

/* ---- heap.c ---- */

/* Whether the large block that the calling thread has allocated last is zero because its bytes have never been used. */
extern _Thread_local int plait__fresh;

/* The same for a block of `size` bytes. pre: it is what the calling thread has allocated last. */
PLAIT_TINY int plait__is_zero(uint32_t size) {
  return size > PLAIT_HEAP_MEDIUM_LIMIT && plait__fresh;
}

/* The general way: as plait_heap_alloc(). */
plait_ref_t plait__alloc_cold(uint32_t size);

/* What plait_heap_fault() will tell the calling thread. */
void plait__fault_set(enum plait_heap_fault_kind kind, plait_ref_t at, plait_ref_t block);

#endif
