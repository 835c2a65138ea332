/*
 * backend_posix: the steps of backends in native builds: directories of the host, through openat(2) and its kin. The
 * text of a mount is the path of its directory.
 *
 * Invariants
 * - A name is only ever given to the system together with the descriptor of its directory, and never followed. What the
 *   system can only do to the target of a link is done through /proc/self/fd, to what was opened without following.
 * - The root's descriptor is opened for each step, so nothing remains of a mount that was removed.
 * - What is entered or open belongs to the calling thread. A file that another thread has opened is opened again from
 *   that thread's descriptor, if the descriptor is still this file.
 */
#ifdef __linux__
#define _GNU_SOURCE
#include "backend.h"
#include "internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define OWN_PATH sizeof "/proc/self/fd/2147483647"
#define MOST_ENTERED PLAIT_FS_PATH_MAX /* two walks */

/* A file that this thread has open for a descriptor of the space. */
struct file {
  int fd;
  uint32_t uses;
  int host, append;
  DIR *listing;        /* a directory that is being read */
  uint64_t next;       /* the cookie of its next name */
  struct file *behind; /* in `files` */
};

/* A name in a directory, for the system. */
struct where {
  int directory; /* AT_FDCWD: `name` is the directory's own path */
  int root;      /* descriptor to be closed, or -1 */
  char name[PLAIT_FS_NAME_MAX + OWN_PATH];
};

static _Thread_local int entered[MOST_ENTERED];
static _Thread_local uint8_t is_borrowed[MOST_ENTERED]; /* entered by start(): the file's own descriptor */
static _Thread_local uint32_t entered_count;
static _Thread_local struct file *files;

static int result_of(int rc) {
  return rc < 0 ? -errno : rc;
}

