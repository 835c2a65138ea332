/* paths: every call that takes a path, on every kind of path, from every kind of directory descriptor. */
#include "transcript.h"

static char name255[256], name256[257], slashes[300], path4095[4096], path4096[4097];
static const char *const short_paths[] = {"", "/", ".", "..", "./", "../", "file", "file/", "file/.", "file/..",
    "file/x", "dir", "dir/", "dir/.", "dir/..", "dir/../file", "dir/inner", "dir/sub/..", "dir/sub/../inner",
    "dir//inner", "./file", "dir/./inner", "none", "none/", "none/x", "none/../file", "none/.", "to-file", "to-file/",
    "to-file/x", "to-dir", "to-dir/", "to-dir/.", "to-dir/inner", "to-dir/../file", "to-dir/up", "dir/up", "dangling",
    "dangling/", "dangling/x", "dangling-deep", "loop", "loop/", "loop/x", "empty", "empty/", "empty/.", "empty/..",
    "inner", "sub", "up"};
static const char *paths[COUNT(short_paths) + 5];

enum { CWD, TOP, DIRECTORY, PLAIN, CLOSED, REMOVED, BASES };
static const char *const base_names[BASES] = {"cwd", "top", "dir", "file", "closed", "removed"};
static int bases[BASES];

static void open_bases(void) {
  mkdir("removed", 0777);
  bases[CWD] = AT_FDCWD;
  bases[TOP] = open(".", O_RDONLY | O_DIRECTORY);
  bases[DIRECTORY] = open("dir", O_RDONLY | O_DIRECTORY);
  bases[PLAIN] = open("file", O_RDONLY);
  bases[CLOSED] = 999;
  bases[REMOVED] = open("removed", O_RDONLY | O_DIRECTORY);
  rmdir("removed");
}

static void close_bases(void) {
  close(bases[TOP]);
  close(bases[DIRECTORY]);
  close(bases[PLAIN]);
  close(bases[REMOVED]);
}

static const char *shown(const char *path) {
  static char text[32];
  if (strlen(path) <= 30) return path;
  snprintf(text, sizeof text, "%zu bytes", strlen(path));
  return text;
}

static void do_stat(int base, const char *path, int flags) {
  struct stat stat;
  int rc = fstatat(base, path, &stat, flags);
  if (rc != 0) printf("%s", errno_name(errno));
  else printf("%c%lld", kind_of(stat.st_mode), S_ISDIR(stat.st_mode) ? 0 : (long long)stat.st_size);
}

static int changed;

static void call(int which, int base, const char *path) {
  char text[64] = "";
  ssize_t length;
  int fd;
  changed = 1;
  switch (which) {
    case 0: printf("fstatat: "), do_stat(base, path, 0), changed = 0; break;
    case 1: printf("fstatat NOFOLLOW: "), do_stat(base, path, AT_SYMLINK_NOFOLLOW), changed = 0; break;
    case 2:
      fd = openat(base, path, O_RDONLY);
      printf("openat: %s", outcome(fd));
      if (fd >= 0) close(fd);
      changed = 0;
      break;
    case 3:
      fd = openat(base, path, O_RDWR | O_CREAT, 0666);
      printf("openat CREAT: %s", outcome(fd));
      if (fd >= 0) close(fd);
      break;
    case 4: printf("mkdirat: %s", outcome(mkdirat(base, path, 0777))); break;
    case 5: printf("unlinkat: %s", outcome(unlinkat(base, path, 0))); break;
    case 6: printf("unlinkat REMOVEDIR: %s", outcome(unlinkat(base, path, AT_REMOVEDIR))); break;
    case 7: printf("renameat from: %s", outcome(renameat(base, path, AT_FDCWD, "empty/new"))); break;
    case 8: printf("renameat file to: %s", outcome(renameat(AT_FDCWD, "file", base, path))); break;
    case 9: printf("renameat dir to: %s", outcome(renameat(AT_FDCWD, "dir", base, path))); break;
    case 10: printf("linkat from: %s", outcome(linkat(base, path, AT_FDCWD, "empty/new", 0))); break;
    case 11:
      printf("linkat from FOLLOW: %s", outcome(linkat(base, path, AT_FDCWD, "empty/new", AT_SYMLINK_FOLLOW)));
      break;
    case 12: printf("linkat to: %s", outcome(linkat(AT_FDCWD, "file", base, path, 0))); break;
    case 13: printf("symlinkat: %s", outcome(symlinkat("target", base, path))); break;
    case 14:
      length = readlinkat(base, path, text, sizeof text);
      if (length < 0) printf("readlinkat: %s", errno_name(errno));
      else printf("readlinkat: %.*s", (int)length, text);
      changed = 0;
      break;
    case 15: printf("faccessat: %s", outcome(faccessat(base, path, R_OK, 0))), changed = 0; break;
    case 16: printf("utimensat: %s", outcome(utimensat(base, path, NULL, 0))), changed = 0; break;
    case 17:
      printf("utimensat NOFOLLOW: %s", outcome(utimensat(base, path, NULL, AT_SYMLINK_NOFOLLOW))), changed = 0;
      break;
  }
}

