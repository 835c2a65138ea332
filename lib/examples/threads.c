/*
 * threads: a C program without a C library, on several threads that share one memory. threads.js starts them.
 *
 * Each thread allocates, checks and frees; half of what it frees others have allocated: it takes blocks from a table
 * that all share, and leaves its own there.
 *
 * Invariant: whoever takes a block out of the table, or has just allocated it, is the only one who knows it.
 */
#include "../plait_heap.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(#name)))

enum { THREAD_LIMIT = 64, STACK_BYTES = 32768, TLS_BYTES = 256, ROUNDS = 200000, TABLE_SIZE = 4096 };

/* Statics, because a thread needs its stack before it can allocate. The last is the main thread's. */
_Alignas(64) static uint8_t stacks[THREAD_LIMIT + 1][STACK_BYTES];
_Alignas(64) static uint8_t tls[THREAD_LIMIT + 1][TLS_BYTES];
static _Atomic(uint32_t *) table[TABLE_SIZE];

/* The two that any C compiler may ask for; with bulk memory each is one instruction. */
void *memcpy(void *restrict to, const void *restrict from, size_t count) {
  return __builtin_memcpy(to, from, count);
}

void *memset(void *to, int byte, size_t count) {
  return __builtin_memset(to, byte, count);
}

EXPORT(stack_top) uint8_t *stack_top(uint32_t thread) {
  return stacks[thread + 1];
}

EXPORT(tls_block) uint8_t *tls_block(uint32_t thread) {
  return tls[thread];
}

EXPORT(tls_room) uint32_t tls_room(void) {
  return TLS_BYTES;
}

/* The first word says how many there are; all words follow from it. */
static uint32_t *make(uint32_t words) {
  uint32_t *block = malloc(words * sizeof *block);
  if (block == NULL) return NULL;
  block[0] = words;
  for (uint32_t i = 1; i < words; i++) block[i] = words ^ i;
  return block;
}

static int destroy(uint32_t *block) {
  if (block == NULL) return 1;
  uint32_t words = block[0];
  for (uint32_t i = 1; i < words; i++) {
    if (block[i] != (words ^ i)) return 0;
  }
  free(block);
  return 1;
}

/* 0: good; 1: no memory; 2: a block was damaged. The thread ends with it. */
EXPORT(work) uint32_t work(uint32_t thread) {
  uint64_t seed = thread + 1;
  uint32_t result = 0;
  for (uint32_t i = 0; i < ROUNDS && result == 0; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    uint32_t random = (uint32_t)(seed >> 33), words = 1 + (random >> 12) % (random % 64 == 0 ? 20000 : 60);
    uint32_t *block = make(words);
    if (block == NULL) result = 1;
    /* acquire and release: pairs with the exchange of the thread that takes it out, which then reads its words. */
    else if (!destroy(atomic_exchange_explicit(&table[random % TABLE_SIZE], block, memory_order_acq_rel))) result = 2;
  }
  plait_heap_thread_done(); /* what this thread allocated from, others now use */
  return result;
}

/* By the main thread, when the others have ended. */
EXPORT(empty_table) uint32_t empty_table(void) {
  for (uint32_t i = 0; i < TABLE_SIZE; i++) {
    if (!destroy(atomic_exchange(&table[i], NULL))) return 2;
  }
  return 0;
}

static struct plait_heap_usage usage;

EXPORT(live_blocks) uint32_t live_blocks(void) {
  plait_heap_usage(&usage);
  return usage.live_blocks;
}

EXPORT(peak_kib) uint32_t peak_kib(void) {
  plait_heap_usage(&usage);
  return (uint32_t)(usage.peak_bytes / 1024);
}

EXPORT(is_whole) int is_whole(void) {
  return plait_heap_is_whole();
}
