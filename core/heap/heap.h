/*
 * heap: blocks of memory for every thread of a space.
 *
 * The space above its roots is cut into granules of 4 KiB and covered, without a gap, by runs: each run starts with a
 * 16-byte header whose `tag` says how many granules it spans and what it is. A large block is a run of its own. Small
 * blocks are cut from runs of 64 KiB, one size class each, and carry the same 16-byte header; a class keeps its free
 * blocks on one list.
 *
 *     run:    | header | payload ...                                    |   tag: LARGE | granules
 *     chunk:  | header | pad | block | block | block | ...              |   tag: CHUNK | granules
 *     block:                 | header | payload |                          tag: SMALL or SMALL_FREE | class
 *
 * Invariants
 * - Walking from `first` by each run's length meets exactly `end`. Every change that a walk can see (split, join,
 *   take, free, extend) is one store to one tag, made after all that it reveals is in place.
 * - The run lock guards splitting, joining, taking and extending. Freeing a run is one compare-and-swap and needs no lock.
 * - A class's free list is a stack whose head carries a counter that every change increments, so a head that was
 *   read and is still the same has not been popped and pushed meanwhile. Links live in headers, which users never write.
 *
 * A thread that vanishes inside loses at most the block in flight. All functions: any thread, unless they say other.
 * Payloads are aligned to 16 bytes. No function holds a lock while the memory grows.
 */
#ifndef PLAIT_HEAP_HEAP_H
#define PLAIT_HEAP_HEAP_H

#include "../sync/space.h"

#define PLAIT_HEAP_GRANULE 4096u
#define PLAIT_HEAP_CLASS_LIMIT 32u

struct plait_heap_class {
  plait_word64_t head;  /* count of changes << 32 | first free block's header; 0 in the low half: empty */
  plait_word_t live;    /* blocks of this class in use */
  plait_word_t total;   /* blocks of this class ever cut */
  plait_word_t size;    /* bytes from one block to the next, header included */
  plait_word_t unused;  /* zero */
};
_Static_assert(sizeof(struct plait_heap_class) == 24, "24 bytes a class");

struct plait_heap {
  struct plait_lock runs;    /* guards splitting, joining, taking and extending of runs */
  plait_word_t first;        /* granule where the first run starts */
  plait_word_t end;          /* granule behind the last run */
  plait_word_t rover;        /* granule of some run: where the next search starts */
  plait_word_t live_runs;    /* large blocks in use */
  plait_word_t live_granules;/* granules in large blocks in use */
  plait_word_t chunks;       /* runs cut into small blocks */
  plait_word_t peak_granules;/* most granules ever in large blocks and chunks together */
  plait_word_t limit;        /* granule that the heap must not grow beyond */
  plait_word_t failed;       /* allocations answered with 0 (wraps) */
  plait_word_t unused[5];    /* zero */
  struct plait_heap_class classes[PLAIT_HEAP_CLASS_LIMIT]; /* one record for each size class */
};

struct plait_block {
  plait_word_t tag;   /* state and length or class; see the table in heap.c */
  plait_word_t next;  /* SMALL_FREE: next free block's header, 0 at the end */
  plait_word_t size;  /* bytes that the user asked for */
  plait_word_t guard; /* a number made from the block's own reference: tells a header from other bytes */
};
_Static_assert(sizeof(struct plait_block) == 16, "payloads stay aligned to 16");

struct plait_heap_stats {
  uint64_t reserved_bytes; /* granules under the heap, in bytes */
  uint64_t used_bytes;     /* large runs and chunks, in bytes */
  uint64_t peak_bytes;     /* most that used_bytes has been */
  uint32_t live_blocks;    /* blocks that are allocated and not freed */
  uint32_t failed;         /* allocations answered with 0 */
};

/* The heap of this process's space. */
static inline struct plait_heap *plait_heap(void) {
  return plait_at(plait_platform_first() + (plait_ref_t)sizeof(struct plait_space));
}

/*
 * Starts the heap at reference `first`, up to `maximum_pages` of the whole space.
 * pre: once, before other threads. 0 or -PLAIT_ENOMEM.
 */
int plait_heap_init(plait_ref_t first, uint32_t maximum_pages);

/* A block of `size` bytes with unspecified contents; 0 when the space cannot give it. Size 0 gives a block too. */
plait_ref_t plait_heap_alloc(uint32_t size);

/* Gives a block back. 0, or -PLAIT_EINVAL for anything that is not the start of a live block; then nothing changes. */
int plait_heap_free(plait_ref_t block);

/* The size that a live block was asked with, or -PLAIT_EINVAL. */
int64_t plait_heap_size(plait_ref_t block);

/* Counters, each exact and taken one after another. Never waits. */
void plait_heap_stats(struct plait_heap_stats *out);

/*
 * Walks everything. 0, or -PLAIT_EILSEQ. With other threads at work only the runs are walked (under the run lock);
 * `quiescent` says that none is, and compares free lists, headers and counters too.
 */
int plait_heap_check(int quiescent);

/* After a death: frees the run lock if the dead thread held it. pre: the caller holds the recovery lock. */
void plait_heap_recover(plait_thread_t dead);

#endif
