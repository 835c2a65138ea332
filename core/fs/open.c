/*
 * open: opening, closing, reading and writing by descriptor; watchers of changes.
 */
#include "internal.h"
#include "outside.h"

#define MOST_AT_ONCE 0x7ffff000u /* bytes, as in Linux */
#define RACES 40
#define LAST_POSITION 9.2e18 /* so that the end of a read fits into 63 bits */

/*
 * Adds `more` watchers to the thread record and to the sum, in one transaction. 0: removes all watchers of the record.
 */
static int change_watchers(struct plait_fs_thread *thread_record, uint32_t more) {
  struct plait_fs_thread *mine = plait__fs_mine();
  int rc = plait__fs_acquire(&plait_fs()->rename);
  if (rc != 0) return rc;
  uint32_t watching =
      plait_get(&thread_record->watching); /* under the lock: an interrupted change is recovered by now */
  if (more == 0) more = 0 - watching;
  plait__fs_tx_begin(mine);
  plait__fs_tx_stage(mine, &plait_fs()->watchers, plait_get(&plait_fs()->watchers) + more);
  plait__fs_tx_stage(mine, &thread_record->watching, watching + more);
  plait__fs_tx_commit(mine, plait_get(&mine->reserved_count));
  plait_lock_release(&plait_fs()->rename);
  return 0;
}

PLAIT_EXPORT int plait_fs_watch(int change) {
  return change_watchers(plait__fs_mine(), (uint32_t)change);
}

int plait__fs_unwatch(struct plait_fs_thread *thread_record) {
  return plait_get(&thread_record->watching) == 0 ? 0 : change_watchers(thread_record, 0);
}

/* Opens an existing inode. -PLAIT_EAGAIN: it was removed meanwhile. */
static int open_node(
    struct plait_fs_thread *mine, struct plait__fs_node node, uint32_t flags, uint32_t fd, double now) {
  struct plait_inode *inode = node.inode;
  int rc = plait__fs_lock(&inode, 1);
  if (rc != 0) return rc;
  if (plait_get(&inode->generation_kind) != node.generation_kind ||
      (plait_get(&inode->links) == 0 && plait_get(&inode->opens) == 0)) {
    plait__fs_unlock(&inode, 1);
    return -PLAIT_EAGAIN;
  }
  plait__fs_tx_begin(mine);
  plait__fs_tx_target(mine, inode);
  int empties = (flags & PLAIT_FS_TRUNC) != 0 && plait__fs_kind(node.generation_kind) == PLAIT_FS_FILE,
      pinned = plait_get(&inode->pins) != 0;
  if (empties && !pinned) {
    plait__fs_stage_empty(mine, inode);
    plait__fs_stage_times(mine, inode, now, 1);
  }
  plait__fs_tx_stage(mine, &inode->opens, plait_get(&inode->opens) + 1);
  plait__fs_stage_open(mine, fd, 1, node, flags);
  plait__fs_tx_commit(mine, 0);
  plait__fs_unlock(&inode, 1);
  return empties && pinned ? plait__fs_contents_resize(mine, node, 0, 0, now) : 0;
}

/* Whether the flags allow opening the inode that the walk has found. */
static int may_open(struct plait__fs_place *place, uint32_t flags) {
  enum plait_fs_kind kind = plait__fs_kind(place->node.generation_kind);
  if ((flags & PLAIT_FS_CREAT) && (flags & PLAIT_FS_EXCL)) return -PLAIT_EEXIST;
  if (kind == PLAIT_FS_SYMLINK) return flags & PLAIT_FS_MUST_DIR ? -PLAIT_ENOTDIR : -PLAIT_ELOOP;
  if (kind == PLAIT_FS_DIRECTORY) return (flags & (3 | PLAIT_FS_CREAT | PLAIT_FS_TRUNC)) ? -PLAIT_EISDIR : 0;
  return flags & PLAIT_FS_MUST_DIR ? -PLAIT_ENOTDIR : 0;
}

static int may_create(uint32_t flags) {
  if (!(flags & PLAIT_FS_CREAT)) return -PLAIT_ENOENT;
  return flags & PLAIT_FS_MUST_DIR ? -PLAIT_EINVAL : 0;
}

