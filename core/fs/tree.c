/*
 * tree: operations on names and attributes.
 *
 * Each operation walks without a lock, locks the inodes that it found, and checks that they are unchanged. Then it
 * commits its transaction; otherwise it starts again. A directory moves into another one only under `rename`. While
 * `rename` is held, no directory gets another parent. So a walk up to the root shows whether the directory would become
 * its own ancestor.
 */
#include "internal.h"

/* Whether the name still refers to the inode that was found; null inode: to none. pre: the parent is locked. */
static int still_there(struct plait__fs_place *place, struct plait_fs_directory_record **record) {
  struct plait__fs_node now;
  int rc = plait__fs_lookup(place->parent, place->name, &now, record);
  if (rc != 0)
    return rc == -PLAIT_ENOENT && place->node.inode == NULL &&
        plait_get(&place->parent.inode->generation_kind) == place->parent.generation_kind;
  return now.inode == place->node.inode && now.generation_kind == place->node.generation_kind;
}

static int is_directory(struct plait__fs_node node) {
  return node.inode != NULL && plait__fs_kind(node.generation_kind) == PLAIT_FS_DIRECTORY;
}

int plait__fs_publish(struct plait_fs_thread *mine, struct plait__fs_place *place, struct plait_inode *inode,
    uint32_t fd, uint32_t flags, double now) {
  struct plait_inode *parent = place->parent.inode;
  struct plait__fs_node node = {inode, plait_get(&inode->generation_kind)}, found;
  uint32_t keep = plait_get(&mine->reserved_count);
  int rc = plait__fs_has_room(parent) ? 0 : plait__fs_make_room(mine, place->parent);
  plait_ref_t entry = rc == 0 ? plait__fs_new_entry(mine, place->name) : 0;
  int directory = plait__fs_kind(node.generation_kind) == PLAIT_FS_DIRECTORY;
  if (rc == 0 && entry == 0) rc = -PLAIT_ENOSPC;
  if (rc == 0) plait__fs_fill_entry(entry, node);
  if (directory) plait_put(&inode->parent, plait_ref(parent));
  if (fd != UINT32_MAX) plait_put(&inode->opens, 1);
  while (rc == 0 && (rc = plait__fs_lock(&parent, 1)) == 0) {
    if (plait_get(&parent->generation_kind) != place->parent.generation_kind || plait_get(&parent->links) == 0)
      rc = -PLAIT_ENOENT;
    else if ((rc = plait__fs_lookup(place->parent, place->name, &found, NULL)) == 0) rc = -PLAIT_EEXIST;
    else if (rc == -PLAIT_ENOENT) rc = 0;
    if (rc == 0 && plait__fs_has_room(parent)) break;
    plait__fs_unlock(&parent, 1);
    if (rc == 0) rc = plait__fs_make_room(mine, place->parent);
  }
  if (rc != 0) {
    plait__fs_tx_abort(mine, keep);
    plait__fs_release_inode(inode);
    plait__fs_quota_release(mine);
    return rc;
  }
  plait__fs_tx_begin(mine);
  plait__fs_tx_target(mine, parent);
  plait__fs_stage_insert(mine, parent, place->name, entry);
  plait__fs_stage_times(mine, parent, now, 1);
  if (directory) plait__fs_tx_stage(mine, &parent->links, plait_get(&parent->links) + 1);
  if (plait_get(&inode->length) != 0)
    plait__fs_tx_stage64(mine, &mine->held, plait_get64(&mine->held) + plait_get(&inode->length));
  if (fd != UINT32_MAX) plait__fs_stage_open(mine, fd, 1, node, flags);
  plait__fs_stage_born(mine, inode);
  plait__fs_tx_commit(mine, 0);
  plait__fs_quota_release(mine);
  plait__fs_unlock(&parent, 1);
  return 0;
}

