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
#include "internal.h"

#define MOST (PLAIT_FS_PATH_MAX - 1)
#define TRAIL 128u

struct walker {
  struct plait_fs_thread *mine;
  const uint8_t *at, *end; /* the rest of the path */
  struct plait__fs_node directory;
  uint32_t links;  /* how many symbolic links were followed */
  int mounts;      /* whether there are mounts, so directories may be covered */
  int beneath;     /* whether the walk may not leave its start */
  uint32_t passed; /* beneath: how many directories lie between the start and `directory`, the start included */
  struct plait__fs_node trail[TRAIL]; /* beneath: the last of them, by turns */
};

static struct plait__fs_node root_node(void) {
  struct plait_inode *root = plait__fs_root_inode();
  return (struct plait__fs_node){root, plait_load(&root->generation_kind)};
}

static void skip_slashes(struct walker *walker) {
  while (walker->at < walker->end && *walker->at == '/') walker->at++;
}

/* Whether a mount covers the directory; then `result` holds its number and the rest of the path. */
static int crosses(struct walker *walker, struct plait__fs_node node) {
  uint32_t number =
      walker->mounts && plait__fs_kind(node.generation_kind) == PLAIT_FS_DIRECTORY ? plait_load(&node.inode->mount) : 0;
  if (number == 0 || plait_load(&node.inode->generation_kind) != node.generation_kind) return 0;
  struct plait_fs_result *result = &walker->mine->result;
  plait_put(&result->mount, number);
  plait_put(&result->block, plait_ref(walker->at));
  plait_put(&result->bytes, (uint32_t)(walker->end - walker->at));
  return 1;
}

/* Makes the link's text and the rest of the path the new path. 1: the link was removed. */
static int put_link(struct walker *walker, struct plait__fs_node link, const uint8_t *rest) {
  uint8_t *halves = walker->mine->links, *half;
  half = walker->end > halves && walker->end <= halves + PLAIT_FS_PATH_MAX ? halves + PLAIT_FS_PATH_MAX : halves;
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
  if (length + left > MOST) return -PLAIT_ENAMETOOLONG;
  for (uint32_t i = 0; i < left; i++) half[length + i] = rest[i];
  walker->at = half, walker->end = half + length + left;
  if (*half != '/') return 0;
  if (walker->beneath) return -PLAIT_ENOTCAPABLE;
  walker->directory = root_node();
  return crosses(walker, walker->directory) ? -PLAIT_EREMOTE : 0;
}

static struct plait__fs_node parent_of(struct plait__fs_node node) {
  for (;;) {
    struct plait_inode *parent = plait_at(plait_load(&node.inode->parent));
    uint32_t generation_kind = plait_load(&parent->generation_kind);
    /* If the parent is another one by now, the first one may have been reused: read again. */
    if (plait_load(&node.inode->parent) == plait_ref(parent)) return (struct plait__fs_node){parent, generation_kind};
  }
}

/*
 * Goes to the directory above. A directory that was removed, and is still open, has none: its `parent` may be another
 * directory by now. 0, -PLAIT_ENOENT, -PLAIT_ENOTCAPABLE, -PLAIT_ENAMETOOLONG.
 */
static int go_up(struct walker *walker) {
  struct plait__fs_node from = walker->directory, to = from;
  if (!walker->beneath) {
    to = parent_of(from);
  } else {
    if (walker->passed == 0) return -PLAIT_ENOTCAPABLE;
    struct plait__fs_node *place = &walker->trail[--walker->passed % TRAIL];
    if (place->inode == NULL) return -PLAIT_ENAMETOOLONG; /* up through more directories than the trail holds */
    to = *place;
    place->inode = NULL;
  }
  if (plait_load(&from.inode->generation_kind) != from.generation_kind || plait_load(&from.inode->links) == 0)
    return -PLAIT_ENOENT;
  walker->directory = to;
  return 0;
}

static void go_down(struct walker *walker, struct plait__fs_node to) {
  if (walker->beneath) walker->trail[walker->passed++ % TRAIL] = walker->directory;
  walker->directory = to;
}

