/*
 * mount_list: the list of mounts, as walks and backends ask it. mounts.c changes it, under `rename`, and has its
 * invariants; every function here takes that lock, or is called under it.
 */
#include "internal.h"

PLAIT_COLD_BEGIN

struct plait_fs_mount *plait__fs_mount_of(uint32_t number) {
  for (plait_ref_t ref = plait_get(&plait_fs()->mounts); ref != 0;) {
    struct plait_fs_mount *mount = plait_at(ref);
    if (plait_get(&mount->number) == number) return mount;
    ref = plait_get(&mount->next);
  }
  return NULL;
}

int plait__fs_has_mount(struct plait_inode *directory) {
  for (plait_ref_t ref = plait_get(&plait_fs()->mounts); ref != 0;) {
    struct plait_fs_mount *mount = plait_at(ref);
    if (plait_get(&mount->inode) != 0 && plait__fs_is_above(directory, plait_at(plait_get(&mount->inode)))) return 1;
    ref = plait_get(&mount->next);
  }
  return 0;
}

/* Bytes of the mount's path, as a walk counts: none for the root. */
static uint32_t place_length(struct plait_fs_mount *mount) {
  uint32_t length = plait_get(&mount->place);
  return length == 1 ? 0 : length;
}

/* Whether the mount's path is that of `length` bytes; with `inside`, or below it. */
static int is_there(struct plait_fs_mount *mount, const uint8_t *path, uint32_t length, int inside) {
  const uint8_t *place = (const uint8_t *)mount->text;
  uint32_t own = place_length(mount);
  if (own < length || (own > length && (!inside || place[length] != '/'))) return 0;
  for (uint32_t i = 0; i < length; i++)
    if (place[i] != path[i]) return 0;
  return 1;
}

int plait__fs_view(struct plait_fs_thread *mine, uint32_t number, struct plait__fs_view *view) {
  int rc = plait__fs_acquire(&plait_fs()->rename);
  if (rc != 0) return rc;
  struct plait_fs_mount *mount = plait__fs_mount_of(number);
  if (mount == NULL) rc = -PLAIT_ESTALE;
  else {
    uint32_t length = place_length(mount);
    *view = (struct plait__fs_view){number, length, plait_get(&mount->read_only) != 0, 0};
    plait_copy_near(mine->where, (const uint8_t *)mount->text, length);
    for (plait_ref_t ref = plait_get(&plait_fs()->mounts); ref != 0 && !view->inner;) {
      struct plait_fs_mount *other = plait_at(ref);
      view->inner = other != mount && is_there(other, mine->where, length, 1);
      ref = plait_get(&other->next);
    }
  }
  plait_lock_release(&plait_fs()->rename);
  return rc;
}

int plait__fs_mount_there(struct plait_fs_thread *mine, uint32_t length, int inside) {
  int number = plait__fs_acquire(&plait_fs()->rename);
  if (number != 0) return number;
  for (plait_ref_t ref = plait_get(&plait_fs()->mounts); ref != 0 && number == 0;) {
    struct plait_fs_mount *mount = plait_at(ref);
    if (is_there(mount, mine->where, length, inside)) number = (int)plait_get(&mount->number);
    ref = plait_get(&mount->next);
  }
  plait_lock_release(&plait_fs()->rename);
  return number;
}

PLAIT_COLD_END
