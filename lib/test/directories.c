/* directories: reading them while names come and go, walks through trees, working directories. */
#include "transcript.h"
#include <ftw.h>
#include <limits.h>

static int by_text(const void *a, const void *b) {
  return strcmp(a, b);
}

/* Reads up to `limit` names, sorts and prints them: in which order a directory is read is its own affair. */
static int read_some(DIR *stream, int limit) {
  static char names[4000][32];
  int count = 0;
  for (struct dirent *entry; count < limit && (errno = 0, entry = readdir(stream)) != NULL;)
    snprintf(names[count++], sizeof *names, "%.30s", entry->d_name);
  if (errno != 0) printf("readdir: %s ", errno_name(errno));
  qsort(names, (size_t)count, sizeof *names, by_text);
  uint32_t sum = hash(names, (size_t)count * sizeof *names);
  if (count < 20)
    for (int i = 0; i < count; i++) printf(" %s", names[i]);
  else printf(" sum %u", sum);
  memset(names, 0, sizeof names);
  printf(" (%d)\n", count);
  return count;
}

static void check_kinds(const char *path) {
  DIR *stream = opendir(path);
  struct dirent *entry;
  struct stat stat;
  int right = 0, wrong = 0;
  while ((entry = readdir(stream)) != NULL) {
    fstatat(dirfd(stream), entry->d_name, &stat, AT_SYMLINK_NOFOLLOW);
    int type = S_ISREG(stat.st_mode) ? DT_REG : S_ISDIR(stat.st_mode) ? DT_DIR : DT_LNK;
    if (entry->d_type != type || entry->d_ino != stat.st_ino) printf("%s is wrong\n", entry->d_name), wrong++;
    else right++;
  }
  printf("%s: %d right, %d wrong\n", path, right, wrong);
  closedir(stream);
}

static void kinds(void) {
  printf("-- kinds and inodes\n");
  populate();
  check_kinds(".");
  check_kinds("dir/sub");
  SAY(opendir("file") == NULL);
  SAY(errno == ENOTDIR);
  SAY(opendir("none") == NULL);
  SAY(errno == ENOENT);
  SAY(opendir("loop") == NULL);
  SAY(errno == ELOOP);
  int fd = open("file", O_RDONLY);
  SAY(fdopendir(fd) == NULL);
  SAY(errno == ENOTDIR);
  close(fd);
  SAY(fdopendir(999) == NULL);
  SAY(errno == EBADF);
}

static void fill(int count) {
  fresh();
  for (int i = 0; i < count; i++) {
    char name[16];
    snprintf(name, sizeof name, "n%04d", i);
    make(name, "");
  }
}

static void positions(void) {
  printf("-- telldir, seekdir, rewinddir\n");
  static const int counts[] = {0, 1, 10, 500, 2000};
  for (int c = 0; c < COUNT(counts); c++) {
    fill(counts[c]);
    DIR *stream = opendir(".");
    read_some(stream, 4000);
    rewinddir(stream);
    read_some(stream, 4000);
    rewinddir(stream);
    /* The name after each position must be the same when one returns to it. */
    static long places[3000];
    static char after[3000][16];
    int count = 0, same = 0;
    for (struct dirent *entry;;) {
      places[count] = telldir(stream);
      if ((entry = readdir(stream)) == NULL) break;
      snprintf(after[count++], sizeof *after, "%.15s", entry->d_name);
    }
    for (int i = count - 1; i >= 0; i -= i > 50 ? 7 : 1) {
      seekdir(stream, places[i]);
      struct dirent *entry = readdir(stream);
      if (entry != NULL && strcmp(entry->d_name, after[i]) == 0) same++;
    }
    printf("%d names, %d returns right\n", count, same);
    seekdir(stream, places[count]);
    SAY(readdir(stream) == NULL);
    SAY(closedir(stream));
  }
}

