/*
 * files: the system calls on descriptors, and preview1's as Emscripten's C library declares them.
 */
#include "syscalls.h"

/* ---- reading and writing ---- */

PUBLIC __wasi_errno_t __wasi_fd_read(__wasi_fd_t fd, const __wasi_iovec_t *iovs, size_t count, __wasi_size_t *read) {
  if (count > IOV_MAX) return PREVIEW1_EINVAL;
  return (__wasi_errno_t)plait_linked_fd_read(fd, ADDRESS(iovs), count, ADDRESS(read));
}

PUBLIC __wasi_errno_t __wasi_fd_write(
    __wasi_fd_t fd, const __wasi_ciovec_t *iovs, size_t count, __wasi_size_t *written) {
  if (count > IOV_MAX) return PREVIEW1_EINVAL;
  return (__wasi_errno_t)plait_linked_fd_write(fd, ADDRESS(iovs), count, ADDRESS(written));
}

PUBLIC __wasi_errno_t __wasi_fd_pread(
    __wasi_fd_t fd, const __wasi_iovec_t *iovs, size_t count, __wasi_filesize_t offset, __wasi_size_t *read) {
  if (count > IOV_MAX) return PREVIEW1_EINVAL;
  return (__wasi_errno_t)plait_linked_fd_pread(fd, ADDRESS(iovs), count, offset, ADDRESS(read));
}

PUBLIC __wasi_errno_t __wasi_fd_pwrite(
    __wasi_fd_t fd, const __wasi_ciovec_t *iovs, size_t count, __wasi_filesize_t offset, __wasi_size_t *written) {
  if (count > IOV_MAX) return PREVIEW1_EINVAL;
  return (__wasi_errno_t)plait_linked_fd_pwrite(fd, ADDRESS(iovs), count, offset, ADDRESS(written));
}

PUBLIC __wasi_errno_t __wasi_fd_close(__wasi_fd_t fd) {
  return (__wasi_errno_t)plait_linked_fd_close(fd);
}

PUBLIC __wasi_errno_t __wasi_fd_sync(__wasi_fd_t fd) {
  return (__wasi_errno_t)plait_linked_fd_sync(fd);
}

PUBLIC int __syscall_fdatasync(int fd) {
  return -(int)plait_linked_fd_sync((uint32_t)fd);
}

PUBLIC __wasi_errno_t __wasi_fd_fdstat_get(__wasi_fd_t fd, __wasi_fdstat_t *to) {
  return (__wasi_errno_t)plait_linked_fd_fdstat_get(fd, ADDRESS(to));
}

PUBLIC __wasi_errno_t __wasi_fd_seek(
    __wasi_fd_t fd, __wasi_filedelta_t offset, __wasi_whence_t whence, __wasi_filesize_t *to) {
  return (__wasi_errno_t)plait_linked_fd_seek(fd, (uint64_t)offset, whence, ADDRESS(to));
}

static int truncate_descriptor(int fd, off_t size) {
  struct plait_fs_at at;
  int rc = find_descriptor(fd, &at);
  return rc != 0 ? rc : plait_fs_truncate_at(&at, (double)size, plait_wasi_now());
}

PUBLIC int __syscall_ftruncate64(int fd, off_t size) {
  SYSCALL(truncate_descriptor(fd, size));
}

PUBLIC int __syscall_fallocate(int fd, int mode, off_t offset, off_t length) {
  if (mode != 0) return -EOPNOTSUPP;
  uint32_t error = plait_linked_fd_allocate((uint32_t)fd, (uint64_t)offset, (uint64_t)length);
  return error == PREVIEW1_SPIPE ? -ESPIPE : -(int)error;
}

PUBLIC int __syscall_fadvise64(int fd, off_t offset, off_t length, int advice) {
  return -(int)plait_linked_fd_advise((uint32_t)fd, (uint64_t)offset, (uint64_t)length, (uint32_t)advice);
}

/* ---- numbers ---- */

static int set_cloexec(uint32_t fd, int on) {
  struct plait_wasi_descriptor found;
  int rc = plait_wasi_find(fd, &found);
  return rc != 0 ? rc : plait_wasi_set_flags(fd, (found.flags & ~FLAG_CLOEXEC) | (on ? FLAG_CLOEXEC : 0));
}

/* Another number, of which FD_CLOEXEC is as `on` says. */
static int share(uint32_t fd, uint32_t least, int on) {
  int rc = plait_wasi_share(fd, least);
  if (rc >= 0) set_cloexec((uint32_t)rc, on);
  return rc;
}

