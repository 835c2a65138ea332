/*
 * preview1_paths: the calls of preview1 on paths (path_*). A path starts at an open directory.
 */
#include "preview1.h"

PLAIT_COLD_BEGIN

/* Lets the program's path start at a directory that has the rights. `second`: which of the thread's two paths. */
static uint32_t place(uint32_t fd, uint64_t rights, plait_guest_t path, uint32_t length, uint32_t second,
    struct plait_wasi_descriptor *found, struct plait_fs_at *at) {
  /* In the order of Linux: what is wrong with the path comes first. */
  if (length >= PLAIT_FS_PATH_MAX) return PREVIEW1_ENAMETOOLONG;
  if (length == 0) return PREVIEW1_ENOENT;
  uint32_t error = plait_preview1_find(fd, 0, found);
  if (error != 0) return error;
  if (found->kind != PLAIT_WASI_DIRECTORY) return PREVIEW1_ENOTDIR;
  if ((found->rights & rights) != rights) return PREVIEW1_ENOTCAPABLE;
  if (!guest_reaches(path, length)) return PREVIEW1_FAULT;
  struct plait_fs_thread *mine = plait_wasi_enter();
  uint8_t *to = second ? mine->second : mine->first;
  guest_get(to, path, length);
  for (uint32_t i = 0; i < length; i++)
    if (to[i] == 0) return PREVIEW1_EINVAL;
  *at = (struct plait_fs_at){
      .fd = -1, .length = length, .second = second, .beneath = plait_get(&plait_wasi_program()->beneath)};
  return plait_preview1_error(plait_fs_start_at(at, found->fd, found->uses));
}

PLAIT_EXPORT uint32_t plait_preview1_path_create_directory(uint32_t fd, plait_guest_t path, uint32_t length) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  struct plait_fs_at at;
  uint32_t error = place(fd, RIGHT(RIGHT_PATH_CREATE_DIRECTORY), path, length, 0, &found, &at);
  return error != 0 ? error : plait_preview1_error(plait_fs_mkdir_at(&at, 0777, plait_wasi_now()));
}

PLAIT_EXPORT uint32_t plait_preview1_path_filestat_get(
    uint32_t fd, uint32_t lookup, plait_guest_t path, uint32_t length, plait_guest_t to) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  struct plait_fs_at at;
  if (!guest_reaches(to, FILESTAT_SIZE)) return PREVIEW1_FAULT;
  uint32_t error = place(fd, RIGHT(RIGHT_PATH_FILESTAT_GET), path, length, 0, &found, &at);
  if (error != 0) return error;
  int rc = plait_fs_stat_at(&at, lookup & LOOKUP_FOLLOW);
  if (rc == 0) plait_preview1_put_filestat(to);
  return plait_preview1_error(rc);
}

PLAIT_EXPORT uint32_t plait_preview1_path_filestat_set_times(
    uint32_t fd, uint32_t lookup, plait_guest_t path, uint32_t length, uint64_t atime, uint64_t mtime, uint32_t flags) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  struct plait_fs_at at;
  uint32_t error = place(fd, RIGHT(RIGHT_PATH_FILESTAT_SET_TIMES), path, length, 0, &found, &at);
  return error != 0 ? error : plait_preview1_set_times(&at, lookup & LOOKUP_FOLLOW, atime, mtime, flags);
}

PLAIT_EXPORT uint32_t plait_preview1_path_link(uint32_t fd, uint32_t lookup, plait_guest_t path, uint32_t length,
    uint32_t new_fd, plait_guest_t new_path, uint32_t new_length) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  struct plait_fs_at from, to;
  uint32_t error = place(fd, RIGHT(RIGHT_PATH_LINK_SOURCE), path, length, 0, &found, &from);
  if (error == 0) error = place(new_fd, RIGHT(RIGHT_PATH_LINK_TARGET), new_path, new_length, 1, &found, &to);
  if (error != 0) return error;
  /* Other runtimes refuse it, and their tests want that. */
  if ((lookup & LOOKUP_FOLLOW) && from.beneath) return PREVIEW1_EINVAL;
  return plait_preview1_error(plait_fs_link_at(&from, lookup & LOOKUP_FOLLOW, &to, plait_wasi_now()));
}

