/* io: reading, writing, positions, sizes and times of files. */
#include "transcript.h"
#include <limits.h>
#include <sys/mman.h>
#include <time.h>

static char buffer[1 << 16];

static ssize_t get(int fd, size_t length) {
  memset(buffer, '#', sizeof buffer);
  ssize_t got = read(fd, buffer, length);
  printf("  read %zu: ", length);
  if (got < 0) printf("%s\n", errno_name(errno));
  else bytes(buffer, (size_t)got), printf(" (%zd)\n", got);
  return got;
}

static void positions(void) {
  printf("-- positions\n");
  fresh();
  make("f", "0123456789");
  int fd = open("f", O_RDWR);
  static const int whences[] = {SEEK_SET, SEEK_CUR, SEEK_END, 77};
  static const long long offsets[] = {0, 1, -1, 5, -5, 10, -10, 11, -11, 100, LLONG_MIN, 1LL << 40, 1LL << 52};
  for (int from = 0; from < 2; from++) {
    for (int w = 0; w < COUNT(whences); w++) {
      for (int i = 0; i < COUNT(offsets); i++) {
        lseek(fd, from * 5, SEEK_SET);
        errno = 0;
        long long at = lseek(fd, offsets[i], whences[w]);
        printf("from %d lseek(%lld, %d): ", from * 5, offsets[i], w);
        if (at == -1) printf("%s", errno_name(errno));
        else printf("%lld", at);
        printf(", at %lld\n", (long long)lseek(fd, 0, SEEK_CUR));
      }
    }
  }
  lseek(fd, 8, SEEK_SET);
  get(fd, 5);
  get(fd, 5);
  SAY(lseek(fd, 20, SEEK_SET));
  get(fd, 5);
  SAY(write(fd, "x", 1));
  show("f");
  SAY(lseek(fd, 0, SEEK_CUR));
  SAY(write(fd, "", 0));
  SAY(lseek(fd, 100, SEEK_SET));
  SAY(write(fd, "", 0));
  show("f");
  SAY(close(fd));
  SAY(lseek(fd, 0, SEEK_SET));
  SAY(read(fd, buffer, 1));
  SAY(write(fd, buffer, 1));
  SAY(pread(fd, buffer, 1, 0));
  SAY(close(fd));
  SAY(close(-1));
}

static void at_offsets(void) {
  printf("-- pread and pwrite\n");
  make("f", "0123456789");
  int fd = open("f", O_RDWR);
  SAY(pread(fd, buffer, 4, 2));
  bytes(buffer, 4), printf("\n");
  SAY(pread(fd, buffer, 4, 8));
  SAY(pread(fd, buffer, 4, 10));
  SAY(pread(fd, buffer, 4, 1000));
  SAY(pread(fd, buffer, 4, -1));
  SAY(pread(fd, buffer, 0, 0));
  SAY(pwrite(fd, "ab", 2, 4));
  SAY(pwrite(fd, "cd", 2, 14));
  SAY(pwrite(fd, "e", 1, -1));
  SAY(pwrite(fd, "", 0, 50));
  SAY(lseek(fd, 0, SEEK_CUR));
  show("f");
  close(fd);
  fd = open("f", O_WRONLY);
  SAY(read(fd, buffer, 1));
  SAY(pread(fd, buffer, 1, 0));
  close(fd);
  fd = open("f", O_RDONLY);
  SAY(write(fd, buffer, 1));
  SAY(pwrite(fd, buffer, 1, 0));
  SAY(ftruncate(fd, 1));
  close(fd);
  fd = open(".", O_RDONLY);
  SAY(read(fd, buffer, 1));
  SAY(pread(fd, buffer, 1, 0));
  SAY(write(fd, buffer, 1));
  SAY(pwrite(fd, buffer, 1, 0));
  SAY(ftruncate(fd, 1));
  SAY(fsync(fd));
  close(fd);
}

static void vectors(void) {
  printf("-- vectors\n");
  fresh();
  int fd = open("f", O_RDWR | O_CREAT, 0666);
  struct iovec parts[] = {{"one ", 4}, {NULL, 0}, {"two ", 4}, {"three", 5}};
  SAY(writev(fd, parts, 4));
  SAY(writev(fd, parts, 0));
  SAY(writev(fd, parts, 1));
  show("f");
  lseek(fd, 0, SEEK_SET);
  char a[5] = "", b[3] = "", c[50] = "";
  struct iovec into[] = {{a, 4}, {b, 2}, {c, 49}};
  SAY(readv(fd, into, 3));
  printf("  \"%s\" \"%s\" \"%s\"\n", a, b, c);
  SAY(readv(fd, into, 3));
  SAY(lseek(fd, 0, SEEK_CUR));
#if !WASI
  static volatile int negative = -1, too_many = 1025;
  SAY(readv(fd, into, negative));
  SAY(writev(fd, parts, too_many));
  SAY(pwritev(fd, parts, 4, 2));
  SAY(preadv(fd, into, 3, 1));
  printf("  \"%s\" \"%s\" \"%s\"\n", a, b, c);
#endif
  show("f");
  static struct iovec many[1024];
  for (int i = 0; i < 1024; i++) many[i] = (struct iovec){&"0123456789"[i % 10], 1};
  SAY(lseek(fd, 0, SEEK_SET));
  SAY(writev(fd, many, 1024));
  SAY(lseek(fd, 0, SEEK_END));
  close(fd);
}