PUBLIC int __syscall_dup(int fd) {
  SYSCALL(share((uint32_t)fd, 0, 0));
}

static int duplicate(int from, int to, int flags) {
  if (from == to || flags & ~O_CLOEXEC) return -PLAIT_EINVAL;
  int rc = to < 0 ? -PLAIT_EBADF : plait_wasi_renumber((uint32_t)from, (uint32_t)to, 0);
  if (rc == -PLAIT_EMFILE) rc = -PLAIT_EBADF; /* dup3() knows no such number */
  if (rc == 0) rc = set_cloexec((uint32_t)to, flags & O_CLOEXEC);
  return rc < 0 ? rc : to;
}

PUBLIC int __syscall_dup3(int from, int to, int flags) {
  SYSCALL(duplicate(from, to, flags));
}

/* ---- fcntl ---- */

static int get_flags(const struct plait_wasi_descriptor *found) {
  if (found->kind == PLAIT_WASI_STREAM) return O_RDWR | (found->flags & FDFLAG_NONBLOCK ? O_NONBLOCK : 0);
  int flags = plait_fs_flags(found->fd, found->uses);
  if (flags < 0) return flags;
  int kept = O_ACCMODE | O_APPEND | (found->kind == PLAIT_WASI_DIRECTORY ? O_DIRECTORY : 0);
  return (flags & kept) | (found->flags & FDFLAG_NONBLOCK ? O_NONBLOCK : 0);
}

static int set_flags(const struct plait_wasi_descriptor *found, uint32_t flags) {
  if (found->kind == PLAIT_WASI_FILE) {
    int rc = plait_fs_set_flags(found->fd, found->uses, flags & O_APPEND);
    if (rc != 0) return rc;
  }
  uint32_t kept = found->flags & ~(uint32_t)FDFLAG_NONBLOCK;
  return plait_wasi_set_flags(found->number, kept | (flags & O_NONBLOCK ? FDFLAG_NONBLOCK : 0));
}

/* The range that a lock names, in bytes of the file. 0, -PLAIT_EINVAL. */
static int lock_range(const struct plait_wasi_descriptor *found, const struct flock *lock, double *start, double *end) {
  double base = 0;
  if (lock->l_whence == SEEK_CUR) base = plait_fs_seek_as(found->fd, found->uses, 0, 1);
  else if (lock->l_whence == SEEK_END) {
    struct plait_fs_at at = {.fd = found->fd, .uses = found->uses};
    int rc = plait_fs_stat_at(&at, 1);
    if (rc != 0) return rc;
    base = (double)plait_get64(&plait_wasi_enter()->result.size);
  } else if (lock->l_whence != SEEK_SET) return -PLAIT_EINVAL;
  *start = base + (double)lock->l_start;
  *end = lock->l_len == 0 ? 9007199254740992.0 : *start + (double)lock->l_len;
  if (lock->l_len < 0) {
    *end = *start;
    *start += (double)lock->l_len;
  }
  return *start < 0 ? -PLAIT_EINVAL : 0;
}

/*
 * How long to wait for a lock within fs. A thread in the slot that many share must not: the lock's owner may need it.
 * Nor may a browser's main thread. They try again: see try_again().
 */
static double patience(void) {
  return plait_self_id() != SHARED_THREAD ? -1 : 0;
}

/* Whether a call that waits for a lock, and returned `rc`, is to be repeated. Waits a little. */
static int try_again(int rc) {
  if (!THREADS || rc != -EAGAIN) return 0; /* without threads nobody would unlock */
  usleep(1000);
  return 1;
}

/*
 * Locks. Those of POSIX belong to the process: threads of one program never exclude each other by them, so they are
 * only checked. Those of an opening (F_OFD_SETLK) do.
 */
