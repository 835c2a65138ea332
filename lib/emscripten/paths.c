/*
 * paths: the system calls on paths. A path starts at the root, at an open directory, or at the working directory.
 */
#include "syscalls.h"

/* The working directory: a descriptor of fs, with its `uses`; 0: the root. */
static plait_word64_t working_directory;
static plait_word_t creation_mask = 022;

#define ROOT_DIRECTORY 0u

static int start_at_working_directory(struct plait_fs_at *at) {
  for (;;) {
    uint64_t opening = atomic_load_explicit(&working_directory, memory_order_acquire);
    if (opening == 0) return 0;
    int rc = plait_fs_start_at(at, (int)(uint32_t)opening, (uint32_t)(opening >> 32));
    /* Another thread may have changed and closed it. */
    if (rc == 0 || atomic_load_explicit(&working_directory, memory_order_acquire) == opening) return rc;
  }
}

/* The directory that `fd` is open on, or the working directory. */
static int start_at(struct plait_fs_at *at, int fd) {
  struct plait_wasi_descriptor found;
  if (fd == AT_FDCWD) return start_at_working_directory(at);
  int rc = plait_wasi_find((uint32_t)fd, &found);
  if (rc != 0) return rc;
  if (found.kind != PLAIT_WASI_DIRECTORY) return -PLAIT_ENOTDIR;
  return plait_fs_start_at(at, found.fd, found.uses);
}

/* What `path` names from `fd`. `second`: which of the thread's two paths it is put into. */
static int resolve(struct plait_fs_at *at, int fd, const char *path, int second) {
  struct plait_fs_thread *mine = plait_wasi_enter();
  uint8_t *to = second ? mine->second : mine->first;
  uint32_t length = 0;
  for (; path[length] != 0; length++) {
    if (length == PLAIT_FS_PATH_MAX - 1) return -PLAIT_ENAMETOOLONG;
    to[length] = (uint8_t)path[length];
  }
  if (length == 0) return -PLAIT_ENOENT;
  *at = second ? plait_fs_second_path(length) : plait_fs_path(length);
  return path[0] == '/' ? 0 : start_at(at, fd);
}

/* With AT_EMPTY_PATH an empty path is `fd` itself. */
static int resolve_or_descriptor(struct plait_fs_at *at, int fd, const char *path, int flags) {
  if (path[0] != 0 || !(flags & AT_EMPTY_PATH)) return resolve(at, fd, path, 0);
  if (fd == AT_FDCWD) return resolve(at, fd, ".", 0);
  struct plait_wasi_descriptor found;
  int rc = plait_wasi_find((uint32_t)fd, &found);
  if (rc == 0 && found.kind == PLAIT_WASI_STREAM) rc = -PLAIT_EINVAL;
  if (rc == 0) *at = (struct plait_fs_at){.fd = found.fd, .uses = found.uses};
  return rc;
}

static uint32_t without_mask(mode_t mode) {
  return mode & 07777 & ~plait_load(&creation_mask);
}

PUBLIC mode_t __syscall_umask(mode_t mask) {
  return near_exchange(&creation_mask, mask & 0777, memory_order_relaxed);
}

/* ---- opening ---- */

static int number_file(int fd, uint32_t flags) {
  struct plait_wasi_descriptor opened;
  int rc = plait_wasi_describe(fd, &opened);
  if (rc != 0) return rc;
  opened.rights = ALL_RIGHTS;
  opened.flags = flags & O_CLOEXEC ? FLAG_CLOEXEC : 0;
  return plait_wasi_number(&opened);
}

static int open_path(int fd, const char *path, uint32_t flags, mode_t mode) {
  struct plait_fs_at at;
  int rc = resolve(&at, fd, path, 0);
  if (rc != 0) return rc;
  if ((flags & O_ACCMODE) == O_ACCMODE) flags &= ~(uint32_t)O_ACCMODE; /* O_PATH: it is opened for reading */
  uint32_t known = O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_DIRECTORY | O_NOFOLLOW;
  rc = plait_fs_open_at(&at, flags & known, without_mask(mode), plait_wasi_now());
  return rc < 0 ? rc : number_file(rc, flags);
}

