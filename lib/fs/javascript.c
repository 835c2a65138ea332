/*
 * javascript: what JavaScript calls to read and write the program's files: js/src/linked. One function, so that one
 * option of the linker exports it: -Wl,--export=plait_fs_call. Without the option it is left out.
 *
 * Each call acts on a path (`path`, `length`: bytes in the program's memory), and on a second block (`block`, `size`).
 * It returns a count, or a negative error of the core. Any thread that has an instance of the program may call it, also
 * before the program has started: the caller says what time it is, because node:wasi gives no time before the start.
 */
#define LATEST_TIME 9.2e12     /* milliseconds: nanoseconds fit into 63 bits */
#define CALL_LIST_BYTES 65536u /* the least size of the block for CALL_LIST */

enum {
  CALL_ALLOCATE = 0,  /* `size` bytes: the address, 0 without memory */
  CALL_FREE = 1,      /* the block */
  CALL_STAT = 2,      /* into the block, a struct plait_fs_result; number: 1 follows a link at the end */
  CALL_READ = 3,      /* the file's bytes, as many as fit into the block: the file's size */
  CALL_WRITE = 4,     /* the block to the file; number: PLAIT_FS flags beside WRONLY */
  CALL_MKDIR = 5,     /* number: the mode */
  CALL_REMOVE = 6,    /* number: 1 a directory, 0 anything else */
  CALL_RENAME = 7,    /* the block is the new path */
  CALL_SYMLINK = 8,   /* the block is the link's text */
  CALL_LINK = 9,      /* the block is the new path */
  CALL_READLINK = 10, /* into the block of 4096 bytes: its length */
  /* names after the cookie in `number` into the block: how many. Each is its kind, its length (a byte each) and its
     bytes; the first eight bytes of the block are the next cookie, 0 at the end */
  CALL_LIST = 11,
  CALL_TRUNCATE = 12, /* number: the size */
  CALL_CHMOD = 13,    /* number: the mode */
  CALL_UTIMES = 14,   /* the block: two doubles, milliseconds */
  CALL_UNPACK = 15,   /* the block is a tar archive */
  /* what is wrong with a tar archive, as text into the block: its length; 0 if nothing is. The archive is at `path`; if
     that is 0, it is the one that the program starts with */
  CALL_FAULT = 16,
};

static int copy_path(uint8_t *to, uint32_t from, uint32_t length) {
  if (length >= PLAIT_FS_PATH_MAX) return -PLAIT_ENAMETOOLONG;
  plait_copy(to, plait_at(from), length);
  return 0;
}

static int list_names(const struct plait_fs_at *at, uint64_t cookie, uint8_t *to, uint32_t size) {
  struct plait_fs_thread *mine = plait_wasi_enter();
  uint32_t used = 8;
  int count = 0, rc;
  while ((rc = plait_fs_next_at(at, cookie)) == 1) {
    uint32_t length = plait_get(&mine->result.bytes);
    if (used + 2 + length > size) break;
    to[used] = (uint8_t)plait_get(&mine->result.kind), to[used + 1] = (uint8_t)length;
    plait_copy_near(to + used + 2, plait_at(plait_get(&mine->scratch)), length);
    used += 2 + length;
    cookie = plait_get64(&mine->result.cursor);
    count++;
  }
  if (rc == 0) cookie = 0;
  __builtin_memcpy(to, &cookie, sizeof cookie);
  return rc < 0 ? rc : count;
}

