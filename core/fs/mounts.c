/*
 * mounts: mounting and unmounting directories whose contents a backend serves: a folder of the host, later an image or a
 * browser's storage.
 *
 * The list knows the paths of mounts, and nothing about their contents. A walk that comes to a covered directory goes on
 * in the mount (mount_walk.c), and takes what it has to know from the list once (mount_list.c). So a mount that is removed
 * or added meanwhile is one of before or after.
 *
 * Invariants
 * - One journal changes the list and `inode.mount` together, under `rename` and the inode's lock. Numbers are never
 *   reused. So a thread's cached copy of a mount is correct, or its number names no mount.
 * - A directory that a mount covers, or that contains a mount, is neither removed nor moved: `place` stays its path.
 * - A thread that moves a directory checks `moves` under the directory's lock, and if it is set, moves under `rename`.
 *   The first mount sets `moves`, and then takes and releases the lock of each ancestor once. From there on no ancestor
 *   moves while `rename` is held, and `place` is correct at the commit.
 * - A mount with open descriptors, or with another mount in it, is not removed (mounted_files.c).
 */
#include "internal.h"

PLAIT_COLD_BEGIN

/* Whether the mount's path is this one. */
static int has_place(struct plait_fs_mount *mount, const uint8_t *path, uint32_t length) {
  if (plait_get(&mount->place) != length) return 0;
  const uint8_t *place = (const uint8_t *)mount->text;
  for (uint32_t i = 0; i < length; i++)
    if (place[i] != path[i]) return 0;
  return 1;
}

static struct plait_fs_mount *mount_at(const uint8_t *path, uint32_t length) {
  for (plait_ref_t ref = plait_get(&plait_fs()->mounts); ref != 0;) {
    struct plait_fs_mount *mount = plait_at(ref);
    if (has_place(mount, path, length)) return mount;
    ref = plait_get(&mount->next);
  }
  return NULL;
}

/* Under `rename`; and the inode's lock, if there is one. */
static void add_mount(struct plait_fs_thread *mine, plait_ref_t block, struct plait_inode *inode) {
  struct plait_fs *fs = plait_fs();
  struct plait_fs_mount *mount = plait_at(block);
  uint32_t number = plait_get(&fs->mount_count) + 1;
  plait_put(&mount->next, plait_get(&fs->mounts));
  plait_put(&mount->number, number);
  plait_put(&mount->inode, inode != NULL ? plait_ref(inode) : 0);
  plait__fs_tx_begin(mine);
  if (inode != NULL) {
    plait__fs_tx_target(mine, inode);
    plait__fs_tx_stage(mine, &inode->mount, number);
  }
  plait__fs_tx_stage(mine, &fs->mounts, block);
  plait__fs_tx_stage(mine, &fs->mount_count, number);
  plait__fs_tx_stage(mine, &fs->mount_changes, plait_get(&fs->mount_changes) + 1);
  plait__fs_tx_commit(mine, 0);
}

/*
 * From now on directories move only under `rename`. Waits until ancestors that are moving without it have moved. Under
 * `rename`. 0, -PLAIT_ETIMEDOUT.
 */
static int wait_for_moves(struct plait_inode *inode) {
  struct plait_inode *root = plait__fs_root_inode();
  /* A thread that locks a directory after this one sees the word, because the lock is released in between. */
  atomic_store_explicit(&plait_fs()->moves, 1, memory_order_release);
  /* Another thread may remove the directory, and then its ancestors. The caller sees that. */
  for (uint32_t steps = 0; plait_ref(inode) != 0 && steps < PLAIT__FS_DEEPEST;
      steps++, inode = plait_at(plait_load(&inode->parent))) {
    struct plait_inode *one = inode;
    int rc = plait__fs_lock(&one, 1);
    if (rc != 0) return rc;
    plait__fs_unlock(&one, 1);
    if (inode == root) return 0;
  }
  return 0;
}

/*
 * Finds the directory in memory at the path, with no link on the way. It stays there while `rename` is held. Under
 * `rename`.
 */
static int find_place(struct plait_fs_thread *mine, uint32_t length, struct plait__fs_node *node) {
  struct plait__fs_place place;
  struct plait_fs_at at = plait_fs_path(length);
  int rc = plait__fs_walk(mine, &at, PLAIT__FS_COVER | PLAIT__FS_PLAIN | PLAIT__FS_MEMORY, &place);
  if (rc != 0) return rc;
  *node = place.node;
  if (node->inode == NULL) return -PLAIT_ENOENT;
  if (plait__fs_kind(node->generation_kind) != PLAIT_FS_DIRECTORY) return -PLAIT_ENOTDIR;
  if ((rc = wait_for_moves(node->inode)) != 0) return rc;
  rc = plait__fs_walk(mine, &at, PLAIT__FS_COVER | PLAIT__FS_PLAIN | PLAIT__FS_MEMORY, &place);
  if (rc != 0) return rc;
  return place.node.inode == node->inode && place.node.generation_kind == node->generation_kind ? 0 : -PLAIT_ENOENT;
}