static int find_for_open(
    struct plait_fs_thread *mine, const struct plait_fs_at *at, uint32_t flags, struct plait__fs_place *place) {
  int follow =
      (flags & PLAIT_FS_NOFOLLOW) || ((flags & PLAIT_FS_CREAT) && (flags & PLAIT_FS_EXCL)) ? 0 : PLAIT__FS_FOLLOW;
  int rc = plait__fs_walk(mine, at, follow | (flags & PLAIT_FS_CREAT ? PLAIT__FS_MAKE : 0), place);
  if (rc != 0) return rc;
  return place->node.inode != NULL ? may_open(place, flags) : may_create(flags);
}

/* Whether an open in a mount is to be tried again: a file, or nothing, has become a link that is to be followed. */
static int is_raced(int rc, const struct plait__fs_place *place, uint32_t *tries) {
  return rc == -PLAIT_ELOOP && place->kind != PLAIT_FS_SYMLINK && ++*tries < RACES;
}

int plait_fs_open_at(const struct plait_fs_at *at, uint32_t flags, uint32_t mode, double now) {
  struct plait_fs_thread *mine = plait__fs_mine();
  struct plait__fs_place place;
  int rc, fd;
  for (uint32_t tries = 0; rc = find_for_open(mine, at, flags, &place), PLAIT__FS_IS_IN_MOUNT(rc);)
    if (!is_raced(fd = plait__fs_mounted_open(mine, &place, flags, mode), &place, &tries)) return fd;
  if (rc != 0) return rc;
  fd = plait__fs_claim_descriptor(mine);
  if (fd < 0) return fd;
  do {
    if (place.node.inode != NULL) {
      rc = open_node(mine, place.node, flags, (uint32_t)fd, now);
    } else {
      struct plait_inode *inode = plait__fs_new_inode(mine, PLAIT_FS_FILE, mode, now, &rc);
      if (inode != NULL) rc = plait__fs_publish(mine, &place, inode, (uint32_t)fd, flags, now);
      if (rc == -PLAIT_EEXIST && !(flags & PLAIT_FS_EXCL)) rc = -PLAIT_EAGAIN;
    }
    if (rc != -PLAIT_EAGAIN) break;
    rc = find_for_open(mine, at, flags, &place);
    if (PLAIT__FS_IS_IN_MOUNT(rc)) { /* another thread has mounted something there: open it there */
      plait__fs_free_descriptor((uint32_t)fd);
      plait__fs_leave(0);
      return plait_fs_open_at(at, flags, mode, now);
    }
  } while (rc == 0);
  if (rc == 0) {
    plait__fs_hand_over(mine, (uint32_t)fd);
    return fd;
  }
  if (plait_load(&plait__fs_descriptor((uint32_t)fd)->state) != 0) plait__fs_close_number(mine, (uint32_t)fd, 0, 0);
  else plait__fs_free_descriptor((uint32_t)fd);
  return rc;
}

PLAIT_EXPORT int plait_fs_open(uint32_t length, uint32_t flags, uint32_t mode, double now) {
  struct plait_fs_at at = plait__fs_given(plait__fs_mine(), length);
  return plait_fs_open_at(&at, flags, mode, now);
}

int plait_fs_start_at(struct plait_fs_at *at, int fd, uint32_t uses) {
  struct plait__fs_node node;
  if (plait__fs_open_as(fd, uses, &node) == NULL) {
    struct plait__fs_place place;
    int rc = plait__fs_find_mounted(fd, uses, &place);
    if (rc < 0) return rc;
    if (plait_load(&plait__fs_descriptor((uint32_t)fd)->place) == 0) return -PLAIT_ENOTDIR;
    at->start = (uint32_t)fd;
    at->start_uses = place.uses;
    return 0;
  }
  if (plait__fs_kind(node.generation_kind) != PLAIT_FS_DIRECTORY) return -PLAIT_ENOTDIR;
  at->directory = plait_ref(node.inode);
  at->generation_kind = node.generation_kind;
  return 0;
}

