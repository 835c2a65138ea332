/* workers: the same work four times, with a number each: on threads, or one after the other where there are none. */
#ifndef WORKERS_H
#define WORKERS_H

#include "transcript.h"
#if !WASI
#include <pthread.h>
#endif

#define WORKERS 4

/* Each prints into its own text, and these are printed in order. */
struct worker {
  int number;
  size_t length;
  char text[1 << 14];
};

static struct worker workers[WORKERS];

__attribute__((format(printf, 2, 3), unused)) static void tell(struct worker *worker, const char *format, ...) {
  __builtin_va_list list;
  __builtin_va_start(list, format);
  int length = vsnprintf(worker->text + worker->length, sizeof worker->text - worker->length, format, list);
  __builtin_va_end(list);
  if (length > 0) worker->length += (size_t)length;
  if (worker->length > sizeof worker->text - 1) worker->length = sizeof worker->text - 1;
}

static void work(void *(*body)(void *)) {
#if WASI
  for (int i = 0; i < WORKERS; i++) {
    workers[i] = (struct worker){.number = i};
    body(&workers[i]);
  }
#else
  pthread_t threads[WORKERS];
  for (int i = 0; i < WORKERS; i++) {
    workers[i] = (struct worker){.number = i};
    if (pthread_create(&threads[i], NULL, body, &workers[i]) != 0) printf("no thread\n");
  }
  for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], NULL);
#endif
  for (int i = 0; i < WORKERS; i++) printf("%.*s", (int)workers[i].length, workers[i].text);
}

/* A file's size and hash. */
__attribute__((unused)) static void tell_file(struct worker *worker, const char *path) {
  static char buffers[WORKERS][1 << 16];
  char *buffer = buffers[worker->number];
  uint32_t sum = 0;
  long long size = 0;
  int fd = open(path, O_RDONLY);
  for (ssize_t got; fd >= 0 && (got = read(fd, buffer, sizeof buffers[0])) > 0; size += got)
    sum = sum * 31 + hash(buffer, (size_t)got);
  tell(worker, "%s: %lld bytes, %u\n", path + sizeof HERE - 1, size, sum);
  if (fd >= 0) close(fd);
}

#endif
