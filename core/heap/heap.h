/*
 * heap: blocks of memory for every thread of a space.
 *
 * The space above its roots is cut into slices of 64 KiB, described by an address-indexed table (struct plait_slice).
 * Three ways to hold blocks, by size:
 *
 *     small   up to 16 KiB         pages of one size class, 4 to 64 KiB, cut from a slice       pages.c, carve.c
 *     medium  up to 64 KiB, or     regions: runs of slices, cut into blocks with headers        regions.c, remote_frees.c
 *             what grows
 *     large   above                a run of slices of its own                                   large.c
 *
 * Each thread has a record (struct plait_thread_heap) that owns pages and regions. The owner allocates from them, and frees
 * into them, without atomic operations. Others free into a page by setting a bit, into a region by pushing the block
 * onto the record's stack. A page whose blocks are all in use is given up if its thread has enough (it is ABANDONED)
 * and taken over by whoever frees into it first; who has enough pages of that class leaves it to the pool, from which
 * every thread takes before it makes a new one.
 *
 * What is true is written in few places, and each change to it is one store: the tags of the slice table, the owner of
 * a page, the states and bits of its blocks, the tags of the blocks in a region, and the stack of a record. All lists,
 * bins, back lengths and counters are made from these, and made anew after a death. So a thread that vanishes inside
 * loses at most the block in flight. docs/internals/heap-proofs.md has the proofs.
 *
 * All functions: any thread, unless they say other. Blocks are aligned to 16 bytes. Where a thread may die
 * (PLAIT_DEATHS) no lock is held while the memory grows. Lock order: see lock.h; `lock` guards the slice table and what
 * is made from it, and every record that no thread is bound to.
 */
#ifndef PLAIT_HEAP_HEAP_H
#define PLAIT_HEAP_HEAP_H

#include "../sync/space.h"
#include "list.h"

#define PLAIT_SLICE_SIZE 65536u
#define PLAIT_HEAP_CHUNK_SLICES 128u
#define PLAIT_HEAP_CHUNK_LIMIT 512u
#define PLAIT_HEAP_CHUNK_ENTRIES 2048u
#define PLAIT_HEAP_GRANULE 4096u /* the smallest page */
#define PLAIT_HEAP_CLASS_COUNT 57u
#define PLAIT_HEAP_SHIFT_COUNT 5u
#define PLAIT_HEAP_BIN_COUNT 48u
#define PLAIT_HEAP_SPAN_BIN_COUNT 29u
#define PLAIT_HEAP_SMALL_LIMIT 16384u
/* up to here classes lie close; a block that has grown beyond it lies in a region */
#define PLAIT_HEAP_FINE_LIMIT 2048u
#define PLAIT_HEAP_MEDIUM_LIMIT 65536u
#define PLAIT_HEAP_UNIT_COUNT 1025u /* sizes up to the small limit in units of 16 bytes, and 0 */
#define PLAIT_PAGE_STATES 256u

/* What one slice is used for. */
struct plait_slice {
  struct plait_link link; /* FREE, first slice: its place on the list for its length; PAGES: on its owner's list */
  plait_word_t tag; /* kind in the low four bits, and a length or distance in slices; the table is in internal.h */
  /* REGION, PART: the record that allocates from it; PAGES: that takes its unused pages; FREE: its own index */
  plait_word_t owner;
  /*
   * the last slice of a free run: the run's length; PAGES: its own index | 65536; others: a number that may be out of
   * date
   */
  plait_word_t back;
  plait_word_t pages;    /* page records that this slice has, in use or not; 0 if it never had any */
  plait_word_t capacity; /* how many page records `pages` has room for */
  plait_word_t used;     /* PAGES: a bit for each page in use; LARGE: bytes from the run's start to the block */
};
_Static_assert(sizeof(struct plait_slice) == 32, "32 bytes a slice");

/*
 * What freeing finds a block by, for those in 4 KiB: their page, and the number that a block has there. It names the
 * page that was made there last since the slice was cut into pages, whether or not that is still in use; before, and
 * where none was, one without blocks.
 */
