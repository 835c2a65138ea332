/*
 * heap: blocks of memory for every thread of a space.
 *
 * The space above its roots is divided into slices of 64 KiB. A table indexed by address describes them (struct
 * plait_slice). The size of a block says how it is held:
 *
 *     small   up to 16 KiB         heap pages of one size class, 4 to 64 KiB, carved     pages.c, carve.c
 *                                  from a slice
 *     medium  up to 64 KiB, or     regions: spans divided into blocks with headers       regions.c, remote_frees.c
 *             blocks that grow
 *     large   above                a span of its own                                     large.c
 *
 * Each thread has a thread heap (struct plait_thread_heap), which owns heap pages and regions. The owner allocates from
 * them and frees into them without atomic operations. Other threads free into a page by setting a bit. They free into a
 * region by pushing the block onto the owner's remote free list.
 *
 * If a thread has enough pages of a class, it abandons those whose blocks are all in use. The next thread that frees
 * into an abandoned page adopts it. If that thread has enough pages of the class, too, it puts the page onto the shared
 * page list. Every thread takes from that list before it makes a new page.
 *
 * Few words are authoritative, and each change to them is one store: the tags of the slice table, the owner of a page,
 * the states and bits of its blocks, the tags of the blocks in a region, and the remote free lists. All lists, bins,
 * back lengths and counters are derived from these words, and rebuilt after a thread has exited inside the heap. So
 * such a thread loses at most the block in flight. docs/internals/heap-proofs.md has the proofs.
 *
 * Any thread may call the functions, unless they say otherwise. Blocks are aligned to 16 bytes. Where threads may exit
 * at any instruction (PLAIT_EXITS_NOTICED), no lock is held while the memory grows. Lock order: see lock.h. `lock`
 * guards the slice table, what is derived from it, and every thread heap that no thread is bound to.
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
/* up to here size classes are fine-grained; a block that has grown beyond it lies in a region */
#define PLAIT_HEAP_FINE_LIMIT 2048u
#define PLAIT_HEAP_MEDIUM_LIMIT 65536u
#define PLAIT_HEAP_UNIT_COUNT 1025u /* sizes up to the small limit in units of 16 bytes, and 0 */
#define PLAIT_PAGE_STATES 256u

/* What one slice is used for: an entry of the slice table. */
struct plait_slice {
  /* FREE, first slice: its place on the list for its length; PAGES: its place on its owner's list */
  struct plait_link link;
  plait_word_t tag; /* kind in the low four bits, and a length or distance in slices; the table is in internal.h */
  /*
   * REGION, PART: the thread heap that allocates from it; PAGES: the one that takes its unused pages; FREE: its own
   * index
   */
  plait_word_t owner;
  /*
   * last slice of a free span: the span's length; PAGES: its own index | 65536; others: any number, maybe out of date
   */
  plait_word_t back;
  plait_word_t pages;    /* page records that belong to this slice, in use or not; 0 if it never had any */
  plait_word_t capacity; /* how many page records `pages` has room for */
  plait_word_t used;     /* PAGES: a bit for each page in use; LARGE: bytes from the span's start to the block */
};
_Static_assert(sizeof(struct plait_slice) == 32, "32 bytes a slice");

/*
 * An entry of the page map, for 4 KiB. Freeing finds a block's page here, and the block's number in that page. Since
 * the slice was carved, the entry names the page that was last made there, in use or not. Before that, and where no
 * page was made, it names a page without blocks.
 */
struct plait_page_map_entry {
  /* reference of a page record of the same slice, or of the heap's `empty` page, | how far the product is rotated */
  plait_word_t page;
  plait_word_t factor; /* what a block's reference is multiplied by; see map_page() in pages.c */
};

/* A metadata chunk: what describes 8 MiB. */
struct plait_metadata_chunk {
  struct plait_slice slices[PLAIT_HEAP_CHUNK_SLICES];             /* their entries in the slice table */
  struct plait_page_map_entry page_map[PLAIT_HEAP_CHUNK_ENTRIES]; /* an entry for each 4 KiB */
};
_Static_assert(sizeof(struct plait_metadata_chunk) == 5 * PLAIT_HEAP_GRANULE, "a slice has room for three");

/*
 * A page record: describes blocks of one size. Its memory is never used for anything else, so a late reader always
 * finds a page record.
 */
