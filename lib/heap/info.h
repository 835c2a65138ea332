/*
 * info: what info.c asks the heap for. Between these two objects of an archive only.
 */
#ifndef PLAIT_HEAP_INFO_H
#define PLAIT_HEAP_INFO_H

#include <stdint.h>

/* Bytes and counts at one instant. Blocks count in full: what malloc_usable_size() tells, and a medium one's header. */
struct plait_heap_totals {
  uint64_t reserved_bytes;   /* memory that the heap has taken from the system */
  uint64_t peak_bytes;       /* the most that was ever in use, in units of 64 KiB */
  uint64_t block_bytes;      /* in blocks that are allocated and not freed */
  uint64_t small_free_bytes; /* in free blocks of up to 16 KiB, each of which can only be a block of this size again */
  uint32_t small_free;       /* how many these are */
  uint32_t other_free;       /* free pieces of memory of any other size */
};

/*
 * Counts all blocks. Any thread may call it. It holds the heap's lock meanwhile, so no block becomes or stops being
 * larger than 16 KiB; smaller ones may.
 */
void plait_heap_totals(struct plait_heap_totals *out);

#endif