/* Mounts over a directory in memory. Under `rename`. */
static int cover(struct plait_fs_thread *mine, plait_ref_t block, uint32_t length) {
  struct plait__fs_node node;
  int rc = find_place(mine, length, &node);
  struct plait_inode *inode = node.inode;
  if (rc != 0 || (rc = plait__fs_lock(&inode, 1)) != 0) return rc;
  if (plait_get(&inode->generation_kind) != node.generation_kind || plait_get(&inode->links) == 0) rc = -PLAIT_ENOENT;
  else if (plait_get(&inode->mount) != 0) rc = -PLAIT_EBUSY;
  else add_mount(mine, block, inode);
  plait__fs_unlock(&inode, 1);
  return rc;
}

/* Whether the path leads to a directory in a mount, with no link on the way: that mount's number, 0 memory. */
static int find_above(struct plait_fs_thread *mine, uint32_t length) {
  struct plait__fs_place place;
  struct plait_fs_at at = plait_fs_path(length);
  int rc = plait__fs_walk(mine, &at, PLAIT__FS_COVER | PLAIT__FS_PLAIN, &place);
  if (rc != PLAIT__FS_IN_MOUNT) return rc;
  if (place.covers == 1) return plait__fs_leave(-PLAIT_EBUSY);
  if ((rc = plait__fs_leave(plait__fs_mounted_look(mine, &place))) != 0) return rc;
  if (place.kind != PLAIT_FS_DIRECTORY) return place.kind == PLAIT_FS_SYMLINK ? -PLAIT_ELOOP : -PLAIT_ENOTDIR;
  if (place.where != length) return -PLAIT_ELOOP;
  for (uint32_t i = 0; i < length; i++)
    if (mine->where[i] != mine->first[i]) return -PLAIT_ELOOP;
  return (int)place.mount;
}

/* One attempt: the mount's number; 0: the path has come to lead elsewhere. */
static int try_mount(struct plait_fs_thread *mine, plait_ref_t block, uint32_t length) {
  struct plait_fs_mount *mount = plait_at(block);
  int above = find_above(mine, length);
  if (above < 0) return above;
  plait_put(&mount->above, (uint32_t)above);
  int rc = plait__fs_acquire(&plait_fs()->rename);
  if (rc != 0) return rc;
  if (mount_at(mine->first, length) != NULL) rc = -PLAIT_EBUSY;
  else if (above == 0) rc = cover(mine, block, length);
  else if (plait__fs_mount_of((uint32_t)above) == NULL) rc = -PLAIT_EAGAIN;
  else add_mount(mine, block, NULL);
  /* -PLAIT_EAGAIN of find_above() is the backend's, which the caller gets. */
  rc = rc == 0 ? (int)plait_get(&mount->number) : rc == -PLAIT_EAGAIN ? 0 : rc;
  plait_lock_release(&plait_fs()->rename);
  return rc;
}

PLAIT_EXPORT int plait_fs_mount(uint32_t length, uint32_t text, uint32_t read_only) {
  struct plait_fs_thread *mine = plait__fs_mine();
  if (text > PLAIT_FS_MOUNT_MAX - PLAIT_FS_PATH_MAX || length >= PLAIT_FS_PATH_MAX) return -PLAIT_EINVAL;
  plait_ref_t block = plait__fs_tx_reserve(mine, (uint32_t)sizeof(struct plait_fs_mount) + length + text);
  if (block == 0) return -PLAIT_ENOSPC;
  struct plait_fs_mount *mount = plait_at(block);
  plait_put(&mount->read_only, read_only);
  plait_put(&mount->place, length);
  plait_put(&mount->length, length + text);
  plait_copy(mount->text, mine->first, length);
  plait_copy((uint8_t *)mount->text + length, plait_at(plait_get(&mine->scratch)), text);
  int rc;
  do rc = try_mount(mine, block, length);
  while (rc == 0);
  plait__fs_tx_abort(mine, 0); /* no effect after a commit */
  return rc;
}

/* Whether this mount contains another mount or an open descriptor. Under `rename`. */
static int mount_is_used(uint32_t number) {
  for (plait_ref_t ref = plait_get(&plait_fs()->mounts); ref != 0;
      ref = plait_get(&((struct plait_fs_mount *)plait_at(ref))->next))
    if (plait_get(&((struct plait_fs_mount *)plait_at(ref))->above) == number) return 1;
  struct plait_fs_items *opens = &plait_fs()->opens;
  for (uint32_t i = 0, count = plait_load(&opens->count) * PLAIT_FS_CHUNK_ITEMS; i < count; i++) {
    struct plait_fs_open *open = plait__fs_descriptor(i);
    if (plait_load(&open->state) == PLAIT_FS_MOUNTED && plait_load(&open->mount) == number) return 1;
  }
  return 0;
}

