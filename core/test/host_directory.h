/*
 * host directory: directories of the host for tests to mount. They lie in one that is made when the program starts, and
 * that is removed when it exits, whatever its tests came to.
 */
#ifndef PLAIT_TEST_HOST_DIRECTORY_H
#define PLAIT_TEST_HOST_DIRECTORY_H

#ifndef _GNU_SOURCE
#error "the test defines _GNU_SOURCE"
#endif
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char host_root[40];
static pid_t host_owner; /* not the children that run tests */

__attribute__((constructor)) static void host_begin(void) {
  strcpy(host_root, "/tmp/plait-test-XXXXXX");
  if (mkdtemp(host_root) == NULL) perror(host_root), exit(1);
  host_owner = getpid();
}

static int host_remove(const char *path, const struct stat *stats, int kind, struct FTW *walk) {
  (void)stats, (void)kind, (void)walk;
  return remove(path);
}

__attribute__((destructor)) static void host_end(void) {
  if (getpid() == host_owner) nftw(host_root, host_remove, 20, FTW_DEPTH | FTW_PHYS);
}

/* The path of a name in it, on the host; the next four calls leave it as it is. */
static inline const char *host_path(const char *name) {
  static char paths[4][300];
  static int next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", host_root, name);
  return path;
}

/* Makes a directory, if it is not there. */
static inline void host_mkdir(const char *name) { mkdir(host_path(name), 0777); }

static inline void host_write(const char *name, const char *text) {
  FILE *file = fopen(host_path(name), "w");
  if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) perror(name), _exit(3);
}

/* Whether the file consists of the text. */
static inline int host_holds(const char *name, const char *text) {
  char bytes[300] = "";
  FILE *file = fopen(host_path(name), "r");
  if (file == NULL) return 0;
  size_t count = fread(bytes, 1, sizeof bytes - 1, file);
  fclose(file);
  return count == strlen(text) && memcmp(bytes, text, count) == 0;
}

static inline int host_exists(const char *name) {
  struct stat stats;
  return lstat(host_path(name), &stats) == 0;
}

#endif
