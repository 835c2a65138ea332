/*
 * path: walks along paths. A walk locks and allocates nothing: each step is a lookup that is correct at some instant.
 *
 * A symbolic link's text replaces its name in a copy of the path. The copy alternates between the two halves of
 * `links`, so the rest of the path is never copied onto itself.
 *
 * A walk that must stay beneath its start keeps the directories that it has passed (`trail`). A `..` returns to the last
 * of them, and never follows the directory's own `parent`: another thread may have moved the directory somewhere else.
 * So every directory that such a walk reaches was found by names from its start.
 */
#include "walker.h"

static struct plait__fs_node root_node(void) {
  struct plait_inode *root = plait__fs_root_inode();
  return (struct plait__fs_node){root, plait_load(&root->generation_kind)};
}

/* Number of the mount that covers the directory, 0 none. */
static uint32_t mount_over(const struct plait__fs_walker *walker, struct plait__fs_node node) {
  if (!PLAIT_FS_MOUNTS || !walker->mounts || plait__fs_kind(node.generation_kind) != PLAIT_FS_DIRECTORY) return 0;
  uint32_t number = plait_load(&node.inode->mount);
  return number != 0 && plait_load(&node.inode->generation_kind) == node.generation_kind ? number : 0;
}

int plait__fs_where_down(struct plait__fs_walker *walker, const uint8_t *name, uint32_t length) {
  uint8_t *where = walker->mine->where;
  if (walker->where + 1 + length >= PLAIT_FS_PATH_MAX) return -PLAIT_ENAMETOOLONG;
  where[walker->where++] = '/';
  for (uint32_t i = 0; i < length; i++) where[walker->where++] = name[i];
  return 0;
}

static void where_up(struct plait__fs_walker *walker) {
  while (walker->where > 0 && walker->mine->where[--walker->where] != '/') continue;
}

/*
 * Walks into the mounts that cover the directory. PLAIT__FS_LEFT: a path has led out again, and goes on from
 * `directory`; PLAIT__FS_GONE: nothing covers it any more; else the end of the walk.
 */
static int walk_mounts(struct plait__fs_walker *walker, struct plait__fs_node node, const struct plait_fs_at *at,
    struct plait__fs_place *place) {
  for (uint32_t number; (number = mount_over(walker, node)) != 0;) {
    int rc = plait__fs_walk_mount(walker, number, at, place);
    /* Removed between the two looks: the directory is no longer covered, or by another one. */
    if (rc != PLAIT__FS_GONE) return rc;
  }
  return PLAIT__FS_GONE;
}

/* Makes the link's text and the rest of the path the new path. 1: the link was removed; 2: it leads to the root. */
static int put_link(struct plait__fs_walker *walker, struct plait__fs_node link, const uint8_t *rest) {
  uint8_t *half = plait__fs_other_half(walker);
  struct plait__fs_read read = {.inode = link.inode};
  uint32_t length = 0, left = (uint32_t)(walker->end - rest);
  if (walker->links++ == PLAIT_FS_LINK_DEPTH) return -PLAIT_ELOOP;
  do {
    if (!plait__fs_read_begin(&read)) return -PLAIT_ETIMEDOUT;
    plait_ref_t block = plait_load(&link.inode->block);
    length = (uint32_t)plait_get64(&link.inode->size);
    if (plait_load(&link.inode->generation_kind) != link.generation_kind || !plait__fs_read_valid(&read)) {
      length = 0;
      continue;
    }
    for (uint32_t i = 0; i < length && i < PLAIT_FS_PATH_MAX; i += 4) {
      uint32_t word = plait_load((plait_word_t *)plait_at(block + i));
      __builtin_memcpy(half + i, &word, 4);
    }
  } while (plait__fs_read_retry(&read));
  if (length == 0) { /* another file has taken its name: look the name up again */
    walker->links--;
    return 1;
  }
  if (length + left > PLAIT__FS_MOST) return -PLAIT_ENAMETOOLONG;
  for (uint32_t i = 0; i < left; i++) half[length + i] = rest[i];
  walker->at = half, walker->end = half + length + left;
  if (*half != '/') return 0;
  if (walker->beneath) return -PLAIT_ENOTCAPABLE;
  walker->directory = root_node();
  walker->where = 0;
  return 2;
}