static void appends(void) {
  printf("-- append\n");
  fresh();
  int a = open("f", O_WRONLY | O_CREAT | O_APPEND, 0666), b = open("f", O_RDWR | O_APPEND), c = open("f", O_RDWR);
  SAY(write(a, "a1 ", 3));
  SAY(write(b, "b1 ", 3));
  SAY(lseek(a, 0, SEEK_CUR));
  SAY(lseek(b, 0, SEEK_CUR));
  SAY(lseek(a, 0, SEEK_SET));
  SAY(write(a, "a2 ", 3));
  SAY(write(c, "c", 1));
  show("f");
  SAY(lseek(b, 0, SEEK_SET));
  get(b, 4);
  SAY(write(b, "b2 ", 3));
  SAY(lseek(b, 0, SEEK_CUR));
  get(b, 4);
  SAY(fcntl(c, F_SETFL, O_APPEND));
  SAY(write(c, "c2 ", 3));
  SAY(lseek(c, 0, SEEK_CUR));
  SAY((fcntl(c, F_GETFL) & O_APPEND) != 0);
  SAY((fcntl(c, F_GETFL) & O_ACCMODE) == O_RDWR);
  SAY(fcntl(c, F_SETFL, 0));
  SAY((fcntl(c, F_GETFL) & O_APPEND) != 0);
  SAY(lseek(c, 0, SEEK_SET));
  SAY(write(c, "C", 1));
  SAY((fcntl(a, F_GETFL) & O_ACCMODE) == O_WRONLY);
  SAY(fcntl(999, F_GETFL));
  show("f");
  SAY(ftruncate(c, 2));
  SAY(write(a, "end", 3));
  show("f");
  close(a), close(b), close(c);
}

static void sizes(void) {
  printf("-- sizes\n");
  fresh();
  make("f", "0123456789");
  struct stat stat;
  static const long long lengths[] = {10, 5, 0, 3, 20, 4096, 4097, 100000, 1, 70000, -1, LLONG_MIN};
  int fd = open("f", O_RDWR);
  for (int i = 0; i < COUNT(lengths); i++) {
    int by_path = i % 2;
    int rc = by_path ? truncate("f", lengths[i]) : ftruncate(fd, lengths[i]);
    printf("%s to %lld: %s", by_path ? "truncate" : "ftruncate", lengths[i], outcome(rc));
    fstat(fd, &stat);
    printf(", %lld bytes\n", (long long)stat.st_size);
    if (stat.st_size < 10000) show("f");
    pwrite(fd, "w", 1, stat.st_size / 2);
  }
  SAY(lseek(fd, 0, SEEK_CUR));
  SAY(ftruncate(999, 0));
  SAY(truncate("none", 0));
  close(fd);
  /* A hole of 3 MiB between two bytes, then ones filled and cut. */
  fd = open("hole", O_RDWR | O_CREAT, 0666);
  SAY(pwrite(fd, "end", 3, 3 << 20));
  SAY(pwrite(fd, "begin", 5, 0));
  long long zeros = 0, others = 0, total = 0;
  lseek(fd, 0, SEEK_SET);
  for (ssize_t got; (got = read(fd, buffer, sizeof buffer)) > 0; total += got)
    for (ssize_t i = 0; i < got; i++) buffer[i] == 0 ? zeros++ : others++;
  printf("zeros %lld others %lld total %lld\n", zeros, others, total);
  SAY(ftruncate(fd, 100000));
  SAY(ftruncate(fd, 200000));
  SAY(pread(fd, buffer, 10, 99995));
  bytes(buffer, 10), printf("\n");
  SAY(pwrite(fd, "x", 1, 150000));
  SAY(pread(fd, buffer, 3, 149999));
  bytes(buffer, 3), printf("\n");
  SAY(posix_fallocate(fd, 0, 250000));
  fstat(fd, &stat);
  printf("%lld\n", (long long)stat.st_size);
  SAY(posix_fallocate(fd, 10, 20));
  SAY(posix_fallocate(fd, 0, 0) == EINVAL);
  SAY(posix_fallocate(fd, -1, 5) == EINVAL);
  SAY(posix_fallocate(999, 0, 5) == EBADF);
  fstat(fd, &stat);
  printf("%lld\n", (long long)stat.st_size);
  SAY(fsync(fd));
  SAY(fdatasync(fd));
  SAY(fsync(999));
  SAY(posix_fadvise(fd, 0, 100, POSIX_FADV_SEQUENTIAL));
  close(fd);
}