PUBLIC int __syscall_openat(int fd, const char *path, int flags, ...) {
  mode_t mode = 0;
  if (flags & O_CREAT) {
    va_list list;
    va_start(list, flags);
    mode = va_arg(list, mode_t);
    va_end(list);
  }
  SYSCALL(open_path(fd, path, (uint32_t)flags, mode));
}

/* ---- attributes ---- */

static void put_time(struct timespec *to, uint64_t nanoseconds) {
  int64_t time = (int64_t)nanoseconds, rest = time % 1000000000;
  if (rest < 0) rest += 1000000000;
  to->tv_sec = (time - rest) / 1000000000;
  to->tv_nsec = (long)rest;
}

static int put_stat(int rc, struct stat *to) {
  if (rc != 0) return rc;
  struct plait_fs_result *result = &plait_wasi_enter()->result;
  uint32_t kind = plait_get(&result->kind);
  mode_t type = kind == PLAIT_FS_DIRECTORY ? S_IFDIR : kind == PLAIT_FS_SYMLINK ? S_IFLNK : S_IFREG;
  if (plait_wasi_stream_of(plait_get(&result->block)) >= 0) type = S_IFCHR;
  *to = (struct stat){.st_dev = 1,
      .st_ino = plait_get(&result->number),
      .st_mode = type | (plait_get(&result->mode) & 07777),
      .st_nlink = plait_get(&result->links),
      .st_uid = plait_get(&result->uid),
      .st_gid = plait_get(&result->gid),
      .st_size = (off_t)plait_get64(&result->size),
      .st_blksize = 4096,
      .st_blocks = (blkcnt_t)((plait_get64(&result->held) + 511) / 512)};
  put_time(&to->st_atim, plait_get64(&result->atime));
  put_time(&to->st_mtim, plait_get64(&result->mtime));
  put_time(&to->st_ctim, plait_get64(&result->ctime));
  return 0;
}

static int stat_path(int fd, const char *path, struct stat *to, int flags) {
  struct plait_fs_at at;
  int rc = resolve_or_descriptor(&at, fd, path, flags);
  return rc != 0 ? rc : put_stat(plait_fs_stat_at(&at, !(flags & AT_SYMLINK_NOFOLLOW)), to);
}

PUBLIC int __syscall_newfstatat(int fd, const char *path, struct stat *to, int flags) {
  SYSCALL(stat_path(fd, path, to, flags));
}

PUBLIC int __syscall_stat64(const char *path, struct stat *to) {
  return __syscall_newfstatat(AT_FDCWD, path, to, 0);
}

PUBLIC int __syscall_lstat64(const char *path, struct stat *to) {
  return __syscall_newfstatat(AT_FDCWD, path, to, AT_SYMLINK_NOFOLLOW);
}

static int stat_descriptor(int fd, struct stat *to) {
  struct plait_wasi_descriptor found;
  int rc = plait_wasi_find((uint32_t)fd, &found);
  if (rc != 0) return rc;
  if (found.kind == PLAIT_WASI_STREAM) {
    *to = (struct stat){.st_mode = S_IFCHR | 0666, .st_nlink = 1, .st_blksize = 4096};
    return 0;
  }
  struct plait_fs_at at = {.fd = found.fd, .uses = found.uses};
  return put_stat(plait_fs_stat_at(&at, 1), to);
}

PUBLIC int __syscall_fstat64(int fd, struct stat *to) {
  SYSCALL(stat_descriptor(fd, to));
}

/* Looks a descriptor up that is no stream. */
static int find_descriptor(int fd, struct plait_fs_at *at) {
  struct plait_wasi_descriptor found;
  int rc = plait_wasi_find((uint32_t)fd, &found);
  if (rc == 0 && found.kind == PLAIT_WASI_STREAM) rc = -PLAIT_EINVAL;
  if (rc == 0) *at = (struct plait_fs_at){.fd = found.fd, .uses = found.uses};
  return rc;
}