struct plait_page_map_entry {
  /*
   * reference of a page record of the same slice, or of the heap's `empty` page, | by how much the product is rotated
   */
  plait_word_t page;
  plait_word_t factor; /* what a block's reference is multiplied by; see map_page() in pages.c */
};

/* What is noted about 8 MiB. */
struct plait_metadata_chunk {
  struct plait_slice slices[PLAIT_HEAP_CHUNK_SLICES];             /* the slices */
  struct plait_page_map_entry page_map[PLAIT_HEAP_CHUNK_ENTRIES]; /* for each 4 KiB */
};
_Static_assert(sizeof(struct plait_metadata_chunk) == 5 * PLAIT_HEAP_GRANULE, "a slice has room for three");

/* Blocks of one size. Its place never becomes anything else, so a late reader always meets a page record. */
struct plait_page {
  struct plait_link link; /* its place on the owner's list for the class, or on the heap's */
  plait_word_t owner;     /* 0 no page, 1 abandoned, 2^32 - 1 pooled, else the record that owns it */
  plait_word_t freed;     /* 1: others have freed blocks since the page was made */
  plait_word_t base;      /* reference of block 0 */
  /* reference of the word of its owner's record that says which page the next block comes from */
  plait_word_t current_word;
  /* blocks that are not on the list of free ones << 8 | number of the first that is; | PLAIT__PREFER_EMPTIER */
  plait_word_t free_state;
  plait_half_t step;  /* bytes from one block to the next */
  plait_byte_t count; /* blocks */
  plait_byte_t class; /* size class */
  /* a byte for each block: in use, or the number of the next on the list; its owner writes it */
  plait_byte_t states[PLAIT_PAGE_STATES];
  /* a bit for each block: freed by another thread, and not collected yet; mostly in a cache line of its own */
  plait_word64_t remote[4];
};
_Static_assert(offsetof(struct plait_page, owner) % 8 == 0 &&
        offsetof(struct plait_page, freed) == offsetof(struct plait_page, owner) + 4,
    "one load has both");
_Static_assert(sizeof(struct plait_page) == 320,
    "five cache lines; the low five bits of a reference to one are free: see struct plait_page_map_entry");

/* The header in front of a medium block, or of free space in a region. */
struct plait_block {
  /*
   * FREE: on its bin; else `next` is a number made from its own reference; REMOTE: `prev` is the next on its owner's
   * stack
   */
  struct plait_link link;
  plait_word_t tag;    /* bytes up to the next header, a multiple of 16, and the state in the low four bits */
  plait_word_t before; /* bytes back to the header before this one; 0: the region's first */
};
_Static_assert(sizeof(struct plait_block) == 16, "payloads stay aligned to 16");

/* Pages of one class that a record owns, or that are pooled. And slices, which nobody counts. */
struct plait_page_list {
  struct plait_link link;      /* starts and ends the ring */
  plait_word_t count;          /* how many there are */
  plait_word_t remotely_freed; /* 1: others have freed blocks of the class in the record's own pages, of late; a hint */
};

