/* open: every combination of flags on every kind of name, and what the file is afterwards. */
#include "transcript.h"

static const struct {
  int flag;
  const char *name;
} flags[] = {{O_CREAT, "CREAT"}, {O_EXCL, "EXCL"}, {O_TRUNC, "TRUNC"}, {O_APPEND, "APPEND"}, {O_DIRECTORY, "DIRECTORY"},
    {O_NOFOLLOW, "NOFOLLOW"}};
static const struct {
  int mode;
  const char *name;
} modes[] = {{O_RDONLY, "RDONLY"}, {O_WRONLY, "WRONLY"}, {O_RDWR, "RDWR"}};
static const char *const subjects[] = {"none", "file", "dir", "to-file", "to-dir", "dangling", "dangling-deep", "loop",
    "none/x", "file/x", "file/", "none/", "dir/", "to-dir/"};

/* What one may do by a descriptor of this mode. */
static void use(int fd) {
  char buffer[16] = "";
  struct stat stat;
  if (fstat(fd, &stat) != 0) printf(" fstat %s", errno_name(errno));
  printf(" %c%lld", kind_of(stat.st_mode), S_ISDIR(stat.st_mode) ? 0 : (long long)stat.st_size);
  ssize_t got = read(fd, buffer, 3);
  if (got < 0) printf(" read %s", errno_name(errno));
  else printf(" read %zd", got);
  got = write(fd, "+", 1);
  printf(" write %s", outcome(got));
  off_t at = lseek(fd, 0, SEEK_CUR);
  if (!S_ISDIR(stat.st_mode)) printf(" at %lld", (long long)at);
  printf(" close %s", outcome(close(fd)));
}

int main(void) {
  for (int subject = 0; subject < COUNT(subjects); subject++) {
    for (int set = 0; set < 1 << COUNT(flags); set++) {
      for (int mode = 0; mode < COUNT(modes); mode++) {
        int all = modes[mode].mode;
        printf("open %s %s", subjects[subject], modes[mode].name);
        for (int i = 0; i < COUNT(flags); i++) {
          if (!(set & 1 << i)) continue;
          printf("|%s", flags[i].name);
          all |= flags[i].flag;
        }
        /* Undefined, or different between Linux's versions. */
        if ((all & O_TRUNC && modes[mode].mode == O_RDONLY) || (all & O_EXCL && !(all & O_CREAT)) ||
            (all & O_CREAT && all & O_DIRECTORY)) {
          printf(": left out\n");
          continue;
        }
        populate();
        int fd = open(subjects[subject], all, 0666);
        if (fd < 0) {
          printf(": %s\n", errno_name(errno));
          continue;
        }
        printf(":");
        use(fd);
        printf("\n");
        show(subjects[subject]);
        if (access("none", F_OK) == 0) printf("  none exists\n");
      }
    }
  }
  return 0;
}
