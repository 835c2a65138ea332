/*
 * wasm: the workload's host part for wasm32, and what JavaScript needs to start threads and to look at memory.
 *
 * Invariant: stacks and TLS blocks are static, so whatever the memory gains after the start is the allocator's.
 */
#include "workload.h"

#include <stddef.h>

enum { STACK_BYTES = 32768, TLS_BYTES = 1024 };

#define EXPORT(name) __attribute__((export_name(#name)))

extern void __wasm_call_ctors(void); /* made by the linker; naming it keeps the linker from calling it by itself */
extern void *malloc(size_t size);
extern void bench_thread_done(void); /* given by the allocator's shim */

/* The last of each is the main thread's. */
_Alignas(64) static uint8_t stacks[BENCH_THREAD_LIMIT + 1][STACK_BYTES];
_Alignas(64) static uint8_t tls[BENCH_THREAD_LIMIT + 1][TLS_BYTES];
static uint32_t failure;

EXPORT(stack_top) uint8_t *stack_top(uint32_t thread) {
  return stacks[thread + 1];
}

EXPORT(tls_block) uint8_t *tls_block(uint32_t thread) {
  return tls[thread];
}

EXPORT(tls_room) uint32_t tls_room(void) {
  return TLS_BYTES;
}

EXPORT(start) void start(void) {
  __wasm_call_ctors();
}

EXPORT(setup) int setup(uint32_t mode, uint32_t threads, uint32_t seed) {
  return bench_setup(mode, threads, seed);
}

EXPORT(warm) void warm(uint32_t thread) {
  bench_warm(thread);
}

EXPORT(work) void work(uint32_t thread) {
  bench_work(thread);
}

EXPORT(finish) void finish(uint32_t thread) {
  bench_finish(thread);
  bench_thread_done();
}

EXPORT(operations) uint32_t operations(void) {
  return bench_operations();
}

/* Why the last call trapped: an enum bench_failure. */
EXPORT(why) uint32_t why(void) {
  return failure;
}

EXPORT(pages) uint32_t pages(void) {
  return __builtin_wasm_memory_size(0);
}

EXPORT(first_malloc) uint8_t *first_malloc(void) {
  return malloc(64);
}

/* Never inlined: Node 20 destroys a local that is live across this instruction, not one across a call. */
__attribute__((noinline)) void bench_host_wait(_Atomic uint32_t *word, uint32_t expected) {
  __builtin_wasm_memory_atomic_wait32((int *)(void *)word, (int)expected, -1);
}

void bench_host_wake(_Atomic uint32_t *word) {
  __builtin_wasm_memory_atomic_notify((int *)(void *)word, UINT32_MAX);
}

void bench_host_fail(enum bench_failure reason) {
  failure = reason;
  __builtin_trap();
}