int plait_fs_mkdir_at(const struct plait_fs_at *at, uint32_t mode, double now) {
  struct plait_fs_thread *mine = plait__fs_mine();
  struct plait__fs_place place;
  int rc = plait__fs_walk(mine, at, PLAIT__FS_NAME, &place);
  if (PLAIT__FS_IS_IN_MOUNT(rc)) return plait__fs_mounted_mkdir(mine, &place, mode);
  if (rc != 0) return rc;
  if (place.node.inode != NULL) return -PLAIT_EEXIST;
  struct plait_inode *inode = plait__fs_new_inode(mine, PLAIT_FS_DIRECTORY, mode, now, &rc);
  return inode == NULL ? rc : plait__fs_publish(mine, &place, inode, UINT32_MAX, 0, now);
}

PLAIT_EXPORT int plait_fs_mkdir(uint32_t length, uint32_t mode, double now) {
  struct plait_fs_at at = plait__fs_given(plait__fs_mine(), length);
  return plait_fs_mkdir_at(&at, mode, now);
}

int plait_fs_symlink_at(uint32_t target, const struct plait_fs_at *at, double now) {
  struct plait_fs_thread *mine = plait__fs_mine();
  struct plait__fs_place place;
  int rc = plait__fs_walk(mine, at, PLAIT__FS_NAME, &place);
  if (PLAIT__FS_IS_IN_MOUNT(rc)) return plait__fs_mounted_symlink(mine, &place, target);
  if (target == 0) return -PLAIT_ENOENT;
  if (target >= PLAIT_FS_PATH_MAX) return -PLAIT_ENAMETOOLONG;
  if (rc != 0) return rc;
  if (place.node.inode != NULL) return -PLAIT_EEXIST;
  if (place.slash) return -PLAIT_ENOENT;
  struct plait_inode *inode = plait__fs_new_inode(mine, PLAIT_FS_SYMLINK, 0777, now, &rc);
  if (inode == NULL) return rc;
  plait_ref_t block = plait__fs_tx_reserve(mine, (target + 3) & ~3u);
  if (block == 0) {
    plait__fs_release_inode(inode);
    plait__fs_quota_release(mine);
    return -PLAIT_ENOSPC;
  }
  plait_copy(plait_at(block), mine->first, (target + 3) & ~3u);
  plait_put(&inode->block, block);
  plait_put64(&inode->size, target);
  rc = plait__fs_publish(mine, &place, inode, UINT32_MAX, 0, now);
  plait__fs_tx_abort(mine, 0); /* no effect after it was published */
  return rc;
}

PLAIT_EXPORT int plait_fs_symlink(uint32_t target, uint32_t path, double now) {
  struct plait_fs_at at = plait__fs_given_second(plait__fs_mine(), path);
  return plait_fs_symlink_at(target, &at, now);
}

/* One attempt: -PLAIT_EAGAIN if the link was removed meanwhile. */
static int read_link(struct plait_fs_thread *mine, struct plait__fs_node node) {
  int64_t count;
  struct plait__fs_read read = {.inode = node.inode};
  do {
    if (!plait__fs_read_begin(&read)) return -PLAIT_ETIMEDOUT;
    count = -PLAIT_EAGAIN;
    plait_ref_t block = plait_load(&node.inode->block);
    uint64_t size = atomic_load_explicit(&node.inode->size, memory_order_acquire);
    if (plait_load(&node.inode->generation_kind) != node.generation_kind || !plait__fs_read_valid(&read)) continue;
    uint8_t *to = plait_at(plait_get(&mine->scratch));
    for (uint32_t i = 0; i < size; i += 4) {
      uint32_t word = plait_load((plait_word_t *)plait_at(block + i));
      __builtin_memcpy(to + i, &word, 4);
    }
    count = (int64_t)size;
  } while (plait__fs_read_retry(&read));
  return (int)count;
}