/* The flags of fs. What may be done with the opening follows from the rights that are asked for. */
static uint32_t flags_of(uint32_t lookup, uint32_t oflags, uint64_t base, uint32_t fdflags) {
  uint64_t writing = RIGHT(RIGHT_FD_WRITE) | RIGHT(RIGHT_FD_ALLOCATE) | RIGHT(RIGHT_FD_FILESTAT_SET_SIZE);
  uint64_t reading = RIGHT(RIGHT_FD_READ) | RIGHT(RIGHT_FD_READDIR);
  uint32_t flags = 0;
  if ((base & writing) && !(oflags & OFLAG_DIRECTORY)) flags = base & reading ? PLAIT_FS_RDWR : PLAIT_FS_WRONLY;
  if (oflags & OFLAG_CREAT) flags |= PLAIT_FS_CREAT;
  if (oflags & OFLAG_DIRECTORY) flags |= PLAIT_FS_MUST_DIR;
  if (oflags & OFLAG_EXCL) flags |= PLAIT_FS_EXCL;
  if (oflags & OFLAG_TRUNC) flags |= PLAIT_FS_TRUNC;
  if (fdflags & FDFLAG_APPEND) flags |= PLAIT_FS_APPEND;
  if (!(lookup & LOOKUP_FOLLOW)) flags |= PLAIT_FS_NOFOLLOW;
  return flags;
}

/* Gives a new opening of fs a number: 0, or an error after it was closed again. */
static uint32_t number_opening(int fd, uint64_t base, uint64_t inheriting, uint32_t fdflags, plait_guest_t to) {
  struct plait_wasi_descriptor opened;
  int rc = plait_wasi_describe(fd, &opened);
  if (rc == 0) {
    opened.rights = base & (opened.kind == PLAIT_WASI_DIRECTORY ? RIGHTS_DIRECTORY : RIGHTS_FILE);
    opened.inheriting = inheriting;
    opened.flags = fdflags & ~(uint32_t)FDFLAG_APPEND;
    rc = plait_wasi_number(&opened);
  }
  if (rc < 0) return plait_preview1_error(rc);
  guest_store(to, (uint32_t)rc);
  return 0;
}

PLAIT_EXPORT uint32_t plait_preview1_path_open(uint32_t fd, uint32_t lookup, plait_guest_t path, uint32_t length,
    uint32_t oflags, uint64_t base, uint64_t inheriting, uint32_t fdflags, plait_guest_t to) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  struct plait_fs_at at;
  if (!guest_reaches(to, 4)) return PREVIEW1_FAULT;
  if (oflags > OFLAGS || fdflags > FDFLAGS) return PREVIEW1_EINVAL;
  uint64_t rights = RIGHT(RIGHT_PATH_OPEN) | (oflags & OFLAG_CREAT ? RIGHT(RIGHT_PATH_CREATE_FILE) : 0) |
      (oflags & OFLAG_TRUNC ? RIGHT(RIGHT_PATH_FILESTAT_SET_SIZE) : 0);
  uint32_t error = place(fd, rights, path, length, 0, &found, &at);
  if (error != 0) return error;
  if ((oflags & OFLAG_DIRECTORY) && (base & RIGHT(RIGHT_FD_WRITE))) return PREVIEW1_EISDIR;
  if (base & ~found.inheriting & (RIGHTS_FILE | RIGHTS_DIRECTORY)) return PREVIEW1_ENOTCAPABLE;
  int opened = plait_fs_open_at(&at, flags_of(lookup, oflags, base, fdflags), 0666, plait_wasi_now());
  if (opened < 0) return plait_preview1_error(opened);
  return number_opening(opened, base, inheriting & found.inheriting, fdflags, to);
}

