/* others: what stands on the calls for files: realpath, glob, lockf, poll, temporary names, terminals. */
#include "transcript.h"
#include <glob.h>
#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/statvfs.h>

static void resolved(const char *path) {
  static char top[PATH_MAX], full[PATH_MAX];
  if (realpath(".", top) == NULL) printf("realpath .: %s\n", errno_name(errno));
  if (realpath(path, full) == NULL) printf("realpath %s: %s\n", path, errno_name(errno));
  else printf("realpath %s: %s\n", path, strncmp(full, top, strlen(top)) == 0 ? full + strlen(top) : "outside");
}

static void matches(const char *pattern, int flags) {
  glob_t found = {0};
  int rc = glob(pattern, flags, NULL, &found);
  printf("glob %s: %s", pattern, rc == 0 ? "found" : rc == GLOB_NOMATCH ? "nothing" : "error");
  for (size_t i = 0; rc == 0 && i < found.gl_pathc; i++) printf(" %s", found.gl_pathv[i]);
  printf("\n");
  globfree(&found);
}

static void readiness(void) {
  int fd = open("file", O_RDWR);
  struct pollfd polled[] = {{.fd = fd, .events = POLLIN | POLLOUT}, {.fd = 999, .events = POLLIN}, {.fd = -1}};
  SAY(poll(polled, 3, 0));
  printf("  %d %d %d\n", polled[0].revents & (POLLIN | POLLOUT), polled[1].revents == POLLNVAL, polled[2].revents);
  fd_set reads, writes;
  FD_ZERO(&reads);
  FD_ZERO(&writes);
  FD_SET(fd, &reads);
  FD_SET(fd, &writes);
  struct timeval soon = {0, 0};
  SAY(select(fd + 1, &reads, &writes, NULL, &soon));
  SAY(FD_ISSET(fd, &reads) != 0);
  struct winsize size;
  SAY(ioctl(fd, TIOCGWINSZ, &size));
  SAY(ioctl(999, TIOCGWINSZ, &size));
  close(fd);
}

int main(void) {
  populate();
  static const char *const paths[] = {
      ".", "file", "dir/../file", "to-dir/sub/..", "to-dir/up", "dangling", "loop", "none", "none/x", "file/", ""};
  for (int i = 0; i < COUNT(paths); i++) resolved(paths[i]);
  matches("*", 0);
  matches("*/*", 0);
  matches("to-*/inner", 0);
  matches("[a-f]*", GLOB_MARK);
  matches("x*", 0);
  matches("x*", GLOB_NOCHECK);
  readiness();
  int fd = open("file", O_RDWR);
  SAY(lockf(fd, F_TLOCK, 3));
  SAY(lockf(fd, F_TEST, 3));
  SAY(lockf(fd, F_ULOCK, 3));
  SAY(lockf(999, F_TLOCK, 3));
  struct statvfs space;
  SAY(fstatvfs(fd, &space));
  SAY(statvfs("none", &space));
  SAY(statvfs("file", &space));
  SAY(space.f_bsize > 0 && space.f_namemax == 255);
  close(fd);
  SAY(pathconf(".", _PC_NAME_MAX));
  sync();
  return 0;
}
