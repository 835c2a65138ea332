/*
 * transcript: what the test programs of this folder share. Each prints what every call returned, and errno's name.
 * The same program, built natively and run in an empty folder, prints what is right. So a transcript must hold nothing
 * that differs from run to run: no inode numbers, no times, no numbers of descriptors.
 *
 * A program is one file, knows nothing of Plait, and starts in an empty working directory.
 */
#ifndef TRANSCRIPT_H
#define TRANSCRIPT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* For what wasi-libc does not have, whatever is beneath it. The native build to compare with leaves it out, too. */
#ifndef WASI
#ifdef __wasi__
#define WASI 1
#else
#define WASI 0
#endif
#endif

#ifdef __EMSCRIPTEN__
/* Its root directory is not empty: it has /dev, /home and /tmp. */
__attribute__((constructor)) static void enter_empty_folder(void) {
  mkdir("/work", 0777);
  chdir("/work");
}
#endif

/*
 * Before the paths of threads. A C library may make absolute ones of relative ones in a buffer that all threads share.
 */
#ifndef HERE
#define HERE ""
#endif

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static const char *errno_name(int error) {
  static const struct {
    int error;
    const char *name;
  } names[] = {
#define NAME(error) {error, #error}
      NAME(EACCES),
      NAME(EAGAIN),
      NAME(EBADF),
      NAME(EBUSY),
      NAME(EDEADLK),
      NAME(EEXIST),
      NAME(EFAULT),
      NAME(EFBIG),
      NAME(EINTR),
      NAME(EINVAL),
      NAME(EIO),
      NAME(EISDIR),
      NAME(ELOOP),
      NAME(EMFILE),
      NAME(EMLINK),
      NAME(ENAMETOOLONG),
      NAME(ENFILE),
      NAME(ENODEV),
      NAME(ENOENT),
      NAME(ENOLCK),
      NAME(ENOMEM),
      NAME(ENOSPC),
      NAME(ENOSYS),
      NAME(ENOTDIR),
      NAME(ENOTEMPTY),
      NAME(ENOTSUP),
      NAME(ENOTTY),
      NAME(ENXIO),
      NAME(EOVERFLOW),
      NAME(EPERM),
      NAME(EPIPE),
      NAME(ERANGE),
      NAME(EROFS),
      NAME(ESPIPE),
      NAME(ESRCH),
      NAME(ETXTBSY),
      NAME(EXDEV),
#undef NAME
  };
  for (int i = 0; i < COUNT(names); i++)
    if (names[i].error == error) return names[i].name;
  static char other[32];
  snprintf(other, sizeof other, "errno %d", error);
  return other;
}

/* The call's text, its result, and errno's name if the result is -1. */
#define SAY(call) (errno = 0, say(#call, (long long)(call)))

__attribute__((unused)) static long long say(const char *what, long long result) {
  if (result == -1) printf("%s: %s\n", what, errno_name(errno));
  else printf("%s: %lld\n", what, result);
  return result;
}

/* The same for a call whose result is a descriptor or a pointer. */
#define OPENS(call) (errno = 0, opens(#call, (call)))

__attribute__((unused)) static int opens(const char *what, int fd) {
  printf("%s: %s\n", what, fd >= 0 ? "ok" : errno_name(errno));
  return fd;
}

/* A function's result in a longer line: "ok" or errno's name. */
__attribute__((unused)) static const char *outcome(long long result) {
  return result == -1 ? errno_name(errno) : "ok";
}

__attribute__((unused)) static void make(const char *path, const char *text) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd) != 0)
    printf("make %s: %s\n", path, errno_name(errno));
}

__attribute__((unused)) static uint32_t hash(const void *bytes, size_t length) {
  uint32_t sum = 2166136261u;
  for (size_t i = 0; i < length; i++) sum = (sum ^ ((const uint8_t *)bytes)[i]) * 16777619u;
  return sum;
}

/* Prints bytes: text as it is, others as numbers, a run of the same as one. */
__attribute__((unused)) static void bytes(const char *from, size_t length) {
  for (size_t i = 0; i < length;) {
    size_t run = 1;
    while (i + run < length && from[i + run] == from[i]) run++;
    if (from[i] >= ' ' && from[i] < 127) printf("%c", from[i]);
    else printf("\\%d", (unsigned char)from[i]);
    if (run > 3) printf("{%zu}", run);
    i += run > 3 ? run : 1;
  }
}

