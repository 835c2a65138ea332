/* names: rename, link, unlink and symlink, of everything over everything. */
#include "transcript.h"

static const char *const things[] = {"none", "file", "other", "hard-1", "hard-2", "dir", "dir/inner", "dir/sub",
    "dir/sub/deep", "empty", "empty-2", "to-file", "to-dir", "to-dir/sub", "dangling", "loop", "dir/new", "dir/sub/new",
    "empty/new", "file/new", "none/new", "to-dir/new", "dangling/new", ".", "dir/.", "dir/..", "empty/.", "dir/",
    "empty/", "none/", "file/", "to-dir/", "dir/sub/../../empty"};

static void set_up(void) {
  populate();
  make("other", "other text");
  make("hard-1", "hard");
  link("hard-1", "hard-2");
  mkdir("dir/sub/deep", 0777);
  mkdir("empty-2", 0777);
}

static int rename_to(const char *from, const char *to) {
  return rename(from, to);
}
static int link_to(const char *from, const char *to) {
  return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}
static int link_followed(const char *from, const char *to) {
  return linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW);
}

static void pairs(const char *name, int (*call)(const char *from, const char *to)) {
  int changed = 1;
  for (int from = 0; from < COUNT(things); from++) {
    for (int to = 0; to < COUNT(things); to++) {
      if (changed) set_up();
      int rc = call(things[from], things[to]);
      printf("%s %s %s: %s\n", name, things[from], things[to], outcome(rc));
      changed = rc == 0;
      if (changed) show_tree();
    }
  }
  set_up();
  show_tree();
}

static void open_while_unlinked(void) {
  printf("-- unlinked while open\n");
  fresh();
  char text[20] = "";
  struct stat stat;
  make("f", "contents");
  int fd = open("f", O_RDWR);
  SAY(link("f", "g"));
  SAY(fstat(fd, &stat));
  SAY(stat.st_nlink);
  SAY(unlink("f"));
  SAY(unlink("g"));
  SAY(fstat(fd, &stat));
  SAY(stat.st_nlink);
  SAY(read(fd, text, 19));
  SAY(write(fd, " more", 5));
  SAY(ftruncate(fd, 10));
  SAY(lseek(fd, 0, SEEK_END));
  make("f", "new");
  SAY(pread(fd, text, 19, 0));
  printf("  %s\n", text);
  show("f");
  SAY(close(fd));
  SAY(mkdir("d", 0777));
  int dir = open("d", O_RDONLY | O_DIRECTORY);
  SAY(rmdir("d"));
  SAY(fstat(dir, &stat));
  SAY(stat.st_nlink);
  OPENS(openat(dir, "x", O_CREAT | O_RDWR, 0666));
  SAY(mkdirat(dir, "x", 0777));
  SAY(symlinkat("x", dir, "y"));
  SAY(fstatat(dir, ".", &stat, 0));
  DIR *stream = fdopendir(dir);
  SAY(stream != NULL);
  int count = 0;
  while (stream != NULL && readdir(stream) != NULL) count++;
  SAY(count);
  SAY(closedir(stream));
  make("victim", "victim");
  fd = open("victim", O_RDONLY);
  SAY(rename("f", "victim"));
  memset(text, 0, sizeof text);
  SAY(read(fd, text, 19));
  printf("  %s\n", text);
  SAY(fstat(fd, &stat));
  SAY(stat.st_nlink);
  SAY(close(fd));
}

static void moved_while_open(void) {
  printf("-- moved while open\n");
  populate();
  int dir = open("dir", O_RDONLY | O_DIRECTORY), sub = open("dir/sub", O_RDONLY | O_DIRECTORY);
  struct stat stat;
  SAY(rename("dir/sub", "moved"));
  SAY(mkdirat(sub, "made", 0777));
  SAY(fstatat(sub, "../file", &stat, 0));
  SAY(fstatat(sub, "../inner", &stat, 0));
  SAY(rename("dir", "moved/dir"));
  SAY(fstatat(dir, "../made", &stat, 0));
  SAY(fstatat(dir, "../../file", &stat, 0));
  SAY(renameat(dir, "inner", sub, "inner-2"));
  SAY(renameat(sub, "dir", sub, "dir/x"));
  SAY(renameat(sub, ".", dir, "x"));
  SAY(linkat(sub, "inner-2", dir, "hard", 0));
  show_tree();
  close(dir), close(sub);
}

static void symlinks(void) {
  printf("-- symlinks\n");
  fresh();
  static char text[4200], target[4200];
  static const size_t lengths[] = {0, 1, 4094, 4095, 4096};
  for (int i = 0; i < COUNT(lengths); i++) {
    memset(target, 't', sizeof target);
    target[lengths[i]] = '\0';
    unlink("l");
    printf("symlink of %zu bytes: %s\n", lengths[i], outcome(symlink(target, "l")));
    struct stat stat;
    if (lstat("l", &stat) == 0) printf("  %lld\n", (long long)stat.st_size);
    static const size_t rooms[] = {1, 5, 4095, 4200};
    for (int k = 0; k < COUNT(rooms); k++) {
      memset(text, '#', sizeof text);
      ssize_t got = readlink("l", text, rooms[k]);
      printf("  readlink into %zu: %zd, then %c\n", rooms[k], got, got >= 0 && got < 4200 ? text[got] : '-');
    }
  }
  unlink("l");
  SAY(symlink("l", "l"));
  SAY(symlink("x", "l"));
  SAY(readlink(".", text, 10));
  SAY(readlink("none", text, 10));
  /* Chains of links: how many are followed. */
  fresh();
  make("l0", "end");
  for (int i = 1; i <= 45; i++) {
    char from[8], to[8];
    snprintf(from, sizeof from, "l%d", i - 1);
    snprintf(to, sizeof to, "l%d", i);
    symlink(from, to);
    int fd = open(to, O_RDONLY);
    if (i > 35) printf("chain of %d: %s\n", i, outcome(fd));
    if (fd >= 0) close(fd);
  }
  fresh();
  mkdir("d", 0777);
  symlink(".", "d/self");
  make("d/f", "f");
  char path[500] = "d";
  for (int i = 1; i <= 45; i++) {
    strcat(path, "/self");
    struct stat stat;
    int rc = lstat(path, &stat);
    if (i > 35) printf("%d links on the way: %s", i, outcome(rc));
    if (rc == 0 && i > 35) printf(" %c", kind_of(stat.st_mode));
    if (i > 35) printf("\n");
  }
}

int main(void) {
  pairs("rename", rename_to);
  pairs("link", link_to);
  pairs("link followed", link_followed);
  open_while_unlinked();
  moved_while_open();
  symlinks();
  return 0;
}