static int set_path(int fd, const char *path, int flags, const struct plait_fs_attributes *new) {
  struct plait_fs_at at;
  int rc = resolve_or_descriptor(&at, fd, path, flags);
  return rc != 0 ? rc : plait_fs_set_at(&at, !(flags & AT_SYMLINK_NOFOLLOW), new, plait_wasi_now());
}

static int set_descriptor(int fd, const struct plait_fs_attributes *new) {
  struct plait_fs_at at;
  int rc = find_descriptor(fd, &at);
  return rc != 0 ? rc : plait_fs_set_at(&at, 1, new, plait_wasi_now());
}

static struct plait_fs_attributes new_mode(mode_t mode) {
  return (struct plait_fs_attributes){.mask = PLAIT_FS_SET_MODE, .mode = mode};
}

static struct plait_fs_attributes new_owner(uid_t uid, gid_t gid) {
  uint32_t mask = (uid != (uid_t)-1 ? PLAIT_FS_SET_UID : 0) | (gid != (gid_t)-1 ? PLAIT_FS_SET_GID : 0);
  return (struct plait_fs_attributes){.mask = mask, .uid = uid, .gid = gid};
}

PUBLIC int __syscall_fchmodat2(int fd, const char *path, mode_t mode, int flags) {
  struct plait_fs_attributes new = new_mode(mode);
  SYSCALL(set_path(fd, path, flags, &new));
}

PUBLIC int __syscall_chmod(const char *path, mode_t mode) {
  return __syscall_fchmodat2(AT_FDCWD, path, mode, 0);
}

PUBLIC int __syscall_fchmod(int fd, mode_t mode) {
  struct plait_fs_attributes new = new_mode(mode);
  SYSCALL(set_descriptor(fd, &new));
}

PUBLIC int __syscall_fchownat(int fd, const char *path, uid_t uid, gid_t gid, int flags) {
  struct plait_fs_attributes new = new_owner(uid, gid);
  SYSCALL(set_path(fd, path, flags, &new));
}

PUBLIC int __syscall_fchown32(int fd, uid_t uid, gid_t gid) {
  struct plait_fs_attributes new = new_owner(uid, gid);
  SYSCALL(set_descriptor(fd, &new));
}

/* One of the two times: 1 if it is to change, -PLAIT_EINVAL. */
static int new_time(const struct timespec *time, uint64_t now, uint64_t *to) {
  if (time != NULL && time->tv_nsec == UTIME_OMIT) return 0;
  *to = now;
  if (time == NULL || time->tv_nsec == UTIME_NOW) return 1;
  if (time->tv_nsec < 0 || time->tv_nsec >= 1000000000 || time->tv_sec > 9200000000 || time->tv_sec < -9200000000)
    return -PLAIT_EINVAL;
  *to = (uint64_t)(time->tv_sec * 1000000000 + time->tv_nsec);
  return 1;
}

/* `path` null: the descriptor itself, as futimens() calls it. */
static int set_times(int fd, const char *path, const struct timespec *times, int flags) {
  struct plait_fs_attributes new = {0};
  uint64_t now = (uint64_t)(plait_wasi_now() * 1e6);
  int a = new_time(times, now, &new.atime), m = new_time(times == NULL ? NULL : times + 1, now, &new.mtime);
  if (a < 0 || m < 0) return -PLAIT_EINVAL;
  new.mask = (a ? PLAIT_FS_SET_ATIME : 0) | (m ? PLAIT_FS_SET_MTIME : 0);
  return path == NULL ? set_descriptor(fd, &new) : set_path(fd, path, flags, &new);
}

PUBLIC int __syscall_utimensat(int fd, const char *path, const struct timespec times[2], int flags) {
  SYSCALL(set_times(fd, path, times, flags));
}

