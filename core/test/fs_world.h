/*
 * fs world: the functions of fs with C strings for paths, and a digest of a whole tree.
 */
#ifndef PLAIT_TEST_FS_WORLD_H
#define PLAIT_TEST_FS_WORLD_H

#include "harness.h"
#include "host_directory.h"
#include "../fs/internal.h"

#define NOW 1.7e12

static inline struct plait_fs_thread *fs_mine(void) {
  plait_ref_t mine = plait_fs_enter();
  CHECK(mine != 0);
  return plait_at(mine);
}

static inline uint32_t fs_first(const char *path) {
  struct plait_fs_thread *mine = fs_mine();
  size_t length = strlen(path);
  memcpy(mine->first, path, length);
  return (uint32_t)length;
}

static inline uint32_t fs_second(const char *path) {
  struct plait_fs_thread *mine = fs_mine();
  size_t length = strlen(path);
  memcpy(mine->second, path, length);
  return (uint32_t)length;
}

static inline int fs_open(const char *path, uint32_t flags) { return plait_fs_open(fs_first(path), flags, 0666, NOW); }
static inline int fs_mkdir(const char *path) { return plait_fs_mkdir(fs_first(path), 0777, NOW); }
static inline int fs_rmdir(const char *path) { return plait_fs_rmdir(fs_first(path), NOW); }
static inline int fs_unlink(const char *path) { return plait_fs_unlink(fs_first(path), NOW); }
static inline int fs_rename(const char *from, const char *to) {
  uint32_t second = fs_second(to);
  return plait_fs_rename(fs_first(from), second, NOW);
}
static inline int fs_link(const char *from, const char *to) {
  uint32_t second = fs_second(to);
  return plait_fs_link(fs_first(from), second, NOW);
}
static inline int fs_symlink(const char *target, const char *path) {
  uint32_t second = fs_second(path);
  return plait_fs_symlink(fs_first(target), second, NOW);
}
static inline int fs_stat(const char *path) { return plait_fs_stat(PLAIT_FS_PATH(fs_first(path)), 1); }
static inline int fs_lstat(const char *path) { return plait_fs_stat(PLAIT_FS_PATH(fs_first(path)), 0); }
static inline int fs_truncate(const char *path, double size) {
  return plait_fs_truncate(PLAIT_FS_PATH(fs_first(path)), size, NOW);
}

/* Mounts a directory of the test's on the host (host_directory.h), which is made if it is not there. */
static inline int fs_mount(const char *path, const char *name) {
  const char *text = host_path(name);
  host_mkdir(name);
  memcpy(plait_at(plait_get(&fs_mine()->scratch)), text, strlen(text));
  return plait_fs_mount(fs_first(path), (uint32_t)strlen(text), 0);
}
static inline int fs_unmount(const char *path) { return plait_fs_unmount(fs_first(path)); }

/* Fills bytes with a pattern that depends on `salt`. */
static inline void fs_fill(plait_ref_t to, uint32_t size, uint32_t salt) {
  uint8_t *bytes = plait_at(to);
  for (uint32_t i = 0; i < size; i++) bytes[i] = (uint8_t)(salt + i * 7 + (i >> 8));
}

static inline int fs_write(const char *path, uint32_t size, uint32_t salt) {
  plait_ref_t scratch = plait_get(&fs_mine()->scratch);
  if (size > PLAIT_FS_SCRATCH) {
    plait_ref_t block = plait_fs_tx_reserve(size);
    if (block == 0) return -PLAIT_ENOSPC;
    fs_fill(block, size, salt);
    return plait_fs_write_file(
        fs_first(path), PLAIT_FS_WRONLY | PLAIT_FS_CREAT | PLAIT_FS_TRUNC, 0666, block, size, 1, NOW);
  }
  fs_fill(scratch, size, salt);
  return plait_fs_write_file(
      fs_first(path), PLAIT_FS_WRONLY | PLAIT_FS_CREAT | PLAIT_FS_TRUNC, 0666, scratch, size, 0, NOW);
}

/* Whether the file consists of the bytes of fs_fill(). */
static inline int fs_holds(const char *path, uint32_t size, uint32_t salt) {
  int fd = fs_open(path, 0), right = 1;
  if (fd < 0) return 0;
  plait_ref_t scratch = plait_get(&fs_mine()->scratch);
  uint32_t at = 0;
  for (int64_t count; right && (count = plait_fs_read(fd, scratch, PLAIT_FS_SCRATCH, at)) > 0; at += (uint32_t)count)
    for (uint32_t i = 0; i < count; i++)
      right = right && ((uint8_t *)plait_at(scratch))[i] == (uint8_t)(salt + (at + i) * 7 + ((at + i) >> 8));
  plait_fs_close(fd);
  return right && at == size;
}

/* ---- the digest of a tree ---- */

static inline uint64_t fs_mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 29;
}

/* The digest for a path that is covered: the number of its mount. */
static inline uint64_t fs_digest_mounted(const char *path) {
  CHECK(fs_lstat(path) == 0 && plait_get(&fs_mine()->result.mount) != 0);
  return fs_mix(3, plait_get(&fs_mine()->result.mount));
}

/*
 * `contents`: includes the contents of files and their times. `touch`: opens each file, which takes every lock. So the
 * committed transactions of exited threads are applied by then. From there on a mount may cover a directory.
 */
