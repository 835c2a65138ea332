/*
 * wasix: the calls on files that WASIX's C library makes beside those of preview1: a wasi-libc with pthreads, dup() and
 * a working directory. Its other calls (threads, futexes, processes, sockets) stay the host's.
 *
 * Invariant: `directory` is an absolute path with a zero at its end. It changes under `directory_lock`.
 */
#define WASIX(name, parameters) \
  PUBLIC uint32_t __imported_wasix_32v1_##name parameters __attribute__((alias("plait_linked_wasix_" #name)));
#define WASIX_CLOEXEC 1u
#define FLAG_CLOEXEC 256u /* beside preview1's fdflags */
#define EOVERFLOW 61u

static uint32_t set_wasix_flags(uint32_t fd, uint32_t flags) {
  struct plait_wasi_descriptor found;
  uint32_t error = plait_preview1_find(fd, 0, &found);
  if (error != 0) return error;
  uint32_t kept = found.flags & ~FLAG_CLOEXEC;
  return plait_preview1_error(plait_wasi_set_flags(fd, kept | (flags & WASIX_CLOEXEC ? FLAG_CLOEXEC : 0)));
}

static uint32_t get_wasix_flags(uint32_t fd, uint16_t *to) {
  struct plait_wasi_descriptor found;
  uint32_t error = plait_preview1_find(fd, 0, &found);
  if (error == 0) *to = found.flags & FLAG_CLOEXEC ? WASIX_CLOEXEC : 0;
  return error;
}

static uint32_t share_wasix(uint32_t fd, uint32_t least, uint32_t flags, uint32_t *to) {
  if (least >= PLAIT_WASI_NUMBER_LIMIT) return PREVIEW1_EINVAL;
  int shared = plait_wasi_share(fd, least);
  if (shared < 0) return plait_preview1_error(shared);
  *to = (uint32_t)shared;
  return set_wasix_flags(*to, flags);
}

static uint32_t open_wasix(uint32_t fd, uint32_t lookup, plait_guest_t path, uint32_t length, uint32_t oflags,
    uint64_t base, uint64_t inheriting, uint32_t flags, uint32_t flags2, uint32_t *to) {
  uint32_t error = plait_preview1_path_open(fd, lookup, path, length, oflags, base, inheriting, flags, ADDRESS(to));
  return error != 0 || flags2 == 0 ? error : set_wasix_flags(*to, flags2);
}

static uint32_t plait_linked_wasix_path_open2(uint32_t fd, uint32_t lookup, plait_guest_t path, uint32_t length,
    uint32_t oflags, uint64_t base, uint64_t inheriting, uint32_t flags, uint32_t flags2, uint32_t *to) {
  IN_FILES(open_wasix(fd, lookup, path, length, oflags, base, inheriting, flags, flags2, to));
}
WASIX(path_open2,
    (uint32_t fd, uint32_t lookup, plait_guest_t path, uint32_t length, uint32_t oflags, uint64_t base,
        uint64_t inheriting, uint32_t flags, uint32_t flags2, uint32_t *to))

static uint32_t plait_linked_wasix_fd_dup(uint32_t fd, uint32_t *to) {
  IN_FILES(share_wasix(fd, 0, 0, to));
}
WASIX(fd_dup, (uint32_t fd, uint32_t *to))

static uint32_t plait_linked_wasix_fd_dup2(uint32_t fd, uint32_t least, uint32_t cloexec, uint32_t *to) {
  IN_FILES(share_wasix(fd, least, cloexec ? WASIX_CLOEXEC : 0, to));
}
WASIX(fd_dup2, (uint32_t fd, uint32_t least, uint32_t cloexec, uint32_t *to))

static uint32_t plait_linked_wasix_fd_fdflags_get(uint32_t fd, uint16_t *to) {
  IN_FILES(get_wasix_flags(fd, to));
}
WASIX(fd_fdflags_get, (uint32_t fd, uint16_t *to))

static uint32_t plait_linked_wasix_fd_fdflags_set(uint32_t fd, uint32_t flags) {
  IN_FILES(set_wasix_flags(fd, flags));
}
WASIX(fd_fdflags_set, (uint32_t fd, uint32_t flags))

/* ---- the working directory ---- */

static uint8_t directory[PLAIT_FS_PATH_MAX] = "/";
static uint32_t directory_length = 1;
static struct plait_lock directory_lock;

/* Removes the last name. The root directory stays. */
static uint32_t without_last(const uint8_t *path, uint32_t length) {
  while (length > 1 && path[--length] != '/') {}
  return length;
}

/*
 * Puts the path behind the directory's in `to`, or in its place if it is absolute. `.` is left out, and `..` removes
 * the name before it, also if that is a link. The new length, -PLAIT_ENAMETOOLONG.
 */
static int join_path(uint8_t *to, uint32_t used, const uint8_t *path, uint32_t length) {
  if (length > 0 && path[0] == '/') used = 1;
  for (uint32_t at = 0, end; at < length; at = end + 1) {
    for (end = at; end < length && path[end] != '/';) end++;
    uint32_t name = end - at;
    if (name == 0 || (name == 1 && path[at] == '.')) continue;
    if (name == 2 && path[at] == '.' && path[at + 1] == '.') {
      used = without_last(to, used);
      continue;
    }
    if (used + 1 + name >= PLAIT_FS_PATH_MAX) return -PLAIT_ENAMETOOLONG;
    if (used > 1) to[used++] = '/';
    plait_copy_near(to + used, path + at, name);
    used += name;
  }
  return (int)used;
}

/* pre: holds `directory_lock`. */
static int replace_directory(const uint8_t *path, uint32_t length) {
  struct plait_fs_thread *mine = plait_wasi_enter();
  plait_copy_near(mine->first, directory, directory_length);
  int used = join_path(mine->first, directory_length, path, length);
  if (used < 0) return used;
  struct plait_fs_at at = plait_fs_path((uint32_t)used);
  int rc = plait_fs_stat_at(&at, 1);
  if (rc != 0) return rc;
  if (plait_get(&mine->result.kind) != PLAIT_FS_DIRECTORY) return -PLAIT_ENOTDIR;
  plait_copy_near(directory, mine->first, (uint32_t)used);
  directory_length = (uint32_t)used;
  return 0;
}

static uint32_t change_directory(const uint8_t *path, uint32_t length) {
  int rc = plait_lock_acquire(&directory_lock);
  if (rc < 0) return plait_preview1_error(rc);
  rc = replace_directory(path, length);
  plait_lock_release(&directory_lock);
  return plait_preview1_error(rc);
}

static uint32_t plait_linked_wasix_chdir(const uint8_t *path, uint32_t length) {
  IN_FILES(change_directory(path, length));
}
WASIX(chdir, (const uint8_t *path, uint32_t length))

/* `*length`: the buffer's size, then the path's length. */
static uint32_t get_directory(uint8_t *to, uint32_t *length) {
  int rc = plait_lock_acquire(&directory_lock);
  if (rc < 0) return plait_preview1_error(rc);
  uint32_t size = *length, error = size <= directory_length ? EOVERFLOW : 0;
  *length = directory_length;
  if (error == 0) {
    plait_copy_near(to, directory, directory_length);
    to[directory_length] = 0;
  }
  plait_lock_release(&directory_lock);
  return error;
}

/* Also this is a call into fs: only a thread that has entered may take a lock. */
static uint32_t plait_linked_wasix_getcwd(uint8_t *to, uint32_t *length) {
  IN_FILES(get_directory(to, length));
}
WASIX(getcwd, (uint8_t *to, uint32_t *length))