/* What one thread allocates from. Record n belongs to the thread in slot n, whoever that is. */
struct plait_thread_heap {
  plait_word64_t remote;    /* count << 32 | first medium block that others have freed; a stack */
  plait_word_t padding[14]; /* zero; other threads write this cache line */
  plait_word_t thread;      /* id of the thread that is bound to it; 0 none */
  plait_word_t index;       /* which slot's it is */
  plait_word_t stale;       /* 1: lists and counters are not to be trusted, and made anew before use */
  plait_word_t draining;    /* blocks taken off `remote`, and not freed yet */
  plait_word_t last;        /* index of the region that was made or extended last; 0 none */
  plait_word_t slices;      /* slices in its regions */
  plait_word_t medium_live; /* medium blocks in its regions that are not free */
  plait_word_t spare;       /* index of a region that may be wholly free; 0 none */
  plait_word64_t bin_mask;  /* a bit for each bin that may have blocks; the others are not in use */
  struct plait_link bins[PLAIT_HEAP_BIN_COUNT]; /* free medium blocks by size: a list for each range */
  /* where its next blocks come from, by size class: one of its pages, or the heap's `empty` */
  plait_word_t current[PLAIT_HEAP_CLASS_COUNT];
  struct plait_page_list classes[PLAIT_HEAP_CLASS_COUNT]; /* its pages, by size class */
  struct plait_page_list partial[PLAIT_HEAP_SHIFT_COUNT]; /* slices with an unused page, by page size; under `lock` */
  plait_word_t reserved;       /* page records set apart for it: reference of the first, | how many; under `lock` */
  plait_word_t freed;          /* index of a large block that it has freed without the lock; a hint; 0 none */
  plait_word_t ends;           /* how often a page had no block for it any more (wraps) */
  plait_word_t top;            /* the free medium block behind the one that has grown last, on no bin; 0 none */
  plait_word_t grower;         /* header of the block in front of the top; 0: there is no top, or it is not known */
  plait_word_t grower_end;     /* where the top behind it ends */
  plait_word_t prefer_emptier; /* PLAIT__PREFER_EMPTIER if its pages' tallies have that bit, else 0 */
  plait_word_t empty_page;     /* a page that may have no block in use, and yet is kept; 0 none */
  plait_word_t released;       /* bytes of the medium block that it has freed last; 0: of none yet */
  plait_word_t unused[12];     /* zero */
};
_Static_assert(sizeof(struct plait_thread_heap) == 1792,
    "28 cache lines; what lies behind it in bookkeeping memory starts at a multiple of 32, too: see struct plait_page_map_entry");

struct plait_heap {
  struct plait_page empty; /* nobody's page, without blocks: in place of one where there is none */
  struct plait_lock lock;  /* guards the slice table and the records of nobody */
  plait_word_t touched;    /* index from which on no slice has ever been used: their bytes are zero */
  plait_word_t used;       /* slices in use, or FREED */
  plait_word_t peak;       /* most slices that were ever in use */
  plait_word_t orphans;    /* records of nobody that may own memory */
  /* next unused byte of bookkeeping memory, up to the end of its slice; a slice's start: there is none */
  plait_word_t meta;
  plait_word_t span_mask;     /* a bit for each list of free runs that is not empty, and for some that have been */
  struct plait_slice no_span; /* stands for a free run where there is none: what is written into it does not count */
  /* the free runs of each length range; the first list is nobody's */
  struct plait_link span_bins[PLAIT_HEAP_SPAN_BIN_COUNT];
  plait_word_t padding[6];                     /* zero; what is above is written by many, what is below read by all */
  plait_word_t first;                          /* index of the first slice */
  plait_word_t end;                            /* index behind the last slice */
  plait_word_t limit;                          /* index that the heap must not grow beyond */
  plait_word_t failed;                         /* allocations answered with 0 (wraps) */
  plait_word_t chunks[PLAIT_HEAP_CHUNK_LIMIT]; /* where the descriptions of each 8 MiB lie; 0 none yet */
  plait_word_t thread_heaps[PLAIT_SLOT_LIMIT]; /* where each slot's record lies; 0 none yet */
  struct plait_page_list shared_pages[PLAIT_HEAP_CLASS_COUNT]; /* pages with free blocks for whoever needs them first */
  uint16_t class_info[PLAIT_HEAP_CLASS_COUNT];  /* by size class: bytes in a block, | n: a page has 4 KiB << n */
  uint8_t class_of_unit[PLAIT_HEAP_UNIT_COUNT]; /* size class by size in units of 16 bytes */
};

/* What plait_heap_stats() answers. */
struct plait_heap_stats {
  uint64_t reserved_bytes; /* slices under the heap, in bytes */
  uint64_t used_bytes;     /* slices in use: pages, regions, large blocks, bookkeeping */
  uint64_t peak_bytes;     /* most that used_bytes has been */
  uint32_t live_blocks;    /* blocks that are allocated and not freed */
  uint32_t failed;         /* allocations answered with 0 */
};

/* One size class of small blocks. */
struct plait_heap_class_stats {
  uint32_t size;  /* bytes in a block */
  uint32_t pages; /* pages that are cut into such blocks */
  uint32_t used;  /* blocks of these pages that are in use */
  uint32_t free;  /* blocks of these pages that are free */
};