/* Opens the directory of the mount. */
static int open_root(uint32_t number) {
  struct plait_fs *fs = plait_fs();
  char path[PLAIT_FS_PATH_MAX];
  int rc = plait__fs_acquire(&fs->rename);
  if (rc != 0) return rc;
  struct plait_fs_mount *mount = plait__fs_mount_of(number);
  if (mount == NULL) {
    rc = -PLAIT_ESTALE;
  } else {
    uint32_t place = plait_get(&mount->place), length = plait_get(&mount->length) - place;
    if (length >= sizeof path) rc = -PLAIT_ENAMETOOLONG;
    else memcpy(path, (const uint8_t *)mount->text + place, length), path[length] = 0;
  }
  plait_lock_release(&fs->rename);
  return rc != 0 ? rc : result_of(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

static void own_path(char *to, int fd) {
  snprintf(to, OWN_PATH, "/proc/self/fd/%d", fd);
}

/* Finds the name, or the directory itself. The caller calls done(). */
static int find(struct where *where, PLAIT_STEP_NAME) {
  where->root = -1;
  if (length > PLAIT_FS_NAME_MAX || directory > entered_count) return -PLAIT_EINVAL;
  if (length != 0 && memchr(name, 0, length) != NULL) return -PLAIT_EINVAL;
  if (directory == 0 && (where->root = open_root(mount)) < 0) return where->root;
  where->directory = directory == 0 ? where->root : entered[directory - 1];
  memcpy(where->name, length == 0 ? (const uint8_t *)"" : name, length);
  where->name[length] = 0;
  if (length == 0) own_path(where->name, where->directory), where->directory = AT_FDCWD;
  return 0;
}

/* Ends a step: the result of a call of the system as the step's. */
static int done(struct where *where, int rc) {
  rc = result_of(rc);
  if (where->root >= 0) close(where->root);
  return rc;
}

static int is_itself(const struct where *where) {
  return where->directory == AT_FDCWD;
}

static int no_follow(const struct where *where) {
  return is_itself(where) ? 0 : AT_SYMLINK_NOFOLLOW;
}

/* ---- attributes ---- */

static uint32_t kind_of(uint32_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG: return PLAIT_FS_FILE;
    case S_IFDIR: return PLAIT_FS_DIRECTORY;
    case S_IFLNK: return PLAIT_FS_SYMLINK;
    case S_IFIFO: return PLAIT_FS_FIFO;
    case S_IFSOCK: return PLAIT_FS_SOCKET;
    case S_IFBLK: return PLAIT_FS_BLOCKS;
    default: return PLAIT_FS_CHARACTERS;
  }
}

static uint64_t nanoseconds(struct statx_timestamp time) {
  return (uint64_t)(time.tv_sec * 1000000000 + time.tv_nsec);
}

/* Reports what the path is, or with an empty one the descriptor. */
static int report(int directory, const char *path, int flags) {
  struct plait_fs_result *result = &plait__fs_mine()->result;
  struct statx stats;
  if (statx(directory, path, flags | AT_NO_AUTOMOUNT, STATX_BASIC_STATS | STATX_BTIME, &stats) != 0) return -1;
  plait_put(&result->block, 0);
  plait_put(&result->kind, kind_of(stats.stx_mode));
  plait_put(&result->mode, stats.stx_mode & 07777);
  plait_put(&result->links, stats.stx_nlink);
  plait_put(&result->uid, stats.stx_uid);
  plait_put(&result->gid, stats.stx_gid);
  plait_put(&result->number, (uint32_t)stats.stx_ino);
  plait_put(&result->block_size, stats.stx_blksize);
  plait_put64(&result->size, stats.stx_size);
  plait_put64(&result->held, stats.stx_blocks * 512);
  plait_put64(&result->atime, nanoseconds(stats.stx_atime));
  plait_put64(&result->mtime, nanoseconds(stats.stx_mtime));
  plait_put64(&result->ctime, nanoseconds(stats.stx_ctime));
  plait_put64(&result->birthtime, nanoseconds(stats.stx_mask & STATX_BTIME ? stats.stx_btime : stats.stx_ctime));
  plait_put64(&result->device, makedev(stats.stx_dev_major, stats.stx_dev_minor));
  plait_put64(&result->file, stats.stx_ino);
  plait_put64(&result->special, makedev(stats.stx_rdev_major, stats.stx_rdev_minor));
  return 0;
}

static int set_times(int directory, const char *path, const struct plait_fs_attributes *new, int flags) {
  if ((new->mask & (PLAIT_FS_SET_ATIME | PLAIT_FS_SET_MTIME)) == 0) return 0;
  struct timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};
  int64_t given[2] = {new->atime, new->mtime};
  for (int i = 0; i < 2; i++) {
    if (!(new->mask & (i == 0 ? PLAIT_FS_SET_ATIME : PLAIT_FS_SET_MTIME))) continue;
    int64_t rest = given[i] % 1000000000;
    if (rest < 0) rest += 1000000000;
    times[i] = (struct timespec){(given[i] - rest) / 1000000000, rest};
  }
  return utimensat(directory, path, times, flags);
}

/* Sets what chmod(2) and chown(2) set; the path is followed unless `flags` forbid it. */
static int set_owner(int directory, const char *path, const struct plait_fs_attributes *new, int flags) {
  if ((new->mask & (PLAIT_FS_SET_UID | PLAIT_FS_SET_GID)) == 0) return 0;
  uid_t uid = new->mask & PLAIT_FS_SET_UID ? new->uid : (uid_t)-1;
  gid_t gid = new->mask & PLAIT_FS_SET_GID ? new->gid : (gid_t)-1;
  return fchownat(directory, path, uid, gid, flags);
}

static int set_all(const char *path, const struct plait_fs_attributes *new) {
  if ((new->mask & PLAIT_FS_SET_MODE) && chmod(path, new->mode & 07777) != 0) return -1;
  if (set_owner(AT_FDCWD, path, new, 0) != 0) return -1;
  return set_times(AT_FDCWD, path, new, 0);
}

/* ---- directories that are entered ---- */

static int push(int host, int borrowed) {
  if (entered_count == MOST_ENTERED) {
    if (!borrowed) close(host);
    return -PLAIT_ENAMETOOLONG;
  }
  is_borrowed[entered_count] = (uint8_t)borrowed;
  entered[entered_count++] = host;
  return (int)entered_count;
}

