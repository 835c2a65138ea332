/*
 * names: what only Emscripten's libraries and its JavaScript call. Its `-sMALLOC=none` means: the program has all of
 * these.
 */

/* Its C library, where a program's own malloc must not be called; the functions below interceptors of sanitizers. */
OFFER(emscripten_builtin_malloc, own_malloc);
OFFER(emscripten_builtin_calloc, own_calloc);
OFFER(emscripten_builtin_realloc, own_realloc);
OFFER(emscripten_builtin_free, own_free);
OFFER(emscripten_builtin_memalign, own_aligned_alloc);
OFFER(emscripten_builtin_posix_memalign, own_posix_memalign);

/*
 * The word that says how far programs may use the memory. -sSAFE_HEAP compares addresses with it. Before the heap
 * starts, it is the heap's start: the start-up code of -sWASM_WORKERS moves it, to take a block of its own.
 */
static uintptr_t *own_get_sbrk_ptr(void) {
  static uintptr_t memory_end;
  if (plait_get(&plait_heap()->first) == 0) {
    if (taken == 0) taken = plait_platform_first();
    return &taken;
  }
  memory_end = (uintptr_t)plait_platform_pages() * PAGE;
  return &memory_end;
}

OFFER(emscripten_get_sbrk_ptr, own_get_sbrk_ptr);

/* Emscripten's own would take what lies behind the statics, which is the heap's. */
static int own_brk(void *end) {
  (void)end;
  errno = ENOMEM;
  return -1;
}

OFFER(brk, own_brk);
