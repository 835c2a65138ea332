/*
 * threads: files that several threads use at once. The transcript holds sums, which do not depend on the order of the
 * threads. THREADS and ROUNDS scale it.
 */
#include "transcript.h"
#include <pthread.h>
#include <stdatomic.h>

#ifndef THREADS
#define THREADS 4
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#define SHORT_LIVED (1000 * ROUNDS)

static atomic_int wrong;

#define CHECK(condition)                                                     \
  do {                                                                       \
    if (!(condition) && atomic_fetch_add(&wrong, 1) < 20)                    \
      printf("line %d: %s (%s)\n", __LINE__, #condition, errno_name(errno)); \
  } while (0)

static void run(const char *name, void *(*body)(void *), int threads) {
  static pthread_t started[64];
  for (int i = 0; i < threads; i++) CHECK(pthread_create(&started[i], NULL, body, (void *)(intptr_t)i) == 0);
  for (int i = 0; i < threads; i++) CHECK(pthread_join(started[i], NULL) == 0);
  printf("%s: %d wrong\n", name, atomic_load(&wrong));
}

/* ---- each thread has its own files ---- */

static void *own_files(void *argument) {
  int me = (int)(intptr_t)argument;
  char name[40], other[40];
  snprintf(name, sizeof name, HERE "own-%d", me);
  CHECK(mkdir(name, 0777) == 0);
  for (int i = 0; i < 300 * ROUNDS; i++) {
    snprintf(name, sizeof name, HERE "own-%d/%d", me, i % 40);
    FILE *file = fopen(name, "w");
    CHECK(file != NULL);
    if (file == NULL) continue;
    for (int k = 0; k < 20; k++) fprintf(file, "%d %d %d\n", me, i, k);
    CHECK(fclose(file) == 0);
    file = fopen(name, "r");
    CHECK(file != NULL);
    if (file == NULL) continue;
    int a, b, c, lines = 0;
    while (fscanf(file, "%d %d %d", &a, &b, &c) == 3) lines += a == me && b == i && c == lines;
    CHECK(lines == 20);
    fclose(file);
    snprintf(other, sizeof other, HERE "own-%d/renamed", me);
    if (i % 5 == 0) CHECK(rename(name, other) == 0);
    if (i % 5 == 1) CHECK(unlink(name) == 0);
  }
  return NULL;
}

/* ---- all append to one file ---- */

#define LINES (2000 * ROUNDS)

static void *append(void *argument) {
  int me = (int)(intptr_t)argument;
  int fd = open(HERE "log", O_WRONLY | O_CREAT | O_APPEND, 0666);
  CHECK(fd >= 0);
  char line[300];
  for (int i = 0; i < LINES; i++) {
    int length = snprintf(line, sizeof line, "%d %d %.*s\n", me, i, i % 200,
        "....................................................."
        "...................................................................................................."
        "..............................................................................");
    CHECK(write(fd, line, (size_t)length) == length);
  }
  close(fd);
  return NULL;
}

static void check_log(void) {
  int next[64] = {0}, lines = 0, who, which;
  char line[300];
  FILE *file = fopen(HERE "log", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    lines++;
    CHECK(sscanf(line, "%d %d", &who, &which) == 2 && who >= 0 && who < THREADS && next[who]++ == which);
    CHECK(line[strlen(line) - 1] == '\n');
  }
  fclose(file);
  printf("log: %d lines of %d\n", lines, LINES * THREADS);
}

/* ---- all read by one descriptor: each byte goes to one of them ---- */

#define BYTES (40000 * ROUNDS)

static int shared;
static atomic_uchar taken[BYTES];

static void *read_shared(void *argument) {
  (void)argument;
  uint32_t number;
  for (ssize_t got; (got = read(shared, &number, sizeof number)) != 0;) {
    CHECK(got == sizeof number && number < BYTES);
    if (got != sizeof number || number >= BYTES) break;
    atomic_fetch_add(&taken[number], 1);
  }
  return NULL;
}

static void prepare_shared(void) {
  shared = open(HERE "numbers", O_RDWR | O_CREAT | O_TRUNC, 0666);
  for (uint32_t i = 0; i < BYTES; i++) CHECK(write(shared, &i, sizeof i) == sizeof i);
  lseek(shared, 0, SEEK_SET);
}

static void check_shared(void) {
  int once = 0;
  for (int i = 0; i < BYTES; i++) once += taken[i] == 1;
  printf("shared: %d of %d read once\n", once, BYTES);
  close(shared);
}

/* ---- all write through one descriptor, and at offsets of their own ---- */

static void *write_shared(void *argument) {
  uint32_t me = (uint32_t)(intptr_t)argument;
  for (uint32_t i = 0; i < 5000 * ROUNDS; i++) {
    uint32_t number = me * 5000 * ROUNDS + i;
    CHECK(write(shared, &number, sizeof number) == sizeof number);
    CHECK(pread(shared, &number, sizeof number, 0) == sizeof number);
  }
  return NULL;
}

static void check_written(void) {
  enum { NUMBERS = THREADS * 5000 * ROUNDS };
  static uint8_t seen[NUMBERS];
  uint32_t number;
  int once = 0;
  lseek(shared, 0, SEEK_SET);
  while (read(shared, &number, sizeof number) == sizeof number)
    if (number < NUMBERS) seen[number]++;
  for (int i = 0; i < NUMBERS; i++) once += seen[i] == 1;
  printf("written: %d of %d once\n", once, NUMBERS);
  close(shared);
}

/* ---- the same names, made, renamed and removed by all ---- */

static atomic_int made, moved, removed, linked;

static void *storm(void *argument) {
  uint32_t seed = (uint32_t)(intptr_t)argument * 7919u + 1;
  char a[40], b[40];
  for (int i = 0; i < 5000 * ROUNDS; i++) {
    seed = seed * 1664525u + 1013904223u;
    snprintf(a, sizeof a, HERE "storm/%u/%u", seed >> 8 & 1, seed >> 10 & 15);
    snprintf(b, sizeof b, HERE "storm/%u/%u", seed >> 14 & 1, seed >> 16 & 15);
    int fd, rc;
    switch (seed >> 24 & 7) {
      case 0:
      case 1:
        fd = open(a, O_CREAT | O_EXCL | O_WRONLY, 0666);
        if (fd >= 0) atomic_fetch_add(&made, 1), close(fd);
        CHECK(fd >= 0 || errno == EEXIST);
        break;
      case 2:
        rc = unlink(a);
        if (rc == 0) atomic_fetch_add(&removed, 1);
        CHECK(rc == 0 || errno == ENOENT);
        break;
      case 3:
      case 4:
        rc = rename(a, b);
        if (rc == 0) atomic_fetch_add(&moved, 1);
        CHECK(rc == 0 || errno == ENOENT);
        break;
      case 5:
        rc = link(a, b);
        if (rc == 0) atomic_fetch_add(&linked, 1);
        CHECK(rc == 0 || errno == ENOENT || errno == EEXIST);
        break;
      case 6: {
        struct stat stat;
        rc = fstatat(AT_FDCWD, a, &stat, 0);
        CHECK(rc == 0 ? S_ISREG(stat.st_mode) : errno == ENOENT);
        break;
      }
      case 7: {
        DIR *stream = opendir(seed >> 8 & 1 ? HERE "storm/0" : HERE "storm/1");
        CHECK(stream != NULL);
        if (stream == NULL) break;
        int names = 0;
        while (readdir(stream) != NULL) names++;
        CHECK(names >= 2 && names <= 60);
        closedir(stream);
        break;
      }
    }
  }
  return NULL;
}

/* ---- directories that move into each other: none may become its own child ---- */

static void *move_directories(void *argument) {
  uint32_t seed = (uint32_t)(intptr_t)argument * 104729u + 5;
  static const char *const places[] = {HERE "tree/a", HERE "tree/b", HERE "tree/c", HERE "tree/a/b", HERE "tree/b/a",
      HERE "tree/a/c", HERE "tree/c/b", HERE "tree/b/c", HERE "tree/c/a"};
  for (int i = 0; i < 3000 * ROUNDS; i++) {
    seed = seed * 1664525u + 1013904223u;
    const char *from = places[(seed >> 8) % COUNT(places)], *to = places[(seed >> 16) % COUNT(places)];
    int rc = rename(from, to);
    CHECK(rc == 0 || errno == ENOENT || errno == EINVAL || errno == ENOTEMPTY || errno == EEXIST);
  }
  return NULL;
}

static int count_directories(const char *name) {
  int count, total = 1, fd = open(name, O_RDONLY | O_DIRECTORY);
  char **names = names_in(fd, &count), path[200];
  for (int i = 0; i < count; i++) {
    snprintf(path, sizeof path, "%s/%s", name, names[i]);
    total += count_directories(path);
    free(names[i]);
  }
  free(names);
  return total;
}

/* ---- thousands of threads that open, write and exit ---- */

static void *short_life(void *argument) {
  int me = (int)(intptr_t)argument;
  char name[40];
  snprintf(name, sizeof name, HERE "lives/%d", me % 50);
  int fd = open(name, O_RDWR | O_CREAT | O_APPEND, 0666);
  CHECK(fd >= 0);
  CHECK(write(fd, "x", 1) == 1);
  char *block = malloc(1000 + (size_t)me % 5000);
  CHECK(block != NULL);
  free(block);
  /* Some leave it open, and it stays so. */
  return (void *)(intptr_t)(me % 10 == 0 ? fd : (close(fd), -1));
}

static void short_lives(void) {
  enum { AT_ONCE = 8 };
  static int left[SHORT_LIVED];
  int open_files = 0;
  mkdir(HERE "lives", 0777);
  for (int i = 0; i < SHORT_LIVED; i += AT_ONCE) {
    pthread_t started[AT_ONCE];
    for (int k = 0; k < AT_ONCE; k++)
      CHECK(pthread_create(&started[k], NULL, short_life, (void *)(intptr_t)(i + k)) == 0);
    for (int k = 0; k < AT_ONCE; k++) {
      void *fd;
      CHECK(pthread_join(started[k], &fd) == 0);
      if ((intptr_t)fd >= 0) left[open_files++] = (int)(intptr_t)fd;
    }
  }
  long long total = 0;
  for (int i = 0; i < 50; i++) {
    char name[40];
    struct stat stat;
    snprintf(name, sizeof name, HERE "lives/%d", i);
    if (fstatat(AT_FDCWD, name, &stat, 0) == 0) total += stat.st_size;
  }
  /* Descriptors belong to the process, not to the thread that opened them. */
  int alive = 0;
  for (int i = 0; i < open_files; i++) {
    struct stat stat;
    alive += fstat(left[i], &stat) == 0 && write(left[i], "y", 1) == 1 && close(left[i]) == 0;
  }
  printf("short lives: %lld bytes, %d left open, %d usable\n", total, open_files, alive);
}

int main(void) {
  fresh();
  run("own files", own_files, THREADS);
  run("append", append, THREADS);
  check_log();
  prepare_shared();
  run("read by one descriptor", read_shared, THREADS);
  check_shared();
  shared = open(HERE "written", O_RDWR | O_CREAT | O_TRUNC, 0666);
  run("write by one descriptor", write_shared, THREADS);
  check_written();
  mkdir(HERE "storm", 0777), mkdir(HERE "storm/0", 0777), mkdir(HERE "storm/1", 0777);
  run("storm", storm, THREADS);
  CHECK(made > 0 && moved > 0 && removed > 0 && linked > 0);
  mkdir(HERE "tree", 0777), mkdir(HERE "tree/a", 0777), mkdir(HERE "tree/b", 0777), mkdir(HERE "tree/c", 0777);
  run("moves", move_directories, THREADS);
  CHECK(count_directories(HERE "tree") >= 2 && count_directories(HERE "tree") <= 4);
  short_lives();
  /* Everything can be found, and removed. */
  fresh();
  show_tree();
  printf("%d wrong\n", atomic_load(&wrong));
  return 0;
}
