/* descriptors: what dup shares, flags, locks, and every call on descriptors that are none. */
#include "transcript.h"
#if !WASI
#include <sys/file.h>
#endif
#ifndef __wasm__
#include <sys/resource.h>
#endif

static void bad_ones(int fd, const char *what) {
  printf("-- calls on %s\n", what);
  char text[8];
  struct stat stat;
  struct iovec part = {text, 1};
  SAY(read(fd, text, 1));
  SAY(write(fd, text, 0));
  SAY(pread(fd, text, 1, 0));
  SAY(readv(fd, &part, 1));
  SAY(pwrite(fd, text, 0, 0));
  SAY(lseek(fd, 0, SEEK_CUR));
  SAY(ftruncate(fd, 0));
  SAY(fstat(fd, &stat));
  SAY(fsync(fd));
  SAY(futimens(fd, NULL));
  SAY(fcntl(fd, F_GETFL) == -1);
  SAY(isatty(fd));
  SAY(fdopendir(fd) == NULL);
  SAY(openat(fd, "x", O_RDONLY));
  SAY(mkdirat(fd, "x", 0777));
#if !WASI
  SAY(fcntl(fd, F_GETFD));
  SAY(dup(fd) == -1);
  SAY(fchmod(fd, 0600));
  SAY(fchdir(fd));
#endif
}

static void streams(void) {
  printf("-- standard streams\n");
  struct stat stat;
  SAY(fstat(1, &stat));
  SAY(isatty(1));
  SAY(lseek(1, 0, SEEK_CUR));
  SAY(ftruncate(1, 0));
  SAY(write(1, "", 0));
  fflush(stdout);
  SAY(write(1, "direct\n", 7));
  SAY(openat(1, "x", O_RDONLY));
  SAY(isatty(0));
}

#if !WASI
static void duplicates(void) {
  printf("-- dup\n");
  fresh();
  make("f", "0123456789");
  char text[8] = "";
  int a = open("f", O_RDWR), b = dup(a), c = open("f", O_RDWR);
  SAY(b > a);
  SAY(lseek(a, 3, SEEK_SET));
  SAY(lseek(b, 0, SEEK_CUR));
  SAY(lseek(c, 0, SEEK_CUR));
  SAY(read(b, text, 2));
  SAY(lseek(a, 0, SEEK_CUR));
  SAY(fcntl(b, F_SETFL, O_APPEND));
  SAY((fcntl(a, F_GETFL) & O_APPEND) != 0);
  SAY((fcntl(c, F_GETFL) & O_APPEND) != 0);
  SAY(write(a, "+", 1));
  SAY(lseek(b, 0, SEEK_CUR));
  SAY(close(a));
  SAY(read(a, text, 1));
  SAY(lseek(b, 1, SEEK_SET));
  SAY(read(b, text, 1));
  SAY(text[0]);
  SAY(dup2(b, c) == c);
  SAY(lseek(c, 0, SEEK_CUR));
  SAY(dup2(b, b) == b);
  SAY(dup2(999, b));
  SAY(read(b, text, 1));
  SAY(dup2(999, 999));
  SAY(dup2(b, -1));
  SAY(dup2(b, 100));
  SAY(lseek(100, 0, SEEK_CUR));
  SAY(dup3(b, b, 0));
  SAY(dup3(b, 101, O_CLOEXEC));
  SAY(fcntl(101, F_GETFD));
  SAY(fcntl(100, F_GETFD));
  SAY(dup3(b, 102, O_APPEND));
  SAY(fcntl(b, F_DUPFD, 150));
  SAY(fcntl(b, F_DUPFD, 150));
  SAY(fcntl(b, F_DUPFD_CLOEXEC, 150));
  SAY(fcntl(152, F_GETFD));
  SAY(fcntl(b, F_DUPFD, -1));
  SAY(fcntl(152, F_SETFD, 0));
  SAY(fcntl(152, F_GETFD));
  for (int i = 150; i <= 152; i++) SAY(close(i));
  SAY(close(100));
  SAY(close(101));
  SAY(lseek(b, 0, SEEK_CUR));
  SAY(unlink("f"));
  SAY(pread(c, text, 1, 0));
  SAY(close(b));
  SAY(close(c));
  /* A directory's position is shared, too. */
  populate();
  a = open(".", O_RDONLY | O_DIRECTORY);
  b = dup(a);
  DIR *stream = fdopendir(a);
  int names = 0;
  while (readdir(stream) != NULL) names++;
  SAY(names);
  SAY(openat(b, "file", O_RDONLY) >= 0);
  closedir(stream);
  SAY(mkdirat(b, "made", 0777));
  SAY(close(b));
}