int plait_fs_readlink_at(const struct plait_fs_at *at) {
  struct plait_fs_thread *mine = plait__fs_mine();
  for (;;) {
    struct plait__fs_place place;
    int rc = plait__fs_find(mine, at, 0, &place);
    if (PLAIT__FS_IS_IN_MOUNT(rc)) return plait__fs_mounted_readlink(mine, &place);
    plait_put(&mine->result.mount, 0);
    if (rc != 0) return rc;
    if (plait__fs_kind(place.node.generation_kind) != PLAIT_FS_SYMLINK) return -PLAIT_EINVAL;
    if ((rc = read_link(mine, place.node)) != -PLAIT_EAGAIN) return rc;
  }
}

PLAIT_EXPORT int plait_fs_readlink(uint32_t length) {
  struct plait_fs_at at = plait__fs_given(plait__fs_mine(), length);
  return plait_fs_readlink_at(&at);
}

/* Removes a name, and its inode if that was the last name. */
int plait_fs_remove_at(const struct plait_fs_at *at, int removes_directory, double now) {
  struct plait_fs_thread *mine = plait__fs_mine();
  for (;;) {
    struct plait__fs_place place;
    int rc = plait__fs_walk(mine, at, PLAIT__FS_NAME, &place);
    if (PLAIT__FS_IS_IN_MOUNT(rc)) return plait__fs_mounted_remove(mine, &place, removes_directory);
    if (rc != 0) return rc;
    if (place.dots != 0) {
      if (!removes_directory) return -PLAIT_EISDIR;
      return place.dots == 1 ? -PLAIT_EINVAL : place.dots == 2 ? -PLAIT_ENOTEMPTY : -PLAIT_EBUSY;
    }
    if (place.node.inode == NULL) return -PLAIT_ENOENT;
    if (place.slash && !is_directory(place.node)) return -PLAIT_ENOTDIR;
    if (is_directory(place.node) != removes_directory) return removes_directory ? -PLAIT_ENOTDIR : -PLAIT_EISDIR;
    struct plait_inode *parent = place.parent.inode, *inode = place.node.inode, *set[] = {parent, inode};
    struct plait_fs_directory_record *record;
    if ((rc = plait__fs_lock(set, 2)) != 0) return rc;
    int again = !still_there(&place, &record);
    if (!again && removes_directory && plait_get(&inode->mount) != 0) rc = -PLAIT_EBUSY;
    else if (!again && removes_directory && plait_get(&inode->live) != 0) rc = -PLAIT_ENOTEMPTY;
    if (!again && rc == 0) {
      plait__fs_tx_begin(mine);
      plait__fs_tx_target(mine, parent);
      plait__fs_tx_target(mine, inode);
      plait__fs_stage_remove(mine, parent, record);
      plait__fs_stage_times(mine, parent, now, 1);
      plait__fs_stage_times(mine, inode, now, 0);
      if (removes_directory) plait__fs_tx_stage(mine, &parent->links, plait_get(&parent->links) - 1);
      uint32_t links = removes_directory ? 0 : plait_get(&inode->links) - 1;
      plait__fs_stage_counts(mine, inode, links, plait_get(&inode->opens));
      plait__fs_tx_commit(mine, 0);
      plait__fs_release_owner(mine);
      if (links == 0) plait_put(&mine->inodes.at, plait_get(&inode->number));
    }
    plait__fs_unlock(set, 2);
    if (!again) return rc;
  }
}

PLAIT_EXPORT int plait_fs_rmdir(uint32_t length, double now) {
  struct plait_fs_at at = plait__fs_given(plait__fs_mine(), length);
  return plait_fs_remove_at(&at, 1, now);
}

PLAIT_EXPORT int plait_fs_unlink(uint32_t length, double now) {
  struct plait_fs_at at = plait__fs_given(plait__fs_mine(), length);
  return plait_fs_remove_at(&at, 0, now);
}