int plait_backend_enter(PLAIT_STEP_NAME) {
  struct where where;
  int rc = find(&where, mount, directory, name, length);
  if (rc != 0) return rc;
  rc = done(&where,
      openat(where.directory, where.name, O_PATH | O_DIRECTORY | O_CLOEXEC | (is_itself(&where) ? 0 : O_NOFOLLOW)));
  if (rc < 0) return rc == -PLAIT_ELOOP ? -PLAIT_ENOTDIR : rc;
  return push(rc, 0);
}

void plait_backend_leave(uint32_t directory) {
  while (entered_count >= directory) {
    entered_count--;
    if (!is_borrowed[entered_count]) close(entered[entered_count]);
  }
}

/* ---- names ---- */

int plait_backend_stat(PLAIT_STEP_NAME) {
  struct where where;
  int rc = find(&where, mount, directory, name, length);
  return rc != 0 ? rc : done(&where, report(where.directory, where.name, no_follow(&where)));
}

int plait_backend_access(PLAIT_STEP_NAME, uint32_t mode) {
  struct where where;
  int rc = find(&where, mount, directory, name, length);
  return rc != 0 ? rc : done(&where, faccessat(where.directory, where.name, (int)(mode & 7), no_follow(&where)));
}

int plait_backend_readlink(PLAIT_STEP_NAME, uint8_t *to) {
  struct where where;
  int rc = find(&where, mount, directory, name, length);
  if (rc != 0) return rc;
  if (is_itself(&where)) return done(&where, 0), -PLAIT_EINVAL;
  rc = done(&where, (int)readlinkat(where.directory, where.name, (char *)to, PLAIT_FS_PATH_MAX));
  return rc == PLAIT_FS_PATH_MAX ? -PLAIT_ENAMETOOLONG : rc;
}

int plait_backend_mkdir(PLAIT_STEP_NAME, uint32_t mode) {
  struct where where;
  int rc = find(&where, mount, directory, name, length);
  return rc != 0 ? rc : done(&where, mkdirat(where.directory, where.name, mode));
}

int plait_backend_remove(PLAIT_STEP_NAME, int is_directory) {
  struct where where;
  int rc = find(&where, mount, directory, name, length);
  return rc != 0 ? rc : done(&where, unlinkat(where.directory, where.name, is_directory ? AT_REMOVEDIR : 0));
}

int plait_backend_symlink(PLAIT_STEP_NAME, const uint8_t *text, uint32_t text_length) {
  struct where where;
  char target[PLAIT_FS_PATH_MAX];
  if (text_length >= sizeof target) return -PLAIT_ENAMETOOLONG;
  memcpy(target, text, text_length), target[text_length] = 0;
  int rc = find(&where, mount, directory, name, length);
  return rc != 0 ? rc : done(&where, symlinkat(target, where.directory, where.name));
}

/* A step with two names of one mount. */
static int two_names(PLAIT_STEP_NAME, uint32_t to, const uint8_t *to_name, uint32_t to_length, int renames) {
  struct where from, goal;
  int rc = find(&from, mount, directory, name, length);
  if (rc != 0) return rc;
  if ((rc = find(&goal, mount, to, to_name, to_length)) == 0)
    rc = done(&goal,
        renames ? renameat(from.directory, from.name, goal.directory, goal.name)
                : linkat(from.directory, from.name, goal.directory, goal.name, 0));
  return done(&from, 0), rc;
}

int plait_backend_link(PLAIT_STEP_NAME, uint32_t to, const uint8_t *to_name, uint32_t to_length) {
  return two_names(mount, directory, name, length, to, to_name, to_length, 0);
}

int plait_backend_rename(PLAIT_STEP_NAME, uint32_t to, const uint8_t *to_name, uint32_t to_length) {
  return two_names(mount, directory, name, length, to, to_name, to_length, 1);
}