static inline uint64_t fs_digest(const char *path, int contents, int touch) {
  struct plait_fs_thread *mine = fs_mine();
  struct plait_fs_result *result = &mine->result;
  uint64_t hash = 1;
  int rc = fs_lstat(path);
  CHECK(rc == 0);
  if (plait_get(&result->mount) != 0) return fs_digest_mounted(path);
  uint32_t kind = plait_get(&result->kind);
  hash = fs_mix(hash, kind), hash = fs_mix(hash, plait_get(&result->links)),
  hash = fs_mix(hash, plait_get(&result->mode));
  if (contents) {
    hash = fs_mix(hash, plait_get64(&result->size)), hash = fs_mix(hash, plait_get64(&result->mtime));
    hash = fs_mix(hash, plait_get64(&result->ctime));
  }
  if (kind == PLAIT_FS_SYMLINK) {
    int length = plait_fs_readlink(fs_first(path));
    CHECK(length > 0);
    for (int i = 0; i < length; i++) hash = fs_mix(hash, ((uint8_t *)plait_at(plait_get(&mine->scratch)))[i]);
    return hash;
  }
  if (touch) {
    int fd = fs_open(path, 0);
    int is_mounted = plait_fs_mounted(fd) != 0;
    CHECK(fd >= 0 && plait_fs_close(fd) == 0);
    if (is_mounted) return fs_digest_mounted(path);
  }
  if (kind == PLAIT_FS_FILE) {
    int fd = fs_open(path, 0);
    CHECK(fd >= 0);
    plait_ref_t scratch = plait_get(&mine->scratch);
    double at = 0;
    for (int64_t count; contents && (count = plait_fs_read(fd, scratch, PLAIT_FS_SCRATCH, at)) > 0; at += (double)count)
      for (int64_t i = 0; i < count; i += 5) hash = fs_mix(hash, ((uint8_t *)plait_at(scratch))[i]);
    CHECK(plait_fs_close(fd) == 0);
    return hash;
  }
  char *names = malloc(PLAIT_FS_SCRATCH + 1), child[600];
  double cursor = 0;
  uint64_t sum = 0; /* whatever order they come in */
  do {
    int count = plait_fs_list(PLAIT_FS_PATH(fs_first(path)), cursor);
    CHECK(count >= 0);
    if (plait_get(&result->block) == 0 && touch) {
      free(names);
      return fs_digest_mounted(path);
    }
    cursor = (double)plait_get64(&result->cursor);
    uint32_t bytes = plait_get(&result->bytes);
    memcpy(names, plait_at(plait_get(&mine->scratch)), bytes);
    names[bytes] = 0;
    char *rest = names;
    for (int i = 0; i < count; i++) {
      char *name = strsep(&rest, "/");
      uint64_t one = 7;
      for (char *c = name; *c; c++) one = fs_mix(one, (uint8_t)*c);
      snprintf(child, sizeof child, "%s/%s", strcmp(path, "/") == 0 ? "" : path, name);
      sum += fs_mix(one, fs_digest(child, contents, touch));
    }
  } while (cursor != 0);
  free(names);
  return fs_mix(hash, sum);
}

/* The digest of the mounts, and of their open descriptors except those of the thread `but`. */
static inline uint64_t fs_digest_mounts(plait_thread_t but) {
  plait_ref_t text = plait_heap_alloc(PLAIT_FS_MOUNT_MAX);
  struct plait_fs_result *result = &fs_mine()->result;
  uint64_t hash = 5;
  CHECK(text != 0);
  for (uint32_t i = 0;; i++) {
    int number = plait_fs_mount_text(i, text);
    if (number == -PLAIT_ENOENT) break;
    CHECK(number > 0);
    hash = fs_mix(fs_mix(fs_mix(hash, (uint64_t)number), plait_get(&result->links)), plait_get(&result->bytes));
    for (uint32_t k = 0; k < plait_get64(&result->size); k++) hash = fs_mix(hash, ((uint8_t *)plait_at(text))[k]);
  }
  plait_heap_free(text);
  struct plait_fs_items *opens = &plait_fs()->opens;
  for (uint32_t i = 0, count = plait_load(&opens->count) * PLAIT_FS_CHUNK_ITEMS; i < count; i++) {
    plait_ref_t ref = plait_fs_mounted((int)i);
    if (ref == 0 || plait_get(plait__fs_owner(opens, i)) == but) continue;
    struct plait_fs_open *open = plait_at(ref);
    hash = fs_mix(fs_mix(fs_mix(hash, i), plait_get(&open->mount)), plait_get(&open->flags));
    hash = fs_mix(fs_mix(fs_mix(hash, plait_get(&open->host)), plait_get64(&open->device)), plait_get64(&open->file));
  }
  return hash;
}

static inline const char *fs_fault_text(void) {
  static char text[60];
  uint32_t at, kind = plait_fs_fault(&at);
  snprintf(text, sizeof text, "fault %u at %u", kind, at);
  return text;
}

/* Checks all structures. Returns the number of lost blocks: those of neither the files nor the `others` blocks. */
static inline uint32_t fs_check_all(uint32_t others) {
  uint32_t blocks;
  int rc = plait_fs_census(&blocks);
  if (rc != 0) fprintf(stderr, "check: %d, %s\n", rc, fs_fault_text());
  CHECK(rc == 0);
  CHECK(plait_heap_check(1) == 0);
  CHECK(test_live_blocks() >= blocks + others);
  return test_live_blocks() - blocks - others;
}

#endif