uint32_t plait_fs_uses(int fd) {
  struct plait__fs_node node;
  struct plait_fs_open *open = plait__fs_open_at(fd, &node);
  if (open != NULL) return plait_load(&open->uses);
  struct plait__fs_place place;
  return plait__fs_find_mounted(fd, 0, &place) < 0 ? 0 : place.uses;
}

int plait_fs_flags(int fd, uint32_t uses) {
  struct plait__fs_node node;
  struct plait_fs_open *open = plait__fs_open_as(fd, uses, &node);
  if (open == NULL) {
    struct plait__fs_place place;
    int rc = plait__fs_find_mounted(fd, uses, &place);
    if (rc < 0) return rc;
    open = plait__fs_descriptor((uint32_t)fd);
  }
  uint32_t flags = plait_load(&open->flags);
  return uses != 0 && plait_load(&open->uses) != uses ? -PLAIT_EBADF : (int)flags;
}

int plait_fs_set_flags(int fd, uint32_t uses, uint32_t flags) {
  struct plait__fs_node node;
  struct plait_fs_open *open = plait__fs_open_as(fd, uses, &node);
  if (open == NULL) return plait__fs_mounted_flags(fd, uses, flags);
  if (uses == 0) uses = plait_load(&open->uses);
  struct plait_inode *inode = node.inode;
  int rc = plait__fs_lock(&inode, 1);
  if (rc != 0) return rc;
  if (!plait__fs_is_still_open(open, node, uses)) rc = -PLAIT_EBADF;
  else
    atomic_store_explicit(&open->flags,
        (plait_get(&open->flags) & ~(uint32_t)PLAIT_FS_APPEND) | (flags & PLAIT_FS_APPEND), memory_order_release);
  plait__fs_unlock(&inode, 1);
  return rc;
}

int plait_fs_share(int fd, uint32_t uses) {
  struct plait__fs_node node;
  struct plait_fs_open *open = plait__fs_open_as(fd, uses, &node);
  if (open == NULL) return plait__fs_mounted_share(fd, uses);
  struct plait_inode *inode = node.inode;
  int rc = plait__fs_lock(&inode, 1);
  if (rc != 0) return rc;
  if (!plait__fs_is_still_open(open, node, uses)) rc = -PLAIT_EBADF;
  else plait_put(&open->sharers, plait_get(&open->sharers) + 1);
  plait__fs_unlock(&inode, 1);
  return rc;
}

int plait__fs_close_number(struct plait_fs_thread *mine, uint32_t fd, uint32_t state, uint32_t wanted) {
  struct plait_fs_open *open = plait__fs_descriptor(fd);
  struct plait__fs_node node;
  uint32_t uses = plait_load(&open->uses);
  if (wanted != 0 && uses != wanted) return -PLAIT_EBADF;
  /* If it is not open any more, its owner word is left alone: another thread may have closed it, a third reopen it. */
  if (plait__fs_open_as((int)fd, uses, &node) == NULL)
    return plait__fs_mounted_close(mine, fd, wanted, state == PLAIT_FS_OPEN && wanted != 0);
  if (state != 0 && plait_load(&open->state) != state) return -PLAIT_EBADF;
  struct plait_inode *inode = node.inode;
  int rc = plait__fs_lock(&inode, 1);
  if (rc != 0) return rc;
  if (plait_get(&open->uses) != uses) { /* another thread has closed it meanwhile */
    plait__fs_unlock(&inode, 1);
    return -PLAIT_EBADF;
  }
  /* Under the lock: another thread may be about to share it. */
  if (state == PLAIT_FS_OPEN && wanted != 0 && plait_get(&open->sharers) != 0) {
    plait_put(&open->sharers, plait_get(&open->sharers) - 1);
    plait__fs_unlock(&inode, 1);
    return 0;
  }
  int signals = plait__fs_ranges_release(mine, inode, fd); /* under the lock that taking one requires, too */
  plait__fs_tx_begin(mine);
  plait__fs_tx_target(mine, inode);
  if (plait_get(&open->state) == 2) plait__fs_tx_stage(mine, &inode->pins, plait_get(&inode->pins) - 1);
  plait__fs_tx_stage(mine, &open->state, 0);
  plait__fs_tx_stage(mine, &open->uses, uses + 1);
  plait__fs_tx_stage(mine, plait__fs_owner(&plait_fs()->opens, fd), plait_self_id());
  plait__fs_stage_counts(mine, inode, plait_get(&inode->links), plait_get(&inode->opens) - 1);
  plait__fs_tx_commit(mine, 0);
  plait__fs_release_owner(mine);
  plait__fs_unlock(&inode, 1);
  if (signals) plait__fs_ranges_signal(inode);
  plait_put(&mine->opens.at, fd);
  plait__fs_free_descriptor(fd);
  return 0;
}

