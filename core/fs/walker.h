/*
 * walker: the state of a walk, for path.c, which walks in memory, and mount_walk.c, which walks in mounts. A walk goes
 * from one to the other and back as its path leads.
 */
#ifndef PLAIT_FS_WALKER_H
#define PLAIT_FS_WALKER_H

#include "internal.h"

#define PLAIT__FS_MOST (PLAIT_FS_PATH_MAX - 1)
#define PLAIT__FS_TRAIL 128u
/* What a walk in a mount returns if its path leads out of the mount again, into memory. */
#define PLAIT__FS_LEFT 2
/* What it returns if the mount that it was to enter is no longer in the list: nothing was entered, the path is as before. */
#define PLAIT__FS_GONE 3

struct plait__fs_walker {
  struct plait_fs_thread *mine;
  const uint8_t *at, *end; /* the rest of the path */
  struct plait__fs_node directory;
  uint32_t links;  /* how many symbolic links were followed */
  int how;         /* enum plait__fs_walk */
  int mounts;      /* whether there are mounts, so directories may be covered */
  int beneath;     /* whether the walk may not leave its start */
  uint32_t where;  /* REAL, or in a mount: bytes of the path in `where` of the thread's record */
  uint32_t passed; /* beneath: how many directories lie between the start and `directory`, the start included */
  struct plait__fs_node trail[PLAIT__FS_TRAIL]; /* beneath: the last of them, by turns */
};

static inline void plait__fs_skip_slashes(struct plait__fs_walker *walker) {
  while (walker->at < walker->end && *walker->at == '/') walker->at++;
}

/* The half of `links` that the rest of the path is not in. */
static inline uint8_t *plait__fs_other_half(const struct plait__fs_walker *walker) {
  uint8_t *halves = walker->mine->links;
  return walker->end > halves && walker->end <= halves + PLAIT_FS_PATH_MAX ? halves + PLAIT_FS_PATH_MAX : halves;
}

/* Appends a name to `where`. 0, -PLAIT_ENAMETOOLONG. */
int plait__fs_where_down(struct plait__fs_walker *walker, const uint8_t *name, uint32_t length);
/*
 * Goes to the directory above. A directory that was removed, and is still open, has none: its `parent` may be another
 * directory by now. 0, -PLAIT_ENOENT, -PLAIT_ENOTCAPABLE, -PLAIT_ENAMETOOLONG.
 */
int plait__fs_go_up(struct plait__fs_walker *walker);
/* Keeps a last name that is in `links`, which the next walk overwrites. */
void plait__fs_keep_name(struct plait__fs_walker *walker, int second, struct plait__fs_name *name);

/* ---- mount_walk.c ---- */

/*
 * Walks the rest of the path in a mount: from its root if `number` is not 0, which covers `directory`, else from the
 * mounted directory of `at`. PLAIT__FS_IN_MOUNT: at the place; PLAIT__FS_LEFT: the rest leads on from `directory`;
 * PLAIT__FS_GONE; negative: it failed, and the directories that it has entered are left.
 */
int plait__fs_walk_mount(
    struct plait__fs_walker *walker, uint32_t number, const struct plait_fs_at *at, struct plait__fs_place *place);

#endif