/* Under `rename`. */
static int remove_mount(struct plait_fs_thread *mine, struct plait_fs_mount *mount) {
  struct plait_fs *fs = plait_fs();
  struct plait_inode *inode = plait_get(&mount->inode) == 0 ? NULL : plait_at(plait_get(&mount->inode));
  plait_word_t *link = &fs->mounts;
  while (plait_get(link) != plait_ref(mount)) link = &((struct plait_fs_mount *)plait_at(plait_get(link)))->next;
  int rc = inode == NULL ? 0 : plait__fs_lock(&inode, 1);
  if (rc != 0) return rc;
  plait__fs_tx_begin(mine);
  if (inode != NULL) {
    plait__fs_tx_target(mine, inode);
    plait__fs_tx_stage(mine, &inode->mount, 0);
  }
  plait__fs_tx_stage(mine, link, plait_get(&mount->next));
  plait__fs_tx_stage(mine, &fs->mount_changes, plait_get(&fs->mount_changes) + 1);
  plait__fs_tx_defer_free(mine, plait_ref(mount), 0, 0, 1);
  plait__fs_tx_commit(mine, 0);
  plait__fs_unlock(&inode, 1); /* also without an inode: it runs the deferred frees, and empties the journal */
  return 0;
}

PLAIT_EXPORT int plait_fs_unmount(uint32_t length) {
  struct plait_fs_thread *mine = plait__fs_mine();
  int rc = plait__fs_acquire(&plait_fs()->rename);
  if (rc != 0) return rc;
  struct plait_fs_mount *mount = length >= PLAIT_FS_PATH_MAX ? NULL : mount_at(mine->first, length);
  if (mount == NULL) rc = -PLAIT_EINVAL;
  else if (mount_is_used(plait_get(&mount->number))) rc = -PLAIT_EBUSY;
  else rc = remove_mount(mine, mount);
  plait_lock_release(&plait_fs()->rename);
  return rc;
}

PLAIT_EXPORT plait_ref_t plait_fs_mount_buffer(void) {
  return plait_heap_alloc_for(PLAIT_FOR_THREADS, PLAIT_FS_MOUNT_MAX);
}

PLAIT_EXPORT int plait_fs_mount_text(uint32_t index, plait_ref_t to) {
  struct plait_fs_thread *mine = plait__fs_mine();
  struct plait_fs_result *result = &mine->result;
  int rc = plait__fs_acquire(&plait_fs()->rename);
  if (rc != 0) return rc;
  plait_ref_t ref = plait_get(&plait_fs()->mounts);
  for (; ref != 0 && index > 0; index--) ref = plait_get(&((struct plait_fs_mount *)plait_at(ref))->next);
  rc = -PLAIT_ENOENT;
  if (ref != 0) {
    struct plait_fs_mount *mount = plait_at(ref);
    plait_copy(plait_at(to), mount->text, plait_get(&mount->length));
    plait_put(&result->links, plait_get(&mount->above));
    plait_put(&result->bytes, plait_get(&mount->place));
    plait_put64(&result->size, plait_get(&mount->length));
    rc = (int)plait_get(&mount->number);
  }
  plait_lock_release(&plait_fs()->rename);
  return rc;
}

/* ---- where paths lead ---- */

PLAIT_EXPORT int plait_fs_locate(uint32_t length) {
  struct plait_fs_thread *mine = plait__fs_mine();
  struct plait__fs_place place;
  struct plait_fs_at at = plait__fs_given(mine, length);
  int rc = plait__fs_walk(mine, &at, 0, &place);
  return rc == PLAIT__FS_IN_MOUNT ? plait__fs_leave((int)place.mount) : rc;
}

PLAIT_EXPORT int plait_fs_real(uint32_t length, int by_text) {
  struct plait_fs_thread *mine = plait__fs_mine();
  struct plait__fs_place place;
  struct plait_fs_at at = plait__fs_given(mine, length);
  plait_put(&mine->crossed, 0), plait_put(&mine->reached, 0);
  plait_put(&mine->in_link, 0), plait_put(&mine->winds, 0);
  int rc = plait__fs_walk(mine, &at, PLAIT__FS_FOLLOW | PLAIT__FS_REAL | (by_text ? PLAIT__FS_BY_TEXT : 0), &place);
  if (rc < 0) return rc;
  plait_put(&mine->result.mount, rc == PLAIT__FS_IN_MOUNT ? place.mount : 0);
  plait_put(&mine->result.bytes, place.where);
  if (rc == 0) return place.node.inode == NULL ? -PLAIT_ENOENT : 0;
  return plait__fs_leave(place.kind == PLAIT_FS_NONE ? -PLAIT_ENOENT : 0);
}

PLAIT_COLD_END
