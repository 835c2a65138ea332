/*
 * preview1_files: the calls of preview1 on open descriptors (fd_*).
 *
 * A directory is refused with BADF where preview1 wants a file, as other runtimes do. A linked program that reads one
 * gets POSIX's ISDIR.
 */
#include "preview1.h"

#define LARGEST_OFFSET (1ull << 53) /* positions of fs are exact up to here */
#define LARGEST_COUNT 0x7ffff000u   /* bytes that one call reads or writes, as in Linux */
#define FIRST_NAMES 2u              /* cookies 0 and 1 are those of . and .. */

uint32_t plait_preview1_filetype(uint32_t kind) {
  switch (kind) {
    case PLAIT_FS_FILE: return FILETYPE_FILE;
    case PLAIT_FS_DIRECTORY: return FILETYPE_DIRECTORY;
    case PLAIT_FS_SYMLINK: return FILETYPE_SYMLINK;
    default: return FILETYPE_UNKNOWN;
  }
}

void plait_preview1_put_filestat(plait_guest_t to) {
  struct plait_fs_result *result = &plait_wasi_enter()->result;
  guest_store64(to, 1);
  guest_store64(to + 8, plait_get(&result->number));
  int is_device = plait_wasi_stream_of(plait_get(&result->block)) >= 0;
  guest_store64(to + 16, is_device ? FILETYPE_CHARACTERS : plait_preview1_filetype(plait_get(&result->kind)));
  guest_store64(to + 24, plait_get(&result->links));
  guest_store64(to + 32, plait_get64(&result->size));
  guest_store64(to + 40, plait_get64(&result->atime));
  guest_store64(to + 48, plait_get64(&result->mtime));
  guest_store64(to + 56, plait_get64(&result->ctime));
}

uint32_t plait_preview1_set_times(
    const struct plait_fs_at *at, int follow, uint64_t atime, uint64_t mtime, uint32_t flags) {
  uint32_t both_a = FSTFLAG_ATIM | FSTFLAG_ATIM_NOW, both_m = FSTFLAG_MTIM | FSTFLAG_MTIM_NOW;
  if (flags > FSTFLAGS || (flags & both_a) == both_a || (flags & both_m) == both_m) return PREVIEW1_EINVAL;
  double now = plait_wasi_now();
  uint64_t time = (uint64_t)(now * 1e6);
  struct plait_fs_attributes new = {
      .mask = (flags & both_a ? PLAIT_FS_SET_ATIME : 0) | (flags & both_m ? PLAIT_FS_SET_MTIME : 0),
      .atime = flags & FSTFLAG_ATIM_NOW ? time : atime,
      .mtime = flags & FSTFLAG_MTIM_NOW ? time : mtime,
  };
  return plait_preview1_error(plait_fs_set_at(at, follow, &new, now));
}

uint32_t plait_preview1_find(uint32_t fd, uint64_t rights, struct plait_wasi_descriptor *found) {
  if (plait_wasi_enter() == NULL) return PREVIEW1_ENOMEM;
  int rc = plait_wasi_find(fd, found);
  if (rc != 0) return plait_preview1_error(rc);
  return (found->rights & rights) == rights ? 0 : PREVIEW1_ENOTCAPABLE;
}

int plait_preview1_add_streams(void) {
  int rc = 0;
  for (uint32_t i = 0; i < PLAIT_WASI_STREAMS && rc >= 0; i++) {
    uint64_t right = i == 0 ? RIGHT(RIGHT_FD_READ) : RIGHT(RIGHT_FD_WRITE);
    struct plait_wasi_descriptor stream = {
        .fd = (int)i, .uses = 1, .kind = PLAIT_WASI_STREAM, .rights = RIGHTS_ANY | right};
    rc = plait_wasi_add(&stream, i, 0, 0);
  }
  return rc < 0 ? rc : 0;
}

int plait_preview1_preopen(int directory, plait_ref_t name, uint32_t length, int is_read_only) {
  uint64_t without = is_read_only ? RIGHTS_CHANGING : 0;
  struct plait_wasi_descriptor opened = {.fd = directory,
      .uses = plait_fs_uses(directory),
      .kind = PLAIT_WASI_DIRECTORY,
      .rights = RIGHTS_DIRECTORY & ~without,
      .inheriting = (RIGHTS_DIRECTORY | RIGHTS_FILE) & ~without};
  return plait_wasi_add(&opened, PLAIT_WASI_STREAMS, name, length);
}