int plait_backend_set(PLAIT_STEP_NAME, const struct plait_fs_attributes *new) {
  struct where where;
  int rc = find(&where, mount, directory, name, length);
  if (rc != 0) return rc;
  if (is_itself(&where)) return done(&where, set_all(where.name, new));
  if (!(new->mask & PLAIT_FS_SET_MODE)) { /* these calls do not follow links */
    rc = set_owner(where.directory, where.name, new, AT_SYMLINK_NOFOLLOW);
    if (rc == 0) rc = set_times(where.directory, where.name, new, AT_SYMLINK_NOFOLLOW);
    return done(&where, rc);
  }
  int fd = done(&where, openat(where.directory, where.name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (fd < 0) return fd;
  struct stat stats;
  char path[OWN_PATH];
  own_path(path, fd);
  rc = fstat(fd, &stats);
  if (rc == 0 && S_ISLNK(stats.st_mode)) rc = -1, errno = ELOOP;
  rc = result_of(rc == 0 ? set_all(path, new) : rc);
  close(fd);
  return rc;
}

/* ---- open files ---- */

static int flags_of(uint32_t flags) {
  if (flags & PLAIT_FS_HOLD) return O_PATH | O_DIRECTORY | O_CLOEXEC;
  int own = O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (int)(flags & 3);
  if (flags & PLAIT_FS_CREAT) own |= O_CREAT;
  if (flags & PLAIT_FS_EXCL) own |= O_EXCL;
  if (flags & PLAIT_FS_TRUNC) own |= O_TRUNC;
  if (flags & PLAIT_FS_APPEND) own |= O_APPEND;
  if (flags & PLAIT_FS_MUST_DIR) own |= O_DIRECTORY;
  return own;
}

static void drop(struct file **link) {
  struct file *file = *link;
  *link = file->behind;
  if (file->listing != NULL) closedir(file->listing);
  close(file->host);
  free(file);
}

/* Closes what this thread has open for openings that are over. */
static void sweep(void) {
  for (struct file **link = &files; *link != NULL;) {
    struct plait__fs_place place;
    if (plait__fs_find_mounted((*link)->fd, (*link)->uses, &place) < 0) drop(link);
    else link = &(*link)->behind;
  }
}

/* Keeps an open file. Reports its attributes. */
static int keep(int host, int fd, uint32_t uses, uint32_t flags) {
  struct file *file = malloc(sizeof *file);
  int rc = file == NULL ? -PLAIT_ENOMEM : result_of(report(host, "", AT_EMPTY_PATH));
  uint32_t kind = plait_get(&plait__fs_mine()->result.kind);
  if (rc == 0 && kind != PLAIT_FS_FILE && kind != PLAIT_FS_DIRECTORY) rc = -PLAIT_ENXIO;
  if (rc != 0) {
    free(file), close(host);
    return rc;
  }
  sweep();
  *file = (struct file){fd, uses, host, (int)(flags & PLAIT_FS_APPEND), NULL, 0, files};
  files = file;
  return host;
}

/* Opens for this thread what another thread has opened, or what was opened with other flags. */
static int open_again(int fd, uint32_t uses, struct plait_fs_open *open_) {
  char path[OWN_PATH];
  struct stat stats;
  uint64_t device = plait_get64(&open_->device), number = plait_get64(&open_->file);
  uint32_t flags = plait_load(&open_->flags);
  own_path(path, (int)plait_load(&open_->host));
  if (plait_load(&open_->uses) != uses) return -PLAIT_EBADF;
  if (stat(path, &stats) != 0 || stats.st_dev != device || stats.st_ino != number) return -PLAIT_EBADF;
  int host = open(path, flags_of(flags));
  if (host < 0) return -errno;
  if (fstat(host, &stats) == 0 && stats.st_dev == device && stats.st_ino == number) return keep(host, fd, uses, flags);
  close(host);
  return -PLAIT_EBADF;
}

/* The flag of an open descriptor can change. What this thread has open is shared with no other. */
static struct file *set_append(struct file *file, int append, int *rc) {
  if (file->append == append) return file;
  int flags = fcntl(file->host, F_GETFL);
  if (flags < 0 || fcntl(file->host, F_SETFL, append ? flags | O_APPEND : flags & ~O_APPEND) != 0) {
    *rc = -errno;
    return NULL;
  }
  file->append = append;
  return file;
}

/* The file of the descriptor in this thread; NULL and the error in `rc`. */
static struct file *file_of(int fd, uint32_t uses, int *rc) {
  struct plait__fs_place place;
  *rc = plait__fs_find_mounted(fd, uses, &place);
  if (*rc < 0) return NULL;
  struct plait_fs_open *open_ = plait__fs_descriptor((uint32_t)fd);
  int append = (int)(plait_load(&open_->flags) & PLAIT_FS_APPEND);
  for (struct file **link = &files; *link != NULL; link = &(*link)->behind) {
    if ((*link)->fd != fd) continue;
    if ((*link)->uses == uses) return set_append(*link, append, rc);
    drop(link);
    break;
  }
  *rc = open_again(fd, uses, open_);
  return *rc < 0 ? NULL : files;
}

int plait_backend_open(PLAIT_STEP_NAME, uint32_t flags, uint32_t mode, int fd, uint32_t uses) {
  struct where where;
  int rc = find(&where, mount, directory, name, length);
  if (rc != 0) return rc;
  rc = done(&where, openat(where.directory, where.name, flags_of(flags) | (is_itself(&where) ? 0 : O_NOFOLLOW), mode));
  return rc < 0 ? rc : keep(rc, fd, uses, flags);
}

void plait_backend_close(int fd, uint32_t uses) {
  for (struct file **link = &files; *link != NULL; link = &(*link)->behind)
    if ((*link)->fd == fd && (*link)->uses == uses) {
      drop(link);
      return;
    }
}

int plait_backend_start(int fd, uint32_t uses) {
  int rc;
  struct file *file = file_of(fd, uses, &rc);
  return file == NULL ? rc : push(file->host, 1);
}

int plait_backend_read(int fd, uint32_t uses, plait_ref_t to, uint32_t length, double position) {
  int rc;
  struct file *file = file_of(fd, uses, &rc);
  return file == NULL ? rc : result_of((int)pread(file->host, plait_at(to), length, (off_t)position));
}

int plait_backend_write(int fd, uint32_t uses, plait_ref_t from, uint32_t length, double position) {
  int rc;
  struct file *file = file_of(fd, uses, &rc);
  if (file == NULL) return rc;
  return result_of((int)(position < 0 ? write(file->host, plait_at(from), length)
                                      : pwrite(file->host, plait_at(from), length, (off_t)position)));
}

int plait_backend_truncate(int fd, uint32_t uses, double size) {
  int rc;
  struct file *file = file_of(fd, uses, &rc);
  return file == NULL ? rc : result_of(ftruncate(file->host, (off_t)size));
}

int plait_backend_sync(int fd, uint32_t uses, int data_only) {
  int rc;
  struct file *file = file_of(fd, uses, &rc);
  return file == NULL ? rc : result_of(data_only ? fdatasync(file->host) : fsync(file->host));
}

int plait_backend_fstat(int fd, uint32_t uses) {
  int rc;
  struct file *file = file_of(fd, uses, &rc);
  return file == NULL ? rc : result_of(report(file->host, "", AT_EMPTY_PATH));
}

int plait_backend_fset(int fd, uint32_t uses, const struct plait_fs_attributes *new) {
  int rc;
  char path[OWN_PATH];
  struct file *file = file_of(fd, uses, &rc);
  if (file == NULL) return rc;
  own_path(path, file->host);
  return result_of(set_all(path, new));
}

/* ---- listings ---- */

/* The next name that is neither "." nor ".."; NULL at the end. */
static struct dirent *next_of(DIR *listing) {
  for (struct dirent *entry; (entry = readdir(listing)) != NULL;)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) return entry;
  return NULL;
}

static uint8_t kind_at(DIR *listing, const struct dirent *entry) {
  struct stat stats;
  if (entry->d_type != DT_UNKNOWN) return (uint8_t)kind_of(DTTOIF(entry->d_type));
  if (fstatat(dirfd(listing), entry->d_name, &stats, AT_SYMLINK_NOFOLLOW) != 0) return PLAIT_FS_FILE;
  return (uint8_t)kind_of(stats.st_mode);
}

/* Puts the names from `start` on where plait_fs_list() does, as many as fit. `listing` is at its start. */
static int put_names(DIR *listing, double start) {
  struct plait_fs_thread *mine = plait__fs_mine();
  uint8_t *scratch = plait_at(plait_get(&mine->scratch));
  uint32_t bytes = 0, ascii = 1;
  int count = 0;
  struct dirent *entry = NULL;
  for (double skip = start; skip > 0; skip--)
    if (next_of(listing) == NULL) break;
  while ((entry = next_of(listing)) != NULL) {
    uint32_t size = (uint32_t)strlen(entry->d_name), slash = count > 0;
    if (bytes + slash + size + (uint32_t)count + 1 > PLAIT_FS_SCRATCH) break;
    if (slash) scratch[bytes++] = '/';
    for (uint32_t i = 0; i < size; i++) {
      uint8_t byte = (uint8_t)entry->d_name[i];
      if (byte > 127) ascii = 0;
      scratch[bytes++] = byte;
    }
    scratch[PLAIT_FS_SCRATCH - 1 - count++] = kind_at(listing, entry);
  }
  plait_put64(&mine->result.cursor, entry == NULL ? 0 : (uint64_t)start + (uint64_t)count);
  plait_put(&mine->result.bytes, bytes);
  plait_put(&mine->result.ascii, ascii);
  return count;
}

/* Lists the directory that `fd` is open on, which is closed. */
static int list_all(int fd, double cursor) {
  DIR *listing = fdopendir(fd);
  if (listing == NULL) {
    int rc = -errno;
    close(fd);
    return rc;
  }
  int count = put_names(listing, cursor);
  closedir(listing);
  return count;
}

int plait_backend_list(PLAIT_STEP_NAME, double cursor) {
  struct where where;
  int rc = find(&where, mount, directory, name, length);
  if (rc != 0) return rc;
  rc = done(&where,
      openat(where.directory, where.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_itself(&where) ? 0 : O_NOFOLLOW)));
  if (rc < 0) return rc == -PLAIT_ELOOP ? -PLAIT_ENOTDIR : rc;
  return list_all(rc, cursor);
}