int plait_fs_close_as(int fd, uint32_t uses) {
  if (fd < 0 || (uint32_t)fd / PLAIT_FS_CHUNK_ITEMS >= plait_load(&plait_fs()->opens.count)) return -PLAIT_EBADF;
  return plait__fs_close_number(plait__fs_mine(), (uint32_t)fd, 1, uses);
}

PLAIT_EXPORT int plait_fs_close(int fd) {
  return plait_fs_close_as(fd, 0);
}

PLAIT_EXPORT int plait_fs_unmap(int fd) {
  struct plait__fs_node node;
  if (plait__fs_open_at(fd, &node) == NULL) return -PLAIT_EBADF;
  return plait__fs_close_number(plait__fs_mine(), (uint32_t)fd, 2, 0);
}

/* The file position of the opening: 1, or 0 if it is another opening by now. */
static int get_position(struct plait_fs_open *open, uint32_t uses, uint64_t *position) {
  uint64_t word = atomic_load_explicit(&open->position, memory_order_acquire);
  *position = plait__fs_position(word);
  return word == plait__fs_tag_position(uses, *position);
}

/*
 * Moves the file position from `from` to `to`. 1, or 0 if the position has changed. Holds the inode's lock if the file
 * is open for writing: a write reads and moves the position in one transaction under it.
 */
static int move_position(
    struct plait_fs_open *open, struct plait__fs_node node, uint32_t uses, uint64_t from, uint64_t to) {
  struct plait_inode *inode = node.inode;
  uint64_t seen = plait__fs_tag_position(uses, from), new = plait__fs_tag_position(uses, to);
  int locks = (plait_load(&open->flags) & 3) != 0, rc = locks ? plait__fs_lock(&inode, 1) : 0;
  if (rc != 0) return rc;
  if (locks && !plait__fs_is_still_open(open, node, uses)) rc = -PLAIT_EBADF;
  else
    rc = atomic_compare_exchange_strong_explicit(
        &open->position, &seen, new, memory_order_acq_rel, memory_order_relaxed);
  if (locks) plait__fs_unlock(&inode, 1);
  return rc;
}

/* Reads a mounted file. Memory outside is reached through the scratch block: a backend's step does not know it. */
static int read_mounted(int fd, uint32_t wanted, uint32_t to, uint32_t length, double position, int outside) {
  struct plait__fs_place place;
  int rc = plait__fs_find_mounted(fd, wanted, &place);
  if (!PLAIT__FS_IS_IN_MOUNT(rc)) return rc;
#ifdef PLAIT_WASI_HOSTED
  if (outside) {
    plait_ref_t scratch = plait_get(&plait__fs_mine()->scratch);
    rc = plait__fs_mounted_read(&place, scratch, length < PLAIT_FS_SCRATCH ? length : PLAIT_FS_SCRATCH, position);
    if (rc > 0) plait_outside_put(to, plait_at(scratch), (uint32_t)rc);
    return rc;
  }
#endif
  (void)outside;
  return plait__fs_mounted_read(&place, to, length, position);
}

/* How a read gets the bytes: plait__fs_contents_read(), or the same to memory outside. `outside` is a constant. */
typedef int64_t (*contents_reader)(struct plait__fs_node, uint64_t, uint32_t, uint32_t, uint64_t *);