static void standard_output(void) {
  printf("-- output into a file\n");
  fflush(stdout);
  int saved = dup(1), file = open("output", O_WRONLY | O_CREAT | O_TRUNC, 0666);
  dup2(file, 1);
  printf("into the file\n");
  fflush(stdout);
  dup2(saved, 1);
  close(saved), close(file);
  show("output");
  SAY(unlink("output"));
}

static void lock(const char *what, int fd, int command, short type, long start, long length) {
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
  int rc = fcntl(fd, command, &lock);
  printf("%s %s %ld+%ld: %s", what,
      type == F_RDLCK       ? "read"
          : type == F_WRLCK ? "write"
                            : "unlock",
      start, length, outcome(rc));
  if (rc == 0 && (command == F_GETLK || command == F_OFD_GETLK)) {
    if (lock.l_type == F_UNLCK) printf(" free");
    else
      printf(
          " %s %lld+%lld", lock.l_type == F_RDLCK ? "read" : "write", (long long)lock.l_start, (long long)lock.l_len);
  }
  printf("\n");
}

static void locks(void) {
  printf("-- locks\n");
  fresh();
  make("f", "0123456789");
  int a = open("f", O_RDWR), b = open("f", O_RDWR), reads = open("f", O_RDONLY), writes = open("f", O_WRONLY);
  lock("own", a, F_SETLK, F_WRLCK, 0, 5);
  lock("own", b, F_SETLK, F_WRLCK, 0, 10);
  lock("own", b, F_GETLK, F_WRLCK, 0, 10);
  lock("own", a, F_SETLKW, F_RDLCK, 2, 0);
  lock("own", a, F_SETLK, F_UNLCK, 0, 0);
  lock("own", reads, F_SETLK, F_WRLCK, 0, 1);
  lock("own", reads, F_SETLK, F_RDLCK, 0, 1);
  lock("own", writes, F_SETLK, F_RDLCK, 0, 1);
  lock("own", writes, F_SETLK, F_WRLCK, 0, 1);
  lock("own", a, F_SETLK, F_WRLCK, -1, 1);
  lock("own", a, F_SETLK, 77, 0, 1);
  lock("own", 999, F_SETLK, F_WRLCK, 0, 1);
  lock("own", a, F_SETLK, F_UNLCK, 0, 0);
#ifdef F_OFD_SETLK
  lock("open file", a, F_OFD_SETLK, F_WRLCK, 0, 5);
  lock("open file", b, F_OFD_SETLK, F_WRLCK, 4, 2);
  lock("open file", b, F_OFD_GETLK, F_WRLCK, 4, 2);
  lock("open file", b, F_OFD_SETLK, F_RDLCK, 5, 2);
  lock("open file", reads, F_OFD_SETLK, F_RDLCK, 6, 10);
  lock("open file", a, F_OFD_SETLK, F_WRLCK, 6, 1);
  lock("open file", a, F_OFD_GETLK, F_RDLCK, 6, 1);
  lock("open file", b, F_OFD_SETLK, F_UNLCK, 6, 1);
  lock("open file", a, F_OFD_GETLK, F_WRLCK, 5, 2);
  lock("open file", a, F_OFD_SETLK, F_UNLCK, 1, 2);
  lock("open file", b, F_OFD_SETLK, F_WRLCK, 1, 2);
  lock("open file", b, F_OFD_SETLK, F_WRLCK, 1, 3);
  lock("open file", a, F_OFD_SETLK, F_UNLCK, 0, 0);
  lock("open file", b, F_OFD_SETLK, F_WRLCK, 0, 3);
#endif
  close(a), close(b), close(reads), close(writes);
  a = open("f", O_RDWR), b = open("f", O_RDWR);
  SAY(flock(a, LOCK_SH));
  SAY(flock(b, LOCK_SH | LOCK_NB));
  SAY(flock(a, LOCK_EX | LOCK_NB));
  SAY(flock(b, LOCK_UN));
  SAY(flock(a, LOCK_EX | LOCK_NB));
  SAY(flock(b, LOCK_SH | LOCK_NB));
  int c = dup(a);
  SAY(flock(c, LOCK_EX | LOCK_NB));
  SAY(close(a));
  SAY(flock(b, LOCK_EX | LOCK_NB));
  SAY(close(c));
  SAY(flock(b, LOCK_EX | LOCK_NB));
  SAY(flock(b, 77));
  SAY(flock(999, LOCK_SH));
  SAY(flock(b, LOCK_UN));
#ifdef F_OFD_SETLK
  /* Linux keeps both kinds apart. */
  a = open("f", O_RDWR);
  SAY(flock(a, LOCK_EX));
  lock("beside flock", b, F_OFD_SETLK, F_WRLCK, 0, 0);
  lock("beside flock", a, F_OFD_SETLK, F_RDLCK, 0, 1);
  SAY(flock(b, LOCK_SH | LOCK_NB));
  SAY(flock(a, LOCK_UN));
  lock("beside flock", a, F_OFD_GETLK, F_WRLCK, 0, 1);
  SAY(flock(b, LOCK_EX | LOCK_NB));
  close(a);
#endif
  close(b);
}