static int lock_file(const struct plait_wasi_descriptor *found, int command, struct flock *lock) {
  double start, end;
  if (found->kind != PLAIT_WASI_FILE) return -PLAIT_EINVAL;
  int rc = lock_range(found, lock, &start, &end), flags = plait_fs_flags(found->fd, found->uses);
  if (rc != 0 || flags < 0) return rc != 0 ? rc : flags;
  if (lock->l_type != F_RDLCK && lock->l_type != F_WRLCK && lock->l_type != F_UNLCK) return -PLAIT_EINVAL;
  int gets = command == F_GETLK || command == F_OFD_GETLK, of_opening = command >= F_OFD_GETLK;
  if (gets && lock->l_type == F_UNLCK) return -PLAIT_EINVAL;
  if (!gets && lock->l_type == F_RDLCK && (flags & O_ACCMODE) == O_WRONLY) return -PLAIT_EBADF;
  if (!gets && lock->l_type == F_WRLCK && (flags & O_ACCMODE) == O_RDONLY) return -PLAIT_EBADF;
  if (of_opening && lock->l_pid != 0) return -PLAIT_EINVAL;
  int kind = lock->l_type == F_UNLCK ? 0 : lock->l_type == F_RDLCK ? 1 : 2;
  if (!of_opening) {
    if (gets) lock->l_type = F_UNLCK;
    return 0;
  }
  if (!gets)
    return plait_fs_lock_as(found->fd, found->uses, kind, start, end, command == F_OFD_SETLKW ? patience() : 0);
  rc = plait_fs_may_lock(found->fd, found->uses, kind, start, end);
  if (rc == 0) lock->l_type = F_UNLCK;
  if (rc != -PLAIT_EAGAIN) return rc;
  struct plait_fs_result *conflict = &plait_wasi_enter()->result;
  uint64_t first = plait_get64(&conflict->size), last = plait_get64(&conflict->held);
  *lock = (struct flock){.l_type = plait_get(&conflict->kind) == 2 ? F_WRLCK : F_RDLCK,
      .l_whence = SEEK_SET,
      .l_start = (off_t)first,
      .l_len = last == UINT64_MAX ? 0 : (off_t)(last - first),
      .l_pid = -1};
  return 0;
}

static int control(int fd, int command, uintptr_t argument) {
  struct plait_wasi_descriptor found;
  int rc = plait_wasi_find((uint32_t)fd, &found);
  if (rc != 0) return rc;
  switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
      if ((intptr_t)argument < 0 || argument >= PLAIT_WASI_NUMBER_LIMIT) return -PLAIT_EINVAL;
      return share((uint32_t)fd, (uint32_t)argument, command == F_DUPFD_CLOEXEC);
    case F_GETFD: return found.flags & FLAG_CLOEXEC ? FD_CLOEXEC : 0;
    case F_SETFD: return set_cloexec((uint32_t)fd, argument & FD_CLOEXEC);
    case F_GETFL: return get_flags(&found);
    case F_SETFL: return set_flags(&found, (uint32_t)argument);
    case F_GETLK:
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_GETLK:
    case F_OFD_SETLK:
    case F_OFD_SETLKW: return lock_file(&found, command, (struct flock *)argument);
    default: return -PLAIT_EINVAL;
  }
}

static int control_call(int fd, int command, uintptr_t argument) {
  SYSCALL(control(fd, command, argument));
}

PUBLIC int __syscall_fcntl64(int fd, int command, ...) {
  va_list list;
  va_start(list, command);
  uintptr_t argument = va_arg(list, uintptr_t);
  va_end(list);
  int rc;
  do rc = control_call(fd, command, argument);
  while (command == F_OFD_SETLKW && try_again(rc));
  return rc;
}

static int lock_whole(int fd, int operation) {
  struct plait_wasi_descriptor found;
  int rc = plait_wasi_find((uint32_t)fd, &found), what = operation & ~LOCK_NB;
  if (rc != 0) return rc;
  if (found.kind == PLAIT_WASI_STREAM) return 0;
  if (what != LOCK_SH && what != LOCK_EX && what != LOCK_UN) return -PLAIT_EINVAL;
  int kind = PLAIT_FS_FLOCK | (what == LOCK_UN ? 0 : what == LOCK_SH ? 1 : 2);
  return plait_fs_lock_as(found.fd, found.uses, kind, 0, 9007199254740992.0, operation & LOCK_NB ? 0 : patience());
}

static int flock_call(int fd, int operation) {
  SYSCALL(lock_whole(fd, operation));
}

PUBLIC int flock(int fd, int operation) {
  int rc;
  do rc = flock_call(fd, operation);
  while (!(operation & LOCK_NB) && try_again(rc));
  if (rc >= 0) return 0;
  errno = -rc;
  return -1;
}

static int control_device(int fd, int request, void *argument) {
  struct plait_wasi_descriptor found;
  int rc = plait_wasi_find((uint32_t)fd, &found);
  if (rc != 0) return rc;
  if (request == FIONREAD && found.kind == PLAIT_WASI_FILE) {
    struct plait_fs_at at = {.fd = found.fd, .uses = found.uses};
    double position = plait_fs_seek_as(found.fd, found.uses, 0, 1);
    if (position < 0 || (rc = plait_fs_stat_at(&at, 1)) != 0) return position < 0 ? (int)position : rc;
    double left = (double)plait_get64(&plait_wasi_enter()->result.size) - position;
    *(int *)argument = left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left;
    return 0;
  }
  return INT32_MIN; /* ENOTTY */
}

