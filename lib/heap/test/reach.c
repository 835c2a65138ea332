/*
 * reach: a program with threads and without a C library, which names nothing of Plait's. A thread sleeps while another
 * one grows the memory. Then it allocates there, and uses its block with the instructions whose bounds engines check
 * against a size that they may know late: atomic accesses and bulk ones. reach.js starts the threads.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(#name)))

enum { STACK_BYTES = 32768, TLS_BYTES = 256, MIB = 1 << 20, SMALL = 5000, COUNT = 1000 };

void *malloc(size_t size);
void free(void *block);

_Alignas(64) static uint8_t stacks[2][STACK_BYTES], tls[2][TLS_BYTES];
static _Atomic uint32_t asleep, grown;

EXPORT(stack_top) uint8_t *stack_top(uint32_t thread) { return stacks[thread] + STACK_BYTES; }

EXPORT(tls_block) uint8_t *tls_block(uint32_t thread) { return tls[thread]; }

static int use(size_t size) {
  uint8_t *block = malloc(size);
  if (block == NULL) return 0;
  _Atomic uint32_t *last = (_Atomic uint32_t *)(block + size - 4);
  atomic_store(last, 7);
  __builtin_memset(block, 1, size - 4);
  return atomic_fetch_add(last, 1) == 7;
}

/* 1: good. Traps where the engine does not know the memory of a block. */
EXPORT(sleeper) int sleeper(void) {
  free(malloc(100)); /* it has entered the heap before the memory grows */
  atomic_store(&asleep, 1);
  while (atomic_load(&grown) == 0) __builtin_wasm_memory_atomic_wait32((int *)&grown, 0, -1);
  int good = use(50 * MIB);
  for (int i = 0; i < COUNT; i++) good &= use(SMALL) & use(10 * SMALL);
  return good;
}

EXPORT(is_asleep) int is_asleep(void) { return (int)atomic_load(&asleep); }

EXPORT(grower) void grower(void) {
  free(malloc(100));
  free(malloc(300 * MIB));
  atomic_store(&grown, 1);
  __builtin_wasm_memory_atomic_notify((int *)&grown, 1);
}