struct plait_page {
  struct plait_link link; /* its place on the owner's list for the class, or on the shared page list */
  plait_word_t owner;     /* 0: no page, 1: abandoned, 2^32 - 1: shared, else the thread heap that owns it */
  plait_word_t freed;     /* 1: other threads have freed blocks since the page was made */
  plait_word_t base;      /* reference of block 0 */
  /* reference of the word in its owner's thread heap that names the current page of the class */
  plait_word_t current_word;
  /* blocks that are not on the free list << 8 | number of the first one that is; | PLAIT__PREFER_EMPTIER */
  plait_word_t free_state;
  plait_half_t step;  /* bytes from one block to the next */
  plait_byte_t count; /* blocks */
  plait_byte_t class; /* size class */
  /* a byte for each block: in use, or the number of the next on the free list; the owner writes it */
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
   * FREE: its place on its bin; else `next` is a mark made from its own reference; REMOTE: `prev` is the next on its
   * owner's remote free list
   */
  struct plait_link link;
  plait_word_t tag;    /* bytes up to the next header, a multiple of 16, and the state in the low four bits */
  plait_word_t before; /* bytes back to the previous header; 0: the region's first */
};
_Static_assert(sizeof(struct plait_block) == 16, "payloads stay aligned to 16");

/*
 * A list of pages of one class: a thread heap's own, or the shared ones. Lists of slices, too, whose count is not kept.
 */
struct plait_page_list {
  struct plait_link link; /* starts and ends the ring */
  plait_word_t count;     /* how many there are */
  /* 1: others have lately freed blocks of the class in the thread heap's pages; approximate */
  plait_word_t remotely_freed;
};

/* A thread heap: what one thread allocates from. Thread heap n belongs to whichever thread has slot n. */
struct plait_thread_heap {
  plait_word64_t remote;    /* the remote free list: count << 32 | first medium block that others have freed */
  plait_word_t padding[14]; /* zero; other threads write this cache line */
  plait_word_t thread;      /* id of the thread that is bound to it; 0: none */
  plait_word_t index;       /* the slot's index */
  plait_word_t stale;       /* 1: lists and counters may be wrong, and are rebuilt before use */
  plait_word_t draining;    /* blocks taken off `remote`, and not freed yet */
  plait_word_t last;        /* index of the region that was made or extended last; 0: none */
  plait_word_t slices;      /* slices in its regions */
  plait_word_t medium_live; /* medium blocks in its regions that are not free */
  plait_word_t spare;       /* index of a region that may be wholly free; 0: none */
  plait_word64_t bin_mask;  /* a bit for each bin that may have blocks; the other bins are not initialized */
  struct plait_link bins[PLAIT_HEAP_BIN_COUNT]; /* free medium blocks: a list for each range of sizes */
  /* by size class, the page that the next blocks come from: one of its own, or the heap's `empty` */
  plait_word_t current[PLAIT_HEAP_CLASS_COUNT];
  struct plait_page_list classes[PLAIT_HEAP_CLASS_COUNT]; /* its pages, by size class */
  /* slices with an unused page, by page size; under the heap's lock */
  struct plait_page_list partial[PLAIT_HEAP_SHIFT_COUNT];
  /* page records reserved for it: reference of the first, | how many; under the heap's lock */
  plait_word_t reserved;
  /* index of a large block that it has freed without the lock; may be out of date; 0: none */
  plait_word_t freed;
  plait_word_t ends; /* how often a page ran out of free blocks (wraps) */
  plait_word_t top;  /* the free medium block behind the one that grew last, on no bin; 0: none */
  /* header of the block in front of the top; 0: there is no top, or the block is not known */
  plait_word_t grower;
  plait_word_t grower_end;     /* where the top ends */
  plait_word_t prefer_emptier; /* PLAIT__PREFER_EMPTIER if the free states of its pages have that bit, else 0 */
  plait_word_t empty_page;     /* a page that is kept although it may have no block in use; 0: none */
  plait_word_t released;       /* bytes of the medium block that it freed last; 0: none yet */
  plait_word_t unused[12];     /* zero */
};
_Static_assert(sizeof(struct plait_thread_heap) == 1792,
    "28 cache lines; what follows in metadata memory starts at a multiple of 32, too: see struct plait_page_map_entry");