int plait_preview1_start(int directory, const char *name) {
  uint32_t length = 0;
  while (name[length] != 0) length++;
  plait_ref_t block = plait_heap_alloc(length); /* first: a caller that tries again finds no numbers taken */
  if (block == 0) return -PLAIT_ENOMEM;
  for (uint32_t i = 0; i < length; i++) ((uint8_t *)plait_at(block))[i] = (uint8_t)name[i];
  int rc = plait_preview1_add_streams();
  if (rc == 0) rc = plait_preview1_preopen(directory, block, length, 0);
  if (rc < 0) plait_heap_free(block);
  return rc < 0 ? rc : 0;
}

/* Whether paths are confined. If not, the program expects POSIX's errors. */
static int is_hosted(void) {
  return plait_get(&plait_wasi_program()->beneath) != 0;
}

static struct plait_fs_at at_descriptor(const struct plait_wasi_descriptor *found) {
  return (struct plait_fs_at){.fd = found->fd, .uses = found->uses};
}

/* Looks a file up: 0, or an error. */
static uint32_t find_file(uint32_t fd, uint64_t rights, struct plait_wasi_descriptor *found) {
  uint32_t error = plait_preview1_find(fd, 0, found);
  if (error != 0) return error;
  if (found->kind == PLAIT_WASI_DIRECTORY) return PREVIEW1_EBADF;
  if (found->kind == PLAIT_WASI_STREAM) return PREVIEW1_SPIPE;
  return (found->rights & rights) == rights ? 0 : PREVIEW1_ENOTCAPABLE;
}

/* ---- the descriptor itself ---- */

PLAIT_EXPORT uint32_t plait_preview1_fd_close(uint32_t fd) {
  PREVIEW1_ENTER;
  if (plait_wasi_enter() == NULL) return PREVIEW1_ENOMEM;
  return plait_preview1_error(plait_wasi_close(fd));
}

PLAIT_EXPORT uint32_t plait_preview1_fd_renumber(uint32_t from, uint32_t to) {
  PREVIEW1_ENTER;
  if (plait_wasi_enter() == NULL) return PREVIEW1_ENOMEM;
  return plait_preview1_error(plait_wasi_renumber(from, to, 1));
}

PLAIT_EXPORT uint32_t plait_preview1_fd_fdstat_get(uint32_t fd, plait_guest_t to) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  if (!guest_reaches(to, FDSTAT_SIZE)) return PREVIEW1_FAULT;
  uint32_t error = plait_preview1_find(fd, 0, &found), type = FILETYPE_DIRECTORY, flags = found.flags;
  if (error != 0) return error;
  if (found.kind == PLAIT_WASI_STREAM) {
    type = plait_wasi_host_is_terminal((uint32_t)found.fd) ? FILETYPE_CHARACTERS : FILETYPE_UNKNOWN;
  } else if (found.kind == PLAIT_WASI_FILE) {
    int opened = plait_fs_flags(found.fd, found.uses);
    if (opened < 0) return plait_preview1_error(opened);
    type = FILETYPE_FILE;
    if ((uint32_t)opened & PLAIT_FS_APPEND) flags |= FDFLAG_APPEND;
  }
  guest_store(to, type | flags << 16);
  guest_store(to + 4, 0);
  guest_store64(to + 8, found.rights);
  guest_store64(to + 16, found.inheriting);
  return 0;
}

PLAIT_EXPORT uint32_t plait_preview1_fd_fdstat_set_flags(uint32_t fd, uint32_t flags) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  uint32_t error = plait_preview1_find(fd, RIGHT(RIGHT_FD_FDSTAT_SET_FLAGS), &found);
  if (error != 0) return error;
  if (flags & ~(uint32_t)FDFLAGS) return PREVIEW1_EINVAL;
  if (found.kind == PLAIT_WASI_DIRECTORY) return PREVIEW1_EBADF;
  uint32_t kept = FDFLAG_DSYNC | FDFLAG_RSYNC | FDFLAG_SYNC; /* set when the file is opened, or never */
  if ((flags & kept) & ~found.flags) return PREVIEW1_EINVAL;
  if (found.kind == PLAIT_WASI_FILE) {
    int rc = plait_fs_set_flags(found.fd, found.uses, flags & FDFLAG_APPEND ? PLAIT_FS_APPEND : 0);
    if (rc != 0) return plait_preview1_error(rc);
  }
  return plait_preview1_error(plait_wasi_set_flags(fd, (found.flags & kept) | (flags & FDFLAG_NONBLOCK)));
}

