/*
 * mounted: operations on what is in mounts: what tree.c is for memory. Each gets the place that a walk has found, takes
 * the steps of the backend, and leaves the backend's directories.
 *
 * What a host would not refuse, or with another error than memory, is checked here first: names that exist, paths that
 * end in a slash, mounts that are only to be read.
 */
#include "backend.h"
#include "internal.h"

PLAIT_COLD_BEGIN

#define NAME_OF(place) (place)->mount, (place)->directory, (place)->name.bytes, (place)->name.length

/* Ends an operation: after a change, watchers are notified. */
static int end_change(int rc) {
  if (rc == 0) plait__fs_notify_watchers();
  return plait__fs_leave(rc);
}

int plait__fs_mounted_look(struct plait_fs_thread *mine, struct plait__fs_place *place) {
  if (place->kind < 0) {
    int rc = place->fd >= 0 ? plait_backend_fstat(place->fd, place->uses) : plait_backend_stat(NAME_OF(place));
    if (rc != 0 && rc != -PLAIT_ENOENT) return rc;
    place->kind = rc == 0 ? (int)plait_get(&mine->result.kind) : PLAIT_FS_NONE;
  }
  if (place->kind == PLAIT_FS_NONE) return -PLAIT_ENOENT;
  return place->slash && place->kind != PLAIT_FS_DIRECTORY ? -PLAIT_ENOTDIR : 0;
}

/* Whether nothing has the name, so that it can be made: 0, -PLAIT_EEXIST. */
static int is_free(struct plait_fs_thread *mine, struct plait__fs_place *place) {
  if (place->name.length == 0 || place->covers == 1) return -PLAIT_EEXIST;
  int rc = plait__fs_mounted_look(mine, place);
  if (place->kind > PLAIT_FS_NONE) return -PLAIT_EEXIST;
  return rc == -PLAIT_ENOENT ? 0 : rc;
}

int plait__fs_mounted_stat(struct plait_fs_thread *mine, struct plait__fs_place *place) {
  int rc = plait__fs_mounted_look(mine, place);
  plait_put(&mine->result.mount, place->mount);
  plait_put(&mine->result.block, 0);
  return plait__fs_leave(rc);
}

int plait__fs_mounted_access(struct plait_fs_thread *mine, struct plait__fs_place *place, uint32_t mode) {
  int rc = plait__fs_mounted_look(mine, place);
  if (rc == 0 && (mode & 2) && place->read_only) rc = -PLAIT_EROFS;
  if (rc == 0) rc = plait_backend_access(NAME_OF(place), mode);
  return plait__fs_leave(rc);
}

/* Whether nothing may be changed in the descriptor's mount. */
static int is_read_only(struct plait_fs_thread *mine, struct plait__fs_place *place) {
  struct plait__fs_view view;
  int rc = plait__fs_view(mine, place->mount, &view);
  return rc != 0 ? rc : view.read_only ? -PLAIT_EROFS : 0;
}

int plait__fs_mounted_set(
    struct plait_fs_thread *mine, struct plait__fs_place *place, const struct plait_fs_attributes *new) {
  int rc;
  if (place->fd >= 0) {
    rc = is_read_only(mine, place);
    if (rc == 0) rc = plait_backend_fset(place->fd, place->uses, new);
  } else {
    rc = plait__fs_mounted_look(mine, place);
    if (rc == 0 && place->read_only) rc = -PLAIT_EROFS;
    if (rc == 0) rc = plait_backend_set(NAME_OF(place), new);
  }
  return end_change(rc);
}

/* ---- names ---- */

int plait__fs_mounted_mkdir(struct plait_fs_thread *mine, struct plait__fs_place *place, uint32_t mode) {
  int rc = is_free(mine, place);
  if (rc == 0 && place->read_only) rc = -PLAIT_EROFS;
  if (rc == 0) rc = plait_backend_mkdir(NAME_OF(place), mode & 07777);
  return end_change(rc);
}

/* What removing may not do. */
static int may_remove(struct plait_fs_thread *mine, struct plait__fs_place *place, int is_rmdir) {
  int dots = place->dots;
  if (place->name.length == 0 && !is_rmdir) return -PLAIT_EISDIR;
  if (place->name.length == 0) return dots == 1 ? -PLAIT_EINVAL : dots == 2 ? -PLAIT_ENOTEMPTY : -PLAIT_EBUSY;
  if (place->covers == 1) return is_rmdir ? -PLAIT_EBUSY : -PLAIT_EISDIR;
  if (place->slash) {
    int rc = plait__fs_mounted_look(mine, place);
    if (rc == 0 && !is_rmdir) rc = -PLAIT_EISDIR;
    if (rc != 0) return rc;
  }
  return place->read_only ? -PLAIT_EROFS : 0;
}

