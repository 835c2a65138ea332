/*
 * mounted_files: descriptors of mounted files.
 *
 * Such a descriptor belongs to the space, like any other: number, owner, flags and position are there for every thread.
 * What the backend has open for it belongs to one thread. So each thread that uses the descriptor opens the file again,
 * by the words here, and no thread uses a host's descriptor that another one may have closed.
 *
 * Invariants
 * - Descriptors of mounted files are opened, shared and closed under `rename`, in one transaction, while their mount is
 *   in the list. A mount with open descriptors is not removed.
 * - `mounted_closes` increases with each close. A thread that sees it changed closes what it has open for descriptors
 *   whose `uses` are others by now.
 * - The position moves by compare-and-swap, so two concurrent reads or writes never get the same bytes.
 * - A directory's path without links is in a block of its own: paths that start there lead into the mounts inside.
 */
#include "backend.h"
#include "internal.h"

PLAIT_COLD_BEGIN

#define LAST_POSITION 9.2e18

static struct plait_fs_open *open_of(struct plait__fs_place *place) {
  return plait__fs_descriptor((uint32_t)place->fd);
}

/* The flags of the opening; negative if it is another one by now. */
static int opening_flags(struct plait__fs_place *place) {
  uint32_t flags = plait_load(&open_of(place)->flags);
  return plait_load(&open_of(place)->uses) == place->uses ? (int)flags : -PLAIT_EBADF;
}

/* ---- opening ---- */

/* Publishes the descriptor, which the backend has open as `host`. `block`: a directory's path, `length` bytes. */
static int publish_mounted(struct plait_fs_thread *mine, struct plait__fs_place *place, uint32_t flags, uint32_t host,
    plait_ref_t block, uint32_t length) {
  struct plait_fs_open *open = open_of(place);
  int rc = plait__fs_acquire(&plait_fs()->rename);
  if (rc != 0) return rc;
  if (plait__fs_mount_of(place->mount) == NULL) {
    rc = -PLAIT_ESTALE;
  } else {
    plait__fs_tx_begin(mine);
    plait__fs_tx_stage(mine, &open->inode, 0);
    plait__fs_tx_stage(mine, &open->generation_kind, 0);
    plait__fs_tx_stage(mine, &open->flags, flags & ~(uint32_t)(PLAIT_FS_CREAT | PLAIT_FS_EXCL | PLAIT_FS_TRUNC));
    plait__fs_tx_stage64(mine, &open->position, plait__fs_tag_position(place->uses, 0));
    plait__fs_tx_stage(mine, &open->mount, place->mount);
    plait__fs_tx_stage64(mine, &open->device, plait_get64(&mine->result.device));
    plait__fs_tx_stage64(mine, &open->file, plait_get64(&mine->result.file));
    plait__fs_tx_stage(mine, &open->host, host);
    plait__fs_tx_stage(mine, &open->sharers, 0);
    plait__fs_tx_stage(mine, &open->place, block);
    plait__fs_tx_stage(mine, &open->length, length);
    plait__fs_tx_stage(mine, &open->uses, place->uses);
    plait__fs_tx_stage(mine, &open->state, PLAIT_FS_MOUNTED);
    plait__fs_tx_commit(mine, plait_get(&mine->reserved_count) - (block != 0));
  }
  plait_lock_release(&plait_fs()->rename);
  return rc;
}

/* Opens what is at the place, for a descriptor that the thread has claimed. */
static int open_for(
    struct plait_fs_thread *mine, struct plait__fs_place *place, uint32_t flags, uint32_t mode, int fd) {
  struct plait_fs_open *open = plait__fs_descriptor((uint32_t)fd);
  uint32_t keep = plait_get(&mine->reserved_count), uses = plait_get(&open->uses) + 1, length = 0;
  int host =
      plait_backend_open(place->mount, place->directory, place->name.bytes, place->name.length, flags, mode, fd, uses);
  if (host < 0) return host;
  place->fd = fd, place->uses = uses;
  place->kind = (int)plait_get(&mine->result.kind);
  plait_ref_t block = 0;
  int rc = 0;
  if (place->kind == PLAIT_FS_DIRECTORY) {
    length = place->where;
    block = plait__fs_tx_reserve_for(mine, PLAIT_FOR_TASKS, length + 1);
    if (block == 0) rc = -PLAIT_ENFILE;
    else plait_copy(plait_at(block), mine->where, length);
  }
  if (rc == 0) rc = publish_mounted(mine, place, flags, (uint32_t)host, block, length);
  if (rc != 0) plait_backend_close(fd, uses);
  plait__fs_tx_abort(mine, keep); /* no effect after a commit */
  return rc;
}

