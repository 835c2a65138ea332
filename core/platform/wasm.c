/*
 * platform for wasm32: the space is the module's imported memory, so a reference is an address.
 *
 * Invariant: unless the heap is linked into another program (PLAIT_HEAP_LIBRARY), only plait_platform_grow() grows this
 * memory, and everything up to memory.size belongs to the space.
 */
#ifdef __wasm__

#include "platform.h"

extern uint8_t __heap_base; /* set by the linker: the end of statics and of the first instance's stack */

plait_ref_t plait_platform_first(void) {
  return ((plait_ref_t)(uintptr_t)&__heap_base + 63u) & ~63u;
}

uint32_t plait_platform_first_pages(void) {
#if PLAIT_PLATFORM_ALONE
  return plait_platform_pages();
#else
  extern uint8_t __heap_end; /* set by the linker: the end of the memory that the module starts with */
  return (uint32_t)((uintptr_t)&__heap_end / PLAIT_PAGE_SIZE);
#endif
}

__attribute__((always_inline)) uint32_t plait_platform_pages(void) {
  return (uint32_t)__builtin_wasm_memory_size(0);
}

/* Emscripten's JavaScript has to be told, because growth detaches its views. With threads it looks itself. */
#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_SHARED_MEMORY__)
void emscripten_notify_memory_growth(size_t memory);
#else
#define emscripten_notify_memory_growth(memory) (void)0
#endif

__attribute__((always_inline)) int64_t plait_platform_grow(uint32_t pages) {
  size_t before = __builtin_wasm_memory_grow(0, pages);
  if (before == (size_t)-1) return -PLAIT_ENOMEM;
  emscripten_notify_memory_growth(0);
  return (int64_t)before;
}

#ifdef __wasm_atomics__

PLAIT_COLD void plait_platform_observe_growth(uintptr_t address) {
  /* Entering this function mostly makes the engine update the size. Growing by 0 pages always does. */
  if (address / PLAIT_PAGE_SIZE >= __builtin_wasm_memory_size(0)) (void)__builtin_wasm_memory_grow(0, 0);
}

enum plait_wait_result plait_platform_wait(plait_word_t *word, uint32_t expected, int64_t timeout_ns) {
  return (enum plait_wait_result)__builtin_wasm_memory_atomic_wait32(
      (int *)plait_platform_reach(word), (int)expected, timeout_ns);
}

uint32_t plait_platform_notify(plait_word_t *word, uint32_t count) {
  return __builtin_wasm_memory_atomic_notify((int *)plait_platform_reach(word), count);
}

#else

/* Without threads there is nothing to wait for: a lock is always free. */
enum plait_wait_result plait_platform_wait(plait_word_t *word, uint32_t expected, int64_t timeout_ns) {
  (void)word, (void)expected, (void)timeout_ns;
  return PLAIT_WAIT_NOT_EQUAL;
}

uint32_t plait_platform_notify(plait_word_t *word, uint32_t count) {
  (void)word, (void)count;
  return 0;
}

#endif

void plait_platform_pause(void) {
  /* wasm32 has no pause instruction. */
}

#ifndef PLAIT_HEAP_LIBRARY /* other programs have their own */
/* With bulk memory the builtins below become memory.copy and memory.fill, not calls to these functions. */
void *memcpy(void *restrict to, const void *restrict from, size_t count) {
  return __builtin_memcpy(to, from, count);
}

void *memset(void *to, int byte, size_t count) {
  return __builtin_memset(to, byte, count);
}
#endif

#endif