/* Prints a file's contents. */
__attribute__((unused)) static void show(const char *path) {
  printf("  %s = ", path);
  int fd = open(path, O_RDONLY);
  if (fd < 0) {
    printf("%s\n", errno_name(errno));
    return;
  }
  static char buffer[1 << 16];
  size_t length = 0;
  ssize_t got;
  while (length < sizeof buffer && (got = read(fd, buffer + length, sizeof buffer - length)) > 0) length += (size_t)got;
  bytes(buffer, length);
  printf(" (%zu)\n", length);
  close(fd);
}

static char kind_of(mode_t mode) {
  return S_ISREG(mode) ? 'f' : S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'l' : S_ISCHR(mode) ? 'c' : '?';
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in an open directory, sorted, without "." and ".."; the caller frees. Closes the descriptor. */
static char **names_in(int fd, int *count) {
  char **names = NULL;
  *count = 0;
  DIR *stream = fdopendir(fd);
  if (stream == NULL) {
    close(fd);
    return NULL;
  }
  for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    names = realloc(names, sizeof *names * (size_t)(*count + 1));
    names[(*count)++] = strdup(entry->d_name);
  }
  closedir(stream);
  if (names != NULL) qsort(names, (size_t)*count, sizeof *names, by_name);
  return names;
}

__attribute__((unused)) static void show_tree_at(int parent, const char *name, int depth) {
  int count, fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (fd < 0) {
    printf("%*s%s: %s\n", depth * 2, "", name, errno_name(errno));
    return;
  }
  int again = openat(fd, ".", O_RDONLY | O_DIRECTORY);
  char **names = names_in(again, &count);
  for (int i = 0; i < count; i++) {
    struct stat stat;
    if (fstatat(fd, names[i], &stat, AT_SYMLINK_NOFOLLOW) != 0) {
      printf("%*s%s: %s\n", depth * 2, "", names[i], errno_name(errno));
    } else if (S_ISDIR(stat.st_mode)) {
      printf("%*s%s/\n", depth * 2, "", names[i]);
      show_tree_at(fd, names[i], depth + 1);
    } else {
      char text[64] = "";
      ssize_t length = S_ISLNK(stat.st_mode) ? readlinkat(fd, names[i], text, sizeof text - 1) : 0;
      printf("%*s%s %c %lld links %d%s%.*s\n", depth * 2, "", names[i], kind_of(stat.st_mode), (long long)stat.st_size,
          (int)stat.st_nlink, length > 0 ? " -> " : "", (int)length, text);
    }
    free(names[i]);
  }
  free(names);
  close(fd);
}

/* Prints all that is beneath the working directory. */
__attribute__((unused)) static void show_tree(void) {
  show_tree_at(AT_FDCWD, ".", 1);
}

/* Removes a directory's contents, by descriptors only: so it works at any depth that descriptors allow. */
static void empty_at(int parent, const char *name) {
  int count, fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (fd < 0) return;
  char **names = names_in(openat(fd, ".", O_RDONLY | O_DIRECTORY), &count);
  for (int i = 0; i < count; i++) {
    struct stat stat;
    int is_directory = fstatat(fd, names[i], &stat, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(stat.st_mode);
    if (is_directory) empty_at(fd, names[i]);
    if (unlinkat(fd, names[i], is_directory ? AT_REMOVEDIR : 0) != 0)
      printf("cannot remove %s: %s\n", names[i], errno_name(errno));
    free(names[i]);
  }
  free(names);
  close(fd);
}

/* Empties the working directory. */
__attribute__((unused)) static void fresh(void) {
  empty_at(AT_FDCWD, ".");
}

/* A file, a directory with a file, and links to each: what most tests begin with. */
__attribute__((unused)) static void populate(void) {
  fresh();
  make("file", "contents");
  mkdir("dir", 0777);
  make("dir/inner", "inner");
  mkdir("dir/sub", 0777);
  mkdir("empty", 0777);
  symlink("file", "to-file");
  symlink("dir", "to-dir");
  symlink("none", "dangling");
  symlink("loop-2", "loop");
  symlink("loop", "loop-2");
  symlink("none/deeper", "dangling-deep");
  symlink("../file", "dir/up");
}

#endif