/* Another description of the open directory, to be read from its start. */
static int open_listing(const struct file *file) {
  return result_of(openat(file->host, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

int plait_backend_flist(int fd, uint32_t uses, double cursor) {
  int rc;
  struct file *file = file_of(fd, uses, &rc);
  if (file == NULL) return rc;
  rc = open_listing(file);
  return rc < 0 ? rc : list_all(rc, cursor);
}

int plait_backend_fnext(int fd, uint32_t uses, double cookie) {
  int rc;
  struct plait_fs_thread *mine = plait__fs_mine();
  struct file *file = file_of(fd, uses, &rc);
  if (file == NULL) return rc;
  if (file->listing == NULL || file->next != (uint64_t)cookie || cookie == 0) {
    if (file->listing != NULL) closedir(file->listing), file->listing = NULL;
    if ((rc = open_listing(file)) < 0) return rc;
    if ((file->listing = fdopendir(rc)) == NULL) return close(rc), -PLAIT_ENOMEM;
    for (file->next = 0; file->next < (uint64_t)cookie; file->next++)
      if (next_of(file->listing) == NULL) return 0;
  }
  struct dirent *entry = next_of(file->listing);
  if (entry == NULL) return 0;
  uint32_t size = (uint32_t)strlen(entry->d_name);
  memcpy(plait_at(plait_get(&mine->scratch)), entry->d_name, size);
  plait_put(&mine->result.kind, kind_at(file->listing, entry));
  plait_put(&mine->result.number, (uint32_t)entry->d_ino);
  plait_put(&mine->result.bytes, size);
  plait_put64(&mine->result.cursor, ++file->next);
  return 1;
}
#endif