PLAIT_TINY int read_opening(
    int fd, uint32_t wanted, uint32_t to, uint32_t length, double position, contents_reader read, int outside) {
  struct plait__fs_node node;
  struct plait_fs_open *open = plait__fs_open_as(fd, wanted, &node);
  uint64_t size;
  if (length > MOST_AT_ONCE) length = MOST_AT_ONCE;
  if (open == NULL) return read_mounted(fd, wanted, to, length, position, outside);
  uint32_t uses = wanted != 0 ? wanted : plait_load(&open->uses), mode = plait_load(&open->flags) & 3;
  if (mode == PLAIT_FS_WRONLY || plait_load(&open->uses) != uses) return -PLAIT_EBADF; /* or another opening's mode */
  if (plait__fs_kind(node.generation_kind) == PLAIT_FS_DIRECTORY) return -PLAIT_EISDIR;
  if (position >= LAST_POSITION) return -PLAIT_EINVAL;
  if (position >= 0) return (int)read(node, (uint64_t)position, to, length, &size);
  for (uint64_t at; get_position(open, uses, &at);) {
    int64_t count = read(node, at, to, length, &size);
    if (count <= 0) return (int)count;
    /* Of two concurrent reads from one descriptor, each returns different bytes. */
    int moved = move_position(open, node, uses, at, at + (uint64_t)count);
    if (moved != 0) return moved < 0 ? moved : (int)count;
  }
  return -PLAIT_EBADF;
}

int plait_fs_read_as(int fd, uint32_t wanted, plait_ref_t to, uint32_t length, double position) {
  return read_opening(fd, wanted, to, length, position, plait__fs_contents_read, 0);
}

#ifdef PLAIT_WASI_HOSTED
int plait_fs_read_outside(int fd, uint32_t wanted, uint32_t to, uint32_t length, double position) {
  return read_opening(fd, wanted, to, length, position, plait__fs_contents_read_outside, 1);
}
#endif

PLAIT_EXPORT int plait_fs_read(int fd, plait_ref_t to, uint32_t length, double position) {
  return plait_fs_read_as(fd, 0, to, length, position);
}

int plait_fs_write_as(int fd, uint32_t uses, plait_ref_t from, uint32_t length, double position, double now) {
  struct plait__fs_node node;
  struct plait_fs_open *open = plait__fs_open_as(fd, uses, &node);
  if (length > MOST_AT_ONCE) length = MOST_AT_ONCE;
  if (open == NULL) {
    struct plait__fs_place place;
    int rc = plait__fs_find_mounted(fd, uses, &place);
    return PLAIT__FS_IS_IN_MOUNT(rc) ? plait__fs_mounted_write(&place, from, length, position) : rc;
  }
  if (uses == 0) uses = plait_load(&open->uses);
  uint32_t flags = plait_load(&open->flags);
  if ((flags & 3) == 0 || plait_load(&open->uses) != uses) return -PLAIT_EBADF; /* or another opening's flags */
  if (position >= LAST_POSITION) return -PLAIT_EINVAL; /* it would not fit into 64 bits, or have a special meaning */
  /*
   * With a position given, the file position stays. As in Linux, this holds even if APPEND puts the bytes at the end.
   */
  uint64_t at = flags & PLAIT_FS_APPEND ? UINT64_MAX : position >= 0 ? (uint64_t)position : UINT64_MAX - 1;
  if (position >= 0) open = NULL;
  return (int)plait__fs_contents_write(plait__fs_mine(), node, at, from, length, open, uses, now);
}

PLAIT_EXPORT int plait_fs_write(int fd, plait_ref_t from, uint32_t length, double position, double now) {
  return plait_fs_write_as(fd, 0, from, length, position, now);
}

double plait_fs_seek_as(int fd, uint32_t uses, double offset, int whence) {
  struct plait__fs_node node;
  struct plait_fs_open *open = plait__fs_open_as(fd, uses, &node);
  if (open == NULL) {
    struct plait__fs_place place;
    int rc = plait__fs_find_mounted(fd, uses, &place);
    return PLAIT__FS_IS_IN_MOUNT(rc) ? plait__fs_mounted_seek(plait__fs_mine(), &place, offset, whence) : rc;
  }
  if (uses == 0) uses = plait_load(&open->uses);
  for (uint64_t at; get_position(open, uses, &at);) {
    double base = whence == 0 ? 0 : (double)(whence == 1 ? at : plait_get64(&node.inode->size));
    /* Not `base + offset`, which may be rounded. */
    if (whence < 0 || whence > 2 || !(offset >= -base) || offset > 9007199254740992.0 - base) return -PLAIT_EINVAL;
    int moved = move_position(open, node, uses, at, (uint64_t)(base + offset));
    if (moved != 0) return moved < 0 ? moved : base + offset;
  }
  return -PLAIT_EBADF;
}