/* Starts at the root, or at the directory of `at`. */
static int start_walk(struct walker *walker, const struct plait_fs_at *at) {
  walker->directory = root_node();
  walker->beneath = at->beneath != 0;
  if (at->directory == 0) return 0;
  walker->directory = (struct plait__fs_node){plait_at(at->directory), at->generation_kind};
  if (plait__fs_kind(at->generation_kind) != PLAIT_FS_DIRECTORY) return -PLAIT_ENOTDIR;
  return plait_load(&walker->directory.inode->generation_kind) == at->generation_kind ? 0 : -PLAIT_ENOENT;
}

int plait__fs_walk(struct plait_fs_thread *mine, const struct plait_fs_at *at, int how, struct plait__fs_place *place) {
  const uint8_t *path = at->second ? mine->second : mine->first;
  uint32_t length = at->length;
  struct walker walker;
  walker.mine = mine;
  walker.at = path, walker.end = path + length;
  walker.links = walker.passed = 0;
  walker.mounts = plait_load(&plait_fs()->mounts) != 0;
  int rc = start_walk(&walker, at);
  if (rc != 0) return rc;
  *place = (struct plait__fs_place){.dots = 3, .node = walker.directory};
  if (length == 0) return -PLAIT_ENOENT;
  if (length > MOST) return -PLAIT_ENAMETOOLONG;
  int covered = how & (PLAIT__FS_NAME | PLAIT__FS_COVER);
  if (*path == '/') {
    if (walker.beneath) return -PLAIT_ENOTCAPABLE;
    walker.directory = root_node();
  }
  skip_slashes(&walker);
  if (!(covered && walker.at == walker.end) && crosses(&walker, walker.directory)) return -PLAIT_EREMOTE;
  for (;;) {
    skip_slashes(&walker);
    if (walker.at == walker.end) { /* the root, or a link to it */
      *place = (struct plait__fs_place){.dots = 3, .slash = 1, .node = walker.directory};
      return 0;
    }
    const uint8_t *name = walker.at;
    while (walker.at < walker.end && *walker.at != '/') walker.at++;
    uint32_t size = (uint32_t)(walker.at - name);
    const uint8_t *behind = walker.at;
    skip_slashes(&walker);
    int last = walker.at == walker.end, slash = behind != walker.end;
    if (name[0] == '.' && (size == 1 || (size == 2 && name[1] == '.'))) {
      if (plait__fs_kind(walker.directory.generation_kind) != PLAIT_FS_DIRECTORY) return -PLAIT_ENOTDIR;
      if (size == 2 && (rc = go_up(&walker)) != 0) return rc;
      if (plait_load(&walker.directory.inode->generation_kind) != walker.directory.generation_kind)
        return -PLAIT_ENOENT;
      if (!last) continue;
      *place = (struct plait__fs_place){.dots = (int)size, .slash = 1, .node = walker.directory};
      return 0;
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
      continue;
    } else if (!(last && covered) && crosses(&walker, node)) {
      return -PLAIT_EREMOTE;
    } else if (!last) {
      go_down(&walker, node);
      continue;
    }
    if (node.inode != NULL && slash && plait__fs_kind(node.generation_kind) != PLAIT_FS_DIRECTORY &&
        !(how & PLAIT__FS_NAME))
      return -PLAIT_ENOTDIR;
    if (wanted.bytes >= mine->links && wanted.bytes < mine->links + sizeof mine->links) {
      uint32_t second = at->second ? PLAIT_FS_NAME_MAX + 1 : 0;
      for (uint32_t i = 0; i < size; i++) mine->names[second + i] = name[i];
      wanted.bytes = mine->names + second;
    }
    *place = (struct plait__fs_place){walker.directory, wanted, node, slash, 0};
    return 0;
  }
}

int plait__fs_find(
    struct plait_fs_thread *mine, const struct plait_fs_at *at, int follow, struct plait__fs_node *node) {
  if (at->fd >= 0) return plait__fs_open_as(at->fd, at->uses, node) == NULL ? plait__fs_not_open(at->fd) : 0;
  struct plait__fs_place place;
  int rc = plait__fs_walk(mine, at, follow ? PLAIT__FS_FOLLOW : 0, &place);
  if (rc != 0) return rc;
  *node = place.node;
  return node->inode == NULL ? -PLAIT_ENOENT : 0;
}