int plait_fs_link_at(const struct plait_fs_at *from, int follow, const struct plait_fs_at *to, double now) {
  struct plait_fs_thread *mine = plait__fs_mine();
  for (;;) {
    struct plait__fs_place found, place;
    int found_rc = plait__fs_find(mine, from, follow, &found), rc;
    if (found_rc < 0) return found_rc;
    if (PLAIT__FS_IS_IN_MOUNT(found_rc) && (rc = plait__fs_mounted_look(mine, &found)) != 0) return plait__fs_leave(rc);
    rc = plait__fs_walk(mine, to, PLAIT__FS_NAME, &place);
    if (rc < 0) return PLAIT__FS_IS_IN_MOUNT(found_rc) ? plait__fs_leave(rc) : rc;
    if (PLAIT__FS_IS_IN_MOUNT(rc + found_rc)) return plait__fs_mounted_link(mine, &found, found_rc, &place, rc);
    struct plait__fs_node node = found.node;
    if (place.node.inode != NULL) return -PLAIT_EEXIST;
    if (place.slash) return -PLAIT_ENOENT;
    if (is_directory(node)) return -PLAIT_EPERM;
    struct plait_inode *parent = place.parent.inode, *set[] = {parent, node.inode};
    rc = plait__fs_has_room(parent) ? 0 : plait__fs_make_room(mine, place.parent);
    if (rc != 0) return rc;
    plait_ref_t entry = plait__fs_new_entry(mine, place.name);
    if (entry == 0) return -PLAIT_ENOSPC;
    plait__fs_fill_entry(entry, node);
    int done = 0;
    if ((rc = plait__fs_lock(set, 2)) == 0) {
      struct plait_inode *inode = node.inode;
      if (plait_get(&parent->generation_kind) != place.parent.generation_kind || plait_get(&parent->links) == 0 ||
          (from->fd >= 0 && plait_get(&inode->links) == 0)) { /* an open file without a name gets no other one */
        rc = -PLAIT_ENOENT;
      } else if (plait_get(&inode->generation_kind) == node.generation_kind && plait_get(&inode->links) != 0 &&
          plait__fs_has_room(parent) && still_there(&place, NULL)) {
        plait__fs_tx_begin(mine);
        plait__fs_tx_target(mine, parent);
        plait__fs_tx_target(mine, inode);
        plait__fs_stage_insert(mine, parent, place.name, entry);
        plait__fs_stage_times(mine, parent, now, 1);
        plait__fs_stage_times(mine, inode, now, 0);
        plait__fs_tx_stage(mine, &inode->links, plait_get(&inode->links) + 1);
        plait__fs_tx_commit(mine, 0);
        done = 1;
      }
      plait__fs_unlock(set, 2);
    }
    plait__fs_tx_abort(mine, 0);
    if (rc != 0 || done) return rc;
  }
}

PLAIT_EXPORT int plait_fs_link(uint32_t from_length, uint32_t to_length, double now) {
  struct plait_fs_thread *mine = plait__fs_mine();
  struct plait_fs_at from = plait__fs_given(mine, from_length), to = plait__fs_given_second(mine, to_length);
  return plait_fs_link_at(&from, 0, &to, now);
}

/* ---- rename ---- */

/* Checks the rules of POSIX that need no lock. 0, a negative error, or 1: there is nothing to do. */
static int may_rename(struct plait__fs_place *from, struct plait__fs_place *to) {
  if (from->dots != 0 || to->dots != 0) return -PLAIT_EBUSY;
  if (from->node.inode == NULL) return -PLAIT_ENOENT;
  int directory = is_directory(from->node);
  if (!directory && (from->slash || to->slash)) return -PLAIT_ENOTDIR;
  if (directory && plait__fs_is_above(from->node.inode, to->parent.inode)) return -PLAIT_EINVAL;
  if (is_directory(to->node) && plait__fs_is_above(to->node.inode, from->parent.inode)) return -PLAIT_ENOTEMPTY;
  if (to->node.inode == from->node.inode) return 1;
  if (to->node.inode == NULL) return 0;
  if (is_directory(to->node) != directory) return directory ? -PLAIT_ENOTDIR : -PLAIT_EISDIR;
  return 0;
}

