/* program: what the programs of the graphs share: the clock, threads that start together, and failing. */
#ifndef BENCH_GRAPHS_PROGRAM_H
#define BENCH_GRAPHS_PROGRAM_H

#include <emscripten.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREAD_LIMIT = 8 };

static inline double now_ns(void) {
  return emscripten_get_now() * 1e6;
}

/* A wrong answer is no measurement. */
static inline _Noreturn void fail(const char *why) {
  fprintf(stderr, "%s\n", why);
  exit(1);
}

#define CHECK(what)                     \
  do {                                  \
    if (!(what)) fail("wrong: " #what); \
  } while (0)

static pthread_barrier_t ready;

/* One thread's part. `work` calls start_together() when it is prepared, and stores when it began and ended. */
struct part {
  uint32_t index, threads;
  double start, end;
};

static inline void start_together(struct part *part) {
  pthread_barrier_wait(&ready);
  part->start = now_ns();
}

/* Nanoseconds from when the first thread starts to when the last one ends. */
static inline double on_threads(uint32_t threads, void *(*work)(void *part)) {
  pthread_t handles[THREAD_LIMIT];
  struct part parts[THREAD_LIMIT];
  pthread_barrier_init(&ready, NULL, threads);
  for (uint32_t i = 0; i < threads; i++) {
    parts[i] = (struct part){.index = i, .threads = threads};
    if (pthread_create(&handles[i], NULL, work, &parts[i]) != 0) fail("no thread");
  }
  double start = 0, end = 0;
  for (uint32_t i = 0; i < threads; i++) {
    pthread_join(handles[i], NULL);
    if (i == 0 || parts[i].start < start) start = parts[i].start;
    if (parts[i].end > end) end = parts[i].end;
  }
  return end - start;
}

#endif
