/*
 * open_file: the table of descriptors: which are free, and which inode an open one refers to.
 *
 * Invariants
 * - A descriptor's owner word names the thread that opened it, or the program that it opened it for (`owner` of struct
 *   plait_fs_thread), or the thread that is closing it. It is 0 only when no journal refers to the descriptor. `state`
 *   and the words with it change under the lock of the open inode.
 * - An inode's `opens` is the number of open descriptors and mappings that refer to it.
 */
#include "internal.h"

struct plait_fs_open *plait__fs_descriptor(uint32_t fd) {
  return plait__fs_item(&plait_fs()->opens, sizeof(struct plait_fs_open), fd);
}

struct plait_fs_open *plait__fs_open_as(int fd, uint32_t wanted, struct plait__fs_node *node) {
  if (fd < 0 || (uint32_t)fd / PLAIT_FS_CHUNK_ITEMS >= plait_load(&plait_fs()->opens.count)) return NULL;
  struct plait_fs_open *open = plait__fs_descriptor((uint32_t)fd);
  uint32_t uses = plait_load(&open->uses);
  uint32_t state = plait_load(&open->state);
  if (state == PLAIT_FS_CLOSED || state == PLAIT_FS_MOUNTED || (wanted != 0 && uses != wanted)) return NULL;
  node->inode = plait_at(plait_load(&open->inode));
  node->generation_kind = plait_load(&open->generation_kind);
  return plait_load(&open->uses) == uses ? open : NULL;
}

struct plait_fs_open *plait__fs_open_at(int fd, struct plait__fs_node *node) {
  return plait__fs_open_as(fd, 0, node);
}

int plait__fs_is_still_open(struct plait_fs_open *open, struct plait__fs_node node, uint32_t uses) {
  return plait_load(&open->uses) == uses && plait_load(&open->inode) == plait_ref(node.inode);
}

int plait__fs_claim_descriptor(struct plait_fs_thread *mine) {
  int fd = plait__fs_claim(mine, &plait_fs()->opens, sizeof(struct plait_fs_open), &mine->opens);
  return fd == -PLAIT_ENOSPC ? -PLAIT_ENFILE : fd;
}

void plait__fs_free_descriptor(uint32_t fd) {
  atomic_store_explicit(plait__fs_owner(&plait_fs()->opens, fd), 0, memory_order_release);
}

void plait__fs_stage_open(
    struct plait_fs_thread *mine, uint32_t fd, uint32_t state, struct plait__fs_node node, uint32_t flags) {
  struct plait_fs_open *open = plait__fs_descriptor(fd);
  plait__fs_tx_stage(mine, &open->inode, plait_ref(node.inode));
  plait__fs_tx_stage(mine, &open->generation_kind, node.generation_kind);
  plait__fs_tx_stage(mine, &open->flags, flags);
  plait__fs_tx_stage(mine, &open->sharers, 0);
  uint32_t uses = plait_get(&open->uses) + 1;
  plait__fs_tx_stage64(mine, &open->position, plait__fs_tag_position(uses, 0));
  plait__fs_tx_stage(mine, &open->uses, uses);
  plait__fs_tx_stage(mine, &open->state, state);
}

void plait__fs_hand_over(struct plait_fs_thread *mine, uint32_t fd) {
  uint32_t self = plait_self_id(), owner = plait_get(&mine->owner);
  if (owner == 0) return;
  atomic_compare_exchange_strong_explicit(
      plait__fs_owner(&plait_fs()->opens, fd), &self, owner, memory_order_acq_rel, memory_order_relaxed);
}

PLAIT_COLD_BEGIN

int plait__fs_find_mounted(int fd, uint32_t wanted, struct plait__fs_place *place) {
  if (!PLAIT_FS_MOUNTS || fd < 0 || (uint32_t)fd / PLAIT_FS_CHUNK_ITEMS >= plait_load(&plait_fs()->opens.count))
    return -PLAIT_EBADF;
  struct plait_fs_open *open = plait__fs_descriptor((uint32_t)fd);
  uint32_t uses = plait_load(&open->uses);
  if (plait_load(&open->state) != PLAIT_FS_MOUNTED || (wanted != 0 && uses != wanted)) return -PLAIT_EBADF;
  place->mount = plait_load(&open->mount);
  place->directory = 0;
  place->name = (struct plait__fs_name){NULL, 0, 0};
  place->slash = place->dots = place->covers = 0;
  place->fd = fd;
  place->uses = uses;
  place->kind = -1;
  place->read_only = 0;
  place->where = 0;
  return plait_load(&open->uses) == uses ? PLAIT__FS_IN_MOUNT : -PLAIT_EBADF;
}

PLAIT_COLD_END