/* What open(2) says before it opens. */
static int may_open_mounted(struct plait__fs_place *place, uint32_t flags) {
  int kind = place->kind, directories = (flags & PLAIT_FS_MUST_DIR) != 0;
  int changes = (flags & (3 | PLAIT_FS_TRUNC)) != 0;
  if (kind == PLAIT_FS_NONE) {
    if (!(flags & PLAIT_FS_CREAT)) return -PLAIT_ENOENT;
    if (directories) return -PLAIT_EINVAL;
  } else {
    if ((flags & PLAIT_FS_CREAT) && (flags & PLAIT_FS_EXCL)) return -PLAIT_EEXIST;
    if (kind == PLAIT_FS_SYMLINK) return directories ? -PLAIT_ENOTDIR : -PLAIT_ELOOP;
    if (kind == PLAIT_FS_DIRECTORY && (changes || (flags & PLAIT_FS_CREAT))) return -PLAIT_EISDIR;
    if (kind != PLAIT_FS_DIRECTORY && directories) return -PLAIT_ENOTDIR;
    if (kind > PLAIT_FS_SYMLINK) return -PLAIT_ENXIO; /* opening a pipe may wait, and a device may act */
  }
  return (changes || kind == PLAIT_FS_NONE) && place->read_only ? -PLAIT_EROFS : 0;
}

int plait__fs_mounted_open(struct plait_fs_thread *mine, struct plait__fs_place *place, uint32_t flags, uint32_t mode) {
  int rc = plait__fs_mounted_look(mine, place);
  if (rc == -PLAIT_ENOENT && place->kind == PLAIT_FS_NONE) rc = 0;
  if ((flags & 3) == 3) rc = -PLAIT_EINVAL;
  if (rc == 0) rc = may_open_mounted(place, flags);
  if (rc != 0) return plait__fs_leave(rc);
  int fd = plait__fs_claim_descriptor(mine);
  if (fd < 0) return plait__fs_leave(fd);
  /* In a read-only mount a file that is removed just now must not be created again. */
  if (place->read_only) flags &= ~(uint32_t)PLAIT_FS_CREAT;
  rc = plait__fs_leave(open_for(mine, place, flags, mode & 07777, fd));
  if (rc != 0) {
    plait__fs_free_descriptor((uint32_t)fd);
    return rc;
  }
  if (flags & (3 | PLAIT_FS_TRUNC | PLAIT_FS_CREAT)) plait__fs_notify_watchers();
  plait__fs_hand_over(mine, (uint32_t)fd);
  return fd;
}

int plait__fs_mounted_close(struct plait_fs_thread *mine, uint32_t fd, uint32_t uses, int shared) {
  struct plait_fs_open *open = plait__fs_descriptor(fd);
  if (plait_load(&open->state) != PLAIT_FS_MOUNTED) return -PLAIT_EBADF;
  int rc = plait__fs_acquire(&plait_fs()->rename);
  if (rc != 0) return rc;
  uint32_t now = plait_get(&open->uses), closed = 0;
  if (plait_load(&open->state) != PLAIT_FS_MOUNTED || (uses != 0 && now != uses)) {
    rc = -PLAIT_EBADF;
  } else if (shared && plait_get(&open->sharers) != 0) {
    plait_put(&open->sharers, plait_get(&open->sharers) - 1);
  } else {
    plait_ref_t block = plait_get(&open->place);
    plait__fs_tx_begin(mine);
    plait__fs_tx_stage(mine, &open->state, PLAIT_FS_CLOSED);
    plait__fs_tx_stage(mine, &open->uses, now + 1);
    plait__fs_tx_stage(mine, &open->mount, 0);
    plait__fs_tx_stage(mine, &open->place, 0);
    plait__fs_tx_stage(mine, plait__fs_owner(&plait_fs()->opens, fd), plait_self_id());
    plait__fs_tx_stage(mine, &plait_fs()->mounted_closes, plait_get(&plait_fs()->mounted_closes) + 1);
    if (block != 0) plait__fs_tx_defer_free(mine, block, 0, 0, 1);
    plait__fs_tx_commit(mine, plait_get(&mine->reserved_count));
    closed = 1;
  }
  plait_lock_release(&plait_fs()->rename);
  if (!closed) return rc;
  struct plait_inode *none = NULL;
  plait__fs_unlock(&none, 1); /* frees the block */
  plait_put(&mine->opens.at, fd);
  plait__fs_free_descriptor(fd);
  plait_backend_close((int)fd, now);
  return 0;
}