static double call_on_path(
    uint32_t call, uint32_t length, plait_ref_t block, uint32_t size, double number, double now) {
  struct plait_fs_thread *mine = plait_wasi_enter();
  struct plait_fs_at at = plait_fs_path(length);
  struct plait_fs_attributes new = {0};
  double times[2];
  int rc;
  switch (call) {
    case CALL_STAT:
      rc = plait_fs_stat_at(&at, number != 0);
      if (rc == 0) plait_copy(plait_at(block), &mine->result, sizeof mine->result);
      return rc;
    case CALL_READ: return plait_fs_read_file(PLAIT_FS_PATH(length), block, size);
    case CALL_WRITE: {
      int fd = plait_fs_open_at(&at, PLAIT_FS_WRONLY | (uint32_t)number, 0666, now);
      if (fd < 0) return fd;
      rc = size == 0 ? 0 : plait_fs_write(fd, block, size, -1, now);
      plait_fs_close(fd);
      return rc;
    }
    case CALL_MKDIR: return plait_fs_mkdir_at(&at, (uint32_t)number, now);
    case CALL_REMOVE: return plait_fs_remove_at(&at, number != 0, now);
    case CALL_READLINK:
      rc = plait_fs_readlink_at(&at);
      if (rc > 0) plait_copy(plait_at(block), plait_at(plait_get(&mine->scratch)), (uint32_t)rc);
      return rc;
    case CALL_LIST: return list_names(&at, (uint64_t)number, plait_at(block), size);
    case CALL_TRUNCATE: return plait_fs_truncate_at(&at, number, now);
    case CALL_CHMOD:
      new.mask = PLAIT_FS_SET_MODE, new.mode = (uint32_t)number;
      return plait_fs_set_at(&at, 1, &new, now);
    case CALL_UTIMES:
      __builtin_memcpy(times, plait_at(block), sizeof times);
      for (int i = 0; i < 2; i++)
        if (!(times[i] >= -LATEST_TIME && times[i] <= LATEST_TIME)) return -PLAIT_EINVAL;
      new.mask = PLAIT_FS_SET_ATIME | PLAIT_FS_SET_MTIME;
      new.atime = (uint64_t)(int64_t)(times[0] * 1e6), new.mtime = (uint64_t)(int64_t)(times[1] * 1e6);
      return plait_fs_set_at(&at, 1, &new, now);
    default: return -PLAIT_EINVAL;
  }
}

/* The calls on two paths. `first` and `second` of the thread hold them in the order of the core's functions. */
static double call_on_paths(uint32_t call, uint32_t length, uint32_t size, double now) {
  struct plait_fs_at from = plait_fs_path(length), to = plait_fs_second_path(size);
  if (call == CALL_RENAME) return plait_fs_rename_at(&from, &to, now);
  if (call == CALL_LINK) return plait_fs_link_at(&from, 0, &to, now);
  return plait_fs_symlink_at(length, &to, now);
}

static double call_in_files(
    uint32_t call, uint32_t path, uint32_t length, plait_ref_t block, uint32_t size, double number, double now) {
  struct plait_fs_thread *mine = plait_wasi_enter();
  if (call == CALL_UNPACK) return plait__tar_unpack(plait_at(block), size, now);
  int two = call == CALL_RENAME || call == CALL_LINK || call == CALL_SYMLINK;
  if (call == CALL_LIST && size < CALL_LIST_BYTES) return -PLAIT_EINVAL;
  /* The text of a link comes first, as for plait_fs_symlink(). */
  int is_swapped = call == CALL_SYMLINK;
  int rc = is_swapped ? copy_path(mine->first, block, size) : copy_path(mine->first, path, length);
  if (rc == 0 && two) rc = is_swapped ? copy_path(mine->second, path, length) : copy_path(mine->second, block, size);
  if (rc != 0) return rc;
  if (!two) return call_on_path(call, length, block, size, number, now);
  return is_swapped ? call_on_paths(call, size, length, now) : call_on_paths(call, length, size, now);
}

PUBLIC double plait_fs_call(
    uint32_t call, uint32_t path, uint32_t length, plait_ref_t block, uint32_t size, double number, double now);
/* pre: the block has FAULT_BYTES. */
static uint32_t find_fault(uint32_t path, uint32_t length, plait_ref_t block) {
  struct plait_fs_fault fault;
  int found = path != 0 ? plait__tar_check(plait_at(path), length, &fault) != 0 : find_preload_fault(&fault);
  return found ? put_fault(plait_at(block), &fault) : 0;
}

PUBLIC double plait_fs_call(
    uint32_t call, uint32_t path, uint32_t length, plait_ref_t block, uint32_t size, double number, double now) {
  if (call == CALL_FAULT) return size < FAULT_BYTES ? -PLAIT_EINVAL : find_fault(path, length, block);
  if (call == CALL_ALLOCATE) return (double)(uint32_t)(uintptr_t)malloc(size);
  if (call == CALL_FREE) {
    free(plait_at(block));
    return 0;
  }
  uint64_t bits;
  __builtin_memcpy(&bits, &now, sizeof bits);
  plait_put64(&given_time, bits);
  int how = begin_as(1);
  struct plait_fs_fault fault;
  if (how == 0) return find_preload_fault(&fault) ? -PLAIT_EILSEQ : -PLAIT_ENOMEM;
  double result = call_in_files(call, path, length, block, size, number, now);
  done(how);
  return result;
}
