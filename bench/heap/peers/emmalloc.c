/* emmalloc as Emscripten has it under -pthread: one spin lock for the heap. */
#define EMMALLOC
#define __EMSCRIPTEN_PTHREADS__ 1
#include "libc.h"
#include "emscripten/emmalloc.c"

void bench_thread_done(void) {
}
