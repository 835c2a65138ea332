/*
 * files: file work on the main thread, then the same on a worker thread. Prints nanoseconds per operation of each as
 * JSON. One round makes, writes, reads, lists, renames and removes files; all that is read is checked.
 */
#include "program.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 50, PIECES = 8, PIECE = 512, ROUNDS = 40, WARM = 60, OPERATIONS = FILES * (2 * PIECES + 8) };

static void fill(char *piece, int round, int file, int index) {
  memset(piece, 'a' + (round + file + index) % 26, PIECE);
}

static void write_file(const char *name, int round, int file) {
  char piece[PIECE];
  int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  CHECK(fd >= 0);
  for (int i = 0; i < PIECES; i++) {
    fill(piece, round, file, i);
    CHECK(write(fd, piece, PIECE) == PIECE);
  }
  CHECK(close(fd) == 0);
}

static void read_file(const char *name, int round, int file) {
  char piece[PIECE], expected[PIECE];
  struct stat status;
  CHECK(stat(name, &status) == 0 && status.st_size == PIECES * PIECE);
  int fd = open(name, O_RDONLY);
  CHECK(fd >= 0);
  for (int i = 0; i < PIECES; i++) {
    CHECK(read(fd, piece, PIECE) == PIECE);
    fill(expected, round, file, i);
    CHECK(memcmp(piece, expected, PIECE) == 0);
  }
  CHECK(close(fd) == 0);
}

static int count_names(const char *folder) {
  DIR *directory = opendir(folder);
  CHECK(directory != NULL);
  int count = 0;
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) count += entry->d_name[0] != '.';
  closedir(directory);
  return count;
}

static void round_of(const char *folder, int round) {
  char name[64], renamed[64];
  CHECK(mkdir(folder, 0777) == 0);
  for (int file = 0; file < FILES; file++) {
    snprintf(name, sizeof name, "%s/%d", folder, file);
    snprintf(renamed, sizeof renamed, "%s/renamed-%d", folder, file);
    write_file(name, round, file);
    read_file(name, round, file);
    CHECK(rename(name, renamed) == 0);
  }
  CHECK(count_names(folder) == FILES);
  for (int file = 0; file < FILES; file++) {
    snprintf(renamed, sizeof renamed, "%s/renamed-%d", folder, file);
    CHECK(access(renamed, R_OK) == 0);
    CHECK(unlink(renamed) == 0);
  }
  CHECK(rmdir(folder) == 0);
}

/* Nanoseconds per operation. */
static double measure(const char *folder) {
  for (int i = 0; i < WARM; i++) round_of(folder, i);
  double start = now_ns();
  for (int i = 0; i < ROUNDS; i++) round_of(folder, i);
  return (now_ns() - start) / ((double)ROUNDS * OPERATIONS);
}

static void *on_worker(void *result) {
  *(double *)result = measure("/worker");
  return NULL;
}

int main(void) {
  double main_ns = measure("/main"), worker_ns;
  pthread_t worker;
  CHECK(pthread_create(&worker, NULL, on_worker, &worker_ns) == 0);
  pthread_join(worker, NULL);
  printf("{\"main\": %.1f, \"worker\": %.1f}\n", main_ns, worker_ns);
  return 0;
}