PLAIT_EXPORT uint32_t plait_preview1_fd_fdstat_set_rights(uint32_t fd, uint64_t base, uint64_t inheriting) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  uint32_t error = plait_preview1_find(fd, base, &found);
  if (error != 0) return error;
  if (inheriting & ~found.inheriting) return PREVIEW1_ENOTCAPABLE;
  return plait_preview1_error(plait_wasi_set_rights(fd, base, inheriting));
}

PLAIT_EXPORT uint32_t plait_preview1_fd_prestat_get(uint32_t fd, plait_guest_t to) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  uint32_t error = plait_preview1_find(fd, 0, &found);
  if (!guest_reaches(to, 8)) return PREVIEW1_FAULT;
  if (error != 0) return error;
  int length = plait_wasi_name(fd, NULL, 0);
  if (length < 0) return plait_preview1_error(length);
  guest_store(to, 0); /* a directory */
  guest_store(to + 4, (uint32_t)length);
  return 0;
}

PLAIT_EXPORT uint32_t plait_preview1_fd_prestat_dir_name(uint32_t fd, plait_guest_t to, uint32_t size) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  uint32_t error = plait_preview1_find(fd, 0, &found);
  if (error != 0) return error;
  uint8_t *name = plait_at(plait_get(&plait_wasi_enter()->scratch));
  int length = plait_wasi_name(fd, name, PLAIT_FS_SCRATCH);
  if (length < 0) return plait_preview1_error(length);
  if (size < (uint32_t)length) return PREVIEW1_ENAMETOOLONG;
  if (!guest_reaches(to, (uint32_t)length)) return PREVIEW1_FAULT;
  guest_put(to, name, (uint32_t)length);
  return 0;
}

/* ---- attributes ---- */

PLAIT_EXPORT uint32_t plait_preview1_fd_filestat_get(uint32_t fd, plait_guest_t to) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  if (!guest_reaches(to, FILESTAT_SIZE)) return PREVIEW1_FAULT;
  uint32_t error = plait_preview1_find(fd, RIGHT(RIGHT_FD_FILESTAT_GET), &found);
  if (error != 0) return error;
  if (found.kind == PLAIT_WASI_STREAM) {
    for (uint32_t i = 0; i < FILESTAT_SIZE; i += 8) guest_store64(to + i, 0);
    if (plait_wasi_host_is_terminal((uint32_t)found.fd)) guest_store64(to + 16, FILETYPE_CHARACTERS);
    return 0;
  }
  struct plait_fs_at at = at_descriptor(&found);
  int rc = plait_fs_stat_at(&at, 1);
  if (rc == 0) plait_preview1_put_filestat(to);
  return plait_preview1_error(rc);
}

PLAIT_EXPORT uint32_t plait_preview1_fd_filestat_set_size(uint32_t fd, uint64_t size) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  uint32_t error = find_file(fd, RIGHT(RIGHT_FD_FILESTAT_SET_SIZE), &found);
  /* To POSIX, a descriptor that is open for something else is an invalid argument. */
  int is_open = error == PREVIEW1_ENOTCAPABLE || (error != 0 && plait_wasi_find(fd, &found) == 0);
  if (error == PREVIEW1_SPIPE || (is_open && !is_hosted())) return PREVIEW1_EINVAL;
  if (error != 0) return error;
  if (size > LARGEST_OFFSET) return size >> 63 ? PREVIEW1_EINVAL : PREVIEW1_EFBIG;
  struct plait_fs_at at = at_descriptor(&found);
  return plait_preview1_error(plait_fs_truncate_at(&at, (double)size, plait_wasi_now()));
}

PLAIT_EXPORT uint32_t plait_preview1_fd_filestat_set_times(
    uint32_t fd, uint64_t atime, uint64_t mtime, uint32_t flags) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  uint32_t error = plait_preview1_find(fd, RIGHT(RIGHT_FD_FILESTAT_SET_TIMES), &found);
  if (error != 0) return error;
  if (found.kind == PLAIT_WASI_STREAM) return PREVIEW1_EBADF;
  struct plait_fs_at at = at_descriptor(&found);
  return plait_preview1_set_times(&at, 1, atime, mtime, flags);
}