/* Changes a word of the opening under `rename`. */
static int change_opening(int fd, uint32_t uses, int shares, uint32_t flags) {
  struct plait__fs_place place;
  int rc = plait__fs_find_mounted(fd, uses, &place);
  if (rc < 0 || (rc = plait__fs_acquire(&plait_fs()->rename)) != 0) return rc;
  struct plait_fs_open *open = open_of(&place);
  uint32_t now = plait_get(&open->flags) & ~(uint32_t)PLAIT_FS_APPEND;
  if (plait_get(&open->uses) != place.uses) rc = -PLAIT_EBADF;
  else if (shares) plait_put(&open->sharers, plait_get(&open->sharers) + 1);
  else atomic_store_explicit(&open->flags, now | (flags & PLAIT_FS_APPEND), memory_order_release);
  plait_lock_release(&plait_fs()->rename);
  return rc;
}

int plait__fs_mounted_share(int fd, uint32_t uses) {
  return change_opening(fd, uses, 1, 0);
}

int plait__fs_mounted_flags(int fd, uint32_t uses, uint32_t flags) {
  return change_opening(fd, uses, 0, flags);
}

PLAIT_EXPORT plait_ref_t plait_fs_mounted(int fd) {
  struct plait__fs_place place;
  return plait__fs_find_mounted(fd, 0, &place) < 0 ? 0 : plait_ref(open_of(&place));
}

/* ---- bytes ---- */

static int mounted_position(struct plait__fs_place *place, uint64_t *position) {
  uint64_t word = atomic_load_explicit(&open_of(place)->position, memory_order_acquire);
  *position = plait__fs_position(word);
  return word == plait__fs_tag_position(place->uses, *position);
}

static int move_mounted_position(struct plait__fs_place *place, uint64_t from, uint64_t to) {
  uint64_t seen = plait__fs_tag_position(place->uses, from);
  return atomic_compare_exchange_strong_explicit(&open_of(place)->position, &seen,
      plait__fs_tag_position(place->uses, to), memory_order_acq_rel, memory_order_relaxed);
}

int plait__fs_mounted_read(struct plait__fs_place *place, plait_ref_t to, uint32_t length, double position) {
  int flags = opening_flags(place);
  if (flags < 0 || (flags & 3) == PLAIT_FS_WRONLY) return -PLAIT_EBADF;
  if (position >= LAST_POSITION) return -PLAIT_EINVAL;
  if (position >= 0) return plait_backend_read(place->fd, place->uses, to, length, position);
  for (uint64_t at; mounted_position(place, &at);) {
    int count = plait_backend_read(place->fd, place->uses, to, length, (double)at);
    if (count <= 0 || move_mounted_position(place, at, at + (uint32_t)count)) return count;
  }
  return -PLAIT_EBADF;
}

static int append(struct plait__fs_place *place, plait_ref_t from, uint32_t length, int moves) {
  int count = plait_backend_write(place->fd, place->uses, from, length, -1);
  uint64_t at;
  if (count >= 0 && moves && plait_backend_fstat(place->fd, place->uses) == 0 && mounted_position(place, &at))
    move_mounted_position(place, at, plait_get64(&plait__fs_mine()->result.size));
  return count;
}

int plait__fs_mounted_write(struct plait__fs_place *place, plait_ref_t from, uint32_t length, double position) {
  int flags = opening_flags(place), count = -PLAIT_EBADF;
  if (flags < 0 || (flags & 3) == 0) return -PLAIT_EBADF;
  if (position >= LAST_POSITION) return -PLAIT_EINVAL;
  if (flags & PLAIT_FS_APPEND) {
    count = append(place, from, length, position < 0);
  } else if (position >= 0) {
    count = plait_backend_write(place->fd, place->uses, from, length, position);
  } else {
    for (uint64_t at; count == -PLAIT_EBADF && mounted_position(place, &at);) {
      if (!move_mounted_position(place, at, at + length)) continue; /* from here on this range belongs to this write */
      count = plait_backend_write(place->fd, place->uses, from, length, (double)at);
      if (count < (int)length) move_mounted_position(place, at + length, at + (uint32_t)(count < 0 ? 0 : count));
      break;
    }
  }
  if (count > 0) plait__fs_notify_watchers();
  return count;
}

double plait__fs_mounted_seek(struct plait_fs_thread *mine, struct plait__fs_place *place, double offset, int whence) {
  int rc = whence == 2 ? plait_backend_fstat(place->fd, place->uses) : 0;
  if (rc != 0) return rc;
  for (uint64_t at; mounted_position(place, &at);) {
    double base = whence == 0 ? 0 : (double)(whence == 1 ? at : plait_get64(&mine->result.size));
    if (whence < 0 || whence > 2 || !(offset >= -base) || offset > 9007199254740992.0 - base) return -PLAIT_EINVAL;
    if (move_mounted_position(place, at, (uint64_t)(base + offset))) return base + offset;
  }
  return -PLAIT_EBADF;
}