/* What one thread allocates from; or what a thread that is gone has left, until another takes it over. */
struct plait_heap_thread_stats {
  uint32_t thread;  /* id of the thread; 0: nobody's */
  uint32_t host_id; /* the host's name for the thread: Node's threadId, 0 where there is none */
  uint32_t pages;   /* pages that are its own; of those that are full most are nobody's */
  uint32_t slices;  /* slices in its regions of medium blocks */
  uint32_t blocks;  /* medium blocks in use in these regions, whoever allocated them */
};

/* What plait_heap_details() answers. */
struct plait_heap_details {
  struct plait_heap_stats total;                                 /* the same as plait_heap_stats() */
  uint32_t page_slices;                                          /* slices cut into pages of small blocks */
  uint32_t region_slices;                                        /* slices in regions of medium blocks */
  uint32_t meta_slices;                                          /* slices of bookkeeping */
  uint32_t large_slices;                                         /* slices in large blocks in use */
  uint32_t large_blocks;                                         /* large blocks in use */
  uint32_t thread_count;                                         /* how many of `threads` are filled in */
  struct plait_heap_class_stats classes[PLAIT_HEAP_CLASS_COUNT]; /* small blocks by size class */
  struct plait_heap_thread_stats threads[PLAIT_SLOT_LIMIT];      /* what belongs to whom */
};

/* What a check has found to be wrong. */
enum plait_heap_fault_kind {
  PLAIT_FAULT_NONE = 0,        /* nothing */
  PLAIT_FAULT_TABLE = 1,       /* the description of a slice cannot be true, or disagrees with its neighbours */
  PLAIT_FAULT_SPANS = 2,       /* the lists of free slices, or the counters, disagree with the table */
  PLAIT_FAULT_PAGE = 3,        /* the record of a page cannot be true */
  PLAIT_FAULT_PAGES = 4,       /* a list of pages disagrees with their records */
  PLAIT_FAULT_BLOCK = 5,       /* the header of a medium block cannot be true */
  PLAIT_FAULT_BINS = 6,        /* the lists of free medium blocks disagree with their headers */
  PLAIT_FAULT_THREAD_HEAP = 7, /* the counters of a thread's record disagree with what it owns */
  PLAIT_FAULT_OVERRUN = 8,     /* debug builds: a block was written beyond its end */
  PLAIT_FAULT_FREED = 9,       /* debug builds: a block was written after it had been freed */
};

/* What is wrong, and where. */
struct plait_heap_fault {
  uint32_t kind; /* enum plait_heap_fault_kind */
  uint32_t at;   /* reference of what is wrong: the structure, or the byte that was written */
  /* BLOCK: the block in front of it, whose user may have written beyond its end; OVERRUN, FREED: which */
  uint32_t block;
};

/* The heap of this process's space: in wasm32 one of the module's statics, natively behind struct plait_space. */
#ifdef __wasm__
extern struct plait_heap plait__heap_root;
static inline struct plait_heap *plait_heap(void) {
  return &plait__heap_root;
}
#else
static inline struct plait_heap *plait_heap(void) {
  return plait_at(plait_platform_first() + (plait_ref_t)sizeof(struct plait_space));
}
#endif

/*
 * What memory is for. The last of a space is kept from those who would take all of it: each kind leaves one part more
 * than the kind before it. So files that fill the space leave room for blocks, tasks and threads; blocks leave room for
 * tasks and threads; and where there is room for nothing else, those who recover what a dead thread has left can still
 * work.
 */
enum plait_heap_use {
  PLAIT_FOR_COORDINATION = 0, /* coordinators, whatever it is, and threads that have not attached: all there is */
  PLAIT_FOR_THREADS = 1,      /* threads and pools */
  PLAIT_FOR_TASKS = 2,        /* tasks, and what they bring along */
  /* the program's own blocks; unless it says other, what a thread asks for that has attached */
  PLAIT_FOR_BLOCKS = 3,
  PLAIT_FOR_FILES = 4, /* files */
};

