/* dlmalloc as Emscripten has it, with the settings that Emscripten gives it under -pthread: one mutex for the heap. */
#define __EMSCRIPTEN__ 1
#define __EMSCRIPTEN_PTHREADS__ 1
#define MALLOC_FAILURE_ACTION
#include "libc.h"
#include "emscripten/dlmalloc.c"

void *aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}

void bench_thread_done(void) {
}
