/*
 * workload: what an allocator is asked to do, by several threads at once; the same source as Wasm and natively.
 *
 * A run: bench_setup() once; then every thread calls bench_warm(), bench_work() and bench_finish() with its own index.
 * Only bench_work() is for the clock. bench_warm() returns to all threads at the same time, and bench_finish() begins
 * when all have worked.
 */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include <stdint.h>

enum { BENCH_THREAD_LIMIT = 8 };

enum bench_failure { BENCH_FINE, BENCH_NO_MEMORY, BENCH_DAMAGED };

/* Prepares a run of a mode (an index, see workload.c). 0 if there is no such mode or it cannot have so many threads. */
int bench_setup(uint32_t mode, uint32_t threads, uint32_t seed);

/* Fills the thread's slots and works for a while: pages get touched, Wasm gets compiled. */
void bench_warm(uint32_t thread);

/* The thread's share of the work. */
void bench_work(uint32_t thread);

/* Checks and frees all that the thread still has. */
void bench_finish(uint32_t thread);

/* How many operations the threads' bench_work() are together. */
uint32_t bench_operations(void);

/* The name of a mode; a null pointer behind the last one. */
const char *bench_mode_name(uint32_t mode);

/* Given by the host's part (wasm.c, native.c): waits while *word is `expected`; wakes all who do. */
void bench_host_wait(_Atomic uint32_t *word, uint32_t expected);
void bench_host_wake(_Atomic uint32_t *word);
_Noreturn void bench_host_fail(enum bench_failure why);

#endif