int plait__fs_mounted_remove(struct plait_fs_thread *mine, struct plait__fs_place *place, int is_rmdir) {
  int rc = may_remove(mine, place, is_rmdir);
  if (rc == 0) rc = plait_backend_remove(NAME_OF(place), is_rmdir);
  return end_change(rc);
}

int plait__fs_mounted_symlink(struct plait_fs_thread *mine, struct plait__fs_place *place, uint32_t target) {
  int rc = target == 0 ? -PLAIT_ENOENT : target >= PLAIT_FS_PATH_MAX ? -PLAIT_ENAMETOOLONG : is_free(mine, place);
  if (rc == 0 && place->slash) rc = -PLAIT_ENOENT;
  if (rc == 0 && place->read_only) rc = -PLAIT_EROFS;
  if (rc == 0) rc = plait_backend_symlink(NAME_OF(place), mine->first, target);
  return end_change(rc);
}

int plait__fs_mounted_readlink(struct plait_fs_thread *mine, struct plait__fs_place *place) {
  int rc = plait__fs_mounted_look(mine, place);
  plait_put(&mine->result.mount, place->mount);
  if (rc == 0 && place->kind != PLAIT_FS_SYMLINK) rc = -PLAIT_EINVAL;
  if (rc == 0) rc = plait_backend_readlink(NAME_OF(place), plait_at(plait_get(&mine->scratch)));
  return plait__fs_leave(rc);
}

/* Whether both are in one mount. */
static int is_one_mount(struct plait__fs_place *from, int from_rc, struct plait__fs_place *to, int to_rc) {
  return from_rc == PLAIT__FS_IN_MOUNT && to_rc == PLAIT__FS_IN_MOUNT && from->mount == to->mount && from->fd < 0;
}

int plait__fs_mounted_link(
    struct plait_fs_thread *mine, struct plait__fs_place *from, int from_rc, struct plait__fs_place *to, int to_rc) {
  int rc = is_one_mount(from, from_rc, to, to_rc) ? 0 : -PLAIT_EXDEV;
  if (rc == 0) rc = plait__fs_mounted_look(mine, from);
  if (rc == 0) rc = is_free(mine, to);
  if (rc == 0 && to->slash) rc = -PLAIT_ENOENT;
  if (rc == 0 && from->kind == PLAIT_FS_DIRECTORY) rc = -PLAIT_EPERM;
  if (rc == 0 && from->read_only) rc = -PLAIT_EROFS;
  if (rc == 0) rc = plait_backend_link(NAME_OF(from), to->directory, to->name.bytes, to->name.length);
  return end_change(rc);
}

int plait__fs_mounted_rename(
    struct plait_fs_thread *mine, struct plait__fs_place *from, int from_rc, struct plait__fs_place *to, int to_rc) {
  int rc = is_one_mount(from, from_rc, to, to_rc) ? 0 : -PLAIT_EXDEV;
  if (rc == 0 && (from->name.length == 0 || to->name.length == 0 || from->covers || to->covers)) rc = -PLAIT_EBUSY;
  if (rc == 0 && from->read_only) rc = -PLAIT_EROFS;
  if (rc == 0 && (from->slash || to->slash)) {
    rc = plait__fs_mounted_look(mine, from);
    if (rc == 0 && from->kind != PLAIT_FS_DIRECTORY) rc = -PLAIT_ENOTDIR;
  }
  if (rc == 0) rc = plait_backend_rename(NAME_OF(from), to->directory, to->name.bytes, to->name.length);
  return end_change(rc);
}

/* ---- directories ---- */

int plait__fs_mounted_list(struct plait_fs_thread *mine, struct plait__fs_place *place, double cursor) {
  plait_put(&mine->result.block, 0);
  if (place->fd >= 0) return plait_backend_flist(place->fd, place->uses, cursor);
  int rc = plait__fs_mounted_look(mine, place);
  if (rc == 0 && place->kind != PLAIT_FS_DIRECTORY) rc = -PLAIT_ENOTDIR;
  if (rc == 0) rc = plait_backend_list(NAME_OF(place), cursor);
  return plait__fs_leave(rc);
}

int plait__fs_mounted_next(struct plait_fs_thread *mine, struct plait__fs_place *place, uint64_t cookie) {
  (void)mine;
  if (place->fd < 0) return plait__fs_leave(-PLAIT_EBADF); /* cookies belong to a descriptor */
  return plait_backend_fnext(place->fd, place->uses, (double)cookie);
}

int plait_fs_sync_as(int fd, uint32_t uses, int data_only) {
  struct plait__fs_place place;
  if (plait__fs_open_as(fd, uses, &place.node) != NULL) return 0;
  int rc = plait__fs_find_mounted(fd, uses, &place);
  return rc < 0 ? rc : plait_backend_sync(fd, place.uses, data_only);
}

PLAIT_EXPORT int plait_fs_sync(int fd, int data_only) {
  return plait_fs_sync_as(fd, 0, data_only);
}

PLAIT_COLD_END
