/*
 * allocate MODE THREADS: a workload of bench/heap/workload.c on pthreads. Prints nanoseconds per operation as
 * JSON. Every block is checked before it is freed.
 */
#include <emscripten/threading.h>
#include <limits.h>

#include "../../heap/workload.h"
#include "program.h"

/* main() waits in pthread_join, so only pthreads get here, and they may sleep. */
void bench_host_wait(_Atomic uint32_t *word, uint32_t expected) {
  emscripten_futex_wait(word, expected, 1000);
}

void bench_host_wake(_Atomic uint32_t *word) {
  emscripten_futex_wake(word, INT_MAX);
}

void bench_host_fail(enum bench_failure why) {
  fail(why == BENCH_NO_MEMORY ? "no memory" : "a block was damaged");
}

static void *work(void *argument) {
  struct part *part = argument;
  bench_warm(part->index);
  start_together(part);
  bench_work(part->index);
  part->end = now_ns();
  bench_finish(part->index);
  return NULL;
}

int main(int count, char **words) {
  CHECK(count == 3);
  uint32_t threads = (uint32_t)atoi(words[2]);
  CHECK(bench_setup((uint32_t)atoi(words[1]), threads, 1));
  double ns = on_threads(threads, work);
  printf("{\"ns\": %.3f}\n", ns / bench_operations());
  return 0;
}
