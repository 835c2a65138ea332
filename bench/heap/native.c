/*
 * native: the workload as a program of the machine. Its allocator is the C library's, or the one in LD_PRELOAD.
 *
 *     native MODE THREADS SEED    prints one line of JSON: wall nanoseconds per operation, the process's peak in bytes
 */
#define _GNU_SOURCE
#include "workload.h"

#include <inttypes.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct times {
  int64_t start, end;
};

static struct times times[BENCH_THREAD_LIMIT];

void bench_host_wait(_Atomic uint32_t *word, uint32_t expected) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

void bench_host_wake(_Atomic uint32_t *word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void bench_host_fail(enum bench_failure why) {
  fprintf(stderr, "%s\n", why == BENCH_NO_MEMORY ? "no memory" : "a block was damaged");
  exit(1);
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void *run(void *argument) {
  uint32_t index = (uint32_t)(uintptr_t)argument;
  bench_warm(index);
  times[index].start = now();
  bench_work(index);
  times[index].end = now();
  bench_finish(index);
  return NULL;
}

/* The most memory that the process has had. */
static int64_t peak_bytes(void) {
  static char text[8192];
  FILE *file = fopen("/proc/self/status", "r");
  if (file == NULL) return 0;
  size_t length = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[length] = 0;
  const char *line = strstr(text, "VmHWM:");
  return line == NULL ? 0 : strtoll(line + 6, NULL, 10) * 1024;
}

int main(int count, char **words) {
  if (count != 4) return 2;
  uint32_t thread_count = (uint32_t)atoi(words[2]);
  if (!bench_setup((uint32_t)atoi(words[1]), thread_count, (uint32_t)atoi(words[3]))) return 2;
  pthread_t threads[BENCH_THREAD_LIMIT];
  for (uintptr_t i = 0; i < thread_count; i++)
    if (pthread_create(&threads[i], NULL, run, (void *)i) != 0) return 1;
  for (uint32_t i = 0; i < thread_count; i++) pthread_join(threads[i], NULL);
  int64_t start = times[0].start, end = times[0].end;
  for (uint32_t i = 1; i < thread_count; i++) {
    if (times[i].start < start) start = times[i].start;
    if (times[i].end > end) end = times[i].end;
  }
  printf("{\"ns\": %.3f, \"size\": %" PRId64 "}\n", (double)(end - start) / bench_operations(), peak_bytes());
  return 0;
}
