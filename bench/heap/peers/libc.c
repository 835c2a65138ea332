/* libc: see libc.h. The memory that sbrk() gives is exactly what was asked for, in whole pages of the memory. */
#include "libc.h"

enum { PAGE = 65536, SPINS = 100 };

extern uint8_t __heap_base; /* set by the linker: the end of statics and stack */
static _Atomic uintptr_t top;

_Thread_local int bench_errno;

/* Growing and moving the top are two steps, as in Emscripten; a thread that comes in between only grows too much. */
void *sbrk(intptr_t increment) {
  uintptr_t old = __c11_atomic_load(&top, __ATOMIC_SEQ_CST);
  for (;;) {
    uintptr_t from = old ? old : ((uintptr_t)&__heap_base + 15) & ~(uintptr_t)15;
    uintptr_t to = from + (((uintptr_t)increment + 3) & ~(uintptr_t)3);
    if (increment > 0 && to <= from) return (void *)-1;
    uintptr_t have = __builtin_wasm_memory_size(0);
    uintptr_t need = (to - 1) / PAGE + 1;
    if (need > have && __builtin_wasm_memory_grow(0, need - have) == (size_t)-1) return (void *)-1;
    if (__c11_atomic_compare_exchange_strong(&top, &old, to, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return (void *)from;
  }
}

/* Never inlined: Node 20 destroys a local that is live across this instruction, not one across a call. */
static __attribute__((noinline)) void sleep_on(pthread_mutex_t *mutex) {
  __builtin_wasm_memory_atomic_wait32((int *)(void *)&mutex->word, 2, -1);
}

int pthread_mutex_wait(pthread_mutex_t *mutex) {
  for (int spin = 0; spin < SPINS; spin++)
    if (__c11_atomic_load(&mutex->word, __ATOMIC_RELAXED) == 0 && pthread_mutex_trylock(mutex) == 0) return 0;
  while (__c11_atomic_exchange(&mutex->word, 2, __ATOMIC_ACQUIRE) != 0) sleep_on(mutex);
  return 0;
}

void abort(void) {
  __builtin_trap();
}