/* The transaction. pre: all four inodes are locked and unchanged. */
static void move_name(struct plait_fs_thread *mine, struct plait__fs_place *from, struct plait__fs_place *to,
    struct plait_fs_directory_record *source, struct plait_fs_directory_record *goal, plait_ref_t entry, double now) {
  struct plait_inode *old = from->parent.inode, *new = to->parent.inode, *node = from->node.inode,
                     *victim = to->node.inode;
  int directory = is_directory(from->node);
  plait__fs_fill_entry(entry, from->node);
  plait__fs_tx_begin(mine);
  plait__fs_tx_target(mine, old);
  plait__fs_tx_target(mine, new);
  plait__fs_tx_target(mine, node);
  plait__fs_stage_remove(mine, old, source);
  if (victim == NULL) plait__fs_stage_insert(mine, new, to->name, entry);
  else plait__fs_stage_replace(mine, goal, entry);
  if (directory && old != new) {
    plait__fs_tx_stage(mine, &node->parent, plait_ref(new));
    plait__fs_tx_stage(mine, &new->links, plait_get(&new->links) + 1);
  }
  if (directory && (old != new || victim != NULL)) plait__fs_tx_stage(mine, &old->links, plait_get(&old->links) - 1);
  if (directory && old != new && victim != NULL) plait__fs_tx_stage(mine, &new->links, plait_get(&new->links));
  plait__fs_stage_times(mine, old, now, 1);
  if (old != new) plait__fs_stage_times(mine, new, now, 1);
  plait__fs_stage_times(mine, node, now, 0);
  if (victim != NULL) {
    plait__fs_tx_target(mine, victim);
    plait__fs_stage_times(mine, victim, now, 0);
    plait__fs_stage_counts(mine, victim, directory ? 0 : plait_get(&victim->links) - 1, plait_get(&victim->opens));
  }
  plait__fs_tx_commit(mine, 0);
  plait__fs_release_owner(mine);
}

/* One attempt: 1 if another thread has changed something meanwhile. */
static int try_rename(
    struct plait_fs_thread *mine, struct plait__fs_place *from, struct plait__fs_place *to, double now) {
  struct plait_inode *old = from->parent.inode, *new = to->parent.inode;
  struct plait_inode *set[] = {old, new, from->node.inode, to->node.inode};
  struct plait_fs_directory_record *source, *goal;
  int directory = is_directory(from->node), crosses = directory && (old != new || plait_load(&plait_fs()->moves) != 0);
  int rc = to->node.inode != NULL || plait__fs_has_room(new) ? 0 : plait__fs_make_room(mine, to->parent);
  if (rc != 0) return rc;
  plait_ref_t entry = plait__fs_new_entry(mine, to->name);
  if (entry == 0) return -PLAIT_ENOSPC;
  if (crosses && (rc = plait__fs_acquire(&plait_fs()->rename)) != 0) return rc;
  if (crosses && old != new && plait__fs_is_above(from->node.inode, new)) rc = -PLAIT_EINVAL;
  else if ((rc = plait__fs_lock(set, 4)) == 0) {
    if (plait_get(&new->generation_kind) != to->parent.generation_kind || plait_get(&new->links) == 0)
      rc = -PLAIT_ENOENT;
    else if (!still_there(from, &source) || !still_there(to, &goal)) rc = 1;
    else if (to->node.inode == NULL && !plait__fs_has_room(new)) rc = 1;
    else if (directory && !crosses && plait_load(&plait_fs()->moves) != 0) rc = 1;
    else if (directory && plait__fs_has_mount(from->node.inode)) rc = -PLAIT_EBUSY;
    else if (is_directory(to->node) && plait_get(&to->node.inode->mount) != 0) rc = -PLAIT_EBUSY;
    else if (is_directory(to->node) && plait_get(&to->node.inode->live) != 0) rc = -PLAIT_ENOTEMPTY;
    else move_name(mine, from, to, source, goal, entry, now);
    plait__fs_unlock(set, 4);
  }
  if (crosses) plait_lock_release(&plait_fs()->rename);
  return rc;
}

