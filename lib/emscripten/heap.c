/*
 * heap: Plait's heap as the malloc of Emscripten's programs: lib/heap/malloc.c, and the names that Emscripten's C library,
 * its sanitizers and programs want beside it. Compiled by plait.py.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

void emscripten_notify_memory_growth(size_t memory); /* in no header of Emscripten's */

/* Without threads, JavaScript's views of the memory are of its size before, so it is told of every growth. */
static inline size_t grown(size_t pages) {
  size_t before = __builtin_wasm_memory_grow(0, pages);
#ifndef __EMSCRIPTEN_SHARED_MEMORY__
  if (before != (size_t)-1 && pages != 0) emscripten_notify_memory_growth(0);
#endif
  return before;
}
#define __builtin_wasm_memory_grow(memory, pages) grown(pages)
#include "../heap/malloc.c"

#define ALIAS(of) __attribute__((alias(#of), visibility("default")))

PUBLIC void *memalign(size_t alignment, size_t size) {
  return aligned_alloc(alignment, size);
}

PUBLIC void *valloc(size_t size) {
  return aligned_alloc(PLAIT_PAGE_SIZE, size);
}

/* Memory of its own, from the system. -sSAFE_HEAP compares addresses with *emscripten_get_sbrk_ptr(). */
PUBLIC uintptr_t *emscripten_get_sbrk_ptr(void) {
  static uintptr_t end;
  end = (uintptr_t)plait_platform_pages() << 16;
  return &end;
}

PUBLIC void *sbrk(intptr_t bytes) {
  if (bytes == 0) return (void *)((uintptr_t)plait_platform_pages() << 16);
  int64_t at = bytes < 0 ? -1 : plait_platform_grow((uint32_t)((uintptr_t)bytes + 65535) >> 16);
  if (at >= 0) return (void *)((uintptr_t)at << 16);
  errno = ENOMEM;
  return (void *)-1;
}

void *emscripten_builtin_malloc(size_t) ALIAS(malloc);
void emscripten_builtin_free(void *) ALIAS(free);
void *emscripten_builtin_calloc(size_t, size_t) ALIAS(calloc);
void *emscripten_builtin_realloc(void *, size_t) ALIAS(realloc);
void *emscripten_builtin_memalign(size_t, size_t) ALIAS(memalign);
void *__libc_malloc(size_t) ALIAS(malloc);
void __libc_free(void *) ALIAS(free);
void *__libc_calloc(size_t, size_t) ALIAS(calloc);
void *__libc_realloc(void *, size_t) ALIAS(realloc);