/* A path's file, opened for one call: the place becomes its descriptor. A descriptor stays as it is. */
static int open_once(struct plait_fs_thread *mine, struct plait__fs_place *place, uint32_t flags, uint32_t mode) {
  if (place->fd >= 0) return 0;
  int fd = plait__fs_mounted_open(mine, place, flags, mode);
  return fd < 0 ? fd : 0;
}

static void close_once(struct plait_fs_thread *mine, struct plait__fs_place *place, int was_open) {
  if (!was_open) plait__fs_mounted_close(mine, (uint32_t)place->fd, place->uses, 0);
}

double plait__fs_mounted_read_file(
    struct plait_fs_thread *mine, struct plait__fs_place *place, plait_ref_t to, uint32_t length) {
  int was_open = place->fd >= 0, rc = open_once(mine, place, 0, 0);
  if (rc != 0) return rc;
  double at = place->kind == PLAIT_FS_DIRECTORY ? -PLAIT_EISDIR : 0;
  while (at >= 0 && at < length) {
    uint32_t read = (uint32_t)at;
    int count = plait__fs_mounted_read(place, to + read, length - read, at);
    if (count <= 0) {
      if (count < 0) at = count;
      break;
    }
    at += count;
  }
  if (at == length) { /* some files of the host report no size, or an old one: there may be more */
    rc = plait_backend_fstat(place->fd, place->uses);
    double size = (double)plait_get64(&mine->result.size);
    at = rc < 0 ? rc : size > at ? size : at + 1;
  }
  close_once(mine, place, was_open);
  return at;
}

int plait__fs_mounted_write_file(struct plait_fs_thread *mine, struct plait__fs_place *place, uint32_t flags,
    uint32_t mode, plait_ref_t from, uint32_t length) {
  int was_open = place->fd >= 0, rc = open_once(mine, place, flags, mode);
  if (rc != 0) return rc;
  for (uint32_t at = 0; rc == 0 && at < length;) {
    int count = plait__fs_mounted_write(place, from + at, length - at, flags & PLAIT_FS_APPEND ? -1 : (double)at);
    if (count < 0) rc = count;
    else at += (uint32_t)count;
  }
  close_once(mine, place, was_open);
  return rc;
}

int plait__fs_mounted_truncate(struct plait_fs_thread *mine, struct plait__fs_place *place, double size) {
  int was_open = place->fd >= 0, rc = open_once(mine, place, PLAIT_FS_RDWR, 0);
  if (rc != 0) return rc;
  int flags = opening_flags(place);
  if (flags < 0) rc = flags;
  else if ((flags & 3) == 0) rc = -PLAIT_EINVAL;
  else rc = plait_backend_truncate(place->fd, place->uses, size);
  close_once(mine, place, was_open);
  if (rc == 0) plait__fs_notify_watchers();
  return rc;
}

int plait__fs_mounted_extend(struct plait_fs_thread *mine, struct plait__fs_place *place, double size) {
  if (!(size >= 0)) return -PLAIT_EINVAL;
  int rc = plait_backend_fstat(place->fd, place->uses);
  if (rc != 0) return rc;
  if (plait_get(&mine->result.kind) != PLAIT_FS_FILE) return -PLAIT_EINVAL;
  if ((double)plait_get64(&mine->result.size) >= size) return 0;
  return plait__fs_mounted_truncate(mine, place, size);
}

/* ---- for the binding ---- */

PLAIT_EXPORT int plait_fs_hold(uint32_t length, int follow) {
  struct plait_fs_thread *mine = plait__fs_mine();
  struct plait__fs_place place;
  struct plait_fs_at at = plait__fs_given(mine, length);
  int rc = plait__fs_walk(mine, &at, follow ? PLAIT__FS_FOLLOW : 0, &place);
  if (rc != PLAIT__FS_IN_MOUNT) return rc;
  if ((rc = plait__fs_mounted_look(mine, &place)) != 0) return plait__fs_leave(rc);
  uint32_t found = place.where;
  int kind = place.kind;
  if (kind != PLAIT_FS_DIRECTORY) { /* its directory */
    place.name = (struct plait__fs_name){NULL, 0, 0};
    while (place.where > 0 && mine->where[--place.where] != '/') continue;
  }
  place.kind = PLAIT_FS_DIRECTORY;
  int fd = plait__fs_mounted_open(mine, &place, PLAIT_FS_MUST_DIR | PLAIT_FS_HOLD, 0);
  plait_put(&mine->result.kind, (uint32_t)kind);
  plait_put(&mine->result.bytes, found);
  return fd;
}

PLAIT_COLD_END