PLAIT_EXPORT uint32_t plait_preview1_path_readlink(
    uint32_t fd, plait_guest_t path, uint32_t length, plait_guest_t to, uint32_t size, plait_guest_t used) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  struct plait_fs_at at;
  if (!guest_reaches(to, size) || !guest_reaches(used, 4)) return PREVIEW1_FAULT;
  /* As in Linux, where an empty path may name the descriptor itself. */
  uint32_t error = length == 0 ? plait_preview1_find(fd, 0, &found) : 0;
  if (error == 0) error = place(fd, RIGHT(RIGHT_PATH_READLINK), path, length, 0, &found, &at);
  if (error != 0) return error;
  int rc = plait_fs_readlink_at(&at);
  if (rc < 0) return plait_preview1_error(rc);
  uint32_t part = (uint32_t)rc < size ? (uint32_t)rc : size;
  guest_put(to, plait_at(plait_get(&plait_wasi_enter()->scratch)), part);
  guest_store(used, part);
  return 0;
}

static uint32_t remove_path(uint32_t fd, uint32_t right, plait_guest_t path, uint32_t length, int is_rmdir) {
  struct plait_wasi_descriptor found;
  struct plait_fs_at at;
  uint32_t error = place(fd, RIGHT(right), path, length, 0, &found, &at);
  return error != 0 ? error : plait_preview1_error(plait_fs_remove_at(&at, is_rmdir, plait_wasi_now()));
}

PLAIT_EXPORT uint32_t plait_preview1_path_remove_directory(uint32_t fd, plait_guest_t path, uint32_t length) {
  PREVIEW1_ENTER;
  return remove_path(fd, RIGHT_PATH_REMOVE_DIRECTORY, path, length, 1);
}

PLAIT_EXPORT uint32_t plait_preview1_path_unlink_file(uint32_t fd, plait_guest_t path, uint32_t length) {
  PREVIEW1_ENTER;
  return remove_path(fd, RIGHT_PATH_UNLINK_FILE, path, length, 0);
}

PLAIT_EXPORT uint32_t plait_preview1_path_rename(
    uint32_t fd, plait_guest_t path, uint32_t length, uint32_t new_fd, plait_guest_t new_path, uint32_t new_length) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  struct plait_fs_at from, to;
  uint32_t error = place(fd, RIGHT(RIGHT_PATH_RENAME_SOURCE), path, length, 0, &found, &from);
  if (error == 0) error = place(new_fd, RIGHT(RIGHT_PATH_RENAME_TARGET), new_path, new_length, 1, &found, &to);
  return error != 0 ? error : plait_preview1_error(plait_fs_rename_at(&from, &to, plait_wasi_now()));
}

PLAIT_EXPORT uint32_t plait_preview1_path_symlink(
    plait_guest_t text, uint32_t text_length, uint32_t fd, plait_guest_t path, uint32_t length) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  struct plait_fs_at at;
  uint32_t error = place(fd, RIGHT(RIGHT_PATH_SYMLINK), path, length, 1, &found, &at);
  if (error != 0) return error;
  if (text_length >= PLAIT_FS_PATH_MAX) return PREVIEW1_ENAMETOOLONG;
  if (!guest_reaches(text, text_length)) return PREVIEW1_FAULT;
  uint8_t *first = plait_wasi_enter()->first;
  guest_get(first, text, text_length);
  for (uint32_t i = 0; i < text_length; i++)
    if (first[i] == 0) return PREVIEW1_EINVAL;
  if (at.beneath && text_length != 0 && first[0] == '/') return PREVIEW1_ENOTCAPABLE;
  return plait_preview1_error(plait_fs_symlink_at(text_length, &at, plait_wasi_now()));
}

PLAIT_COLD_END