static int access_path(int fd, const char *path, int mode, int flags) {
  struct plait_fs_at at;
  int rc = resolve_or_descriptor(&at, fd, path, flags);
  if (rc != 0 || mode & ~7) return rc != 0 ? rc : -PLAIT_EINVAL;
  if (!(flags & AT_SYMLINK_NOFOLLOW)) return plait_fs_access_at(&at, (uint32_t)mode);
  rc = plait_fs_stat_at(&at, 0);
  return rc != 0 || plait_get(&plait_wasi_enter()->result.kind) == PLAIT_FS_SYMLINK
      ? rc
      : plait_fs_access_at(&at, (uint32_t)mode);
}

PUBLIC int __syscall_faccessat(int fd, const char *path, int mode, int flags) {
  SYSCALL(access_path(fd, path, mode, flags));
}

static int truncate_path(const char *path, off_t size) {
  struct plait_fs_at at;
  int rc = resolve(&at, AT_FDCWD, path, 0);
  return rc != 0 ? rc : plait_fs_truncate_at(&at, (double)size, plait_wasi_now());
}

PUBLIC int __syscall_truncate64(const char *path, off_t size) {
  SYSCALL(truncate_path(path, size));
}

static void put_statfs(struct statfs *to) {
  *to = (struct statfs){.f_type = 0x01021994 /* as tmpfs */, .f_bsize = 4096, .f_frsize = 4096, .f_namelen = 255};
  plait_fs_usage();
  struct plait_fs_result *result = &plait_wasi_enter()->result;
  uint64_t all = UINT64_C(0x100000000) / 4096, used = plait_get64(&result->held) / 4096;
  to->f_blocks = all;
  to->f_bfree = to->f_bavail = used < all ? all - used : 0;
  to->f_files = UINT32_MAX;
  to->f_ffree = UINT32_MAX - plait_get(&result->number);
}

static int statfs_path(const char *path, struct statfs *to) {
  struct plait_fs_at at;
  int rc = resolve(&at, AT_FDCWD, path, 0);
  if (rc == 0) rc = plait_fs_stat_at(&at, 1);
  if (rc == 0) put_statfs(to);
  return rc;
}

static int statfs_descriptor(int fd, struct statfs *to) {
  struct plait_wasi_descriptor found;
  int rc = plait_wasi_find((uint32_t)fd, &found);
  if (rc == 0) put_statfs(to);
  return rc;
}

PUBLIC int __syscall_statfs64(const char *path, size_t size, struct statfs *to) {
  (void)size;
  SYSCALL(statfs_path(path, to));
}

PUBLIC int __syscall_fstatfs64(int fd, size_t size, struct statfs *to) {
  (void)size;
  SYSCALL(statfs_descriptor(fd, to));
}

/* ---- names ---- */

static int make_directory(int fd, const char *path, mode_t mode) {
  struct plait_fs_at at;
  int rc = resolve(&at, fd, path, 0);
  return rc != 0 ? rc : plait_fs_mkdir_at(&at, without_mask(mode), plait_wasi_now());
}

PUBLIC int __syscall_mkdirat(int fd, const char *path, mode_t mode) {
  SYSCALL(make_directory(fd, path, mode));
}

/* Regular files only: fs has no devices and pipes. */
static int make_node(int fd, const char *path, mode_t mode) {
  if ((mode & S_IFMT) != 0 && (mode & S_IFMT) != S_IFREG) return -PLAIT_EPERM;
  struct plait_fs_at at;
  int rc = resolve(&at, fd, path, 0);
  if (rc == 0) rc = plait_fs_open_at(&at, O_CREAT | O_EXCL | O_WRONLY, without_mask(mode), plait_wasi_now());
  return rc < 0 ? rc : plait_fs_close(rc);
}

PUBLIC int __syscall_mknodat(int fd, const char *path, mode_t mode, dev_t device) {
  (void)device;
  SYSCALL(make_node(fd, path, mode));
}

