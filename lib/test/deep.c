/* deep: a tree deeper than PATH_MAX, and many files at once. */
#include "transcript.h"

#define DEPTH 3000

static int removed;

/* Removes what is in a directory; at most one descriptor of a chain is open, whatever its depth. */
static void remove_chain(void) {
  int fd = open(".", O_RDONLY | O_DIRECTORY), depth = 0;
  for (;;) {
    int next = openat(fd, "directory", O_RDONLY | O_DIRECTORY);
    if (next < 0) break;
    close(fd), fd = next, depth++;
  }
  printf("down %d: %s\n", depth, errno_name(errno));
  while (depth-- > 0) {
    int up = openat(fd, "..", O_RDONLY | O_DIRECTORY);
    if (up < 0) {
      printf("up from %d: %s\n", depth, errno_name(errno));
      break;
    }
    if (unlinkat(up, "directory/file", 0) == 0) removed++;
    if (unlinkat(up, "directory", AT_REMOVEDIR) == 0) removed++;
    close(fd), fd = up;
  }
  close(fd);
}

static void chain(void) {
  int fd = open(".", O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < DEPTH; i++) {
    if (mkdirat(fd, "directory", 0777) != 0) printf("mkdirat at %d: %s\n", i, errno_name(errno));
    int next = openat(fd, "directory", O_RDONLY | O_DIRECTORY);
    if (next < 0) {
      printf("openat at %d: %s\n", i, errno_name(errno));
      break;
    }
    close(fd), fd = next;
    if (i % 100 == 0) close(openat(fd, "file", O_CREAT | O_RDWR, 0666));
  }
  struct stat stat;
  SAY(fstatat(fd, ".", &stat, 0));
  SAY(fstatat(fd, "../../..", &stat, 0));
  SAY(linkat(fd, "../../none", fd, "x", 0));
  SAY(renameat(fd, "none", AT_FDCWD, "x"));
  SAY(symlinkat("../../..", fd, "link"));
  SAY(fstatat(fd, "link/directory", &stat, 0));
  SAY(unlinkat(fd, "link", 0));
  make("top", "from the top");
  SAY(renameat(AT_FDCWD, "top", fd, "moved"));
  SAY(fstatat(fd, "moved", &stat, 0));
  SAY(stat.st_size);
  SAY(renameat(AT_FDCWD, "directory", fd, "into-itself"));
  SAY(renameat(fd, "moved", AT_FDCWD, "top"));
  show("top");
  close(fd);
  static char path[5000];
  for (int i = 0; i < 450; i++) strcat(path, "directory/");
  SAY(access(path, F_OK));
  path[4090] = '\0';
  SAY(access(path, F_OK));
  remove_chain();
  SAY(removed);
  SAY(unlink("top"));
  show_tree();
}

static void many(void) {
  char name[32];
  int made = 0, found = 0, gone = 0;
  for (int i = 0; i < 20000; i++) {
    if (i % 1000 == 0) {
      snprintf(name, sizeof name, "d%d", i / 1000);
      mkdir(name, 0777);
    }
    snprintf(name, sizeof name, "d%d/%d", i / 1000, i);
    int fd = open(name, O_CREAT | O_EXCL | O_WRONLY, 0666);
    made += fd >= 0 && write(fd, name, strlen(name)) == (ssize_t)strlen(name);
    close(fd);
  }
  for (int i = 19999; i >= 0; i--) {
    struct stat stat;
    snprintf(name, sizeof name, "d%d/%d", i / 1000, i);
    found += fstatat(AT_FDCWD, name, &stat, 0) == 0 && stat.st_size == (off_t)strlen(name);
    gone += unlink(name) == 0;
  }
  printf("made %d, found %d, removed %d\n", made, found, gone);
  fresh();
  show_tree();
}

/* Many descriptors: each new one has the lowest number that is free. */
static void descriptors(void) {
  enum { MANY = 500 };
  static int fds[MANY];
  int wrong = 0;
  make("f", "0123456789");
  for (int i = 0; i < MANY; i++) {
    fds[i] = open("f", O_RDONLY);
    wrong += i > 0 && fds[i] <= fds[i - 1];
  }
  printf("%d descriptors, %d wrong\n", MANY, wrong);
  for (int i = 0; i < MANY; i += 3) wrong += close(fds[i]) != 0;
  for (int i = 0; i < MANY; i += 3) wrong += open("f", O_RDONLY) != fds[i];
  printf("reused, %d wrong\n", wrong);
  for (int i = 0; i < MANY; i++) {
    char c;
    lseek(fds[i], i % 10, SEEK_SET);
    wrong += read(fds[i], &c, 1) != 1 || c != '0' + i % 10;
  }
  for (int i = 0; i < MANY; i++) wrong += close(fds[i]) != 0;
  printf("closed, %d wrong\n", wrong);
}

int main(void) {
  fresh();
  chain();
  many();
  descriptors();
  return 0;
}