PLAIT_EXPORT uint32_t plait_preview1_fd_advise(uint32_t fd, uint64_t offset, uint64_t length, uint32_t advice) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  uint32_t error = find_file(fd, 0, &found);
  if (error != 0) return error;
  return advice > 5 || offset >> 63 || length >> 63 ? PREVIEW1_EINVAL : 0;
}

/* Makes the file longer, without a write: its new bytes are zeros that take no memory yet. */
PLAIT_EXPORT uint32_t plait_preview1_fd_allocate(uint32_t fd, uint64_t offset, uint64_t length) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  uint32_t error = find_file(fd, 0, &found);
  if (error != 0) return error;
  if (!(found.rights & RIGHT(RIGHT_FD_ALLOCATE))) return PREVIEW1_EBADF;
  if (length == 0 || offset >> 63 || length >> 63) return PREVIEW1_EINVAL;
  if (offset + length > LARGEST_OFFSET) return PREVIEW1_EFBIG;
  double end = (double)(offset + length);
  return plait_preview1_error(plait_fs_extend_as(found.fd, found.uses, end, plait_wasi_now()));
}

/* Files are in memory: there is nothing to wait for. */
PLAIT_EXPORT uint32_t plait_preview1_fd_sync(uint32_t fd) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  return plait_preview1_find(fd, 0, &found);
}

PLAIT_EXPORT uint32_t plait_preview1_fd_datasync(uint32_t fd) {
  PREVIEW1_ENTER;
  return plait_preview1_fd_sync(fd);
}

/* ---- reading and writing ---- */

/* What is wrong with an access to the bytes of a descriptor: `right` is needed; `seeks`: at a position. */
static uint32_t may_access(const struct plait_wasi_descriptor *found, uint32_t right, int seeks) {
  if (found->kind == PLAIT_WASI_DIRECTORY)
    return right == RIGHT_FD_READ && !is_hosted() ? PREVIEW1_EISDIR : PREVIEW1_EBADF;
  if (!(found->rights & RIGHT(right))) return is_hosted() ? PREVIEW1_ENOTCAPABLE : PREVIEW1_EBADF;
  return found->kind == PLAIT_WASI_STREAM && seeks ? PREVIEW1_SPIPE : 0;
}

/* What is left of a vector: the sum over all of them is a count that preview1 can return. */
static uint32_t capped(uint32_t length, uint32_t total) {
  return length < LARGEST_COUNT - total ? length : LARGEST_COUNT - total;
}

/* Reads the program's vectors in turn. `position` < 0: at the file position. */
static uint32_t read_file(const struct plait_wasi_descriptor *found, plait_guest_t iovs, uint32_t count,
    double position, plait_guest_t read) {
  uint32_t total = 0;
  for (uint32_t i = 0; i < count; i++) {
    plait_guest_t to = guest_load(iovs + IOVEC_SIZE * i);
    uint32_t length = capped(guest_load(iovs + IOVEC_SIZE * i + 4), total);
    if (length == 0) continue;
    uint32_t error = guest_reaches(to, length) ? 0 : PREVIEW1_FAULT;
    int got = error != 0 ? 0 : guest_read(found->fd, found->uses, to, length, position < 0 ? -1 : position + total);
    if (got < 0) error = plait_preview1_error(got);
    if (error != 0 && total == 0) return error;
    if (error != 0) break; /* what was read before counts */
    total += (uint32_t)got;
    if ((uint32_t)got < length) break;
  }
  guest_store(read, total);
  return 0;
}

/*
 * Copies the vectors' bytes to the thread's scratch block, so that they are written at once: what a program's streams
 * append comes in two vectors, and another thread's bytes may not get in between. The count; 0: one vector, or too many
 * bytes, or some that are not in the program's memory.
 */
static uint32_t gather(plait_guest_t iovs, uint32_t count, uint8_t *to) {
  uint32_t total = 0, filled = 0;
  for (uint32_t i = 0; i < count; i++) filled += guest_load(iovs + IOVEC_SIZE * i + 4) != 0;
  if (filled < 2) return 0;
  for (uint32_t i = 0; i < count; i++) {
    plait_guest_t from = guest_load(iovs + IOVEC_SIZE * i);
    uint32_t length = guest_load(iovs + IOVEC_SIZE * i + 4);
    if (length > PLAIT_FS_SCRATCH - total || !guest_reaches(from, length)) return 0;
    guest_get(to + total, from, length);
    total += length;
  }
  return total;
}