static void modes(void) {
  printf("-- modes\n");
  populate();
  struct stat stat;
  umask(022);
  static const unsigned all[] = {0, 0400, 0644, 0777, 01777, 06755};
  for (int i = 0; i < COUNT(all); i++) {
    SAY(chmod("file", all[i]));
    fstatat(AT_FDCWD, "file", &stat, 0);
    printf("  %o\n", (unsigned)stat.st_mode & 07777);
  }
  close(open("made", O_CREAT | O_WRONLY, 0666));
  fstatat(AT_FDCWD, "made", &stat, 0);
  printf("  %o\n", (unsigned)stat.st_mode & 07777);
  mkdir("made-dir", 0777);
  fstatat(AT_FDCWD, "made-dir", &stat, 0);
  printf("  %o\n", (unsigned)stat.st_mode & 07777);
  SAY(umask(077) == 022);
  close(open("made-2", O_CREAT | O_WRONLY, 0666));
  fstatat(AT_FDCWD, "made-2", &stat, 0);
  printf("  %o\n", (unsigned)stat.st_mode & 07777);
  umask(022);
  SAY(chmod("none", 0));
  SAY(chmod("to-file", 0600));
  fstatat(AT_FDCWD, "file", &stat, 0);
  printf("  %o\n", (unsigned)stat.st_mode & 07777);
  SAY(chown("file", 5, 6));
  fstatat(AT_FDCWD, "file", &stat, 0);
  printf("  %u %u\n", (unsigned)stat.st_uid, (unsigned)stat.st_gid);
  SAY(lchown("to-file", 7, -1));
  fstatat(AT_FDCWD, "to-file", &stat, AT_SYMLINK_NOFOLLOW);
  printf("  %u\n", (unsigned)stat.st_uid);
  SAY(access("file", 7));
  SAY(access("file", 77));
  SAY(faccessat(AT_FDCWD, "dangling", F_OK, AT_SYMLINK_NOFOLLOW));
}
#endif

static void limits(void) {
  printf("-- the limit of descriptors\n");
  enum { MANY = 1 << 17 };
  static int fds[MANY];
  int count = 0;
#ifndef __wasm__
  struct rlimit limit = {64, 64};
  setrlimit(RLIMIT_NOFILE, &limit);
#endif
  make("f", "");
  while (count < MANY && (fds[count] = open("f", O_RDONLY)) >= 0) count++;
  printf("%s\n", count == MANY ? "none" : errno_name(errno));
  SAY(opendir(".") == NULL);
  SAY(open("new", O_CREAT | O_WRONLY, 0666));
#if !WASI
  SAY(dup(1) == -1);
  SAY(fcntl(1, F_DUPFD, 0));
#endif
  SAY(close(fds[--count]));
  OPENS(fds[count++] = open("new", O_CREAT | O_WRONLY, 0666));
  while (count > 0) close(fds[--count]);
  SAY(access("new", F_OK));
}

int main(void) {
  fresh();
  make("f", "f");
  int fd = open("f", O_RDONLY);
  close(fd);
  bad_ones(fd, "a closed one");
  bad_ones(-1, "-1");
  bad_ones(1 << 30, "a large number");
  streams();
#if !WASI
  duplicates();
  standard_output();
  locks();
  modes();
#endif
  limits();
  return 0;
}