static struct plait__fs_node parent_of(struct plait__fs_node node) {
  for (;;) {
    struct plait_inode *parent = plait_at(plait_load(&node.inode->parent));
    uint32_t generation_kind = plait_load(&parent->generation_kind);
    /* If the parent is another one by now, the first one may have been reused: read again. */
    if (plait_load(&node.inode->parent) == plait_ref(parent)) return (struct plait__fs_node){parent, generation_kind};
  }
}

int plait__fs_go_up(struct plait__fs_walker *walker) {
  struct plait__fs_node from = walker->directory, to = from;
  if (!walker->beneath) {
    to = parent_of(from);
  } else {
    if (walker->passed == 0) return -PLAIT_ENOTCAPABLE;
    struct plait__fs_node *place = &walker->trail[--walker->passed % PLAIT__FS_TRAIL];
    if (place->inode == NULL) return -PLAIT_ENAMETOOLONG; /* up through more directories than the trail holds */
    to = *place;
    place->inode = NULL;
  }
  if (plait_load(&from.inode->generation_kind) != from.generation_kind || plait_load(&from.inode->links) == 0)
    return -PLAIT_ENOENT;
  walker->directory = to;
  if (walker->how & PLAIT__FS_REAL) where_up(walker);
  return 0;
}

static void go_down(struct plait__fs_walker *walker, struct plait__fs_node to) {
  if (walker->beneath) walker->trail[walker->passed++ % PLAIT__FS_TRAIL] = walker->directory;
  walker->directory = to;
}

/* Starts at the root, or at the directory of `at`. */
static int start_walk(struct plait__fs_walker *walker, const struct plait_fs_at *at) {
  walker->directory = root_node();
  walker->beneath = at->beneath != 0;
  if (at->directory == 0) return 0;
  walker->directory = (struct plait__fs_node){plait_at(at->directory), at->generation_kind};
  if (plait__fs_kind(at->generation_kind) != PLAIT_FS_DIRECTORY) return -PLAIT_ENOTDIR;
  return plait_load(&walker->directory.inode->generation_kind) == at->generation_kind ? 0 : -PLAIT_ENOENT;
}

/* The walk ends in the directory itself. */
static int end_in(struct plait__fs_walker *walker, struct plait__fs_place *place, int dots) {
  place->parent = (struct plait__fs_node){NULL, 0};
  place->name = (struct plait__fs_name){NULL, 0, 0};
  place->node = walker->directory;
  place->slash = 1;
  place->dots = dots;
  place->where = walker->where;
  return 0;
}

void plait__fs_keep_name(struct plait__fs_walker *walker, int second, struct plait__fs_name *name) {
  struct plait_fs_thread *mine = walker->mine;
  if (name->bytes < mine->links || name->bytes >= mine->links + sizeof mine->links) return;
  uint8_t *to = mine->names + (second ? PLAIT_FS_NAME_MAX + 1 : 0);
  for (uint32_t i = 0; i < name->length; i++) to[i] = name->bytes[i];
  name->bytes = to;
}