PUBLIC int __syscall_ioctl(int fd, int request, ...) {
  va_list list;
  va_start(list, request);
  void *argument = va_arg(list, void *);
  va_end(list);
  int how = begin();
  if (how == 0) return -ENOMEM;
  int rc = control_device(fd, request, argument);
  done(how);
  return rc == INT32_MIN ? -ENOTTY : rc < 0 ? -(int)plait_preview1_error(rc) : rc;
}

/* Files, and streams of the host, are always ready. */
static int poll_all(struct pollfd *fds, nfds_t count) {
  int ready = 0;
  for (nfds_t i = 0; i < count; i++) {
    struct plait_wasi_descriptor found;
    fds[i].revents = 0;
    if (fds[i].fd < 0) continue;
    if (plait_wasi_find((uint32_t)fds[i].fd, &found) != 0) fds[i].revents = POLLNVAL;
    else fds[i].revents = fds[i].events & (POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM);
    ready += fds[i].revents != 0;
  }
  return ready;
}

PUBLIC int __syscall_poll_nonblocking(struct pollfd *fds, nfds_t count) {
  SYSCALL(poll_all(fds, count));
}

/* Programs also sleep by polling nothing. */
PUBLIC int __syscall_poll(struct pollfd *fds, nfds_t count, int timeout) {
  int rc = __syscall_poll_nonblocking(fds, count);
  struct timespec time = {timeout / 1000, timeout % 1000 * 1000000L};
  if (rc == 0 && timeout > 0) nanosleep(&time, NULL);
  return rc;
}

/* There are no pipes. Emscripten's own function would say that it has made one. */
PUBLIC int __syscall_pipe2(int fd[2], int flags) {
  (void)fd, (void)flags;
  return -ENOSYS;
}

/* ---- directories ---- */

#define HEAD (offsetof(struct dirent, d_name))

/* Puts entries until one does not fit. The directory's position is that of the next one, a cookie as in preview1. */
static int read_names(int fd, uint8_t *to, size_t size) {
  struct plait_wasi_descriptor found;
  int rc = plait_wasi_find((uint32_t)fd, &found);
  if (rc != 0) return rc;
  if (found.kind != PLAIT_WASI_DIRECTORY) return -PLAIT_ENOTDIR;
  struct plait_fs_thread *mine = plait_wasi_enter();
  struct plait_fs_at at = {.fd = found.fd, .uses = found.uses};
  double position = plait_fs_seek_as(found.fd, found.uses, 0, 1);
  if (position < 0) return (int)position;
  uint64_t cookie = (uint64_t)position;
  size_t used = 0;
  for (;;) {
    const uint8_t *name = (const uint8_t *)"..";
    uint32_t length = (uint32_t)cookie + 1;
    uint64_t next = cookie + 1;
    rc = cookie < FIRST_NAMES ? plait_preview1_stat_dots(&found, cookie == 1)
                              : plait_fs_next_at(&at, cookie - FIRST_NAMES);
    if (rc == -PLAIT_ENOENT && cookie < FIRST_NAMES) break; /* the directory was removed */
    if (rc < 0) return rc;
    if (cookie >= FIRST_NAMES) {
      if (rc == 0) break;
      name = plait_at(plait_get(&mine->scratch)), length = plait_get(&mine->result.bytes);
      next = plait_get64(&mine->result.cursor) + FIRST_NAMES;
    }
    size_t needs = (HEAD + length + 1 + 7) & ~(size_t)7;
    if (needs > size - used) {
      if (used == 0) return -PLAIT_EINVAL;
      break;
    }
    struct dirent *entry = (struct dirent *)(to + used);
    uint32_t kind = plait_get(&mine->result.kind);
    entry->d_ino = plait_get(&mine->result.number);
    entry->d_off = (off_t)next;
    entry->d_reclen = (unsigned short)needs;
    entry->d_type = kind == PLAIT_FS_DIRECTORY ? DT_DIR : kind == PLAIT_FS_SYMLINK ? DT_LNK : DT_REG;
    plait_copy_near(entry->d_name, name, length);
    entry->d_name[length] = 0;
    used += needs;
    cookie = next;
  }
  double moved = plait_fs_seek_as(found.fd, found.uses, (double)cookie, 0);
  return moved < 0 ? (int)moved : (int)used;
}

PUBLIC int __syscall_getdents64(int fd, void *to, size_t size) {
  SYSCALL(read_names(fd, to, size));
}