int plait_fs_rename_at(const struct plait_fs_at *from_at, const struct plait_fs_at *to_at, double now) {
  struct plait_fs_thread *mine = plait__fs_mine();
  for (;;) {
    struct plait__fs_place from, to;
    int from_rc = plait__fs_walk(mine, from_at, PLAIT__FS_NAME, &from);
    if (from_rc < 0) return from_rc;
    int rc = plait__fs_walk(mine, to_at, PLAIT__FS_NAME, &to);
    if (rc < 0) return PLAIT__FS_IS_IN_MOUNT(from_rc) ? plait__fs_leave(rc) : rc;
    if (PLAIT__FS_IS_IN_MOUNT(rc + from_rc)) return plait__fs_mounted_rename(mine, &from, from_rc, &to, rc);
    if ((rc = may_rename(&from, &to)) != 0) return rc < 0 ? rc : 0;
    rc = try_rename(mine, &from, &to, now);
    plait__fs_tx_abort(mine, 0);
    if (rc <= 0) return rc;
  }
}

PLAIT_EXPORT int plait_fs_rename(uint32_t from_length, uint32_t to_length, double now) {
  struct plait_fs_thread *mine = plait__fs_mine();
  struct plait_fs_at from = plait__fs_given(mine, from_length), to = plait__fs_given_second(mine, to_length);
  return plait_fs_rename_at(&from, &to, now);
}

/* ---- attributes ---- */

PLAIT_EXPORT int plait_fs_list(int target, double cursor) {
  struct plait_fs_thread *mine = plait__fs_mine();
  struct plait__fs_place place;
  struct plait_fs_at at = plait__fs_given_target(mine, target);
  int rc = plait__fs_find(mine, &at, 1, &place);
  if (PLAIT__FS_IS_IN_MOUNT(rc)) return plait__fs_mounted_list(mine, &place, cursor);
  if (rc != 0) return rc;
  struct plait__fs_node node = place.node;
  struct plait__fs_read read = {.inode = node.inode};
  do {
    if (!plait__fs_read_begin(&read)) return -PLAIT_ETIMEDOUT;
    plait_put64(&mine->result.cursor, 0);
    rc = plait__fs_list_into(mine, &read, node, (uint64_t)cursor);
  } while (plait__fs_read_retry(&read));
  return rc;
}

int plait_fs_next_at(const struct plait_fs_at *at, uint64_t cookie) {
  struct plait_fs_thread *mine = plait__fs_mine();
  struct plait__fs_place place;
  int rc = plait__fs_find(mine, at, 1, &place);
  if (PLAIT__FS_IS_IN_MOUNT(rc)) return plait__fs_mounted_next(mine, &place, cookie);
  if (rc != 0) return rc;
  struct plait__fs_node node = place.node;
  struct plait__fs_read read = {.inode = node.inode};
  do {
    if (!plait__fs_read_begin(&read)) return -PLAIT_ETIMEDOUT;
    rc = plait__fs_next_into(mine, &read, node, cookie);
  } while (plait__fs_read_retry(&read));
  return rc;
}