#define CALLS 18

/* The tree in one line: names, kinds and sizes. */
static void describe(int parent, const char *name, char *to, size_t room) {
  int count, fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  char **names = names_in(openat(fd, ".", O_RDONLY | O_DIRECTORY), &count);
  for (int i = 0; i < count; i++) {
    struct stat stat;
    size_t used = strlen(to);
    if (fstatat(fd, names[i], &stat, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISDIR(stat.st_mode)) {
      snprintf(to + used, room - used, " %s(", shown(names[i]));
      describe(fd, names[i], to, room);
      used = strlen(to);
      snprintf(to + used, room - used, " )");
    } else {
      snprintf(to + used, room - used, " %s", shown(names[i]));
      if (S_ISREG(stat.st_mode))
        snprintf(to + strlen(to), room - strlen(to), ":%lld*%d", (long long)stat.st_size, (int)stat.st_nlink);
    }
    free(names[i]);
  }
  free(names);
  close(fd);
}

static char before[1 << 14], after[1 << 14];

static void compare(void) {
  after[0] = '\0';
  describe(AT_FDCWD, ".", after, sizeof after);
  if (strcmp(before, after) != 0) printf(" ->%s", after);
}

static void set_up(void) {
  populate();
  open_bases();
  before[0] = '\0';
  describe(AT_FDCWD, ".", before, sizeof before);
  changed = 0;
}

int main(void) {
  memset(name255, 'n', 255);
  memset(name256, 'n', 256);
  memset(slashes, '/', sizeof slashes - 5);
  memcpy(slashes, "dir", 3);
  strcpy(slashes + sizeof slashes - 6, "inner");
  for (size_t i = 0; i + 7 <= sizeof path4095; i += 7) memcpy(path4095 + i, "dir/../", 7); /* 585 times: 4095 bytes */
  memcpy(path4095 + 4088, "//inner", 7), memcpy(path4095 + 4081, "dir////", 7);
  memcpy(path4096, "/", 1), memcpy(path4096, path4095, 4090), memcpy(path4096 + 4090, "/inner", 6);
  memcpy(paths, short_paths, sizeof short_paths);
  const char *const long_paths[] = {name255, name256, slashes, path4095, path4096};
  memcpy(paths + COUNT(short_paths), long_paths, sizeof long_paths);
  set_up();
  for (int base = 0; base < BASES; base++) {
    for (int which = 0; which < CALLS; which++) {
      for (int i = 0; i < COUNT(paths); i++) {
        if (changed) {
          close_bases();
          set_up();
        }
        printf("%s, \"%s\": ", base_names[base], shown(paths[i]));
        call(which, bases[base], paths[i]);
        if (changed) compare();
        printf("\n");
      }
    }
  }
  close_bases();
  for (int i = 0; i < COUNT(paths); i++) {
    populate();
    printf("\"%s\": truncate %s", shown(paths[i]), outcome(truncate(paths[i], 3)));
    DIR *stream = opendir(paths[i]);
    printf(", opendir %s", outcome(stream == NULL ? -1 : 0));
    if (stream != NULL) closedir(stream);
    printf(", access %s", outcome(access(paths[i], W_OK)));
    FILE *file = fopen(paths[i], "r");
    printf(", fopen r %s", outcome(file == NULL ? -1 : 0));
    if (file != NULL) fclose(file);
    file = fopen(paths[i], "r+");
    printf(", fopen r+ %s", outcome(file == NULL ? -1 : 0));
    if (file != NULL) fclose(file);
    printf(", remove %s\n", outcome(remove(paths[i])));
  }
  return 0;
}