static void changes(void) {
  printf("-- names that come and go\n");
  fill(300);
  DIR *stream = opendir(".");
  int seen[400] = {0}, others = 0;
  struct dirent *entry;
  /* Remove each name as soon as it was read, as rm does. */
  while ((entry = readdir(stream)) != NULL) {
    if (entry->d_name[0] != 'n') continue;
    seen[atoi(entry->d_name + 1)]++;
    if (unlink(entry->d_name) != 0) printf("unlink %s: %s\n", entry->d_name, errno_name(errno));
  }
  int once = 0;
  for (int i = 0; i < 300; i++) once += seen[i] == 1;
  printf("%d of 300 names seen once\n", once);
  rewinddir(stream);
  read_some(stream, 100);
  closedir(stream);
  SAY(rmdir("none"));
  /* Names that stay are seen once, whatever else comes and goes. */
  fill(300);
  memset(seen, 0, sizeof seen);
  stream = opendir(".");
  for (int step = 0; (entry = readdir(stream)) != NULL; step++) {
    char name[24];
    if (entry->d_name[0] == 'n') seen[atoi(entry->d_name + 1)]++;
    if (entry->d_name[0] == 'x') others++;
    if (step < 1000) {
      snprintf(name, sizeof name, "x%04d", step * 7919 % 1000);
      make(name, "");
      snprintf(name, sizeof name, "n%04d", step * 2 % 300 + 1);
      if (step % 3 == 0) unlink(name);
    }
  }
  int stayed = 0, twice = 0;
  for (int i = 0; i < 300; i += 2) stayed += seen[i] == 1;
  for (int i = 0; i < 300; i++) twice += seen[i] > 1;
  printf("%d of 150 that stayed, %d seen twice\n", stayed, twice);
  closedir(stream);
  (void)others;
  /* A stream opened before sees what was made before its first read. */
  fill(3);
  stream = opendir(".");
  make("late", "");
  rewinddir(stream);
  read_some(stream, 100);
  SAY(unlink("n0001"));
  rewinddir(stream);
  read_some(stream, 100);
  closedir(stream);
  int fd = open(".", O_RDONLY | O_DIRECTORY);
  stream = fdopendir(fd);
  SAY(dirfd(stream) == fd);
  read_some(stream, 100);
  closedir(stream);
  SAY(close(fd));
}

#if !WASI
static int visits;
static uint32_t visited;

static int visit(const char *path, const struct stat *stat, int type, struct FTW *place) {
  (void)stat;
  /* C libraries have different numbers for the types. */
  static const int types[] = {FTW_F, FTW_D, FTW_DNR, FTW_DP, FTW_NS, FTW_SL, FTW_SLN};
  int kind = 0;
  while (types[kind] != type) kind++;
  visits++;
  /* The order is the directory's affair: add up. */
  visited += hash(path, strlen(path)) * (uint32_t)(kind * 31 + place->level * 7 + place->base + 1);
  return 0;
}

static int delete(const char *path, const struct stat *stat, int type, struct FTW *place) {
  (void)stat, (void)type, (void)place;
  return strcmp(path, ".") == 0 ? 0 : remove(path);
}

static int stop_at_third(const char *path, const struct stat *stat, int type, struct FTW *place) {
  (void)path, (void)stat, (void)type, (void)place;
  return ++visits == 3 ? 42 : 0;
}

static void walks(void) {
  printf("-- nftw\n");
  populate();
  unlink("loop"), unlink("loop-2"), unlink("to-dir"); /* which some refuse, and others visit */
  static const int flags[] = {0, FTW_PHYS, FTW_DEPTH, FTW_PHYS | FTW_DEPTH};
  for (int i = 0; i < COUNT(flags); i++) {
    for (int limit = 10; limit <= 20; limit += 10) {
      visits = 0, visited = 0;
      int rc = nftw(".", visit, limit, flags[i]);
      printf("nftw with flags %d: %d, %d visits, sum %u\n", i, rc, visits, visited);
    }
  }
  visits = 0;
  SAY(nftw(".", stop_at_third, 10, FTW_PHYS));
  SAY(nftw("none", visit, 10, FTW_PHYS));
  SAY(nftw(".", delete, 10, FTW_PHYS | FTW_DEPTH));
  show_tree();
}
#endif