static void long_ones(void) {
  printf("-- a long file, in pieces of all sizes\n");
  fresh();
  int fd = open("long", O_RDWR | O_CREAT, 0666);
  uint32_t seed = 1, sum = 0;
  static char piece[40000];
  long long size = 0;
  for (int i = 0; i < 300; i++) {
    seed = seed * 1664525u + 1013904223u;
    size_t length = seed >> 8 & 1 ? (seed >> 9) % 100 : (seed >> 9) % sizeof piece;
    for (size_t k = 0; k < length; k++) piece[k] = (char)(seed + k * 7);
    if (write(fd, piece, length) != (ssize_t)length) printf("short\n");
    size += (long long)length;
  }
  for (int i = 0; i < 200; i++) {
    seed = seed * 1664525u + 1013904223u;
    size_t length = (seed >> 9) % sizeof piece;
    memset(piece, i, length);
    if (pwrite(fd, piece, length, seed % size) != (ssize_t)length) printf("short\n");
  }
  lseek(fd, 0, SEEK_SET);
  long long total = 0;
  for (int i = 1;; i++) {
    ssize_t got = read(fd, buffer, (size_t)(i * 37 % 60000 + 1));
    if (got <= 0) break;
    sum = sum * 31 + hash(buffer, (size_t)got);
    total += got;
  }
  printf("%lld bytes, %u\n", total, sum);
  close(fd);
}

static void times_of(const char *name) {
  struct stat stat;
  fstatat(AT_FDCWD, name, &stat, AT_SYMLINK_NOFOLLOW);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  long long times[] = {stat.st_atim.tv_sec, stat.st_mtim.tv_sec};
  for (int i = 0; i < 2; i++) {
    long nanoseconds = i == 0 ? stat.st_atim.tv_nsec : stat.st_mtim.tv_nsec;
    if (times[i] > now.tv_sec - 3600 && times[i] <= now.tv_sec + 1) printf(" now");
    else printf(" %lld.%09ld", times[i], nanoseconds);
  }
  printf("\n");
}

static void times(void) {
  printf("-- times\n");
  populate();
  static const struct timespec values[] = {
      {0, 0}, {1, 1}, {1000000000, 999999999}, {4102444800, 5000}, {0, UTIME_NOW}, {0, UTIME_OMIT}};
  int fd = open("file", O_RDWR);
  for (int a = 0; a < COUNT(values); a++) {
    for (int m = 0; m < COUNT(values); m++) {
      struct timespec both[] = {values[a], values[m]};
      printf("utimensat %d %d: %s", a, m, outcome(utimensat(AT_FDCWD, "file", both, 0)));
      times_of("file");
      printf("futimens %d %d: %s", m, a, outcome(futimens(fd, (struct timespec[]){values[m], values[a]})));
      times_of("file");
    }
  }
  struct timespec both[] = {{5, 6}, {7, 8}};
  SAY(utimensat(AT_FDCWD, "to-file", both, 0));
  times_of("file");
  times_of("to-file");
  SAY(utimensat(AT_FDCWD, "to-file", both, AT_SYMLINK_NOFOLLOW));
  times_of("to-file");
  SAY(utimensat(AT_FDCWD, "dir", both, 0));
  times_of("dir");
  make("dir/another", "");
  times_of("dir");
  SAY(utimensat(AT_FDCWD, "dangling", both, 0));
  both[0].tv_nsec = 1000000000;
  SAY(utimensat(AT_FDCWD, "file", both, 0));
  both[0].tv_nsec = -7;
  SAY(utimensat(AT_FDCWD, "file", both, 0));
  SAY(futimens(999, NULL));
  both[0] = (struct timespec){5, 6};
  SAY(futimens(fd, both));
  SAY(write(fd, "x", 1));
  times_of("file");
  SAY(futimens(fd, both));
  SAY(ftruncate(fd, 3));
  times_of("file");
  close(fd);
}

static void maps(void) {
  printf("-- mmap\n");
  fresh();
  make("f", "0123456789");
  int fd = open("f", O_RDWR);
  char *map = mmap(NULL, 10, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  SAY(map != MAP_FAILED);
  if (map != MAP_FAILED) {
    bytes(map, 10), printf("\n");
    map[0] = 'P';
    SAY(munmap(map, 10));
  }
  show("f");
#if !WASI
  map = mmap(NULL, 10, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  SAY(map != MAP_FAILED);
  map[1] = 'S';
  SAY(msync(map, 10, MS_SYNC));
  show("f");
  map[2] = 'T';
  SAY(munmap(map, 10));
  show("f");
  SAY(ftruncate(fd, 70000));
  map = mmap(NULL, 4464, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 65536);
  SAY(map != MAP_FAILED);
  map[10] = 'U';
  SAY(close(fd));
  SAY(munmap(map, 4464));
  fd = open("f", O_RDONLY);
  SAY(pread(fd, buffer, 3, 65545));
  bytes(buffer, 3), printf("\n");
  SAY(mmap(NULL, 10, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
  SAY(mmap(NULL, 10, PROT_READ, MAP_SHARED, fd, 1) == MAP_FAILED);
  SAY(mmap(NULL, 0, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
#endif
  close(fd);
  SAY(mmap(NULL, 10, PROT_READ, MAP_PRIVATE, 999, 0) == MAP_FAILED);
}

int main(void) {
  positions();
  at_offsets();
  vectors();
  appends();
  sizes();
  long_ones();
  times();
  maps();
  return 0;
}