static uint32_t write_file(const struct plait_wasi_descriptor *found, plait_guest_t iovs, uint32_t count,
    double position, plait_guest_t written) {
  double now = plait_wasi_now();
  plait_ref_t scratch = plait_get(&plait_wasi_enter()->scratch);
  uint32_t total = gather(iovs, count, plait_at(scratch));
  if (total != 0) {
    int put = plait_fs_write_as(found->fd, found->uses, scratch, total, position < 0 ? -1 : position, now);
    if (put >= 0) guest_store(written, (uint32_t)put);
    if (put != -PLAIT_ENOSPC) return plait_preview1_error(put);
    total = 0; /* as much as there is room for */
  }
  for (uint32_t i = 0; i < count; i++) {
    plait_guest_t from = guest_load(iovs + IOVEC_SIZE * i);
    uint32_t length = capped(guest_load(iovs + IOVEC_SIZE * i + 4), total);
    if (length == 0) continue;
    uint32_t error = guest_reaches(from, length) ? 0 : PREVIEW1_FAULT;
    double at = position < 0 ? -1 : position + total;
    int put = error != 0 ? 0 : guest_write(found->fd, found->uses, from, length, at, now);
    if (put < 0) error = plait_preview1_error(put);
    if (error != 0 && total == 0) return error;
    if (error != 0) break;
    total += (uint32_t)put;
    if ((uint32_t)put < length) break;
  }
  guest_store(written, total);
  return 0;
}

PLAIT_EXPORT uint32_t plait_preview1_fd_read(uint32_t fd, plait_guest_t iovs, uint32_t count, plait_guest_t read) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  uint32_t error = plait_preview1_find(fd, 0, &found);
  if (error != 0 || (error = may_access(&found, RIGHT_FD_READ, 0)) != 0) return error;
  if (!guest_reaches(iovs, (uint64_t)count * IOVEC_SIZE) || !guest_reaches(read, 4)) return PREVIEW1_FAULT;
  return found.kind == PLAIT_WASI_STREAM ? plait_wasi_host_read((uint32_t)found.fd, iovs, count, read)
                                         : read_file(&found, iovs, count, -1, read);
}

PLAIT_EXPORT uint32_t plait_preview1_fd_pread(
    uint32_t fd, plait_guest_t iovs, uint32_t count, uint64_t offset, plait_guest_t read) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  uint32_t error = plait_preview1_find(fd, 0, &found);
  if (error != 0 || (error = may_access(&found, RIGHT_FD_READ, 1)) != 0) return error;
  if (offset >> 63) return PREVIEW1_EINVAL;
  if (!guest_reaches(iovs, (uint64_t)count * IOVEC_SIZE) || !guest_reaches(read, 4)) return PREVIEW1_FAULT;
  return read_file(&found, iovs, count, (double)offset, read);
}

PLAIT_EXPORT uint32_t plait_preview1_fd_write(uint32_t fd, plait_guest_t iovs, uint32_t count, plait_guest_t written) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  uint32_t error = plait_preview1_find(fd, 0, &found);
  if (error != 0 || (error = may_access(&found, RIGHT_FD_WRITE, 0)) != 0) return error;
  if (!guest_reaches(iovs, (uint64_t)count * IOVEC_SIZE) || !guest_reaches(written, 4)) return PREVIEW1_FAULT;
  return found.kind == PLAIT_WASI_STREAM ? plait_wasi_host_write((uint32_t)found.fd, iovs, count, written)
                                         : write_file(&found, iovs, count, -1, written);
}

PLAIT_EXPORT uint32_t plait_preview1_fd_pwrite(
    uint32_t fd, plait_guest_t iovs, uint32_t count, uint64_t offset, plait_guest_t written) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  uint32_t error = plait_preview1_find(fd, 0, &found);
  if (error != 0 || (error = may_access(&found, RIGHT_FD_WRITE, 1)) != 0) return error;
  if (offset >> 63) return PREVIEW1_EINVAL;
  if (offset > LARGEST_OFFSET) return PREVIEW1_EFBIG;
  if (!guest_reaches(iovs, (uint64_t)count * IOVEC_SIZE) || !guest_reaches(written, 4)) return PREVIEW1_FAULT;
  return write_file(&found, iovs, count, (double)offset, written);
}