int plait_fs_stat_at(const struct plait_fs_at *at, int follow) {
  struct plait_fs_thread *mine = plait__fs_mine();
  struct plait_fs_result *result = &mine->result;
  for (;;) {
    struct plait__fs_place place;
    int rc = plait__fs_find(mine, at, follow, &place), removed = 0;
    if (PLAIT__FS_IS_IN_MOUNT(rc)) return plait__fs_mounted_stat(mine, &place);
    if (rc != 0) return rc;
    struct plait__fs_node node = place.node;
    struct plait_inode *inode = node.inode;
    struct plait__fs_read read = {.inode = inode};
    do {
      if (!plait__fs_read_begin(&read)) return -PLAIT_ETIMEDOUT;
      removed = plait_load(&inode->generation_kind) != node.generation_kind;
      plait_put(&result->mount, 0);
      plait_put(&result->kind, plait__fs_kind(node.generation_kind));
      plait_put(&result->mode, plait_load(&inode->mode));
      plait_put(&result->links, plait_load(&inode->links));
      plait_put(&result->uid, plait_load(&inode->uid));
      plait_put(&result->gid, plait_load(&inode->gid));
      plait_put(&result->number, plait_load(&inode->number) + 1);
      plait_put64(&result->size, atomic_load_explicit(&inode->size, memory_order_acquire));
      plait_put64(&result->atime, atomic_load_explicit(&inode->atime, memory_order_acquire));
      plait_put64(&result->mtime, atomic_load_explicit(&inode->mtime, memory_order_acquire));
      plait_put64(&result->ctime, atomic_load_explicit(&inode->ctime, memory_order_acquire));
      plait_put64(&result->birthtime, atomic_load_explicit(&inode->birthtime, memory_order_acquire));
      uint64_t held = plait_load(&inode->length);
      plait_ref_t ref = plait__fs_kind(node.generation_kind) == PLAIT_FS_FILE ? plait_load(&inode->map) : 0;
      if (ref != 0 && plait__fs_read_valid(&read)) {
        struct plait_fs_map *map = plait_at(ref);
        uint32_t count = plait_load(&map->count);
        for (uint32_t i = 0; i < count && plait__fs_read_valid(&read); i++) held += plait_load(&map->extents[i].length);
      }
      plait_put64(&result->held, held);
      plait_put(&result->block, plait_ref(inode));
      plait_put(&result->bytes, read.sequence);
    } while (plait__fs_read_retry(&read));
    if (!removed) return 0;
    if (at->fd >= 0) return -PLAIT_EBADF;
  }
}

PLAIT_EXPORT int plait_fs_stat(int target, int follow) {
  struct plait_fs_at at = plait__fs_given_target(plait__fs_mine(), target);
  return plait_fs_stat_at(&at, follow);
}

int plait_fs_access_at(const struct plait_fs_at *at, uint32_t mode) {
  struct plait_fs_thread *mine = plait__fs_mine();
  struct plait__fs_place place;
  int rc = plait__fs_find(mine, at, 1, &place);
  if (PLAIT__FS_IS_IN_MOUNT(rc)) return plait__fs_mounted_access(mine, &place, mode);
  if (rc != 0) return rc;
  struct plait__fs_node node = place.node;
  /* As for the superuser: everything is permitted but executing a file without any execute bit. */
  int runs = is_directory(node) || (plait_load(&node.inode->mode) & 0111) != 0;
  return (mode & 1) && !runs ? -PLAIT_EACCES : 0;
}

PLAIT_EXPORT int plait_fs_access(uint32_t length, uint32_t mode) {
  struct plait_fs_at at = plait__fs_given(plait__fs_mine(), length);
  return plait_fs_access_at(&at, mode);
}

/* Whether nanoseconds fit into 64 bits: 292 years before and after 1970. */
static int is_time(double seconds) {
  return seconds >= -9.2e9 && seconds <= 9.2e9;
}

static uint64_t nanoseconds(double seconds, double rest) {
  return is_time(seconds) ? (uint64_t)((int64_t)seconds * 1000000000 + (int64_t)rest) : 0;
}

