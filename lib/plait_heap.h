/*
 * plait_heap: Plait's allocator for other programs. Link libplait_heap.a (wasm32) or preload
 * libplait_heap.so (Linux). Then malloc and its family are these functions. Any thread may call them.
 * docs/guide/malloc.md says how to build and link.
 *
 * - Blocks are aligned to 16 bytes. malloc(0) and realloc(block, 0) return a block that must be freed.
 * - If memory is exhausted, the functions return a null pointer, and posix_memalign returns ENOMEM. errno is set
 *   natively. In wasm32 it is not, because the library does not depend on a C library.
 * - free() of anything but a live block does nothing, and realloc() of it returns a null pointer.
 * - In wasm32 the library grows the memory. At its first call it takes what lies between __heap_base and the memory's
 *   end. Other code may grow the memory, too. Natively, the whole heap is at most 4 GiB.
 */
#ifndef PLAIT_HEAP_LIBRARY_H
#define PLAIT_HEAP_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *block, size_t size);
void *reallocarray(void *block, size_t count, size_t size);
void free(void *block);
void *aligned_alloc(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size);
int posix_memalign(void **block, size_t alignment, size_t size);
void *valloc(size_t size);
void *pvalloc(size_t size);
size_t malloc_usable_size(void *block);

#ifdef __wasm__
/* The same functions under names of their own: for a malloc that is built on this one. */
void *plait_malloc(size_t size);
void *plait_calloc(size_t count, size_t size);
void *plait_realloc(void *block, size_t size);
void plait_free(void *block);
void *plait_aligned_alloc(size_t alignment, size_t size);
size_t plait_malloc_usable_size(void *block);
#endif

/*
 * A thread calls this before it ends, so that other threads can use what it has allocated from. Where the C library has
 * pthread keys, it happens automatically. Otherwise, without the call, the free memory of exited threads stays unused
 * until a thread frees into it. And after 255 such threads, all later ones share one thread's slot.
 */
void plait_heap_thread_done(void);

struct plait_heap_usage {
  uint64_t reserved_bytes; /* memory that the heap has taken from the system */
  uint64_t used_bytes;     /* the part of it that is in use, in units of 64 KiB */
  uint64_t peak_bytes;     /* the highest used_bytes so far */
  uint32_t live_blocks;    /* blocks that are allocated and not freed */
  uint32_t failed;         /* allocations that returned a null pointer */
};

/* Counters. Reads every page of small blocks, and never blocks. */
void plait_heap_usage(struct plait_heap_usage *out);

/* Walks everything: 1 if the heap is intact. pre: no other thread is inside. */
int plait_heap_is_whole(void);

#ifdef __cplusplus
}
#endif

#endif