struct plait_heap {
  struct plait_page empty; /* a page without blocks or owner: stands for a page where there is none */
  struct plait_lock lock;  /* guards the slice table, and thread heaps without a thread */
  plait_word_t touched;    /* index from which on no slice has ever been used: their bytes are zero */
  plait_word_t used;       /* slices in use, or FREED */
  plait_word_t peak;       /* most slices that were ever in use */
  plait_word_t orphans;    /* thread heaps without a thread that may own memory */
  /* next unused byte of metadata memory, up to the end of its slice; the start of a slice: none is left */
  plait_word_t meta;
  /* a bit for each list of free spans that is not empty, and for some that have become empty */
  plait_word_t span_mask;
  struct plait_slice no_span; /* stands for a free span where there is none: what is written into it has no effect */
  /* the free spans of each range of lengths; the first list is that of `no_span` */
  struct plait_link span_bins[PLAIT_HEAP_SPAN_BIN_COUNT];
  plait_word_t padding[6];                     /* zero; many threads write what is above, all read what is below */
  plait_word_t first;                          /* index of the first slice */
  plait_word_t end;                            /* index after the last slice */
  plait_word_t limit;                          /* index that the heap must not grow beyond */
  plait_word_t failed;                         /* allocations that returned 0 (wraps) */
  plait_word_t chunks[PLAIT_HEAP_CHUNK_LIMIT]; /* metadata chunks, one for each 8 MiB; 0: none yet */
  plait_word_t thread_heaps[PLAIT_SLOT_LIMIT]; /* each slot's thread heap; 0: none yet */
  /* the shared page lists: pages with free blocks and without an owner */
  struct plait_page_list shared_pages[PLAIT_HEAP_CLASS_COUNT];
  uint16_t class_info[PLAIT_HEAP_CLASS_COUNT];  /* by size class: bytes in a block, | n: a page has 4 KiB << n */
  uint8_t class_of_unit[PLAIT_HEAP_UNIT_COUNT]; /* size class by size in units of 16 bytes */
};

/* What plait_heap_stats() returns. */
struct plait_heap_stats {
  uint64_t reserved_bytes; /* slices that the heap covers, in bytes */
  uint64_t used_bytes;     /* slices in use: pages, regions, large blocks, metadata */
  uint64_t peak_bytes;     /* the highest used_bytes so far */
  uint32_t live_blocks;    /* blocks that are allocated and not freed */
  uint32_t failed;         /* allocations that returned 0 */
};

/* One size class of small blocks. */
struct plait_heap_class_stats {
  uint32_t size;  /* bytes in a block */
  uint32_t pages; /* pages with blocks of this size */
  uint32_t used;  /* blocks of these pages that are in use */
  uint32_t free;  /* blocks of these pages that are free */
};

/* What one thread allocates from; or what an exited thread has left, until another adopts it. */
struct plait_heap_thread_stats {
  uint32_t thread;  /* id of the thread; 0: none */
  uint32_t host_id; /* the host's name for the thread: Node's threadId; 0: it has none */
  uint32_t pages;   /* pages that it owns; most full pages have no owner */
  uint32_t slices;  /* slices in its regions of medium blocks */
  uint32_t blocks;  /* medium blocks in use in these regions, whichever thread allocated them */
};

/* What plait_heap_details() returns. */
struct plait_heap_details {
  struct plait_heap_stats total;                                 /* the same as plait_heap_stats() */
  uint32_t page_slices;                                          /* slices carved into pages of small blocks */
  uint32_t region_slices;                                        /* slices in regions of medium blocks */
  uint32_t meta_slices;                                          /* slices of metadata */
  uint32_t large_slices;                                         /* slices in large blocks in use */
  uint32_t large_blocks;                                         /* large blocks in use */
  uint32_t thread_count;                                         /* how many of `threads` are filled in */
  struct plait_heap_class_stats classes[PLAIT_HEAP_CLASS_COUNT]; /* small blocks by size class */
  struct plait_heap_thread_stats threads[PLAIT_SLOT_LIMIT];      /* thread heaps in use */
};

/* What a check has found to be wrong. */
enum plait_heap_fault_kind {
  PLAIT_FAULT_NONE = 0,        /* nothing */
  PLAIT_FAULT_TABLE = 1,       /* the entry of a slice cannot be true, or contradicts its neighbors */
  PLAIT_FAULT_SPANS = 2,       /* the lists of free spans, or the counters, contradict the slice table */
  PLAIT_FAULT_PAGE = 3,        /* a page record cannot be true */
  PLAIT_FAULT_PAGES = 4,       /* a list of pages contradicts the page records */
  PLAIT_FAULT_BLOCK = 5,       /* the header of a medium block cannot be true */
  PLAIT_FAULT_BINS = 6,        /* the lists of free medium blocks contradict their headers */
  PLAIT_FAULT_THREAD_HEAP = 7, /* the counters of a thread heap contradict what it owns */
  PLAIT_FAULT_OVERRUN = 8,     /* debug builds: a block was written beyond its end */
  PLAIT_FAULT_FREED = 9,       /* debug builds: a block was written after it had been freed */
};

