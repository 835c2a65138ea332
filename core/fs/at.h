/*
 * at: what a function of fs acts on, and other arguments. They live on the caller's stack, not in the space.
 */
#ifndef PLAIT_FS_AT_H
#define PLAIT_FS_AT_H

#include "../platform/platform.h"

/*
 * What a function acts on: a descriptor, or a path and the directory that it starts at. A caller that keeps the `uses`
 * of an opening gets -PLAIT_EBADF after it was closed, whatever has its number since.
 */
struct plait_fs_at {
  int fd;                   /* the descriptor; -1: the path */
  uint32_t uses;            /* descriptor: which opening, as in struct plait_fs_open; 0 any */
  uint32_t length;          /* path: its bytes */
  uint32_t second;          /* path: 1: in `second`, 0: in `first` */
  uint32_t beneath;         /* path: 1: it may not leave the directory, by dots or links: -PLAIT_ENOTCAPABLE */
  plait_ref_t directory;    /* path: inode of the directory that it starts at, 0 the root */
  uint32_t generation_kind; /* path: the directory's */
  uint32_t start;           /* path: descriptor of the mounted directory that it starts at, 0 none */
  uint32_t start_uses;      /* path: the `uses` of that opening */
};

static inline struct plait_fs_at plait_fs_path(uint32_t length) {
  return (struct plait_fs_at){.fd = -1, .length = length};
}
static inline struct plait_fs_at plait_fs_second_path(uint32_t length) {
  return (struct plait_fs_at){.fd = -1, .length = length, .second = 1};
}

/* New attributes: see plait_fs_set_at(). */
struct plait_fs_attributes {
  uint32_t mask; /* which ones: bits of enum plait_fs_set_bit */
  uint32_t mode, uid, gid;
  uint64_t atime, mtime; /* nanoseconds since 1970 */
};

#endif