PLAIT_EXPORT uint32_t plait_preview1_fd_seek(uint32_t fd, uint64_t offset, uint32_t whence, plait_guest_t to) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  uint32_t error = find_file(fd, 0, &found);
  if (error != 0) return error;
  int tells = offset == 0 && whence == 1 && (found.rights & RIGHT(RIGHT_FD_TELL)) != 0;
  if (!tells && !(found.rights & RIGHT(RIGHT_FD_SEEK))) return PREVIEW1_ENOTCAPABLE;
  if (!guest_reaches(to, 8)) return PREVIEW1_FAULT;
  /* A double holds no larger one exactly. */
  if (offset + LARGEST_OFFSET > 2 * LARGEST_OFFSET) return PREVIEW1_EINVAL;
  double at = plait_fs_seek_as(found.fd, found.uses, (double)(int64_t)offset, (int)(whence > 2 ? 3 : whence));
  if (at < 0) return plait_preview1_error((int)at);
  guest_store64(to, (uint64_t)at);
  return 0;
}

PLAIT_EXPORT uint32_t plait_preview1_fd_tell(uint32_t fd, plait_guest_t to) {
  PREVIEW1_ENTER;
  return plait_preview1_fd_seek(fd, 0, 1, to);
}

/* ---- directories ---- */

int plait_preview1_stat_dots(const struct plait_wasi_descriptor *found, int is_parent) {
  struct plait_fs_thread *mine = plait_wasi_enter();
  struct plait_fs_at own = at_descriptor(found), parent = plait_fs_path(2);
  int rc = plait_fs_stat_at(&own, 1);
  if (rc != 0 || plait_get(&mine->result.links) == 0) return rc != 0 ? rc : -PLAIT_ENOENT;
  if (!is_parent) return 0;
  mine->first[0] = mine->first[1] = '.';
  if (plait_fs_start_at(&parent, found->fd, found->uses) == 0 && plait_fs_stat_at(&parent, 1) == 0) return 0;
  return plait_fs_stat_at(&own, 1); /* no path leads to it */
}

/*
 * Puts directory entries into the buffer until it is full; the last one may be cut. A cookie is that of the core plus
 * two, because . and .. come first.
 */
PLAIT_EXPORT uint32_t plait_preview1_fd_readdir(
    uint32_t fd, plait_guest_t to, uint32_t length, uint64_t cookie, plait_guest_t used) {
  PREVIEW1_ENTER;
  struct plait_wasi_descriptor found;
  if (!guest_reaches(to, length) || !guest_reaches(used, 4)) return PREVIEW1_FAULT;
  uint32_t error = plait_preview1_find(fd, 0, &found), done = 0;
  if (error != 0) return error;
  if (found.kind != PLAIT_WASI_DIRECTORY) return found.kind == PLAIT_WASI_FILE ? PREVIEW1_ENOTDIR : PREVIEW1_EBADF;
  if (!(found.rights & RIGHT(RIGHT_FD_READDIR))) return PREVIEW1_ENOTCAPABLE;
  struct plait_fs_thread *mine = plait_wasi_enter();
  struct plait_fs_at at = at_descriptor(&found);
  while (done < length) {
    const uint8_t *name = (const uint8_t *)"..";
    uint32_t bytes = (uint32_t)cookie + 1;
    int rc = cookie < FIRST_NAMES ? plait_preview1_stat_dots(&found, cookie == 1)
                                  : plait_fs_next_at(&at, cookie - FIRST_NAMES);
    if (rc == -PLAIT_ENOENT && cookie < FIRST_NAMES) break; /* the directory was removed: it lists nothing */
    if (rc < 0) return plait_preview1_error(rc);
    if (cookie < FIRST_NAMES) {
      cookie++;
    } else {
      if (rc == 0) break;
      name = plait_at(plait_get(&mine->scratch)), bytes = plait_get(&mine->result.bytes);
      cookie = plait_get64(&mine->result.cursor) + FIRST_NAMES;
    }
    struct {
      uint64_t next, inode;
      uint32_t length, type;
    } head = {cookie, plait_get(&mine->result.number), bytes, plait_preview1_filetype(plait_get(&mine->result.kind))};
    uint32_t part = length - done < DIRENT_SIZE ? length - done : DIRENT_SIZE;
    guest_put(to + done, &head, part);
    done += part;
    part = length - done < bytes ? length - done : bytes;
    guest_put(to + done, name, part);
    done += part;
  }
  guest_store(used, done);
  return 0;
}
