/*
 * names: the malloc family under all the names by which programs and C libraries call it.
 *
 * In wasm32 each name is an alias: a second symbol for the same function. Emscripten's build and the archives' first
 * member have weak ones, so a program's own malloc takes their place, and that of a sanitizer. zig's C library has weak
 * names, too, and zig links it first; of several weak names the linker keeps the first. So the archives have a second
 * member with strong names (PLAIT_STRONG). The linker loads it only if the archive is linked whole. Then it drops the
 * first one.
 */
#ifdef __clang__
#define OFFER(name, of) extern __typeof__(of) name __attribute__((alias(#of))) PUBLIC
#else
#define OFFER(name, of) extern __typeof__(of) name __attribute__((alias(#of), copy(of))) PUBLIC
#endif

OFFER(malloc, own_malloc);
OFFER(calloc, own_calloc);
OFFER(realloc, own_realloc);
OFFER(reallocarray, own_reallocarray);
OFFER(free, own_free);
OFFER(aligned_alloc, own_aligned_alloc);
OFFER(memalign, own_aligned_alloc);
OFFER(posix_memalign, own_posix_memalign);
OFFER(valloc, own_valloc);
OFFER(pvalloc, own_pvalloc);
OFFER(malloc_usable_size, own_malloc_usable_size);

#ifdef __wasm__

/* For a malloc of the program's own that is built on this one, and for allocators of other languages. */
OFFER(plait_malloc, own_malloc);
OFFER(plait_calloc, own_calloc);
OFFER(plait_realloc, own_realloc);
OFFER(plait_free, own_free);
OFFER(plait_aligned_alloc, own_aligned_alloc);
OFFER(plait_malloc_usable_size, own_malloc_usable_size);

/* What C libraries call in place of a program's malloc. musl's __reallocarray is another name of reallocarray. */
OFFER(__libc_malloc, own_malloc);
OFFER(__libc_calloc, own_calloc);
OFFER(__libc_realloc, own_realloc);
OFFER(__libc_free, own_free);
OFFER(__libc_memalign, own_aligned_alloc);
OFFER(__reallocarray, own_reallocarray);

/* ---- sbrk ---- */

static uintptr_t brk_at, brk_end; /* the unused part of what sbrk() has grown the memory by last; guarded by `shared` */

/*
 * Memory beside the heap's, for programs that have an allocator of their own. It is in one piece as long as nothing
 * else grows the memory. None is given back: a negative number is a large one, as in Emscripten.
 */
static PLAIT_COLD void *own_sbrk(intptr_t bytes) {
  start(); /* because the heap takes all of the memory that there is then */
  lock_shared();
  uintptr_t before = UINTPTR_MAX, end = (uintptr_t)plait_platform_pages() * PAGE;
  if (brk_at == brk_end) brk_at = brk_end = end;
  uint64_t left = brk_end == end ? brk_end - brk_at : 0, need = (uintptr_t)bytes;
  int64_t at = 0;
  if (need > brk_end - brk_at) {
    uint32_t pages = (uint32_t)((need - left + PAGE - 1) / PAGE);
    at = plait_platform_grow(pages);
    if (at >= 0 && (uintptr_t)at * PAGE != brk_end) brk_at = (uintptr_t)at * PAGE;
    if (at >= 0) brk_end = ((uintptr_t)at + pages) * PAGE;
  }
  /* too little, if another thread has grown the memory in between */
  if (at >= 0 && need <= brk_end - brk_at) {
    before = brk_at;
    brk_at += (uintptr_t)need;
  }
  plait_lock_release(&shared);
  if (before == UINTPTR_MAX) errno = ENOMEM;
  return (void *)before;
}

OFFER(sbrk, own_sbrk);

#endif

#ifdef __EMSCRIPTEN__
#include "../emscripten/names.c"
#endif