static int remove_at(int fd, const char *path, int is_rmdir) {
  struct plait_fs_at at;
  int rc = resolve(&at, fd, path, 0);
  return rc != 0 ? rc : plait_fs_remove_at(&at, is_rmdir, plait_wasi_now());
}

PUBLIC int __syscall_unlinkat(int fd, const char *path, int flags) {
  if (flags & ~AT_REMOVEDIR) return -EINVAL;
  SYSCALL(remove_at(fd, path, flags != 0));
}

PUBLIC int __syscall_rmdir(const char *path) {
  return __syscall_unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

static int rename_path(int fd, const char *path, int new_fd, const char *new_path) {
  struct plait_fs_at from, to;
  int rc = resolve(&from, fd, path, 0);
  if (rc == 0) rc = resolve(&to, new_fd, new_path, 1);
  return rc != 0 ? rc : plait_fs_rename_at(&from, &to, plait_wasi_now());
}

PUBLIC int __syscall_renameat(int fd, const char *path, int new_fd, const char *new_path) {
  SYSCALL(rename_path(fd, path, new_fd, new_path));
}

static int link_path(int fd, const char *path, int new_fd, const char *new_path, int flags) {
  struct plait_fs_at from, to;
  int rc = resolve_or_descriptor(&from, fd, path, flags);
  if (rc == 0) rc = resolve(&to, new_fd, new_path, 1);
  return rc != 0 ? rc : plait_fs_link_at(&from, (flags & AT_SYMLINK_FOLLOW) != 0, &to, plait_wasi_now());
}

PUBLIC int __syscall_linkat(int fd, const char *path, int new_fd, const char *new_path, int flags) {
  SYSCALL(link_path(fd, path, new_fd, new_path, flags));
}

static int symlink_path(const char *text, int fd, const char *path) {
  struct plait_fs_at at;
  int rc = resolve(&at, fd, path, 1);
  if (rc != 0) return rc;
  struct plait_fs_thread *mine = plait_wasi_enter();
  uint32_t length = 0;
  for (; text[length] != 0; length++) {
    if (length == PLAIT_FS_PATH_MAX - 1) return -PLAIT_ENAMETOOLONG;
    mine->first[length] = (uint8_t)text[length];
  }
  return plait_fs_symlink_at(length, &at, plait_wasi_now());
}

PUBLIC int __syscall_symlinkat(const char *text, int fd, const char *path) {
  SYSCALL(symlink_path(text, fd, path));
}

static int read_link_at(int fd, const char *path, char *to, size_t size) {
  struct plait_fs_at at;
  struct plait_wasi_descriptor found;
  if (size == 0) return -PLAIT_EINVAL;
  int rc = path[0] == 0 && fd != AT_FDCWD ? plait_wasi_find((uint32_t)fd, &found) : 0; /* before the empty path */
  if (rc == 0) rc = resolve(&at, fd, path, 0);
  if (rc != 0 || (rc = plait_fs_readlink_at(&at)) < 0) return rc;
  uint32_t length = (uint32_t)rc < size ? (uint32_t)rc : (uint32_t)size;
  plait_copy_near(to, plait_at(plait_get(&plait_wasi_enter()->scratch)), length);
  return (int)length;
}

PUBLIC int __syscall_readlinkat(int fd, const char *path, char *to, size_t size) {
  SYSCALL(read_link_at(fd, path, to, size));
}

/* ---- the working directory ---- */

static int set_working_directory(int fd) {
  uint64_t opening = (uint64_t)plait_fs_uses(fd) << 32 | (uint32_t)fd;
  uint64_t before = atomic_exchange(&working_directory, opening);
  if (before != 0) plait_fs_close_as((int)(uint32_t)before, (uint32_t)(before >> 32));
  return 0;
}

static int change_directory(const struct plait_fs_at *at) {
  int fd = plait_fs_open_at(at, O_DIRECTORY, 0, 0);
  return fd < 0 ? fd : set_working_directory(fd);
}

static int change_to_path(const char *path) {
  struct plait_fs_at at;
  int rc = resolve(&at, AT_FDCWD, path, 0);
  return rc != 0 ? rc : change_directory(&at);
}

static int change_to_descriptor(int fd) {
  struct plait_fs_at at;
  int rc = fd == AT_FDCWD ? -PLAIT_EBADF : resolve(&at, fd, ".", 0);
  return rc != 0 ? rc : change_directory(&at);
}

PUBLIC int __syscall_chdir(const char *path) {
  SYSCALL(change_to_path(path));
}

PUBLIC int __syscall_fchdir(int fd) {
  SYSCALL(change_to_descriptor(fd));
}

/* Puts the name that the directory `fd` has in its parent before `*at`. 1: it is the root. */
static int prepend_name(int fd, int parent, char *buffer, size_t *at) {
  struct plait_fs_result *result = &plait_wasi_enter()->result;
  struct plait_fs_at child = {.fd = fd}, above = {.fd = parent};
  int rc = plait_fs_stat_at(&child, 1);
  uint32_t number = plait_get(&result->number);
  if (rc == 0) rc = plait_fs_stat_at(&above, 1);
  if (rc != 0) return rc;
  if (plait_get(&result->number) == number) return 1;
  for (uint64_t cookie = 0; (rc = plait_fs_next_at(&above, cookie)) == 1; cookie = plait_get64(&result->cursor)) {
    if (plait_get(&result->number) != number) continue;
    uint32_t length = plait_get(&result->bytes);
    if (*at < length + 1) return -PLAIT_ENAMETOOLONG;
    *at -= length;
    plait_copy_near(buffer + *at, plait_at(plait_get(&plait_wasi_enter()->scratch)), length);
    buffer[--*at] = '/';
    return 0;
  }
  return rc < 0 ? rc : -PLAIT_ENOENT;
}

/*
 * Walks up from the working directory. -PLAIT_ENOENT: it was removed, or a directory above it was moved meanwhile.
 * INT32_MIN: `size` is too small.
 */
static int working_path(char *to, size_t size) {
  char buffer[PLAIT_FS_PATH_MAX];
  size_t at = sizeof buffer;
  struct plait_fs_at here;
  int rc = resolve(&here, AT_FDCWD, ".", 0), fd = rc != 0 ? rc : plait_fs_open_at(&here, O_DIRECTORY, 0, 0);
  while (fd >= 0) {
    struct plait_fs_at above;
    plait_wasi_enter()->first[0] = plait_wasi_enter()->first[1] = '.';
    above = plait_fs_path(2);
    rc = plait_fs_start_at(&above, fd, 0);
    int parent = rc != 0 ? rc : plait_fs_open_at(&above, O_DIRECTORY, 0, 0);
    rc = parent < 0 ? parent : prepend_name(fd, parent, buffer, &at);
    plait_fs_close(fd);
    fd = parent;
    if (rc == 0) continue;
    if (parent >= 0) plait_fs_close(parent);
    break;
  }
  if (fd < 0) return fd;
  if (rc < 0) return rc;
  if (at == sizeof buffer) buffer[--at] = '/';
  uint32_t length = (uint32_t)(sizeof buffer - at);
  if (length + 1 > size) return INT32_MIN; /* the caller knows: ERANGE, which the core does not have */
  plait_copy_near(to, buffer + at, length);
  to[length] = 0;
  return (int)length + 1;
}

PUBLIC int __syscall_getcwd(char *to, size_t size) {
  if (size == 0) return -EINVAL;
  int how = begin();
  if (how == 0) return -ENOMEM;
  int rc;
  struct plait_fs_at here;
  do rc = working_path(to, size);
  while (rc == -PLAIT_ENOENT && resolve(&here, AT_FDCWD, ".", 0) == 0 && plait_fs_stat_at(&here, 1) == 0 &&
      plait_get(&plait_wasi_enter()->result.links) != 0);
  done(how);
  return rc == INT32_MIN ? -ERANGE : rc < 0 ? -(int)plait_preview1_error(rc) : rc;
}