int plait__fs_walk(struct plait_fs_thread *mine, const struct plait_fs_at *at, int how, struct plait__fs_place *place) {
  const uint8_t *path = at->second ? mine->second : mine->first;
  uint32_t length = at->length;
  struct plait__fs_walker walker;
  walker.mine = mine;
  walker.at = path, walker.end = path + length;
  walker.links = walker.passed = walker.where = 0;
  walker.how = how;
  walker.mounts = plait_load(&plait_fs()->mounts) != 0;
  int rc = start_walk(&walker, at);
  if (rc != 0) return rc;
  if (length == 0) return -PLAIT_ENOENT;
  if (length > PLAIT__FS_MOST) return -PLAIT_ENAMETOOLONG;
  int covered = how & (PLAIT__FS_NAME | PLAIT__FS_COVER), end = 3;
  /* Whether the directory is one that nothing has led down to, so that a mount may cover it: the start, or the root. */
  int top = 1;
  if (*path == '/') {
    if (walker.beneath) return -PLAIT_ENOTCAPABLE;
    walker.directory = root_node();
  } else if (PLAIT_FS_MOUNTS && at->start != 0) {
    return plait__fs_walk_mount(&walker, 0, at, place);
  }
  for (;;) {
    plait__fs_skip_slashes(&walker);
    if (top && !(covered && walker.at == walker.end) && mount_over(&walker, walker.directory) != 0) {
      if ((rc = walk_mounts(&walker, walker.directory, at, place)) == PLAIT__FS_LEFT) {
        end = 2;
        continue;
      }
      if (rc != PLAIT__FS_GONE) return rc;
    }
    top = 0;
    if (walker.at == walker.end) return end_in(&walker, place, end); /* the root, or a link to it */
    const uint8_t *name = walker.at;
    while (walker.at < walker.end && *walker.at != '/') walker.at++;
    uint32_t size = (uint32_t)(walker.at - name);
    const uint8_t *behind = walker.at;
    plait__fs_skip_slashes(&walker);
    int last = walker.at == walker.end, slash = behind != walker.end;
    if (name[0] == '.' && (size == 1 || (size == 2 && name[1] == '.'))) {
      if (plait__fs_kind(walker.directory.generation_kind) != PLAIT_FS_DIRECTORY) return -PLAIT_ENOTDIR;
      if (size == 2 && (rc = plait__fs_go_up(&walker)) != 0) return rc;
      if (plait_load(&walker.directory.inode->generation_kind) != walker.directory.generation_kind)
        return -PLAIT_ENOENT;
      if (!last) continue;
      return end_in(&walker, place, (int)size);
    }
    if (last && slash && (how & PLAIT__FS_MAKE))
      return plait__fs_kind(walker.directory.generation_kind) == PLAIT_FS_DIRECTORY ? -PLAIT_EISDIR : -PLAIT_ENOTDIR;
    if (size > PLAIT_FS_NAME_MAX) return -PLAIT_ENAMETOOLONG;
    struct plait__fs_name wanted = {name, size, plait__fs_hash(name, size)};
    struct plait__fs_node node = {NULL, 0};
    rc = plait__fs_lookup(walker.directory, wanted, &node, NULL);
    if (rc == -PLAIT_ENOENT && last) {
      node.inode = NULL;
    } else if (rc != 0) {
      return rc;
    } else if (plait__fs_kind(node.generation_kind) == PLAIT_FS_SYMLINK &&
        (!last || (slash && !(how & PLAIT__FS_NAME)) || (how & PLAIT__FS_FOLLOW))) {
      if (how & PLAIT__FS_PLAIN) return -PLAIT_ELOOP;
      if ((rc = put_link(&walker, node, behind)) < 0) return rc;
      if (rc == 1) walker.at = name;
      top = rc == 2;
      if (top) end = 3;
      continue;
    } else if (!(last && covered) && mount_over(&walker, node) != 0) {
      struct plait__fs_node above = walker.directory;
      uint32_t passed = walker.passed;
      go_down(&walker, node);
      if ((rc = walk_mounts(&walker, node, at, place)) == PLAIT__FS_GONE) {
        walker.directory = above, walker.passed = passed; /* look the name up again */
        walker.at = name;
      } else if (rc != PLAIT__FS_LEFT) {
        return rc;
      } else {
        top = 1, end = 2;
      }
      continue;
    } else if (!last) {
      go_down(&walker, node);
      if ((how & PLAIT__FS_REAL) && (rc = plait__fs_where_down(&walker, name, size)) != 0) return rc;
      continue;
    }
    if (node.inode != NULL && slash && plait__fs_kind(node.generation_kind) != PLAIT_FS_DIRECTORY &&
        !(how & PLAIT__FS_NAME))
      return -PLAIT_ENOTDIR;
    plait__fs_keep_name(&walker, at->second, &wanted);
    if ((how & PLAIT__FS_REAL) && (rc = plait__fs_where_down(&walker, name, size)) != 0) return rc;
    place->parent = walker.directory;
    place->name = wanted;
    place->node = node;
    place->slash = slash;
    place->dots = 0;
    place->where = walker.where;
    return 0;
  }
}

int plait__fs_find(
    struct plait_fs_thread *mine, const struct plait_fs_at *at, int follow, struct plait__fs_place *place) {
  if (at->fd >= 0)
    return plait__fs_open_as(at->fd, at->uses, &place->node) != NULL ? 0
                                                                     : plait__fs_find_mounted(at->fd, at->uses, place);
  int rc = plait__fs_walk(mine, at, follow ? PLAIT__FS_FOLLOW : 0, place);
  return rc == 0 && place->node.inode == NULL ? -PLAIT_ENOENT : rc;
}