double plait_fs_seek(int fd, double offset, int whence) {
  return plait_fs_seek_as(fd, 0, offset, whence);
}

PLAIT_EXPORT double plait_fs_read_file(int target, plait_ref_t to, uint32_t length) {
  struct plait_fs_thread *mine = plait__fs_mine();
  struct plait_fs_at at = plait__fs_given_target(mine, target);
  uint64_t size = 0;
  for (uint32_t tries = 0;;) {
    struct plait__fs_place place;
    int rc = plait__fs_find(mine, &at, 1, &place);
    if (PLAIT__FS_IS_IN_MOUNT(rc)) {
      double all = plait__fs_mounted_read_file(mine, &place, to, length);
      if (is_raced((int)(all < 0 ? all : 0), &place, &tries)) continue;
      return all;
    }
    if (rc != 0) return rc;
    struct plait__fs_node node = place.node;
    if (plait__fs_kind(node.generation_kind) == PLAIT_FS_DIRECTORY) return -PLAIT_EISDIR;
    int64_t count = plait__fs_contents_read(node, 0, to, length, &size);
    if (count >= 0) return (double)size;
    if (count != -PLAIT_EBADF || target >= 0) return (double)count;
  }
}

PLAIT_EXPORT plait_ref_t plait_fs_tx_reserve(uint32_t size) {
  struct plait_fs_thread *mine = plait__fs_mine();
  return plait_get(&mine->reserved_count) == 0 ? plait__fs_tx_reserve(mine, size) : 0;
}

PLAIT_EXPORT void plait_fs_tx_unreserve(void) {
  plait__fs_tx_abort(plait__fs_mine(), 0);
}

static int write_new(struct plait_fs_thread *mine, struct plait__fs_place *place, uint32_t mode, plait_ref_t from,
    uint32_t length, int given, double now) {
  int rc;
  struct plait_inode *inode = plait__fs_new_inode(mine, PLAIT_FS_FILE, mode, now, &rc);
  if (inode == NULL) return rc;
  plait_ref_t block = length == 0 || !plait__fs_quota_reserve(mine, length, 0) ? 0
      : given                                                                  ? from
                                                                               : plait__fs_tx_reserve(mine, length);
  if (length != 0 && block == 0) {
    plait__fs_release_inode(inode);
    return -PLAIT_ENOSPC;
  }
  if (block != 0) {
    if (!given) plait_copy(plait_at(block), plait_at(from), length);
    plait_put(&inode->block, block);
    plait_put(&inode->length, plait_heap_size(block));
    plait_put64(&inode->size, length);
  }
  rc = plait__fs_publish(mine, place, inode, UINT32_MAX, 0, now);
  if (!given) plait__fs_tx_abort(mine, 0); /* no effect after it was published */
  return rc;
}

PLAIT_EXPORT int plait_fs_write_file(
    uint32_t path, uint32_t flags, uint32_t mode, plait_ref_t from, uint32_t length, int given, double now) {
  struct plait_fs_thread *mine = plait__fs_mine();
  struct plait__fs_place place;
  struct plait_fs_at at = plait__fs_given(mine, path);
  uint32_t tries = 0;
  int rc;
  if ((flags & 3) == 0) { /* such flags can open a directory, which must not be written to */
    plait__fs_tx_abort(mine, 0);
    return -PLAIT_EBADF;
  }
  do {
    rc = find_for_open(mine, &at, flags, &place);
    if (PLAIT__FS_IS_IN_MOUNT(rc)) {
      rc = plait__fs_mounted_write_file(mine, &place, flags, mode, from, length);
      if (!is_raced(rc, &place, &tries)) break;
      rc = -PLAIT_EBADF;
      continue;
    }
    if (rc != 0) break;
    if (place.node.inode == NULL) rc = write_new(mine, &place, mode, from, length, given, now);
    else rc = plait__fs_contents_replace(mine, place.node, from, length, given, now);
    if (rc == -PLAIT_EAGAIN) { /* the file is mapped */
      rc = plait__fs_contents_resize(mine, place.node, 0, 0, now);
      if (rc == 0) rc = (int)plait__fs_contents_write(mine, place.node, 0, from, length, NULL, 0, now);
      if (rc > 0) rc = 0;
    }
    if (!given) plait__fs_tx_abort(mine, 0);
    /* The file was removed or created between the walk and the transaction: walk again. */
  } while (rc == -PLAIT_EBADF || (rc == -PLAIT_EEXIST && !(flags & PLAIT_FS_EXCL)));
  plait__fs_quota_release(mine);
  plait__fs_tx_abort(mine, 0);
  return rc;
}