static int only_n(const struct dirent *entry) {
  return entry->d_name[0] == 'n';
}

static void scans(void) {
  printf("-- scandir\n");
  fill(50);
  make("other", "");
  struct dirent **list;
#if !WASI
  int count = scandir(".", &list, only_n, alphasort);
#else
  int count = scandir(".", &list, only_n, (int (*)(const struct dirent **, const struct dirent **))alphasort);
#endif
  printf("%d\n", count);
  for (int i = 0; i < count; i++) {
    if (i % 10 == 0) printf("  %s\n", list[i]->d_name);
    free(list[i]);
  }
  free(list);
  SAY(scandir("none", &list, only_n, alphasort));
  SAY(scandir("other", &list, only_n, alphasort));
}

static void working_directories(void) {
  printf("-- working directories\n");
  populate();
  static char top[PATH_MAX];
  getcwd(top, sizeof top);
#if !WASI
  static char now[PATH_MAX];
  size_t skip = strcmp(top, "/") == 0 ? 0 : strlen(top);
#endif
  static const char *const steps[] = {"dir", "sub", "..", "../dir/./sub", ".", "../..", "to-dir", "..", "to-dir/sub",
      "../inner", "none", "../../to-dir/up", "../..", "empty", "../empty/", "..", "loop", "dangling", "dir/up"};
  for (int i = 0; i < COUNT(steps); i++) {
    int rc = chdir(steps[i]);
    printf("chdir \"%s\": %s", steps[i], outcome(rc));
#if !WASI /* its getcwd returns the steps, one behind the other */
    const char *in = getcwd(now, sizeof now) == NULL ? errno_name(errno) : strcmp(now, top) == 0 ? "top" : now + skip;
    printf(", in %s", in);
#endif
    struct stat stat;
    printf(", inner %s", outcome(lstat("inner", &stat)));
    printf(", deep %s", outcome(lstat("dir/inner", &stat)));
    if (lstat("to-dir", &stat) != 0) printf(", ../file %s", outcome(lstat("../file", &stat)));
    printf("\n");
  }
  SAY(chdir(top));
  char small[2];
  SAY(getcwd(small, 1) == NULL);
  SAY(errno == ERANGE);
  SAY(mkdir("gone", 0777));
  SAY(chdir("gone"));
  make("here", "made by a relative path");
  show("here");
  show("../gone/here");
  SAY(unlink("here"));
  SAY(chdir(".."));
  SAY(chdir("gone"));
  SAY(chdir(top));
#if !WASI
  int fd = open("dir", O_RDONLY | O_DIRECTORY);
  SAY(fchdir(fd));
  SAY(access("inner", F_OK));
  close(fd);
  fd = open("inner", O_RDONLY);
  SAY(fchdir(fd));
  close(fd);
  SAY(fchdir(999));
  SAY(chdir(top));
#endif
}

static void counts(void) {
  printf("-- link counts and sizes\n");
  fresh();
  struct stat stat;
  mkdir("d", 0777);
  make("d/f", "f");
  mkdir("d/e", 0777);
  mkdir("d/g", 0777);
  SAY(fstatat(AT_FDCWD, "d", &stat, 0));
  SAY(stat.st_nlink);
  rename("d/g", "g");
  fstatat(AT_FDCWD, "d", &stat, 0);
  SAY(stat.st_nlink);
  rmdir("d/e");
  fstatat(AT_FDCWD, "d", &stat, 0);
  SAY(stat.st_nlink);
  SAY(rmdir("d"));
  SAY(unlink("d"));
  SAY(unlink("d/f"));
  SAY(rmdir("d/f"));
  SAY(rmdir("d"));
  SAY(mkdir("g", 0777));
  SAY(mkdir("g/h/i", 0777));
  SAY(rmdir("."));
  SAY(rmdir("g/."));
  SAY(rmdir("g/.."));
}

int main(void) {
  kinds();
  positions();
  changes();
#if !WASI
  walks();
#endif
  scans();
  working_directories();
  counts();
  return 0;
}