int plait_fs_set_at(const struct plait_fs_at *at, int follow, const struct plait_fs_attributes *new, double now) {
  struct plait_fs_thread *mine = plait__fs_mine();
  uint32_t mask = new->mask;
  for (;;) {
    struct plait__fs_place place;
    int rc = plait__fs_find(mine, at, follow, &place);
    if (PLAIT__FS_IS_IN_MOUNT(rc)) return plait__fs_mounted_set(mine, &place, new);
    if (rc != 0) return rc;
    struct plait__fs_node node = place.node;
    struct plait_inode *inode = node.inode;
    if ((rc = plait__fs_lock(&inode, 1)) != 0) return rc;
    int there = plait_get(&inode->generation_kind) == node.generation_kind;
    if (there) {
      plait__fs_tx_begin(mine);
      plait__fs_tx_target(mine, inode);
      if (mask & PLAIT_FS_SET_MODE) plait__fs_tx_stage(mine, &inode->mode, new->mode & 07777);
      if (mask & PLAIT_FS_SET_UID) plait__fs_tx_stage(mine, &inode->uid, new->uid);
      if (mask & PLAIT_FS_SET_GID) plait__fs_tx_stage(mine, &inode->gid, new->gid);
      if (mask & PLAIT_FS_SET_ATIME) plait__fs_tx_stage64(mine, &inode->atime, new->atime);
      if (mask & PLAIT_FS_SET_MTIME) plait__fs_tx_stage64(mine, &inode->mtime, new->mtime);
      plait__fs_stage_times(mine, inode, now, 0);
      plait__fs_tx_commit(mine, plait_get(&mine->reserved_count));
    }
    plait__fs_unlock(&inode, 1);
    if (there) return 0;
    if (at->fd >= 0) return -PLAIT_EBADF;
  }
}

PLAIT_EXPORT int plait_fs_set(int target, int follow, uint32_t mask, uint32_t mode, uint32_t uid, uint32_t gid,
    double atime, double atime_ns, double mtime, double mtime_ns, double now) {
  struct plait_fs_thread *mine = plait__fs_mine();
  struct plait_fs_at at = plait__fs_given_target(mine, target);
  int good = (!(mask & PLAIT_FS_SET_ATIME) || is_time(atime)) && (!(mask & PLAIT_FS_SET_MTIME) || is_time(mtime));
  if (!good) { /* a missing file is the first error */
    struct plait__fs_place place;
    int rc = plait__fs_find(mine, &at, follow, &place);
    if (PLAIT__FS_IS_IN_MOUNT(rc)) rc = plait__fs_leave(plait__fs_mounted_look(mine, &place));
    return rc != 0 ? rc : -PLAIT_EINVAL;
  }
  struct plait_fs_attributes new = {mask, mode, uid, gid, nanoseconds(atime, atime_ns), nanoseconds(mtime, mtime_ns)};
  return plait_fs_set_at(&at, follow, &new, now);
}

PLAIT_EXPORT int plait_fs_usage(void) {
  struct plait_fs *fs = plait_fs();
  struct plait_fs_result *result = &plait__fs_mine()->result;
  uint64_t held = 0;
  uint32_t files = 0;
  for (uint32_t i = 0; i < PLAIT_SLOT_LIMIT; i++) {
    plait_ref_t ref = plait_load(&fs->threads[i]);
    if (ref == 0) continue;
    held += plait_get64(&((struct plait_fs_thread *)plait_at(ref))->held);
    files += plait_get(&((struct plait_fs_thread *)plait_at(ref))->files);
  }
  plait_put64(&result->held, held);
  plait_put(&result->number, files);
  plait_put64(&result->size, plait_get64(&fs->limit_bytes));
  plait_put(&result->links, plait_get(&fs->limit_files));
  return 0;
}

PLAIT_EXPORT void plait_fs_limit(double bytes, uint32_t files) {
  atomic_store_explicit(&plait_fs()->limit_bytes, (uint64_t)bytes, memory_order_release);
  atomic_store_explicit(&plait_fs()->limit_files, files, memory_order_release);
}