/* What is wrong, and where. */
struct plait_heap_fault {
  uint32_t kind; /* enum plait_heap_fault_kind */
  uint32_t at;   /* reference of what is wrong: the structure, or the byte that was written */
  /* BLOCK: the block in front, whose user may have written beyond its end; OVERRUN, FREED: the block that is damaged */
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
 * What memory is used for. The last part of a space is reserved: each kind leaves one part more free than the kind
 * before it. So files that fill the space leave room for blocks, tasks and threads. Blocks leave room for tasks and
 * threads. If nothing else fits, recovery after an exited thread can still work.
 */
enum plait_heap_use {
  /* coordinators, for any purpose, and threads that have not attached: may use all there is */
  PLAIT_FOR_COORDINATION = 0,
  PLAIT_FOR_THREADS = 1, /* threads and pools */
  PLAIT_FOR_TASKS = 2,   /* tasks, and what they carry */
  /* the program's own blocks: the default of a thread that has attached */
  PLAIT_FOR_BLOCKS = 3,
  PLAIT_FOR_FILES = 4, /* files */
};

/*
 * Starts the heap above reference `first`. The whole space may grow to `maximum_pages`.
 * pre: once, before other threads. 0 or -PLAIT_ENOMEM.
 */
int plait_heap_init(plait_ref_t first, uint32_t maximum_pages);

/* A block of `size` bytes with unspecified contents; 0 if the space has no room. Size 0 gives a block, too. */
plait_ref_t plait_heap_alloc(uint32_t size);

/* As alloc; every byte is zero. */
plait_ref_t plait_heap_alloc_zeroed(uint32_t size);

/* As alloc; the reference is a multiple of `alignment`. Also 0 if that is no power of two, or above 2^31. */
plait_ref_t plait_heap_alloc_aligned(uint32_t size, uint32_t alignment);

#ifndef PLAIT_HEAP_LIBRARY
extern _Thread_local enum plait_heap_use plait__use;

/* From now on the calling thread allocates for this use. Returns the previous use. */
static inline enum plait_heap_use plait_heap_use(enum plait_heap_use use) {
  enum plait_heap_use before = plait__use;
  if (before != PLAIT_FOR_COORDINATION) plait__use = use;
  return before;
}

/* As alloc and alloc_zeroed, for the given use. */
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
#else /* a program that links Plait keeps no reserves */
static inline enum plait_heap_use plait_heap_use(enum plait_heap_use use) {
  return use;
}
static inline plait_ref_t plait_heap_alloc_for(enum plait_heap_use use, uint32_t size) {
  return (void)use, plait_heap_alloc(size);
}
#endif

/*
 * Makes a live block larger or smaller, in place if possible. Returns the block's new reference. The bytes up to the
 * smaller of both sizes are kept. Returns 0 if the space has no room, or if `block` is no live block; then nothing
 * changes. `block` 0 allocates.
 */
plait_ref_t plait_heap_realloc(plait_ref_t block, uint32_t size);

/* Frees a block. 0, or -PLAIT_EINVAL for anything that is not the start of a live block; then nothing changes. */
int plait_heap_free(plait_ref_t block);

/*
 * How many bytes a live block has room for: at least the requested size. 0 for anything but the start of a live block.
 */
uint32_t plait_heap_size(plait_ref_t block);

/* What a reference is to the heap: the reason why plait_heap_free() refuses it. */
enum plait_heap_place {
  PLAIT_PLACE_LIVE = 0,    /* the start of a live block */
  PLAIT_PLACE_FREE = 1,    /* the start of a free block, which may have been freed before */
  PLAIT_PLACE_INSIDE = 2,  /* inside a live block */
  PLAIT_PLACE_UNUSED = 3,  /* inside the heap, where no block is */
  PLAIT_PLACE_OUTSIDE = 4, /* outside of the heap */
};

/* For error messages; the result may be out of date, because other threads go on. Walks a region from its start. */
enum plait_heap_place plait_heap_place(plait_ref_t block);

/*
 * Counters. Each is exact, but they are taken one after another. The operation that a thread is executing may be
 * missing. Never blocks.
 */
void plait_heap_stats(struct plait_heap_stats *out);

/* The same counters, and their parts by size class, by thread and by kind. 6 KiB. */
void plait_heap_details(struct plait_heap_details *out);

/*
 * Walks everything. 0, or -PLAIT_EILSEQ. While other threads work, only the slice table is walked (under the lock).
 * `quiescent` says that none does: then pages, blocks, lists and counters are checked, too.
 */
int plait_heap_check(int quiescent);

/*
 * What the calling thread's last check found, if it found something. In a debug build (debug.c) also the reason why an
 * allocation returned 0, or a free -PLAIT_EILSEQ. It is returned once.
 */
void plait_heap_fault(struct plait_heap_fault *out);

/* After a thread has exited: what it owned has no owner then. pre: the caller holds the recovery lock. */
void plait_heap_recover(plait_thread_t exited);

/* What the calling thread owns has no owner then, and may be adopted. pre: the thread allocates no more. */
void plait_heap_leave(void);

#endif
