/*
 * plait_heap: Plait's allocator for programs of others. Link libplait_heap.a (wasm32) with --whole-archive, or
 * preload libplait_heap.so (Linux), and malloc, calloc, realloc, free, aligned_alloc, posix_memalign and
 * malloc_usable_size are these. All of them: any thread. docs/guide/malloc.md says how to build and link.
 *
 * - Blocks are aligned to 16 bytes. malloc(0), and realloc(block, 0), give a block that is to be freed.
 * - What cannot be had is answered with a null pointer, or ENOMEM by posix_memalign. errno is set natively; in wasm32
 *   it is not, because the library knows no C library.
 * - free() of anything but a live block does nothing, and realloc() of it answers with a null pointer.
 * - In wasm32 the library grows the memory, and takes what lies between __heap_base and the memory's end at its first
 *   call. Other code may grow the memory, too. Natively, the whole heap is at most 4 GiB.
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
void free(void *block);
void *aligned_alloc(size_t alignment, size_t size);
int posix_memalign(void **block, size_t alignment, size_t size);
size_t malloc_usable_size(void *block);

/*
 * To be called by a thread that ends: what it has allocated from is then used by others. wasm32 only; without it the
 * memory of threads that are gone stays unused until somebody frees into it, and of more than 255 of them the later
 * ones share one thread's place. Natively it happens by itself.
 */
void plait_heap_thread_done(void);

struct plait_heap_usage {
  uint64_t reserved_bytes; /* what the heap has taken from the system */
  uint64_t used_bytes;     /* what of that is in use, in units of 64 KiB */
  uint64_t peak_bytes;     /* most that used_bytes has been */
  uint32_t live_blocks;    /* blocks that are allocated and not freed */
  uint32_t failed;         /* allocations answered with a null pointer */
};

/* Counters; looks at every page of small blocks, and waits for nobody. */
void plait_heap_usage(struct plait_heap_usage *out);

/* Walks everything: 1 if the heap is whole. pre: no other thread is inside. */
int plait_heap_is_whole(void);

#ifdef __cplusplus
}
#endif

#endif