/*
 * Starts the heap above reference `first`, up to `maximum_pages` of the whole space.
 * pre: once, before other threads. 0 or -PLAIT_ENOMEM.
 */
int plait_heap_init(plait_ref_t first, uint32_t maximum_pages);

/* A block of `size` bytes with unspecified contents; 0 when the space cannot give it. Size 0 gives a block too. */
plait_ref_t plait_heap_alloc(uint32_t size);

/* As alloc; every byte is zero. */
plait_ref_t plait_heap_alloc_zeroed(uint32_t size);

/* As alloc; the reference is a multiple of `alignment`. 0 also when that is no power of two, or above 2^31. */
plait_ref_t plait_heap_alloc_aligned(uint32_t size, uint32_t alignment);

#ifndef PLAIT_HEAP_LIBRARY
extern _Thread_local enum plait_heap_use plait__use;

/* What the calling thread allocates is for this from here on: what it was for before. */
static inline enum plait_heap_use plait_heap_use(enum plait_heap_use use) {
  enum plait_heap_use before = plait__use;
  if (before != PLAIT_FOR_COORDINATION) plait__use = use;
  return before;
}

/* As alloc and alloc_zeroed, for that. */
static inline plait_ref_t plait_heap_alloc_for(enum plait_heap_use use, uint32_t size) {
  enum plait_heap_use before = plait_heap_use(use);
  plait_ref_t block = plait_heap_alloc(size);
  plait_heap_use(before);
  return block;
}
static inline plait_ref_t plait_heap_zeroed_for(enum plait_heap_use use, uint32_t size) {
  enum plait_heap_use before = plait_heap_use(use);
  plait_ref_t block = plait_heap_alloc_zeroed(size);
  plait_heap_use(before);
  return block;
}
#endif

/*
 * Makes a live block larger or smaller, in place where it can: the block's new reference. The bytes up to the smaller
 * of both sizes are kept. 0 when the space cannot give it, or when `block` is no live block; then nothing changes.
 * `block` 0 allocates.
 */
plait_ref_t plait_heap_realloc(plait_ref_t block, uint32_t size);

/* Gives a block back. 0, or -PLAIT_EINVAL for anything that is not the start of a live block; then nothing changes. */
int plait_heap_free(plait_ref_t block);

/*
 * How many bytes a live block has room for: at least what was asked for. 0 for anything but the start of a live block.
 */
uint32_t plait_heap_size(plait_ref_t block);

/* What a reference is to the heap: why plait_heap_free() refuses it. */
enum plait_heap_place {
  PLAIT_PLACE_LIVE = 0,    /* the start of a live block */
  PLAIT_PLACE_FREE = 1,    /* the start of a block that is free, and may have been freed before */
  PLAIT_PLACE_INSIDE = 2,  /* inside a live block */
  PLAIT_PLACE_UNUSED = 3,  /* inside the heap, where no block is */
  PLAIT_PLACE_OUTSIDE = 4, /* outside of the heap */
};

/* For error messages; other threads may change the answer meanwhile. Walks a region from its start. */
enum plait_heap_place plait_heap_place(plait_ref_t block);

/* Counters, each exact and taken one after another; what a thread is in the middle of may be missing. Never waits. */
void plait_heap_stats(struct plait_heap_stats *out);

/* The same, and what it is made of: by size class, by thread, by kind. 6 KiB. */
void plait_heap_details(struct plait_heap_details *out);

/*
 * Walks everything. 0, or -PLAIT_EILSEQ. With other threads at work only the slice table is walked (under the lock);
 * `quiescent` says that none is, and looks at pages, blocks, lists and counters too.
 */
int plait_heap_check(int quiescent);

/*
 * What the calling thread's last check found, if it found something; in a debug build (debug.c) also why an allocation
 * answered 0, or freeing -PLAIT_EILSEQ. It is told once.
 */
void plait_heap_fault(struct plait_heap_fault *out);

/* After a death: what the dead thread owned becomes nobody's. pre: the caller holds the recovery lock. */
void plait_heap_recover(plait_thread_t exited);

/* What the calling thread owns becomes nobody's, to be taken over by others. pre: it allocates no more. */
void plait_heap_leave(void);

#endif
