/*
 * remove_tree: removes all that is in a directory, however deep.
 *
 * The directories on the way are a stack of inodes, so no path has to name them. Each name is removed from the inode
 * that it was found in. What other threads add meanwhile is removed, too, or keeps its directory from being removed:
 * then that one is emptied again. If the thread exits, at worst the stack's block is lost.
 */
#include "internal.h"

#define FIRST_DEPTH 64u

struct level {
  struct plait__fs_node directory;
  uint64_t cookie; /* names up to this one are removed */
};

/* The levels, in a block of the heap. */
struct levels {
  plait_ref_t block;
  uint32_t count, room;
};

static struct level *top_level(struct levels *levels) {
  return (struct level *)plait_at(levels->block) + levels->count - 1;
}

static int push_level(struct levels *levels, struct plait__fs_node directory) {
  if (levels->count == levels->room) {
    uint32_t room = levels->room == 0 ? FIRST_DEPTH : levels->room * 2;
    plait_ref_t block = plait_heap_realloc(levels->block, room * (uint32_t)sizeof(struct level));
    if (block == 0) return -PLAIT_ENOMEM;
    levels->block = block, levels->room = room;
  }
  levels->count++;
  *top_level(levels) = (struct level){directory, 0};
  return 0;
}

/* The next name of the level, as the path in `second`: 1, 0 at the end. The binding knows what is in `first`. */
static int next_name(struct plait_fs_thread *mine, struct level *level, struct plait_fs_at *at) {
  struct plait__fs_read read = {.inode = level->directory.inode};
  int rc;
  do {
    if (!plait__fs_read_begin(&read)) return -PLAIT_ETIMEDOUT;
    rc = plait__fs_next_into(mine, &read, level->directory, level->cookie);
  } while (plait__fs_read_retry(&read));
  if (rc != 1) return rc == -PLAIT_ENOENT ? 0 : rc; /* another thread has removed the directory */
  uint32_t length = plait_get(&mine->result.bytes);
  plait_copy_near(mine->second, plait_at(plait_get(&mine->scratch)), length);
  *at = plait_fs_second_path(length);
  at->directory = plait_ref(level->directory.inode);
  at->generation_kind = level->directory.generation_kind;
  return 1;
}

/* Removes the name, or descends into the directory that it names. */
static int remove_or_descend(
    struct plait_fs_thread *mine, struct levels *levels, const struct plait_fs_at *at, double now) {
  uint64_t cookie = plait_get64(&mine->result.cursor);
  int is_directory = plait_get(&mine->result.kind) == PLAIT_FS_DIRECTORY;
  int rc = plait_fs_remove_at(at, is_directory, now);
  if (rc == -PLAIT_ENOTEMPTY) {
    struct plait__fs_place place;
    if ((rc = plait__fs_walk(mine, at, PLAIT__FS_NAME, &place)) == 0 && place.node.inode != NULL)
      return push_level(levels, place.node); /* the name stays the next one of this level */
    if (PLAIT__FS_IS_IN_MOUNT(rc)) return plait__fs_leave(-PLAIT_EBUSY);
  } else if (rc == 0) {
    top_level(levels)->cookie = cookie;
  }
  /* Another thread has removed it, or put another kind of thing in its place: look again. */
  return rc == -PLAIT_ENOENT || rc == -PLAIT_ENOTDIR || rc == -PLAIT_EISDIR ? 0 : rc;
}

PLAIT_EXPORT int plait_fs_empty(uint32_t length, double now) {
  struct plait_fs_thread *mine = plait__fs_mine();
  struct plait_fs_at at = plait__fs_given(mine, length);
  struct plait__fs_place place;
  struct levels levels = {0};
  int rc = plait__fs_find(mine, &at, 0, &place);
  if (PLAIT__FS_IS_IN_MOUNT(rc)) return plait__fs_leave(-PLAIT_EREMOTE);
  if (rc == 0 && plait__fs_kind(place.node.generation_kind) != PLAIT_FS_DIRECTORY) rc = -PLAIT_ENOTDIR;
  if (rc == 0) rc = push_level(&levels, place.node);
  while (rc == 0 && levels.count != 0) {
    rc = next_name(mine, top_level(&levels), &at);
    if (rc == 1) rc = remove_or_descend(mine, &levels, &at, now);
    else if (rc == 0) levels.count--;
  }
  if (levels.block != 0) plait_heap_free(levels.block);
  return rc;
}
