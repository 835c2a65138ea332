/*
 * no_mounts: what takes the place of mounts.c, mount_walk.c, mounted.c and mounted_files.c in a program that links fs
 * (PLAIT_FS_MOUNTS is 0). Nothing is ever mounted there, so no walk returns PLAIT__FS_IN_MOUNT, and only what is
 * called for a descriptor that is not open in memory remains.
 */
#include "../../core/fs/internal.h"

int plait__fs_has_mount(struct plait_inode *directory) {
  (void)directory;
  return 0;
}

int plait__fs_mounted_close(struct plait_fs_thread *mine, uint32_t fd, uint32_t uses, int shared) {
  (void)mine, (void)fd, (void)uses, (void)shared;
  return -PLAIT_EBADF;
}

int plait__fs_mounted_share(int fd, uint32_t uses) {
  (void)fd, (void)uses;
  return -PLAIT_EBADF;
}

int plait__fs_mounted_flags(int fd, uint32_t uses, uint32_t flags) {
  (void)fd, (void)uses, (void)flags;
  return -PLAIT_EBADF;
}