int plait_fs_truncate_at(const struct plait_fs_at *at, double size, double now) {
  struct plait_fs_thread *mine = plait__fs_mine();
  if (!(size >= 0)) return -PLAIT_EINVAL;
  for (uint32_t tries = 0;;) {
    struct plait__fs_place place;
    int rc = plait__fs_find(mine, at, 1, &place);
    if (PLAIT__FS_IS_IN_MOUNT(rc)) {
      rc = plait__fs_mounted_truncate(mine, &place, size);
      if (is_raced(rc, &place, &tries)) continue;
      return rc;
    }
    if (rc != 0) return rc;
    struct plait__fs_node node = place.node;
    int flags = at->fd >= 0 ? plait_fs_flags(at->fd, at->uses) : PLAIT_FS_RDWR;
    if (flags < 0 || (flags & 3) == 0) return flags < 0 ? flags : -PLAIT_EINVAL;
    if (plait__fs_kind(node.generation_kind) == PLAIT_FS_DIRECTORY) return -PLAIT_EISDIR;
    rc = size > 9007199254740992.0 ? -PLAIT_EFBIG : plait__fs_contents_resize(mine, node, (uint64_t)size, 0, now);
    if (rc != -PLAIT_EBADF || at->fd >= 0) return rc; /* else another file has taken its name: walk again */
  }
}

PLAIT_EXPORT int plait_fs_truncate(int target, double size, double now) {
  struct plait_fs_at at = plait__fs_given_target(plait__fs_mine(), target);
  return plait_fs_truncate_at(&at, size, now);
}

int plait_fs_extend_as(int fd, uint32_t uses, double size, double now) {
  struct plait__fs_node node;
  int flags = plait_fs_flags(fd, uses);
  if (flags < 0) return flags;
  if ((flags & 3) == 0) return -PLAIT_EBADF;
  if (plait__fs_open_as(fd, uses, &node) == NULL) {
    struct plait__fs_place place;
    int rc = plait__fs_find_mounted(fd, uses, &place);
    return PLAIT__FS_IS_IN_MOUNT(rc) ? plait__fs_mounted_extend(plait__fs_mine(), &place, size) : rc;
  }
  if (plait__fs_kind(node.generation_kind) != PLAIT_FS_FILE || !(size >= 0)) return -PLAIT_EINVAL;
  if (size > 9007199254740992.0) return -PLAIT_EFBIG;
  return plait__fs_contents_resize(plait__fs_mine(), node, (uint64_t)size, 1, now);
}

PLAIT_EXPORT int plait_fs_map(int fd) {
  struct plait_fs_thread *mine = plait__fs_mine();
  struct plait__fs_node node;
  struct plait_fs_open *open = plait__fs_open_at(fd, &node);
  if (open == NULL) {
    struct plait__fs_place place; /* only bytes in the space can be viewed */
    int rc = plait__fs_find_mounted(fd, 0, &place);
    return rc < 0 ? rc : -PLAIT_ENODEV;
  }
  if (plait__fs_kind(node.generation_kind) != PLAIT_FS_FILE) return -PLAIT_EISDIR;
  int mapping = plait__fs_claim_descriptor(mine);
  if (mapping < 0) return mapping;
  int rc = plait__fs_contents_pin(mine, node, (uint32_t)mapping);
  if (rc == 0) return mapping;
  plait__fs_free_descriptor((uint32_t)mapping);
  return rc;
}
